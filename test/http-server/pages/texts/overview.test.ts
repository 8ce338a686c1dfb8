import { expect, test } from 'vitest';
import { OVERVIEW } from '../../../../src/http-server/pages/texts/overview.ts';

const { en, it } = OVERVIEW;

test.each([
  [en.clinics(1), '1 clinic'],
  [en.clinics(2), '2 clinics'],
  [it.clinics(1), '1 clinica'],
  [it.clinics(2), '2 cliniche'],
  [en.needYou(1), '1 needs you'],
  [en.needYou(2), '2 need you'],
  [it.needYou(1), '1 richiede un intervento'],
  [it.needYou(2), '2 richiedono un intervento'],
  [en.wait(1), '1 waits'],
  [en.wait(2), '2 wait'],
])('one and several are told by their own forms, in both languages: %s, %s', (shown, expected) => {
  expect(shown).toBe(expected);
});
