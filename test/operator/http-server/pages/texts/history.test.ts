import { expect, test } from 'vitest';
import { HISTORY } from '../../../../../src/operator/http-server/pages/texts/history.ts';

test.each([
  [HISTORY.en.unprovedHours(1), '1 hour without comparison'],
  [HISTORY.en.unprovedHours(2), '2 hours without comparison'],
  [HISTORY.it.unprovedHours(1), '1 ora senza confronto'],
  [HISTORY.it.unprovedHours(2), '2 ore senza confronto'],
])('singular and plural have their own forms, in both languages: %s, %s', (shown, expected) => {
  expect(shown).toBe(expected);
});
