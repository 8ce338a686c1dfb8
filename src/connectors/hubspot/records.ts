import { z } from 'zod';
import type { CrmItem } from '../../core/model/items.ts';
import { type ItemKey, isUpdate, type Update, type Write } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import { parsedBy } from '../errors.ts';
import { isSuccess, readEach, walkPages } from '../wire.ts';
import { errors, namesIn, readRefusal } from './errors.ts';
import { namesToRead, readRecord, type Scope, type StoredRecord } from './from-model.ts';
import { BATCH_SIZE, PAGE_SIZE, SEARCH_BATCH_SIZE, SEARCH_PAGE_SIZE } from './limits.ts';
import { batchSchema, errorBodySchema, foundSchema, joinedSchema, pageSchema } from './schemas.ts';

/** Selection of objects to fetch. */
export interface Wanted {
  object: string;
  /** Ids, or keys with `byKey`, which requires a unique property. */
  ids: readonly string[];
  byKey: boolean;
  properties: readonly string[];
  /** Selects objects in the recycle bin instead of live objects. */
  archived?: boolean;
}

/** Result for the requested objects. */
export interface Found {
  records: StoredRecord[];
  /** Ids that HubSpot reports as absent. */
  missing: Set<string>;
}

/**
 * Fetches objects by id or by key, in batches. Absent objects are reported and cause no error.
 * @throws MirrorError `crm-property-missing` if the key property is absent or not unique
 */
export async function readRecords(scope: Scope, wanted: Wanted): Promise<Found> {
  const found: Found = { records: [], missing: new Set() };
  for (const ids of slices([...new Set(wanted.ids)], BATCH_SIZE)) {
    const answer = await scope.client.send({
      label: 'hubspot.objects.read',
      method: 'POST',
      path: `${scope.paths.objects(wanted.object)}/batch/read${wanted.archived === true ? '?archived=true' : ''}`,
      body: {
        inputs: ids.map((id) => ({ id })),
        properties: wanted.properties,
        ...(wanted.byKey ? { idProperty: scope.keyProperty } : {}),
      },
    });
    if (readRefusal(answer.status, answer.body).isKeyUnusable) {
      throw errors.make('crm-property-missing', { names: namesIn(wanted.object, [scope.keyProperty]) });
    }
    if (!isSuccess(answer)) throw scope.client.errorOf(answer);
    const batch = parsedBy(errors, batchSchema, answer.body);
    for (const record of await readEach(batch.results, (one) => readRecord(scope, one))) found.records.push(record);
    const missing = await readEach(batch.errors, missingIds);
    for (const id of missing.flat()) found.missing.add(id);
  }
  return found;
}

/** Only "not found" may be ignored: with any other error, an object would look deleted. */
function missingIds(entry: unknown): string[] {
  const error = errorBodySchema.safeParse(entry).data;
  if (error?.category !== 'OBJECT_NOT_FOUND') throw errors.make('unexpected-answer');
  return error.context?.ids ?? [];
}

/**
 * Lists all live objects of the target's type in pages, including foreign objects, which have no stamp of this target. For objects of
 * contacts, the result shows whether a contact exists (developers.hubspot.com, using object APIs, `associations`; batches by id or key
 * cannot return associations).
 * @param names properties to fetch
 */
export async function* listRecords(
  scope: Scope,
  names: readonly string[] = namesToRead(scope),
): AsyncGenerator<StoredRecord[]> {
  const query = new URLSearchParams({ limit: String(PAGE_SIZE), properties: names.join(',') });
  const belongs = scope.object !== 'contacts';
  if (belongs) query.set('associations', 'contacts');
  const readListed = (answered: unknown): StoredRecord | null => {
    const record = readRecord(scope, answered);
    return record !== null && belongs ? { ...record, hasContact: joinedSchema.safeParse(answered).success } : record;
  };
  const ask = async (after: string | null) => {
    if (after !== null) query.set('after', after);
    const path = `${scope.paths.objects(scope.object)}?${query}`;
    const page = await scope.client.demand(pageSchema, { label: 'hubspot.objects.list', method: 'GET', path });
    return { page: await readEach(page.results, readListed), next: page.paging?.next?.after };
  };
  yield* walkPages(null, ask, lost);
}

/** Error of a list whose pages do not advance. */
const lost = () => errors.make('unexpected-answer');

/** Result of the fetch before writes. */
interface ExistingRecords {
  /** Object of each key, if it exists. */
  records: Map<ItemKey, StoredRecord>;
  /** Keys that lead to a different patient's or target's object. */
  burnt: ItemKey[];
  /** Keys of several own objects without a known id. */
  several: ItemKey[];
}

/**
 * Fetches objects of the target's type by key, possibly several per key if HubSpot does not enforce unique keys. Search results lag behind
 * writes, so found objects are fetched again. Objects that the search does not show yet are not found.
 */
export async function findByKeys(
  scope: Scope,
  keys: readonly ItemKey[],
  properties: readonly string[],
): Promise<StoredRecord[]> {
  const { object, hasUniqueKey } = scope;
  const ids = hasUniqueKey ? keys : await searchIds(scope, [...new Set(keys)]);
  const { records } = await readRecords(scope, { object, ids, byKey: hasUniqueKey, properties });
  const asked = new Set(keys);
  return records.filter(({ key }) => key !== null && asked.has(key));
}

/** Searches the ids of objects with these keys. Keys are lower case, as `IN` requires. */
async function searchIds(scope: Scope, keys: readonly ItemKey[]): Promise<string[]> {
  const ids: string[] = [];
  const path = `${scope.paths.objects(scope.object)}/search`;
  for (const values of slices(keys, SEARCH_BATCH_SIZE)) {
    const filters = [{ propertyName: scope.keyProperty, operator: 'IN', values }];
    const ask = async (after: string | null) => {
      const paging = after === null ? {} : { after };
      const body = { filterGroups: [{ filters }], properties: [scope.keyProperty], limit: SEARCH_PAGE_SIZE, ...paging };
      const answer = await scope.client.send({ label: 'hubspot.objects.search', method: 'POST', path, body });
      if (answer.status === 400) throw errors.make('search-refused', { status: 400 });
      if (!isSuccess(answer)) throw scope.client.errorOf(answer);
      const page = parsedBy(errors, pageSchema, answer.body);
      // An unreadable result must not look like an absent object, which would be created twice.
      const results = await readEach(page.results, (result) => parsedBy(errors, foundSchema, result));
      return { page: results, next: page.paging?.next?.after };
    };
    for await (const found of walkPages(null, ask, lost)) for (const { id } of found) ids.push(id);
  }
  return ids;
}

/** Fetches the objects before writes. With unique keys, creates need no fetch, since an upsert finds existing objects. */
export async function lookBefore(scope: Scope, writes: readonly Write<CrmItem>[]): Promise<ExistingRecords> {
  return scope.hasUniqueKey ? await lookAtUpdates(scope, writes.filter(isUpdate)) : await lookUpAll(scope, writes);
}

/**
 * Fetches the objects of updates by key. If HubSpot neither returns a key nor reports it as missing, the object was merged into a different
 * patient's object. Nothing is written to that object, and the key is unusable.
 */
async function lookAtUpdates(scope: Scope, updates: readonly Update<CrmItem>[]): Promise<ExistingRecords> {
  const { object } = scope;
  const ids = updates.map(({ key }) => key);
  const wanted = { object, ids, byKey: true, properties: namesToLookAt(scope) };
  const { records, missing } = await readRecords(scope, wanted);
  const existing = new Map(records.map((record) => [record.key ?? '', record]));
  const gone = updates.filter(({ key }) => missing.has(key));
  const isElsewhere = (key: ItemKey) => !existing.has(key) && !missing.has(key);
  const burnt = ids.filter((key) => isElsewhere(key) || existing.get(key)?.isForeign === true);
  for (const [key, record] of await restoreKeys(scope, gone)) existing.set(key, record);
  return { records: existing, burnt, several: [] };
}

/** Restores cleared keys of own objects, which the stamp identifies. */
async function restoreKeys(scope: Scope, updates: readonly Update<CrmItem>[]): Promise<Map<ItemKey, StoredRecord>> {
  const identified = await readById(scope, updates);
  const keyless = identified.filter(({ record }) => record.key === null);
  if (keyless.length > 0) {
    await scope.client.demand(z.unknown(), {
      label: 'hubspot.objects.update',
      method: 'POST',
      path: `${scope.paths.objects(scope.object)}/batch/update`,
      body: {
        inputs: keyless.map(({ record: { id }, key }) => ({ id, properties: { [scope.keyProperty]: key } })),
      },
    });
  }
  return new Map(keyless.map(({ record, key }) => [key, record]));
}

/**
 * Finds the object of each write if keys are not unique: by the stored id, otherwise by a search for the key. One object with the key is
 * used; of several, none is chosen.
 */
async function lookUpAll(scope: Scope, writes: readonly Write<CrmItem>[]): Promise<ExistingRecords> {
  const identified = await readById(scope, writes.filter(isUpdate));
  const records = new Map(identified.map(({ record, key }) => [key, record]));
  const keys = writes.flatMap(({ key }) => (records.has(key) ? [] : [key]));
  const found = Map.groupBy(await findByKeys(scope, keys, namesToLookAt(scope)), ({ key }) => key ?? '');
  const existing: ExistingRecords = { records, burnt: [], several: [] };
  for (const [key, carriers] of found) {
    const [first, ...others] = carriers.filter(({ isForeign }) => !isForeign);
    if (first === undefined) existing.burnt.push(key);
    else if (others.length > 0) existing.several.push(key);
    else records.set(key, first);
  }
  return existing;
}

/** Fetches own objects of updates by id. An own object has the key, or a stamp without a key. */
async function readById(
  scope: Scope,
  updates: readonly Update<CrmItem>[],
): Promise<{ record: StoredRecord; key: ItemKey }[]> {
  const byId = new Map(updates.flatMap((write) => (write.remoteId === null ? [] : [[write.remoteId, write]])));
  const { object } = scope;
  const wanted = { object, ids: [...byId.keys()], byKey: false, properties: namesToLookAt(scope) };
  const { records } = await readRecords(scope, wanted);
  return records.flatMap((record) => {
    const write = byId.get(record.id);
    if (write === undefined || record.isForeign) return [];
    const isOurs =
      record.key === null ? record.stamp?.sealedRecordId === write.sealedRecordId : record.key === write.key;
    return isOurs ? [{ record, key: write.key }] : [];
  });
}

/** Returns the properties to fetch before writes: key and stamp, and the current e-mail address of contacts. */
function namesToLookAt({ object, properties, keyProperty, stampProperty }: Scope): string[] {
  const hasAddress = object === 'contacts' && properties.some(({ name }) => name === 'email');
  return [keyProperty, stampProperty, ...(hasAddress ? ['email'] : [])];
}
