/** Controls other than what separates words and lines. */
const CONTROLS = /(?![\t\n\v\f])\p{Cc}/gu;
/** Marks that make a text look like another one (Unicode 16, section 23.2: overrides, embeddings, isolates), and the byte order mark. */
const DISGUISES = /[\u202A-\u202E\u2066-\u2069\uFEFF]/g;
/** What separates words: tabs and every kind of space. */
const SPACES = /[\t\v\f\p{Zs}]+/gu;
const LINE_BREAKS = /\r\n?|[\u0085\u2028\u2029]/g;

/**
 * A text as a CRM should get it, line by line. What goes: control characters, marks of disguise, spaces at the ends of lines, empty
 * lines. What changes: composed characters to NFC, a run of spaces to one, half a surrogate pair to U+FFFD. Everything else stays,
 * capitals and joiners included. Applying it twice changes nothing.
 */
export function cleanLines(text: string): string {
  const plain = text.toWellFormed().replace(LINE_BREAKS, '\n').replace(CONTROLS, '').replace(DISGUISES, '');
  const lines = plain.normalize('NFC').split('\n');
  return lines
    .map((line) => line.replace(SPACES, ' ').trim())
    .filter((line) => line !== '')
    .join('\n');
}

/** The same for a field of one line, such as a name: a line break in it is a space. */
export function cleanLine(text: string): string {
  return cleanLines(text).replaceAll('\n', ' ');
}

/**
 * What makes a spreadsheet take a cell for a formula, after any apostrophes (OWASP, "CSV Injection"); with the full-width forms,
 * which some spreadsheets take alike.
 */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;
/** A signed number, E.164 included: it is no formula. */
const SIGNED_NUMBER = /^[+-]\d+(?:[.,]\d+)?$/;

/**
 * A text that no spreadsheet takes for a formula when somebody exports the CRM: an apostrophe is put before one that begins like
 * a formula. So is it before one that begins with apostrophes and goes on like a formula, so that {@link withoutGuard} gives back
 * every text. Signed numbers and telephone numbers stay as they are.
 */
export function guardFormula(text: string): string {
  return FORMULA.test(text) && !SIGNED_NUMBER.test(text) ? `'${text}` : text;
}

/** The text before {@link guardFormula}. */
export function withoutGuard(guarded: string): string {
  return guarded.startsWith("'") && FORMULA.test(guarded) ? guarded.slice(1) : guarded;
}

/**
 * Names from forms filled in with capitals, or without any: each word that is written in one case throughout gets a capital and
 * small letters (`DE LUCA-ROSSI` → `De Luca-Rossi`). A word with both, such as `McDonald`, is left as it is.
 */
export function titleCase(text: string): string {
  return text.replace(/\p{L}[\p{L}\p{M}]*/gu, (word) => {
    const lower = word.toLowerCase();
    if (word !== lower && word !== word.toUpperCase()) return word;
    const [first = '', ...rest] = word;
    const capital = first.toUpperCase();
    // Few letters have no capital of their own: ß would become SS.
    return (capital.length === first.length ? capital : first) + rest.join('').toLowerCase();
  });
}
