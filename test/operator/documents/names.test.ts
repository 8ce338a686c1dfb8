import { expect, test } from 'vitest';
import { fieldChangeLines, fieldName } from '../../../src/operator/documents/names.ts';

test.each(['__proto__', 'constructor', 'toString'])('a field or a value named %s is shown unchanged', (text) => {
  expect(fieldName(text)).toBe(text);
  const change = { field: text, before: { kind: 'none' }, after: { kind: 'text', text } } as const;
  expect(JSON.stringify(fieldChangeLines([change], 'it'))).toContain(JSON.stringify(text));
});

test('a field and a value with a meaning are shown in the language of the reader', () => {
  const change = { field: 'busy', before: { kind: 'none' }, after: { kind: 'text', text: 'free' } } as const;
  expect(JSON.stringify(fieldChangeLines([change], 'it'))).toMatch(/occupato o libero.*libero/);
});
