import { expect, test } from 'vitest';
import { OVERVIEW } from '../../../../../src/operator/http-server/pages/texts/overview.ts';

const { en, it } = OVERVIEW;

test.each([
  [en.clinics(1), '1 clinic'],
  [en.clinics(2), '2 clinics'],
  [it.clinics(1), '1 clinica'],
  [it.clinics(2), '2 cliniche'],
  [en.needYou(1), '1 action required'],
  [en.needYou(2), '2 action required'],
  [it.needYou(1), '1 con intervento richiesto'],
  [it.needYou(2), '2 con intervento richiesto'],
  [en.wait(1), '1 retrying'],
  [en.wait(2), '2 retrying'],
])('singular and plural have their own forms, in both languages: %s, %s', (shown, expected) => {
  expect(shown).toBe(expected);
});
