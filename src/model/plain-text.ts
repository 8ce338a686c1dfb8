/** Format characters such as U+200B, U+FEFF and the marks of writing direction. */
const INVISIBLE = /\p{Cf}/gu;
/** Hyphens and minus signs that are not the one of ASCII: U+2010 to U+2015, U+2212. */
const DASHES = /[\u2010-\u2015\u2212]/g;

/** A text as a reader sees it: no invisible characters, single spaces, with the hyphens and digits of ASCII. */
export function plainText(text: string): string {
  return text.normalize('NFKC').replace(INVISIBLE, '').replace(DASHES, '-').replace(/\s+/g, ' ').trim();
}
