import { type Database, integer, type Row, type SQLInputValue, text } from './database.ts';
import type { Slice } from './patients.ts';

/** What is kept as whole records: each kind has its own list and its own operations. */
export type DocumentKind = 'priceList' | 'episode' | 'medicalReport' | 'invoice' | 'section' | 'issuer';

/** A record in the format of the API, with the sandbox's own metadata; `…At` is epoch ms. */
export interface Entry<T> {
  tenantId: string;
  record: T;
  /** Sort key of lists, before the id; `from` and `to` filter by this instant. */
  sortAt: number;
  createdAt: number;
  updatedAt: number;
}

/** Which entries a list shows. */
export interface DocumentFilter {
  /** At this instant or later … */
  from?: number | undefined;
  /** … and before this one. */
  to?: number | undefined;
  updatedSince?: number | undefined;
  /** Members of the record that must have exactly these values; undefined ones are ignored. */
  equal?: Record<string, string | undefined>;
}

export interface DocumentStore<T> {
  /** Inserts or replaces. */
  save(entry: Entry<T>): void;
  /** The entry, or undefined when the tenant has no entry with this id. */
  get(tenantId: string, id: string): Entry<T> | undefined;
  list(tenantId: string, filter: DocumentFilter, offset: number, limit: number): Slice<Entry<T>>;
  /** True when there was one. */
  remove(tenantId: string, id: string): boolean;
}

/** One kind of records in the table that all kinds share. */
export function createDocumentStore<T extends { id: string }>(
  database: Database,
  kind: DocumentKind,
): DocumentStore<T> {
  function save({ tenantId, record, sortAt, createdAt, updatedAt }: Entry<T>): void {
    database
      .statement('INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)')
      .run(record.id, kind, tenantId, sortAt, createdAt, updatedAt, JSON.stringify(record));
  }

  function get(tenantId: string, id: string): Entry<T> | undefined {
    const row = database
      .statement('SELECT * FROM documents WHERE id = ? AND kind = ? AND tenant_id = ?')
      .get(id, kind, tenantId);
    return row === undefined ? undefined : toEntry<T>(row);
  }

  function list(tenantId: string, filter: DocumentFilter, offset: number, limit: number): Slice<Entry<T>> {
    const { sql, values } = whereOf(filter);
    const all = `FROM documents WHERE tenant_id = ? AND kind = ?${sql}`;
    const rows = database
      .statement(`SELECT * ${all} ORDER BY sort_at, id LIMIT ? OFFSET ?`)
      .all(tenantId, kind, ...values, limit, offset);
    const counted = database.statement(`SELECT count(*) AS total ${all}`).get(tenantId, kind, ...values);
    return { rows: rows.map((row) => toEntry<T>(row)), total: counted === undefined ? 0 : integer(counted, 'total') };
  }

  function remove(tenantId: string, id: string): boolean {
    const { changes } = database
      .statement('DELETE FROM documents WHERE id = ? AND kind = ? AND tenant_id = ?')
      .run(id, kind, tenantId);
    return Number(changes) > 0;
  }

  return { save, get, list, remove };
}

function whereOf({ from, to, updatedSince, equal = {} }: DocumentFilter): { sql: string; values: SQLInputValue[] } {
  const clauses: [sql: string, ...values: SQLInputValue[]][] = [];
  if (from !== undefined) clauses.push(['sort_at >= ?', from]);
  if (to !== undefined) clauses.push(['sort_at < ?', to]);
  if (updatedSince !== undefined) clauses.push(['updated_at >= ?', updatedSince]);
  for (const [member, value] of Object.entries(equal)) {
    if (value !== undefined) clauses.push(['json_extract(record, ?) = ?', `$.${member}`, value]);
  }
  return { sql: clauses.map(([sql]) => ` AND ${sql}`).join(''), values: clauses.flatMap(([, ...values]) => values) };
}

function toEntry<T>(row: Row): Entry<T> {
  const record: T = JSON.parse(text(row, 'record'));
  return {
    tenantId: text(row, 'tenant_id'),
    record,
    sortAt: integer(row, 'sort_at'),
    createdAt: integer(row, 'created_at'),
    updatedAt: integer(row, 'updated_at'),
  };
}
