import { describe, expect, test } from 'vitest';
import { objectsIn } from '../../../src/core/model/json-list.ts';
import { atOnce } from '../../../src/core/model/pieces.ts';

const find = (text: string, path: readonly (readonly string[])[] = [['data']], mostValues?: number) =>
  atOnce(objectsIn(Buffer.from(text), path, mostValues));

describe('a list of objects in a text', () => {
  test('is found by its member, with the bounds of each object', () => {
    const text = '{"total": 2, "data" : [ {"id":1} , {"id":"]"} ]}';
    const list = find(text);
    expect(list?.bounds.map((at) => text.at(at))).toEqual(['{', ' ', '{', ' ']);
    expect(text.slice(list?.from, list?.to)).toBe('[ {"id":1} , {"id":"]"} ]');
  });

  test.each([
    ['other values', '{"data":[{"id":1},2]}'],
    ['no object', '{"data":[]}'],
    ['no end', '{"data":[{"id":1},{"id":2}'],
    ['another name', '{"rows":[{"id":1}]}'],
  ])('is not split with %s', (_, text) => {
    expect(find(text)).toBeNull();
  });

  test('is not split if one object has more than 50,000 values or 2 MiB, or all have more than the limit', () => {
    const row = (values: number) => `{"data":[{"id":[${Array(values).fill('1').join(',')}]},{"id":2}]}`;
    expect(find(row(49_000))).not.toBeNull();
    expect(find(row(51_000))).toBeNull();
    expect(find(`{"data":[{"id":"${'x'.repeat(2_097_152)}"}]}`)).toBeNull();
    expect(find('{"data":[{"id":1},{"id":2},{"id":3}]}', [['data']], 4)).toBeNull();
  });

  test('is not searched behind a thousand members', () => {
    const behind = (members: number) =>
      `{${Array.from({ length: members }, (_, at) => `"a${at}":0,`).join('')}"data":[{"id":1}]}`;
    expect(find(behind(999))).not.toBeNull();
    expect(find(behind(1_000))).toBeNull();
  });

  test('is searched in pieces', () => {
    const text = `[${Array(20_000)
      .fill(`{"note":"${'x'.repeat(50)}"}`)
      .join(',')}]`;
    const breaks = [...objectsIn(Buffer.from(text), [])];
    expect(breaks.length).toBe(Math.floor(text.length / 262_144));
  });
});
