import { shown } from '../../messages/shown.ts';

/** Separators of words: tabs and every kind of space. */
const SPACES = /[\t\v\f\p{Zs}]+/gu;

/**
 * Cleans a text for a CRM, line by line. Removes control characters, marks of disguise, spaces at line ends, and empty lines. Converts
 * composed characters to NFC, several spaces to one space, and half a surrogate pair to U+FFFD. All other characters remain, capitals and
 * joiners included. A second call changes nothing.
 */
export function cleanLines(text: string): string {
  const lines = shown(text).normalize('NFC').split('\n');
  return lines
    .map((line) => line.replace(SPACES, ' ').trim())
    .filter((line) => line !== '')
    .join('\n');
}

/** Cleans a field of one line, such as a name: a line break becomes a space. */
export function cleanLine(text: string): string {
  return cleanLines(text).replaceAll('\n', ' ');
}

/**
 * Converts names written in capitals or in small letters: each word in a single case gets an initial capital (`DE LUCA-ROSSI` → `De
 * Luca-Rossi`). A word in mixed case, such as `McDonald`, is unchanged.
 */
export function titleCase(text: string): string {
  return text.replace(/\p{L}[\p{L}\p{M}]*/gu, (word) => {
    const lower = word.toLowerCase();
    if (word !== lower && word !== word.toUpperCase()) return word;
    const [first = '', ...rest] = word;
    const capital = first.toUpperCase();
    // A few letters have no single capital: ß would become SS.
    return (capital.length === first.length ? capital : first) + rest.join('').toLowerCase();
  });
}
