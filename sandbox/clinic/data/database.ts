// biome-ignore lint/correctness/noUnresolvedImports: the linter's list of built-in modules lacks this one
import { DatabaseSync, type SQLInputValue, type SQLOutputValue, type StatementSync } from 'node:sqlite';

export type { SQLInputValue };

const SCHEMA = `
  CREATE TABLE patients (
    id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, first_name TEXT NOT NULL, last_name TEXT NOT NULL,
    phone TEXT, email TEXT, details TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX patients_of_tenant ON patients (tenant_id, id);
  CREATE TABLE appointments (
    id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL, agenda_id TEXT NOT NULL, patient_id TEXT, treatment_id TEXT,
    start_at INTEGER NOT NULL, end_at INTEGER NOT NULL, all_day INTEGER NOT NULL, status TEXT NOT NULL,
    status_reason TEXT, confirmed_at INTEGER, checked_in_at INTEGER, cancelled_at INTEGER, payment TEXT, notes TEXT,
    source TEXT NOT NULL, external_id TEXT, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, deleted_at INTEGER
  ) WITHOUT ROWID;
  CREATE INDEX appointments_by_start ON appointments (tenant_id, start_at, id, end_at, deleted_at);
  CREATE INDEX appointments_by_agenda ON appointments (agenda_id, start_at);
  CREATE TABLE documents (
    id TEXT PRIMARY KEY, kind TEXT NOT NULL, tenant_id TEXT NOT NULL, sort_at INTEGER NOT NULL,
    created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, record TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX documents_of_tenant ON documents (tenant_id, kind, sort_at, id);
  CREATE TEMP TABLE file_chunks (
    file_id TEXT NOT NULL, position INTEGER NOT NULL, bytes BLOB NOT NULL, PRIMARY KEY (file_id, position)
  );
`;

export type Row = Record<string, SQLOutputValue>;

/** The sandbox's SQLite: one connection with a cache of prepared statements. */
export interface Database {
  /** The prepared statement of a text, prepared once. */
  statement(sql: string): StatementSync;
  /** Runs `work` in one transaction; rolls back and throws again when it throws. */
  transaction<T>(work: () => T): T;
  close(): void;
}

/** Opens an empty database at a path, or in memory for `:memory:`. Throws when the file already holds tables. */
export function openDatabase(path: string): Database {
  const connection = new DatabaseSync(path);
  // The data may die with the process, so speed wins over durability.
  connection.exec('PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000');
  // Uploaded files are kept in a temporary file on disk, with only a small cache in memory.
  connection.exec('PRAGMA temp_store = FILE; PRAGMA temp.cache_size = -2000');
  connection.exec(SCHEMA);
  const statements = new Map<string, StatementSync>();

  function statement(sql: string): StatementSync {
    let prepared = statements.get(sql);
    if (prepared === undefined) {
      prepared = connection.prepare(sql);
      statements.set(sql, prepared);
    }
    return prepared;
  }

  function transaction<T>(work: () => T): T {
    connection.exec('BEGIN');
    try {
      const result = work();
      connection.exec('COMMIT');
      return result;
    } catch (error) {
      connection.exec('ROLLBACK');
      throw error;
    }
  }

  return { statement, transaction, close: () => connection.close() };
}

/** A text column that is never null. */
export function text(row: Row, column: string): string {
  const value = row[column];
  if (typeof value !== 'string') throw new TypeError(`column ${column} holds no text`);
  return value;
}

/** A text column that may be null. */
export function textOrNull(row: Row, column: string): string | null {
  return row[column] === null ? null : text(row, column);
}

/** An integer column that is never null. */
export function integer(row: Row, column: string): number {
  const value = row[column];
  if (typeof value !== 'number') throw new TypeError(`column ${column} holds no integer`);
  return value;
}

/** An integer column that may be null. */
export function integerOrNull(row: Row, column: string): number | null {
  return row[column] === null ? null : integer(row, column);
}
