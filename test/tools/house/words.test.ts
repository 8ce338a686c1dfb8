import { expect, test } from 'vitest';
import { ambiguousNames } from '../../../tools/house/measure.ts';
import { AMBIGUOUS_WORDS, TERMS } from '../../../tools/house/words.ts';

test('the glossary has at most 30 terms, each once and with a sentence', () => {
  expect(TERMS.length).toBeLessThanOrEqual(30);
  expect(new Set(TERMS.map(({ term }) => term)).size).toBe(TERMS.length);
  for (const { meaning } of TERMS) expect(meaning).toMatch(/^[A-Z].*\.$/);
});

test('the glossary defines no word that names avoid', () => {
  const avoided = new Set(AMBIGUOUS_WORDS.flatMap(({ forms }) => forms));
  for (const { term } of TERMS) expect(term.split(' ').filter((word) => avoided.has(word))).toEqual([]);
});

test.each(['settledAt', 'noteSeen', '#kept', 'PlaceOf', 'epochOf', 'GENERATIONS'])('%s is ambiguous', (name) => {
  expect(ambiguousNames({ names: [name] })).toEqual([name]);
});

test.each([
  'keepAliveMs',
  'outlookCalendar',
  'epochSeconds',
  'FIRST_EPOCH_MS',
  'legalBasis',
  'placeholder',
  'leftover',
  'notice',
])('%s is a standard term, or another word', (name) => {
  expect(ambiguousNames({ names: [name] })).toEqual([]);
});
