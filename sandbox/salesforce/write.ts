import { entityIsDeleted, RowFailure, rolledBack } from './errors.ts';
import type { Field, FieldValue } from './fields.ts';
import { nameOfRow, type ReadRow, type RowRequest, readRow, refuseRepeatedKeys } from './row.ts';
import { complete, withPersonContact } from './special-objects.ts';
import { isLive, type StoredRecord } from './store.ts';
import { checkValue } from './values.ts';
import type { World } from './world.ts';

/** Options for writing a list of rows. */
export interface WriteOptions {
  /** One failed row undoes all rows. */
  allOrNone: boolean;
  /** Rows are accepted despite duplicate rules with the action `alert`. */
  allowDuplicates: boolean;
  /** Used to match fault rules of kind `row-error` by `{path}#{key}`. */
  method: string;
  path: string;
  username: string;
}

/** Result of one row. */
export interface RowResult {
  id: string | undefined;
  isCreated: boolean;
  failure: RowFailure | undefined;
}

interface BegunRow extends ReadRow {
  /** The existing record of the row at the start of the write; undefined for a new record. */
  recordId: string | undefined;
}

/**
 * Starts to write rows: parses the rows, finds their records, and locks the records and their parents. Throws ApiError if the whole request
 * is invalid. The returned function writes in the order of the rows and releases the locks; call it exactly once.
 */
export function beginWrite(world: World, requests: readonly RowRequest[], options: WriteOptions): () => RowResult[] {
  const read = requests.map((request) => readRow(world, request));
  refuseRepeatedKeys(read);
  const holder = {};
  const rows = read.map((row) => beginRow(world, row, holder, options));
  return () => {
    try {
      return finishRows(world, rows, options);
    } finally {
      world.locks.giveBack(holder);
    }
  };
}

/** Counts rows that were sent to be written. */
export function countRows({ counts }: World, results: readonly RowResult[]): void {
  counts.add('rows', results.length);
  counts.add('rowsFailed', results.filter(({ failure }) => failure).length);
}

function beginRow(world: World, row: ReadRow, holder: object, options: WriteOptions): BegunRow {
  const injected = injectedFailure(world, row, options);
  const target = injected ?? row.failure ?? findTarget(world, row.request);
  if (target instanceof RowFailure) {
    return { ...row, recordId: undefined, failure: target };
  }
  const blocked = world.locks.take(holder, lockedRows(world, row, target));
  const failure = blocked === undefined ? undefined : unableToLock(blocked);
  return { ...row, recordId: target, failure };
}

/** Returns the ids of the record, its new parents and its old parents. */
function lockedRows(world: World, { request, values }: ReadRow, recordId: string | undefined): string[] {
  const record = recordId === undefined ? undefined : world.store.find(recordId);
  const parents = [...request.object.fields.values()]
    .filter(isLockedThrough)
    .flatMap((field) => [values.get(field), record?.fields[field.name]])
    .map((id) => world.store.find(String(id ?? '')));
  return [record, ...parents].flatMap((each) => each?.id ?? []);
}

/** Returns the record's id, undefined for a new record, or the failure if the record cannot be found. */
function findTarget(world: World, { object, target }: RowRequest): string | undefined | RowFailure {
  if (target.by === 'new') {
    return undefined;
  }
  if (target.by === 'id') {
    const found = world.store.find(target.id);
    if (found?.type !== object.name) {
      return new RowFailure('INVALID_CROSS_REFERENCE_KEY', 'invalid cross reference id');
    }
    return isLive(found) ? found.id : entityIsDeleted();
  }
  const found = world.store.withKey(object.name, target.field, target.value);
  const live = found.filter(isLive);
  if (live.length > 1) {
    const message = `more than one record found for external id field: [${live.map(({ id }) => id).join(', ')}]`;
    return new RowFailure('DUPLICATE_EXTERNAL_ID', message, [target.field.name]);
  }
  return live.length === 0 && found.length > 0 && world.settings.binKeepsKeys ? entityIsDeleted() : live[0]?.id;
}

function finishRows(world: World, rows: readonly BegunRow[], options: WriteOptions): RowResult[] {
  let results: RowResult[] = [];
  const isKept = world.store.attempt(() => {
    results = rows.map((row) => finishRow(world, row, options));
    return !options.allOrNone || results.every(({ failure }) => failure === undefined);
  });
  if (!isKept) {
    results = results.map(({ failure }) => ({ id: undefined, isCreated: false, failure: failure ?? rolledBack() }));
  }
  return results;
}

function finishRow(world: World, row: BegunRow, options: WriteOptions): RowResult {
  let { failure } = row;
  let id: string | undefined;
  if (!failure) {
    world.store.attempt(() => {
      try {
        id = save(world, row, options).id;
        return true;
      } catch (error) {
        if (error instanceof RowFailure) {
          failure = error;
          return false;
        }
        throw error;
      }
    });
  }
  return { id, isCreated: id !== undefined && row.recordId === undefined, failure };
}

/** Writes one row. Throws RowFailure. */
function save(world: World, row: BegunRow, { allowDuplicates, username }: WriteOptions): StoredRecord {
  const { object, target } = row.request;
  const before = row.recordId === undefined ? undefined : world.store.find(row.recordId);
  if (row.recordId !== undefined && !(before && isLive(before))) {
    throw entityIsDeleted();
  }
  if (object.name === 'Contact' && before?.fields.IsPersonAccount === true) {
    throw new RowFailure('INVALID_OPERATION', 'The contact of a person account is written through its account.');
  }
  const values = new Map(row.values);
  if (target.by === 'key') {
    values.set(target.field, before?.fields[target.field.name] ?? target.value);
  }
  for (const [field, value] of values) {
    checkValue(field, value);
    checkReference(world, field, value);
  }
  const sent = Object.fromEntries([...values].map(([{ name }, value]) => [name, value]));
  const changed = Object.keys(sent).filter((name) => sent[name] !== null);
  const base = before?.fields ?? defaultsOf(world, row, username);
  const fields = complete(world, object.name, { ...base, ...sent }, changed);
  const at = world.now();
  const id = before?.id ?? world.store.newId(object);
  const record = { id, type: object.name, fields, createdAt: before?.createdAt ?? at, modifiedAt: at };
  checkRecord(world, record, [...object.fields.values()], allowDuplicates);
  const saved = object.name === 'Account' ? withPersonContact(world, record) : record;
  world.store.put(saved);
  return saved;
}

function checkRecord(world: World, record: StoredRecord, fields: readonly Field[], allowDuplicates: boolean): void {
  const missing = fields.filter(({ name, required }) => required && (record.fields[name] ?? null) === null);
  if (missing.length > 0) {
    const names = missing.map(({ name }) => name);
    throw new RowFailure('REQUIRED_FIELD_MISSING', `Required fields are missing: [${names.join(', ')}]`, names);
  }
  world.rules.validate(record.type, record.fields);
  world.rules.checkDuplicates(world.store, record, allowDuplicates);
  for (const field of fields) {
    const value = record.fields[field.name] ?? null;
    const others = field.unique && value !== null ? world.store.withKey(record.type, field, value) : [];
    const other = others.find((each) => each.id !== record.id && isLive(each));
    if (other) {
      const message = `duplicate value found: ${field.name} duplicates value on record with id: ${other.id}`;
      throw new RowFailure('DUPLICATE_VALUE', message);
    }
  }
}

function checkReference(world: World, field: Field, value: FieldValue): void {
  if (field.type !== 'reference' || value === null) {
    return;
  }
  const found = world.store.find(String(value));
  if (!found) {
    throw new RowFailure('INVALID_CROSS_REFERENCE_KEY', 'invalid cross reference id', [field.name]);
  }
  if (!field.referenceTo.includes(found.type)) {
    const message = `${field.label}: id value of incorrect type: ${value}`;
    throw new RowFailure('FIELD_INTEGRITY_EXCEPTION', message, [field.name]);
  }
  if (!isLive(found)) {
    throw entityIsDeleted();
  }
}

/** Default owner of records that are created by hand before the first sign-in. */
const ADMINISTRATOR = 'administrator@clinic.example';

/** Returns the default values of a new record. The creating user is the owner. */
function defaultsOf(world: World, { request: { object } }: ReadRow, username: string): Record<string, FieldValue> {
  const booleans = [...object.fields.values()].filter(({ type, readOnly }) => type === 'boolean' && !readOnly);
  const users = world.store.live('User');
  const owner = users.find(({ fields }) => fields.Username === username) ?? users[0] ?? world.user(ADMINISTRATOR);
  return { ...Object.fromEntries(booleans.map(({ name }) => [name, false])), OwnerId: owner.id };
}

/** Decides whether a write to a child locks the parent in this field. Users and record types are never locked. */
function isLockedThrough({ type, referenceTo }: Field): boolean {
  return type === 'reference' && referenceTo.some((parent) => parent === 'Account' || parent === 'Contact');
}

function injectedFailure(world: World, row: ReadRow, options: WriteOptions): RowFailure | undefined {
  const { method, path, username } = options;
  const request = { method, path: `${path}#${nameOfRow(row.request)}`, client: username };
  const fault = world.faults.active('row-error', request) as { statusCode?: string; message?: string } | undefined;
  return (
    fault && new RowFailure(fault.statusCode ?? 'UNABLE_TO_LOCK_ROW', fault.message ?? 'Fault injected by the sandbox.')
  );
}

function unableToLock(id: string): RowFailure {
  return new RowFailure('UNABLE_TO_LOCK_ROW', `unable to obtain exclusive access to this record or 1 records: ${id}`);
}
