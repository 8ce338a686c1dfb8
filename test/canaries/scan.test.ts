import fc from 'fast-check';
import { expect, test } from 'vitest';
import { PLAIN_COLUMNS } from '../../src/operator/cli/output.ts';
import { renderCanaries, scanPlaces } from './scan.ts';

const CANARIES = { patients: ['Canarinella', 'Zwxyquist', '345 98765'], secrets: ['shh-7Kq2m9XvB4'] };
const BASE64_OF_NAME = Buffer.from('{"name":"Zwxyquist"}').toString('base64');

test('a source with patient data in any form is reported with that data', () => {
  const places = new Map([
    ['log', 'no errors and no names'],
    ['metrics', 'errors_total{about="ZWXYQUIST"} 1'],
    ['state', `outbox ${BASE64_OF_NAME}`],
    ['addresses', '/contacts?phone=345%2098765&key=shh-7Kq2m9XvB4'],
  ]);
  expect(scanPlaces(places, CANARIES).map(({ place, found }) => [place, found])).toEqual([
    ['log', []],
    ['metrics', ['Zwxyquist']],
    ['state', ['Zwxyquist']],
    ['addresses', ['345 98765', 'shh-7Kq2m9XvB4']],
  ]);
});

test('planted text is found in its source, among any other text', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ maxLength: 300 }), { minLength: 1, maxLength: 8 }), (texts) => {
      const places = new Map(texts.map((text, index) => [`${index}`, text] as const));
      for (const { planted, foundPlanted } of scanPlaces(places, CANARIES))
        expect([planted, foundPlanted]).toEqual([4, 4]);
    }),
  );
});

test('the table lists bytes and findings of each source, within the width of a terminal', () => {
  const places = scanPlaces(new Map([['log', `${'x'.repeat(1_234_567)} Zwxyquist`]]), CANARIES);
  const table = renderCanaries([{ journey: 'calendars', places }]);
  expect(table).toMatch(/calendars +log +1,234,577 +1 +4 +4/);
  expect(table).toContain('1 places, 1,234,577 bytes, 1 findings.');
  expect(Math.max(...table.split('\n').map((line) => line.length))).toBeLessThanOrEqual(PLAIN_COLUMNS);
});
