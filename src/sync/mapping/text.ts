/** Control characters except separators of words and lines. */
const CONTROLS = /(?![\t\n\v\f])\p{Cc}/gu;
/** Marks that disguise a text as another one (Unicode 16, section 23.2: overrides, embeddings, isolates), and the byte order mark. */
const DISGUISES = /[\u202A-\u202E\u2066-\u2069\uFEFF]/g;
/** Separators of words: tabs and every kind of space. */
const SPACES = /[\t\v\f\p{Zs}]+/gu;
const LINE_BREAKS = /\r\n?|[\u0085\u2028\u2029]/g;

/**
 * Cleans a text for a CRM, line by line. Removes control characters, marks of disguise, spaces at line ends, and empty lines. Converts
 * composed characters to NFC, several spaces to one space, and half a surrogate pair to U+FFFD. All other characters remain, capitals and
 * joiners included. A second call changes nothing.
 */
export function cleanLines(text: string): string {
  const plain = text.toWellFormed().replace(LINE_BREAKS, '\n').replace(CONTROLS, '').replace(DISGUISES, '');
  const lines = plain.normalize('NFC').split('\n');
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
 * Text that a spreadsheet treats as a formula, after any apostrophes (OWASP, "CSV Injection"), with the full-width forms that some
 * spreadsheets accept.
 */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;
/** A signed number, E.164 included, is no formula. */
const SIGNED_NUMBER = /^[+-]\d+(?:[.,]\d+)?$/;

/**
 * Protects a text from evaluation as a formula after an export of the CRM: prefixes an apostrophe. Text with apostrophes before a formula
 * gets another apostrophe, so that {@link withoutGuard} restores every text. Signed numbers and telephone numbers are unchanged.
 */
export function guardFormula(text: string): string {
  return FORMULA.test(text) && !SIGNED_NUMBER.test(text) ? `'${text}` : text;
}

/** Reverts {@link guardFormula}. */
export function withoutGuard(guarded: string): string {
  return guarded.startsWith("'") && FORMULA.test(guarded) ? guarded.slice(1) : guarded;
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
