import type { CrmItem } from '../../core/model/items.ts';
import type { ItemKey, Operation, RemoteItem } from '../../core/model/operations.ts';
import type { TimeWindow } from '../../core/model/time.ts';
import { answerValue, hasMore, readCount, readNext } from '../../described-api/answers.ts';
import { isJsonObject, listRoute, recordsAt, valueAt } from '../../described-api/paths.ts';
import { guardWalk, readEach } from '../wire.ts';
import type { CrmAnswer } from './client.ts';
import type { CrmCall, CrmResource } from './description.ts';
import { errors } from './errors.ts';
import { type CrmRow, readRow, type Scope, selection } from './from-model.ts';
import { MAX_PAGES } from './limits.ts';

/** Finds objects by key; an unused key has no objects. Objects with other keys are omitted, so that a wrong search result has no effect. */
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
      const existing = found.get(row.key);
      if (existing === undefined) found.set(row.key, [row]);
      else existing.push(row);
    }
  }
  return found;
}

/** Finds objects by key, as {@link findByKeys}, and by stored id if the search shows none: a search may lag. */
export async function findOf(
  scope: Scope,
  keys: readonly ItemKey[],
  ids: ReadonlyMap<ItemKey, string | null> = new Map(),
): Promise<CrmRow[]> {
  const found = await findByKeys(scope, scope.resource, keys);
  const late: CrmRow[] = [];
  for (const key of keys) {
    const id = ids.get(key) ?? null;
    if (found.has(key) || id === null) continue;
    const row = await readById(scope, id);
    if (row?.key === key) late.push(row);
  }
  return [...[...found.values()].flat(), ...late];
}

/** Returns the CRM's unfiltered search result for the keys. */
export async function search(scope: Scope, resource: CrmResource, keys: readonly ItemKey[]): Promise<CrmRow[]> {
  const { call, listPath, quote } = resource.find;
  const values = { ...selection(scope, resource), key: keys[0], keys: keys.map((key) => `${quote}${key}${quote}`) };
  const answer = await scope.client.send('rest-crm.find', call, values, scope.signal);
  return await readEach(rowsIn(answer, listPath), (row) => readRow(scope, resource, row));
}

/** Fetches one object by id: null if absent, undefined if the CRM lacks this call. */
async function readById(scope: Scope, id: string): Promise<CrmRow | null | undefined> {
  const { get } = scope.resource;
  if (get === undefined) return undefined;
  return readRow(scope, scope.resource, await getById(scope, get, id));
}

/** Fetches one object by id as the CRM returns it; undefined if absent. */
export async function getById(scope: Scope, get: NonNullable<CrmResource['get']>, id: string): Promise<unknown> {
  const values = { ...selection(scope, scope.resource), id };
  const answer = await scope.client.send('rest-crm.get', get.call, values, scope.signal);
  if (answer.isNothing) return undefined;
  const row = valueAt(answer.body, get.recordPath);
  // Some CRMs return one object as a list with one element.
  return Array.isArray(row) ? row[0] : row;
}

/**
 * Fetches the last written object if the search by key does not find it, because a user cleared the key or the search lags. Returns
 * `theirs` if the id leads to an object with a different key, or without key and stamp. Returns undefined if the CRM cannot be queried by
 * id.
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

/** Fetches the current object if a response does not show its result: by id if possible, otherwise by key. */
export async function lookAgain(scope: Scope, { key }: Operation<CrmItem>, id: string): Promise<CrmRow | null> {
  const row = await readById(scope, id);
  if (row !== undefined) return row;
  return (await findByKeys(scope, scope.resource, [key])).get(key)?.find((one) => one.id === id) ?? null;
}

/**
 * Returns the only object with a key, or null. Of several objects, as after a user's "Duplicate", the object with the known id is returned;
 * the others are copies.
 * @throws MirrorError `several-matches` if several objects exist and none is known
 */
export function theOne(rows: readonly CrmRow[], storedId: string | null): CrmRow | null {
  const existing = storedId === null ? undefined : rows.find(({ id }) => id === storedId);
  if (existing !== undefined) return existing;
  if (rows.length > 1) throw errors.make('several-matches');
  return rows[0] ?? null;
}

/** Finds contacts by key, as {@link findByKeys}. */
export async function findContacts(scope: Scope, keys: readonly ItemKey[]): Promise<Map<ItemKey, CrmRow[]>> {
  const { patients } = scope.description.streams;
  if (patients === undefined || keys.length === 0) return new Map();
  // The contacts' properties do not belong to this target.
  return await findByKeys({ ...scope, properties: [] }, patients, keys);
}

/** Returns the objects of a response. @throws MirrorError `contract` if the described path has no list */
export function rowsIn(answer: CrmAnswer, listPath: string): readonly unknown[] {
  return recordsAt(listPath)(elementsIn(answer, listPath));
}

function elementsIn(answer: CrmAnswer, listPath: string): readonly unknown[] {
  if (answer.isNothing) return [];
  const list = valueAt(answer.body, listRoute(listPath).names.join('.'));
  if (Array.isArray(list)) return list;
  if (isJsonObject(list) && Object.keys(list).length === 0) return [];
  throw errors.make('unexpected-answer', { names: ['listPath'] });
}

/**
 * Fetches all objects with the owner tag, in pages: all contacts, and appointments and invoices that begin in the window. Without a stamp
 * property, no object is recognised.
 */
export async function* readOurs(scope: Scope, window: TimeWindow | null): AsyncGenerator<RemoteItem<CrmItem>[]> {
  if (scope.resource.stampField === undefined) return;
  const withContacts = belongingReader(scope);
  for await (const rows of listPages(scope, scope.resource.list.call)) {
    const ours = await readEach(rows, (raw) => {
      const row = readRow(scope, scope.resource, raw);
      return row?.owner === 'ours' && isIn(window, scope, row.remote.item) ? row : null;
    });
    const items = (await withContacts(ours)).flatMap(({ key, remote }) => (key === null ? [] : [{ key, ...remote }]));
    if (items.length > 0) yield items;
  }
}

function isIn(window: TimeWindow | null, { stream }: Scope, item: CrmItem | null): boolean {
  if (window === null || stream === 'patients' || item === null) return true;
  return item.startAt >= window.fromAt && item.startAt < window.toAt;
}

type Paging = CrmResource['list']['paging'];

/** Position in a list. */
interface ListPosition {
  page: number;
  offset: number;
  /** Elements of the earlier pages. */
  count: number;
  cursor: string | null;
  url: string | null;
}

function startOf(paging: Paging): ListPosition {
  const at = { page: 1, offset: 0, count: 0, cursor: null, url: null };
  if (paging.style === 'page-size') return { ...at, page: paging.startIndex };
  return paging.style === 'offset-limit' ? { ...at, offset: paging.startIndex } : at;
}

/**
 * Lists objects. A short page is not the end, since a CRM may return fewer objects than requested. An empty page, or the CRM's indicator,
 * is the end.
 * @param call the description's `list`, or a call with equal paging
 */
export async function* listPages(scope: Scope, call: CrmCall): AsyncGenerator<readonly unknown[]> {
  const { listPath, paging } = scope.resource.list;
  const size = paging.style === 'none' ? null : paging.size;
  let position: ListPosition | null = startOf(paging);
  const visit = guardWalk(() => errors.make('crm-paging-broken'), MAX_PAGES);
  while (position !== null) {
    visit(JSON.stringify(position));
    const { url, page, offset, cursor }: ListPosition = position;
    const answer: CrmAnswer =
      url === null
        ? await scope.client.send(
            'rest-crm.list',
            call,
            { ...selection(scope, scope.resource), page, offset, cursor, size, ownerTag: scope.ownerTag },
            scope.signal,
          )
        : await scope.client.follow('rest-crm.list', call, url, scope.signal);
    const rows = rowsIn(answer, listPath);
    if (rows.length > 0) yield rows;
    position = nextPosition(scope, position, answer, elementsIn(answer, listPath).length);
  }
}

function nextPosition(
  { resource, baseUrl }: Scope,
  position: ListPosition,
  answer: CrmAnswer,
  elements: number,
): ListPosition | null {
  const { paging } = resource.list;
  if (paging.style === 'none' || answer.isNothing || hasMore(paging, answer) === false) return null;
  if (paging.style === 'page-size' || paging.style === 'offset-limit') {
    const count = position.count + elements;
    // EspoCRM's total of -1 or -2 is none (docs.espocrm.com/development/api/crud).
    const total = paging.totalPath === null ? null : readCount(answerValue(answer, paging.totalPath));
    if (elements === 0 || (total !== null && count >= total)) return null;
    return { ...position, page: position.page + 1, offset: position.offset + elements, count };
  }
  const next = readNext(paging, answer);
  if (next === null) return null;
  return paging.style === 'cursor' ? { ...position, cursor: next } : { ...position, url: ownAddress(baseUrl, next) };
}

/** Credentials are sent only to the CRM. */
function ownAddress(baseUrl: string, link: string): string {
  const url = URL.parse(link, `${baseUrl}/`);
  if (url === null || url.origin !== new URL(baseUrl).origin) throw errors.make('crm-paging-broken');
  return url.href;
}

/**
 * Adds the current contact to objects: a user may have assigned an object to a different contact, which the stamp does not show. If objects
 * contain their contacts, the contacts in stamps are searched, each once per fetch.
 */
export function belongingReader(scope: Scope): (rows: readonly CrmRow[]) => Promise<CrmRow[]> {
  const contactIds = new Map<ItemKey, ReadonlySet<string>>();
  return async (rows) => {
    const keys = new Set(rows.flatMap((row) => (row.contactIds === null ? [] : (row.remote.item?.contactKey ?? []))));
    const unknown = [...keys].filter((key) => !contactIds.has(key));
    const found = await findContacts(scope, unknown);
    for (const key of unknown) contactIds.set(key, new Set(found.get(key)?.map(({ id }) => id)));
    return rows.map((row) => (isParted(row, contactIds) ? { ...row, remote: parted(row.remote) } : row));
  };
}

function isParted({ contactIds, remote }: CrmRow, existing: ReadonlyMap<ItemKey, ReadonlySet<string>>): boolean {
  const contactKey = remote.item?.contactKey ?? null;
  if (contactIds === null || contactKey === null) return false;
  const wanted = existing.get(contactKey);
  // An object cannot be associated with a deleted contact. The contact is created again first, and the object is written afterwards.
  return wanted !== undefined && wanted.size > 0 && !contactIds.some((id) => wanted.has(id));
}

function parted(remote: CrmRow['remote']): CrmRow['remote'] {
  return remote.item === null ? remote : { ...remote, item: { ...remote.item, contactRecreations: 0 } };
}
