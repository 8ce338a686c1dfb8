import type { CrmItem } from '../../model/items.ts';
import type { ItemKey, Operation } from '../../model/operations.ts';
import type { CrmAnswer } from './client.ts';
import type { CrmResource } from './description.ts';
import { errors } from './errors.ts';
import { type CrmRow, readRow } from './from-model.ts';
import { isObject, valueAt } from './json-paths.ts';
import { type Scope, selection } from './scope.ts';

/**
 * Objects that carry the keys, by key; a key that is not there has none. Rows that the CRM gives beside are left out, whatever its
 * search made of the question.
 */
export async function findByKeys(
  scope: Scope,
  resource: CrmResource,
  keys: readonly ItemKey[],
): Promise<Map<ItemKey, CrmRow[]>> {
  const found = new Map<ItemKey, CrmRow[]>();
  const wanted = [...new Set(keys)];
  const { size } = resource.find;
  for (let start = 0; start < wanted.length; start += size) {
    const asked = new Set(wanted.slice(start, start + size));
    for (const row of await search(scope, resource, [...asked])) {
      if (row.key === null || !asked.has(row.key)) continue;
      found.set(row.key, [...(found.get(row.key) ?? []), row]);
    }
  }
  return found;
}

/** What the CRM gives for the keys, as it comes. */
export async function search(scope: Scope, resource: CrmResource, keys: readonly ItemKey[]): Promise<CrmRow[]> {
  const { call, rows, quote } = resource.find;
  const values = { ...selection(scope, resource), key: keys[0], keys: keys.map((key) => `${quote}${key}${quote}`) };
  const answer = await scope.client.send('rest-crm.find', call, values, scope.signal);
  return rowsIn(answer, rows).flatMap((row) => readRow(scope, resource, row) ?? []);
}

/** One object by its id; null when it is gone, undefined when the CRM can't be asked so. */
async function readById(scope: Scope, id: string): Promise<CrmRow | null | undefined> {
  const { get } = scope.resource;
  if (get === undefined) return undefined;
  return readRow(scope, scope.resource, await getById(scope, get, id));
}

/** One object by its id as the CRM gives it; undefined when it is gone. */
export async function getById(scope: Scope, get: NonNullable<CrmResource['get']>, id: string): Promise<unknown> {
  const values = { ...selection(scope, scope.resource), id };
  const answer = await scope.client.send('rest-crm.get', get.call, values, scope.signal);
  if (answer.isNothing) return undefined;
  const row = valueAt(answer.body, get.row);
  // Some CRMs give one record as a list of one.
  return Array.isArray(row) ? row[0] : row;
}

/**
 * The object that we wrote last, where the search by key does not show it: its key was taken off, or the search lags. `theirs`: the
 * id leads to an object with another key, or without our key and stamp. Undefined when the CRM can't be asked by id.
 */
export async function lookAtId(
  scope: Scope,
  operation: Operation<CrmItem>,
): Promise<CrmRow | 'theirs' | null | undefined> {
  if (operation.kind === 'create' || operation.remoteId === null) return null;
  const row = await readById(scope, operation.remoteId);
  if (row === null || row === undefined) return row;
  const isOurs = row.owner !== 'foreign' && (row.key === operation.key || (row.key === null && row.owner === 'ours'));
  return isOurs ? row : 'theirs';
}

/** What the CRM has now, where its answer did not tell what it did: by id where it can be asked so, else by key. */
export async function lookAgain(scope: Scope, { key }: Operation<CrmItem>, id: string): Promise<CrmRow | null> {
  const row = await readById(scope, id);
  if (row !== undefined) return row;
  return (await findByKeys(scope, scope.resource, [key])).get(key)?.find((one) => one.id === id) ?? null;
}

/**
 * The one object among those that carry a key; null when there is none. Of several, as when a person presses "Duplicate", it is the one
 * that is known by its id: the others are copies.
 * @throws MirrorError `several-matches` when none of several is known
 */
export function theOne(rows: readonly CrmRow[], knownId: string | null): CrmRow | null {
  const known = knownId === null ? undefined : rows.find(({ id }) => id === knownId);
  if (known !== undefined) return known;
  if (rows.length > 1) throw errors.make('several-matches');
  return rows[0] ?? null;
}

/** Contacts that carry the keys, by key, as {@link findByKeys}. */
export async function findContacts(scope: Scope, keys: readonly ItemKey[]): Promise<Map<ItemKey, CrmRow[]>> {
  const { patients } = scope.description.streams;
  if (patients === undefined || keys.length === 0) return new Map();
  // The contacts' own properties are none of this target's.
  return await findByKeys({ ...scope, properties: [] }, patients, keys);
}

/** The rows of an answer. @throws MirrorError `contract` when there are none where the description says */
export function rowsIn(answer: CrmAnswer, path: string): unknown[] {
  if (answer.isNothing) return [];
  const rows = valueAt(answer.body, path);
  if (Array.isArray(rows)) return rows;
  if (isObject(rows) && Object.keys(rows).length === 0) return [];
  throw errors.make('unexpected-answer', { names: ['rows'] });
}
