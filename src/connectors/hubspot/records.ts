import { slices } from '../../model/slices.ts';
import { parsedBy } from '../errors.ts';
import { guardWalk } from '../walk.ts';
import { isSuccess } from '../wire.ts';
import type { HubSpotClient } from './client.ts';
import { errors, namesIn } from './errors.ts';
import { readRecord, type StoredRecord } from './from-model.ts';
import { BATCH_SIZE, PAGE_SIZE } from './limits.ts';
import { readRefusal } from './refusals.ts';
import { batchSchema, errorBodySchema, joinedSchema, pageSchema } from './schemas.ts';
import { namesToRead, type Scope } from './scope.ts';

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
export async function readRecords(client: HubSpotClient, scope: Scope, wanted: Wanted): Promise<Found> {
  const found: Found = { records: [], missing: new Set() };
  for (const ids of slices([...new Set(wanted.ids)], BATCH_SIZE)) {
    const answer = await client.send({
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
    if (!isSuccess(answer)) throw client.errorOf(answer);
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
  client: HubSpotClient,
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
  const visit = guardWalk(() => errors.make('unexpected-answer'));
  for (let after: string | undefined, isFirst = true; isFirst || after !== undefined; isFirst = false) {
    visit(after ?? null);
    if (after !== undefined) query.set('after', after);
    const path = `${scope.paths.objects(scope.object)}?${query}`;
    const page = await client.demand(pageSchema, { label: 'hubspot.objects.list', method: 'GET', path });
    yield page.results.flatMap(readListed);
    after = page.paging?.next?.after;
  }
}
