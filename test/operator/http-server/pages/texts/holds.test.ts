import { expect, test } from 'vitest';
import { HOLDS } from '../../../../../src/operator/http-server/pages/texts/holds.ts';

const { en, it } = HOLDS;

test.each([
  [en.titleOf(1), '1 change on hold'],
  [en.titleOf(2), '2 changes on hold'],
  [it.titleOf(1), '1 modifica da confermare'],
  [it.titleOf(2), '2 modifiche da confermare'],
  [en.usualRange(0, 0), '0 a day'],
  [en.usualRange(0, 3), '0 to 3 a day'],
  [it.usualRange(3, 3), '3 al giorno'],
  [it.usualRange(0, 3), 'da 0 a 3 al giorno'],
  [en.usualTold('0 a day', 1), 'Usual: 0 a day (1 known day).'],
  [en.held(en.removals(1, '“doctor”'), 1), '1 removal from “doctor” waits for your decision'],
  [it.held(it.removals(2, '“doctor”'), 2), '2 rimozioni da “doctor” attendono una decisione'],
  [en.doRemove(1), 'Remove 1 event'],
  [it.doRemove(2), 'Rimuovi 2 eventi'],
])('singular and plural have their own forms, in both languages: %s, %s', (shown, expected) => {
  expect(shown).toBe(expected);
});
