/** Separators of cells; spreadsheets choose by country. */
const SEPARATORS = [',', ';', '\t'] as const;
const BYTE_ORDER_MARK = '\uFEFF';

/**
 * Returns rows as CSV (RFC 4180) with a byte order mark, because spreadsheets otherwise do not detect UTF-8. Callers must neutralise
 * formulas first.
 */
export function toCsv(rows: readonly (readonly string[])[]): string {
  const lines = rows.map((row) => row.map(quotedCell).join(SEPARATORS[0]));
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
