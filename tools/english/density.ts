/** The share of pronouns and words without a noun, which shows where a sentence does not name its subject. */
const PRONOUNS = new Set(
  `it its itself they them their that this these those which who whom whose whoever what whatever one ones
   somebody nobody none nothing anything something all other others another same such`.split(/\s+/),
);

/** The words of a text, in lower case. */
export function wordsOf(text: string): string[] {
  return text.toLowerCase().match(/[a-z]+(?:['’][a-z]+)?/g) ?? [];
}

/** @returns pronouns and words without a noun, in percent of all words; 0 for an empty text */
export function pronounShare(words: readonly string[]): number {
  if (words.length === 0) return 0;
  return (100 * words.filter((word) => PRONOUNS.has(word)).length) / words.length;
}
