import { expect, test } from 'vitest';
import { fieldNamesIn, textsAt } from '../../src/described-api/errors.ts';

test('codes of an error body are the texts and numbers at the paths, in their order', () => {
  const body = { code: 17, error: { code: 'BUSY', inner: {} }, none: null };
  expect(textsAt(body, ['error.code', 'none', 'error.inner', 'absent', 'code'])).toEqual(['BUSY', '17']);
});

test.each<[unknown, string[]]>([
  [{ start: ['is required'], 'slot.end': 'x' }, ['start', 'slot.end']],
  [
    [{ field: 'start' }, { pointer: '/slot/start' }, { path: '$.end' }, { loc: ['body', 'day'] }],
    ['start', 'slot.start', 'end', 'day'],
  ],
  [[{ name: 'Rossi' }, 'Rossi', { field: 'Mario Rossi' }, { field: '1962' }], []],
  ['start', []],
  [null, []],
])('field names in the detail %j are %j', (detail, names) => expect(fieldNamesIn(detail)).toEqual(names));
