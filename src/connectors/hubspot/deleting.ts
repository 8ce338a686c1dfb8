import type { CrmItem } from '../../core/model/items.ts';
import type { Deletion } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import { logUnemptied } from '../outcomes.ts';
import { isSuccess, type WireResponse } from '../wire.ts';
import { errors, type Refusal, readRefusal, requireNothing } from './errors.ts';
import { namesToRead, type Scope, type StoredRecord } from './from-model.ts';
import { BATCH_SIZE } from './limits.ts';
import { findByKeys, readRecords } from './records.ts';
import { batchSchema } from './schemas.ts';
import type { RecordOutcome } from './writing.ts';

/**
 * Moves objects to the recycle bin, where HubSpot keeps them for 90 days. If a patient's data must be erased, a contact is deleted
 * permanently. HubSpot cannot delete other objects permanently, so they are cleared before the deletion. Objects are first fetched by key, since
 * the id of a merged object leads to a different patient's object.
 * @throws MirrorError for failures of all unfinished deletions
 */
export async function deleteAll(scope: Scope, deletions: readonly Deletion<CrmItem>[], recordOutcome: RecordOutcome) {
  if (deletions.length === 0) return;
  const found = await lookUp(scope, deletions);
  const isGone = ({ key }: Deletion<CrmItem>) => !found.has(key);
  const isErasure = ({ erase }: Deletion<CrmItem>) => erase === true && scope.object === 'contacts';
  for (const { recordId } of deletions.filter(isGone)) {
    recordOutcome({ recordId, result: 'deleted', effect: 'already-gone' });
  }
  const there = deletions.filter((deletion) => !isGone(deletion));
  const archived = there.filter((deletion) => !isErasure(deletion)).flatMap((deletion) => leavesOf(deletion, found));
  for (const slice of slices(archived, BATCH_SIZE)) {
    const forgotten = slice.filter(({ deletion }) => deletion.erase === true);
    if (forgotten.length > 0)
      await empty(
        scope,
        forgotten.map(({ id }) => id),
      );
    await scope.client.demandNothing({
      label: 'hubspot.objects.archive',
      method: 'POST',
      path: `${scope.paths.objects(scope.object)}/batch/archive`,
      body: { inputs: slice.map(({ id }) => ({ id })) },
    });
    for (const { deletion, isLast } of slice) {
      if (isLast) recordOutcome({ recordId: deletion.recordId, result: 'deleted', effect: 'deleted' });
    }
  }
  for (const { recordId, key } of there.filter(isErasure)) {
    const effect = await eraseContact(scope, found.get(key)![0]!.id);
    recordOutcome({ recordId, result: 'deleted', effect });
  }
}

/** Returns the objects of one deletion: all objects with the key are deleted, and the last deletion completes the operation. */
function leavesOf(deletion: Deletion<CrmItem>, found: ReadonlyMap<string, readonly StoredRecord[]>) {
  const records = found.get(deletion.key) ?? [];
  return records.map(({ id }, index) => ({ deletion, id, isLast: index === records.length - 1 }));
}

/**
 * Clears the properties of clinic-mirror except the key, by which a repeated deletion finds the objects. A property that an account rule
 * requires keeps its value.
 */
async function empty(scope: Scope, ids: readonly string[]): Promise<void> {
  const written = [...namesToRead(scope), ...(scope.object === 'meetings' ? ['hs_meeting_start_time'] : [])];
  let names = written.filter((name) => name !== scope.keyProperty && name !== 'hs_timestamp');
  for (let isWhole = true; names.length > 0; isWhole = false) {
    const properties = Object.fromEntries(names.map((name) => [name, '']));
    const answer = await scope.client.send({
      label: 'hubspot.objects.update',
      method: 'POST',
      path: `${scope.paths.objects(scope.object)}/batch/update`,
      body: { inputs: ids.map((id) => ({ id, properties, objectWriteTraceId: id })) },
    });
    if (answer.status === 200) {
      const { length } = batchSchema.safeParse(answer.body).data?.results ?? [];
      if (length !== ids.length) throw errors.make('unexpected-answer');
      if (!isWhole)
        scope.log.warn({ count: ids.length }, 'records were deleted with properties that must not be empty');
      return;
    }
    if (answer.status !== 400 && answer.status !== 207) throw scope.client.errorOf(answer);
    const refusedNames = new Set(refusalsIn(answer).flatMap((refusal) => refusal.properties));
    if (!names.some((name) => refusedNames.has(name))) break;
    names = names.filter((name) => !refusedNames.has(name));
  }
  logUnemptied(scope.log, ids.length);
}

/** Returns the reasons why HubSpot refused a whole batch, or some of its objects. */
function refusalsIn({ status, body }: WireResponse): Refusal[] {
  const rows = batchSchema.safeParse(body).data?.errors ?? [];
  return [body, ...rows].map((one) => readRefusal(status, one));
}

/** Deletes a contact permanently, including its e-mail address (developers.hubspot.com, CRM contacts, GDPR delete). */
async function eraseContact({ client, paths }: Scope, objectId: string) {
  const path = `${paths.objects('contacts')}/gdpr-delete`;
  const answer = await client.send({ label: 'hubspot.contacts.erase', method: 'POST', path, body: { objectId } });
  if (answer.status === 404) return 'already-gone';
  if (!isSuccess(answer)) throw client.errorOf(answer);
  requireNothing(answer);
  return 'deleted';
}

/**
 * Fetches the objects to delete, by key: live objects with the key, own objects whose key a user cleared, and for erasures objects in the
 * recycle bin.
 */
async function lookUp(scope: Scope, deletions: readonly Deletion<CrmItem>[]): Promise<Map<string, StoredRecord[]>> {
  const { object, keyProperty, stampProperty } = scope;
  const keys = deletions.map(({ key }) => key);
  const records = await findByKeys(scope, keys, [keyProperty, stampProperty]);
  const found = Map.groupBy(
    records.filter(({ isForeign }) => !isForeign),
    ({ key }) => key ?? '',
  );
  await lookUpById(scope, deletions, false, found);
  const erasures = deletions.filter(({ erase }) => erase === true && object === 'contacts');
  await lookUpById(scope, erasures, true, found);
  return found;
}

/** Adds objects known only by id that carry this target's stamp and no other object's key. */
async function lookUpById(
  scope: Scope,
  deletions: readonly Deletion<CrmItem>[],
  archived: boolean,
  found: Map<string, StoredRecord[]>,
): Promise<void> {
  const byId = new Map<string, Deletion<CrmItem>>();
  for (const deletion of deletions) {
    if (!found.has(deletion.key) && deletion.remoteId !== null) byId.set(deletion.remoteId, deletion);
  }
  const properties = [scope.keyProperty, scope.stampProperty];
  const wanted = { object: scope.object, ids: [...byId.keys()], byKey: false, properties, archived };
  for (const record of (await readRecords(scope, wanted)).records) {
    const key = byId.get(record.id)?.key;
    const isOurs = record.stamp !== null && (record.key === null || record.key === key);
    if (key !== undefined && isOurs) found.set(key, [record]);
  }
}
