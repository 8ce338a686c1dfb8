import { expect, test } from 'vitest';
import { listPath, path, timePath, wholePath } from '../../src/described-api/path-schemas.ts';
import { render, textOfIssue } from '../../src/messages/message.ts';

/** Message of the first fault of a written path. */
function faultOf(schema: typeof path, written: string): string | null {
  const [issue] = schema.safeParse(written).error?.issues ?? [];
  return issue === undefined ? null : render(textOfIssue(issue.message));
}

test.each([
  'phones[',
  'phones[a]',
  'phones]',
  'a..b',
  '[]',
  'a[=b]',
  'a[b.=c]',
  'a[][b=c]',
  'a{b}.c',
  'a{}',
  '{b}',
  '',
])('%j is no path', (written) => {
  expect(faultOf(path, written)).toContain('use field names joined by dots');
  expect(faultOf(wholePath, written)).toContain('or a dot for the whole answer');
});

test('a dot is the path of the whole answer, also of a list, and of no value in a row', () => {
  expect([path, wholePath, listPath].map((schema) => faultOf(schema, '.') === null)).toEqual([false, true, true]);
});

test('a path of a time may have two parts, and any other path one', () => {
  expect(faultOf(timePath, 'day + slot.begin')).toBeNull();
  expect(faultOf(timePath, 'day + begin + zone')).toContain('joined by " + "');
  expect(faultOf(path, 'day + begin')).not.toBeNull();
});

test.each<[string, boolean]>([
  ['entry[].resource', true],
  ['data.rows[kind=visit]', true],
  ['a[].b[].c', false],
  ['a[].b{x}', false],
])('%s is a path of a list: %s', (written, isPath) => {
  const fault = faultOf(listPath, written);
  if (isPath) expect(fault).toBeNull();
  else expect(fault).toContain('use at most one list in brackets');
});
