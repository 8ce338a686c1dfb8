import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { checkJson, LARGE_BYTES } from '../../src/http/json-check.ts';
import { layoutWorkIn, MOST_LAYOUT_WORK } from '../../src/model/json.ts';

const bytes = (text: string) => [Buffer.from(text)];
const row = (index: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`field${n}`, `${index} ${n} "{:,`])));

describe('an answer of JSON', () => {
  test.each([
    ['a large page of rows', () => `{"data":[${Array.from({ length: 5_000 }, (_, n) => row(n)).join()}]}`],
    ['2 MiB of one text', () => `{"text":"${'à {:,'.repeat(LARGE_BYTES / 3)}"}`],
    ['anything else', () => `<html>${' '.repeat(2 * LARGE_BYTES)}`],
    ['what is cut short', () => `[${'"a",'.repeat(LARGE_BYTES / 3)}`],
  ])('passes: %s', async (_, text) => {
    expect(await checkJson(bytes(text()), 'clinic.example')).toBeUndefined();
  });

  test('in which every row leaves out other fields passes', () => {
    const rows = Array.from({ length: 1_000 }, (_, n) =>
      Object.fromEntries(
        Array.from({ length: 30 }, (_, at) => [`f${at}`, 0]).filter((_, at) => at % 3 > 0 || (n * 7919) & (1 << at)),
      ),
    );
    expect(layoutWorkIn(Buffer.from(JSON.stringify(rows)))).toBeLessThan(MOST_LAYOUT_WORK);
  });

  test('costs nothing for known names, whatever its strings contain', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 20 }),
        fc.integer({ min: 1, max: 20 }),
        (one, times) => {
          const work = (rows: unknown[]) => layoutWorkIn(Buffer.from(JSON.stringify(rows)));
          expect(work(Array(times).fill(one))).toBe(work([one]));
        },
      ),
    );
  });

  test.each([
    ['in many parts', (part: string) => Array(30).fill(part).join('')],
    ['in one part', (part: string) => part],
  ])('within a multipart answer is judged too: %s', async (name, parts) => {
    const keys = Array.from({ length: name === 'in one part' ? 200_000 : 6_000 }, (_, n) => `"k${n}":0`).join();
    const part = `--b\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 200 OK\r\nETag: "\r\n\r\n{${keys}}\r\n`;
    await expect(checkJson(bytes(`${parts(part)}--b--`), 'vendor.example')).rejects.toMatchObject({
      code: 'answer-too-large',
      message: `the answer has more than ${MOST_LAYOUT_WORK} different names and orders of members: vendor.example`,
    });
  });
});
