import { z } from 'zod';
import type { CrmItem } from '../../model/items.ts';
import type { ItemKey, Operation } from '../../model/operations.ts';
import { slices } from '../../model/pieces.ts';
import { parsedBy } from '../errors.ts';
import { isSuccess, walkPages } from '../wire.ts';
import { errors, namesIn, readRefusal } from './errors.ts';
import { namesToRead, readRecord, type Scope, type StoredRecord } from './from-model.ts';
import { BATCH_SIZE, PAGE_SIZE, SEARCH_BATCH_SIZE, SEARCH_PAGE_SIZE } from './limits.ts';
import { batchSchema, errorBodySchema, foundSchema, joinedSchema, pageSchema } from './schemas.ts';

/** Which records are read. */
export interface Wanted {
  object: string;
  /** Ids, or keys with `byKey`, which takes a property that HubSpot holds unique. */
  ids: readonly string[];
  byKey: boolean;
  properties: readonly string[];
  /** Those in the bin instead of the live ones. */
  archived?: boolean;
}

/** What is there of the records that were asked for. */
export interface Found {
  records: StoredRecord[];
  /** Ids of which HubSpot says that there is no such record. */
  missing: Set<string>;
}

/**
 * Reads records by id or by key, in batches; those that are not there are told and no error.
 * @throws MirrorError `crm-property-missing` when the key's property is gone or not unique
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
    found.records.push(...batch.results.flatMap((record) => readRecord(scope, record) ?? []));
    for (const id of batch.errors.flatMap(missingIds)) found.missing.add(id);
  }
  return found;
}

/** Only "not there" may be passed over: any other error of a row would look like a record that is gone. */
function missingIds(entry: unknown): string[] {
  const error = errorBodySchema.safeParse(entry).data;
  if (error?.category !== 'OBJECT_NOT_FOUND') throw errors.make('unexpected-answer');
  return error.context?.ids ?? [];
}

/**
 * Every live record of the target's kind, in pages: everybody's, to be told apart by their stamps. Of what belongs to contacts it is told
 * whether it has one (developers.hubspot.com, using object APIs, `associations`; batches by id or key can't be asked so).
 * @param names of the properties that are read
 */
export async function* listRecords(
  scope: Scope,
  names: readonly string[] = namesToRead(scope),
): AsyncGenerator<StoredRecord[]> {
  const query = new URLSearchParams({ limit: String(PAGE_SIZE), properties: names.join(',') });
  const belongs = scope.object !== 'contacts';
  if (belongs) query.set('associations', 'contacts');
  const readListed = (answered: unknown): StoredRecord[] => {
    const record = readRecord(scope, answered);
    if (record === null) return [];
    return [belongs ? { ...record, hasContact: joinedSchema.safeParse(answered).success } : record];
  };
  const ask = async (after: string | null) => {
    if (after !== null) query.set('after', after);
    const path = `${scope.paths.objects(scope.object)}?${query}`;
    const page = await scope.client.demand(pageSchema, { label: 'hubspot.objects.list', method: 'GET', path });
    return { page: page.results.flatMap(readListed), next: page.paging?.next?.after };
  };
  yield* walkPages(null, ask, lost);
}

/** The error of a walk that leads nowhere. */
const lost = () => errors.make('unexpected-answer');

/** A create or an update. */
export type Write = Exclude<Operation<CrmItem>, { kind: 'delete' }>;
type Update = Extract<Write, { kind: 'update' }>;

/** What a look before the writes found. */
interface ExistingRecords {
  /** The record of each key that has one. */
  records: Map<ItemKey, StoredRecord>;
  /** Keys that lead to another patient's record, or to another target's. */
  burnt: ItemKey[];
  /** Keys that several records of ours carry, none of them known by its id. */
  several: ItemKey[];
}

/**
 * Records of the target's kind that carry these keys, several for one key where HubSpot does not hold keys unique. A search shows writes
 * late, so what it names is read once more as it is now; what it does not show yet is not found.
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

/** Ids of records that the search shows under these keys. Keys are in lower case, as `IN` wants texts. */
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
      // What can't be read must not count as not there: a second record would be made.
      return { page: parsedBy(errors, z.array(foundSchema), page.results), next: page.paging?.next?.after };
    };
    for await (const found of walkPages(null, ask, lost)) ids.push(...found.map(({ id }) => id));
  }
  return ids;
}

/** What stands in HubSpot before the writes. Where keys are unique, creates need no look: an upsert finds what is there. */
export async function lookBefore(scope: Scope, writes: readonly Write[]): Promise<ExistingRecords> {
  return scope.hasUniqueKey ? await lookAtUpdates(scope, writes.filter(isUpdate)) : await lookUpAll(scope, writes);
}

function isUpdate(write: Write): write is Update {
  return write.kind === 'update';
}

/**
 * What stands under the keys of updates. A key that HubSpot neither answers nor calls missing leads to another record: ours was merged
 * into it. That record is another patient's, so nothing is written into it and the key is burnt.
 */
async function lookAtUpdates(scope: Scope, updates: readonly Update[]): Promise<ExistingRecords> {
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

/** Gives records their key back from which somebody took it; the stamp says whose they are. */
async function restoreKeys(scope: Scope, updates: readonly Update[]): Promise<Map<ItemKey, StoredRecord>> {
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
 * What stands for each write where keys are not unique: by the id that was stored, which HubSpot answers as it is now, else by a search
 * for the key. One record with the key is it, and of several none is chosen.
 */
async function lookUpAll(scope: Scope, writes: readonly Write[]): Promise<ExistingRecords> {
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

/** Records that updates know by id, as far as they are ours: by the key, or without one by the stamp. */
async function readById(scope: Scope, updates: readonly Update[]): Promise<{ record: StoredRecord; key: ItemKey }[]> {
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

/** Names of what a look before writes goes by: whose a record is, and of contacts the address that they have now. */
function namesToLookAt({ object, properties, keyProperty, stampProperty }: Scope): string[] {
  const hasAddress = object === 'contacts' && properties.some(({ name }) => name === 'email');
  return [keyProperty, stampProperty, ...(hasAddress ? ['email'] : [])];
}
