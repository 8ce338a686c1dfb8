import { expect, test } from 'vitest';
import { CLINIC } from '../../../../../src/operator/http-server/pages/texts/clinic.ts';

const { en, it } = CLINIC;

test.each([
  [en.changes(1), '1 change'],
  [en.changes(2), '2 changes'],
  [it.changes(1), '1 modifica'],
  [it.changes(2), '2 modifiche'],
  [en.holdsOpen(1), '1 waiting for approval'],
  [en.holdsOpen(2), '2 waiting for approval'],
  [it.holdsOpen(1), '1 da confermare'],
  [it.holdsOpen(2), '2 da confermare'],
])('singular and plural have their own forms, in both languages: %s, %s', (shown, expected) => {
  expect(shown).toBe(expected);
});
