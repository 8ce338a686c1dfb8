import { expect, test } from 'vitest';
import { answerHeaders } from '../../../src/core/http/headers.ts';

test('a header is found by its name in any case, without the space around its value', () => {
  const headers = answerHeaders([['Content-Type', ' application/json ']]);
  expect([headers.get('content-type'), headers.get('CONTENT-TYPE')]).toEqual(['application/json', 'application/json']);
  expect([headers.has('Content-type'), headers.has('etag')]).toEqual([true, false]);
  expect(headers.get('etag')).toBeNull();
});

test('several values of one name are one value with commas, as fetch has them', () => {
  const lines: [string, string][] = [
    ['Vary', 'accept'],
    ['set-cookie', 'a=1'],
    ['vary', '*'],
    ['Set-Cookie', 'b=2'],
    ['x-empty', ''],
  ];
  const [ours, fetched] = [answerHeaders(lines), new Headers(lines)];
  for (const name of ['vary', 'set-cookie', 'x-empty']) expect(ours.get(name)).toBe(fetched.get(name));
  expect([...ours.keys()]).toEqual(['vary', 'set-cookie', 'x-empty']);
});

test('a name such as "__proto__" is a name like others', () => {
  const headers = answerHeaders([['__proto__', 'a']]);
  expect(headers.get('__proto__')).toBe('a');
  expect(headers.get('constructor')).toBeNull();
});
