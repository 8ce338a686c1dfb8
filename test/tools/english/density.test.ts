import { expect, test } from 'vitest';
import { pronounShare, wordsOf } from '../../../tools/english/density.ts';

test('pronouns and words without a noun are counted in percent of all words', () => {
  expect(pronounShare(wordsOf('What is known of it stays.'))).toBeCloseTo(100 / 3);
  expect(pronounShare(wordsOf('The daemon retries.'))).toBe(0);
  expect(pronounShare(wordsOf(''))).toBe(0);
});

test('words with an apostrophe are not split', () => {
  expect(wordsOf("The clinic's list, 3 days.")).toEqual(['the', "clinic's", 'list', 'days']);
});
