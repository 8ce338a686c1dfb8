import { shown } from '../../messages/shown.ts';

/** Separators of cells; spreadsheets choose by country. */
const SEPARATORS = [',', ';', '\t'] as const;
const BYTE_ORDER_MARK = '\uFEFF';

/** Characters that begin a formula in a spreadsheet, with the full-width forms that some accept (OWASP, "CSV Injection"). */
const FORMULA_START = '=+\\-@＝＋－＠';
/** Text that a spreadsheet treats as a formula, after any apostrophes. */
const FORMULA = new RegExp(`^'*[${FORMULA_START}\\t\\r\\n]`);
/** The same after a separator: a spreadsheet with another list separator splits there, whatever the quotes. */
const LATER_FORMULA = new RegExp(`([${SEPARATORS.join('')}\\r\\n]\\s*"*)(?=[${FORMULA_START}])`, 'g');
/** A signed number, E.164 included, is no formula. */
const SIGNED_NUMBER = /^[+-]\d+(?:[.,]\d+)?$/;

/**
 * Protects a text from evaluation as a formula in a spreadsheet: prefixes an apostrophe. Text with apostrophes before a formula gets
 * another apostrophe, so that {@link withoutGuard} restores every text. Signed numbers and telephone numbers are unchanged.
 */
export function guardFormula(text: string): string {
  return FORMULA.test(text) && !SIGNED_NUMBER.test(text) ? `'${text}` : text;
}

/** Reverts {@link guardFormula}. */
export function withoutGuard(guarded: string): string {
  return guarded.startsWith("'") && FORMULA.test(guarded) ? guarded.slice(1) : guarded;
}

/**
 * Returns rows as CSV (RFC 4180) with a byte order mark, because spreadsheets otherwise do not detect UTF-8. No cell is a formula, and no
 * part of a cell is one in a spreadsheet with another separator.
 */
export function toCsv(rows: readonly (readonly string[])[]): string {
  const safe = (cell: string) => guardFormula(shown(cell).trimStart()).replace(LATER_FORMULA, "$1'");
  const lines = rows.map((row) => row.map((cell) => quotedCell(safe(cell))).join(SEPARATORS[0]));
  return `${BYTE_ORDER_MARK}${lines.join('\r\n')}\r\n`;
}

function quotedCell(cell: string): string {
  return /[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/**
 * Returns the rows of a CSV text as saved by spreadsheets. The most frequent separator of the first line applies: comma, semicolon or tab.
 * Empty lines are skipped, and malformed quotes remain as text.
 */
export function fromCsv(text: string): string[][] {
  const body = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  const [head = ''] = body.split(/\r?\n/, 1);
  const [separator] = SEPARATORS.toSorted((one, other) => head.split(other).length - head.split(one).length);
  // A cell with or without quotes, then its separator or line break.
  const cell = new RegExp(`(?:"((?:[^"]|"")*)"|([^${separator}\\r\\n]*))(${separator}|\\r?\\n|\\r|$)`, 'y');
  const rows: string[][] = [];
  let row: string[] = [];
  while (cell.lastIndex < body.length) {
    // A cell without quotes always matches, if only an empty one.
    const [, inQuotes, plain = '', end] = cell.exec(body) ?? [];
    row.push(inQuotes?.replaceAll('""', '"') ?? plain);
    if (end === separator && cell.lastIndex < body.length) continue;
    if (end === separator) row.push('');
    if (row.some((one) => one !== '')) rows.push(row);
    row = [];
  }
  return rows;
}
