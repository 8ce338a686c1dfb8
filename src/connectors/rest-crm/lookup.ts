import type { CrmItem } from '../../model/items.ts';
import type { ItemKey, Operation, RemoteItem } from '../../model/operations.ts';
import type { TimeWindow } from '../../model/time.ts';
import { guardWalk } from '../wire.ts';
import type { CrmAnswer } from './client.ts';
import type { CrmCall, CrmResource } from './description.ts';
import { errors } from './errors.ts';
import { type CrmRow, readRow, type Scope, selection } from './from-model.ts';
import { MAX_PAGES } from './limits.ts';
import { isObject, valueAt } from './templates.ts';

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
export function theOne(rows: readonly CrmRow[], storedId: string | null): CrmRow | null {
  const existing = storedId === null ? undefined : rows.find(({ id }) => id === storedId);
  if (existing !== undefined) return existing;
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

/**
 * Every object that carries our owner tag, page by page; of appointments and invoices those that begin in the window. Without a stamp
 * nothing is known as ours.
 */
export async function* readOurs(scope: Scope, window: TimeWindow | null): AsyncGenerator<RemoteItem<CrmItem>[]> {
  if (scope.resource.stampField === undefined) return;
  const withContacts = belongingReader(scope);
  for await (const rows of listPages(scope, scope.resource.list.call)) {
    const ours = rows.flatMap((raw): CrmRow[] => {
      const row = readRow(scope, scope.resource, raw);
      return row?.owner === 'ours' && isIn(window, scope, row.remote.item) ? [row] : [];
    });
    const items = (await withContacts(ours)).flatMap(({ key, remote }) => (key === null ? [] : [{ key, ...remote }]));
    if (items.length > 0) yield items;
  }
}

function isIn(window: TimeWindow | null, { stream }: Scope, item: CrmItem | null): boolean {
  if (window === null || stream === 'patients' || item === null) return true;
  return item.startAt >= window.fromAt && item.startAt < window.toAt;
}

/** Where a list stands. */
interface ListPosition {
  page: number;
  offset: number;
  cursor: string | null;
  url: string | null;
}

/**
 * The rows of a list. A short page ends nothing, since a CRM may give less than it was asked for: an empty page does, or the CRM's
 * own word.
 * @param call of the description's `list`, or one that is paged as that is
 */
export async function* listPages(scope: Scope, call: CrmCall): AsyncGenerator<unknown[]> {
  const { rows: path, size, paging } = scope.resource.list;
  let position: ListPosition | null = {
    page: paging.by === 'page' ? paging.first : 1,
    offset: 0,
    cursor: null,
    url: null,
  };
  const visit = guardWalk(() => errors.make('crm-paging-broken'), MAX_PAGES);
  while (position !== null) {
    visit(JSON.stringify(position));
    const { url, ...values }: ListPosition = position;
    const answer: CrmAnswer =
      url === null
        ? await scope.client.send(
            'rest-crm.list',
            call,
            { ...selection(scope, scope.resource), ...values, size, ownerTag: scope.ownerTag },
            scope.signal,
          )
        : await scope.client.follow('rest-crm.list', call, url, scope.signal);
    const rows = rowsIn(answer, path);
    if (rows.length > 0) yield rows;
    position = nextPosition(scope, position, answer, rows.length);
  }
}

function nextPosition(
  { resource, baseUrl }: Scope,
  position: ListPosition,
  answer: CrmAnswer,
  count: number,
): ListPosition | null {
  const { paging } = resource.list;
  if (paging.by === 'none' || answer.isNothing) return null;
  const offset = position.offset + count;
  if (paging.by === 'page' || paging.by === 'offset') {
    const { more, total } = paging;
    const whole = total === undefined ? null : Number(valueAt(answer.body, total));
    const isLast = count === 0 || (more !== undefined && !valueAt(answer.body, more)) || isReached(offset, whole);
    return isLast ? null : { ...position, page: position.page + 1, offset };
  }
  if (paging.by === 'cursor') {
    const cursor = valueAt(answer.body, paging.next);
    const isLast = paging.more !== undefined && !valueAt(answer.body, paging.more);
    return isLast || cursor === undefined || cursor === null || cursor === ''
      ? null
      : { ...position, cursor: String(cursor) };
  }
  const link = paging.next === 'header' ? answer.nextLink : valueAt(answer.body, paging.next);
  return typeof link === 'string' && link !== '' ? { ...position, url: ownAddress(baseUrl, link) } : null;
}

/** A total of -1 or -2 is no total (docs.espocrm.com/development/api/crud). */
function isReached(offset: number, total: number | null): boolean {
  return total !== null && total >= 0 && offset >= total;
}

/** The login goes nowhere but to the CRM. */
function ownAddress(baseUrl: string, link: string): string {
  const url = URL.parse(link, `${baseUrl}/`);
  if (url === null || url.origin !== new URL(baseUrl).origin) throw errors.make('crm-paging-broken');
  return url.href;
}

/**
 * Tells objects with what they belong to now: a person may have given one to another contact, which its stamp knows nothing of. Where
 * rows tell their contacts, those that stamps name are looked for, each once a reading.
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
  // Nothing can be joined with a contact that is gone: that one is made again first, and what belongs to it is written then.
  return wanted !== undefined && wanted.size > 0 && !contactIds.some((id) => wanted.has(id));
}

function parted(remote: CrmRow['remote']): CrmRow['remote'] {
  return remote.item === null ? remote : { ...remote, item: { ...remote.item, contactRecreations: 0 } };
}
