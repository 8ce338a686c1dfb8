/** What stands between the cells of a line; spreadsheets choose by country. */
const SEPARATORS = [',', ';', '\t'] as const;
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Rows as CSV (RFC 4180), with a byte order mark: without one spreadsheets take UTF-8 for something else. Cells are written as they are: see
 * to formulas before.
 */
export function toCsv(rows: readonly (readonly string[])[]): string {
  const lines = rows.map((row) => row.map(quotedCell).join(SEPARATORS[0]));
  return `${BYTE_ORDER_MARK}${lines.join('\r\n')}\r\n`;
}

function quotedCell(cell: string): string {
  return /[",;\t\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/**
 * The rows of a CSV text, as spreadsheets save it: with commas, semicolons or tabs, of which the first line has most. Empty lines are left
 * out. Nothing is refused: what can't be read as quotes stays as text.
 */
export function fromCsv(text: string): string[][] {
  const body = text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text;
  const [head = ''] = body.split(/\r?\n/, 1);
  const [separator] = SEPARATORS.toSorted((one, other) => head.split(other).length - head.split(one).length);
  // A cell in quotes, or one without; then what ends it.
  const cell = new RegExp(`(?:"((?:[^"]|"")*)"|([^${separator}\\r\\n]*))(${separator}|\\r?\\n|\\r|$)`, 'y');
  const rows: string[][] = [];
  let row: string[] = [];
  while (cell.lastIndex < body.length) {
    // One without quotes is always found, if only an empty one.
    const [, inQuotes, plain = '', end] = cell.exec(body) ?? [];
    row.push(inQuotes?.replaceAll('""', '"') ?? plain);
    if (end === separator && cell.lastIndex < body.length) continue;
    if (end === separator) row.push('');
    if (row.some((one) => one !== '')) rows.push(row);
    row = [];
  }
  return rows;
}
