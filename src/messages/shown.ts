/**
 * Characters that act or hide instead of showing: controls except tab and line feed, direction marks, overrides and isolates (Unicode
 * Standard Annex 9), zero-width spaces and operators, annotation marks, tags, byte order marks and characters that Unicode reserves.
 */
export const DISGUISES =
  /[^\P{Cc}\t\n]|[\u061C\u180E\u200B\u200E\u200F\u202A-\u202E\u2060-\u206F\uFEFF\uFFF0-\uFFFB\uFFFE\uFFFF\u{E0000}-\u{E0FFF}]/gu;
/** Joiners shape letters of Arabic and Indian scripts, and emoji. After other characters, with or without accents, joiners only hide a difference. */
const JOINERS =
  /(?<=(?:^|[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{N}\p{P}\p{Z}\s])\p{Script=Inherited}{0,16})[\u200C\u200D]+/gu;
/** Text that needs no change, the most frequent form. */
const PLAIN = /^[\t\n\x20-\x7E\u00A0-\u0377]*$/;

/**
 * Returns a text of another party as every output shows it (messages, mails, calendars, CRMs, pages, terminals, logs): without characters
 * that disguise the text or control the reader. Line breaks become line feeds; half a surrogate pair becomes U+FFFD. A second call changes
 * nothing.
 */
export function shown(text: string): string {
  if (PLAIN.test(text)) return text;
  return text
    .toWellFormed()
    .replace(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
    .replace(DISGUISES, '')
    .replace(JOINERS, '');
}
