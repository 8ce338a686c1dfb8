import type { PreviewedRequest } from '../control/clinic.ts';
import { renderTable, wrap } from './table.ts';

/** Most columns of a list. */
const MOST_COLUMNS = 7;

/** Records as a table: of a list the first fields that any of them fills, of a single one all of them. */
export function renderRecords(records: readonly object[], isSingle: boolean): string {
  const [first] = records;
  if (first === undefined) return 'There is none.';
  if (isSingle) {
    const rows = Object.entries(first).map(([name, value]) => [name, cell(value)]);
    return renderTable(['field', 'value'], rows);
  }
  const names = [...new Set(records.flatMap((record) => Object.keys(record)))];
  const filled = names
    .filter((name) => records.some((record) => isPlain(memberOf(record, name))))
    .slice(0, MOST_COLUMNS);
  const rows = records.map((record) => filled.map((name) => cell(memberOf(record, name))));
  return renderTable(filled, rows);
}

/** A request that waits for a person's yes. */
export function renderPreview({ method, path, body, file }: PreviewedRequest): string {
  const shown = body === null ? '' : `\n${JSON.stringify(body, null, 2)}`;
  const carried = file === null ? '' : `\n${wrap(`With it goes the file ${file.name}, ${file.sizeBytes} bytes.`)}`;
  return `${wrap(`This would be sent: ${method} ${path}`)}${shown}${carried}\nNothing was changed. Add --yes to send it.`;
}

function memberOf(record: object, name: string): unknown {
  return Object.hasOwn(record, name) ? Reflect.get(record, name) : undefined;
}

function isPlain(value: unknown): boolean {
  return value !== null && value !== undefined && typeof value !== 'object';
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '–';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
