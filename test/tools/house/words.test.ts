import { expect, test } from 'vitest';
import { ambiguousNames } from '../../../tools/house/measure.ts';
import { AMBIGUOUS_WORDS, TERMS } from '../../../tools/house/words.ts';

test('the glossary has at most 30 terms, each once, with a sentence of at most 20 words', () => {
  expect(TERMS.length).toBeLessThanOrEqual(30);
  expect(new Set(TERMS.map(({ term }) => term)).size).toBe(TERMS.length);
  for (const { term, meaning } of TERMS) {
    expect(meaning).toMatch(/^[A-Z].*\.$/);
    expect(meaning.split(' ').length, term).toBeLessThanOrEqual(20);
  }
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
