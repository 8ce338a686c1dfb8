import type { Operation } from '../../model/operations.ts';
import { slices } from '../../model/pieces.ts';
import { logUnemptied } from '../outcomes.ts';
import { isSuccess, type WireResponse } from '../wire.ts';
import { errors, type Refusal, readRefusal, requireNothing } from './errors.ts';
import type { StoredRecord } from './from-model.ts';
import { namesToRead, type Scope } from './from-model.ts';
import { BATCH_SIZE } from './limits.ts';
import { findByKeys, readRecords } from './records.ts';
import { batchSchema } from './schemas.ts';
import type { RecordOutcome } from './writing.ts';

type Deletion = Extract<Operation, { kind: 'delete' }>;

/**
 * Takes records out: into the bin, where HubSpot keeps them for 90 days. Where a person is to be forgotten, a contact goes for good, and
 * others, for which HubSpot has no such call, are emptied before.
 * They are looked up by key before, since the id of a record that people merged leads to another patient's.
 * @throws MirrorError for what concerns all that is not settled by then
 */
export async function deleteAll(scope: Scope, deletions: readonly Deletion[], recordOutcome: RecordOutcome) {
  if (deletions.length === 0) return;
  const found = await lookUp(scope, deletions);
  const isGone = ({ key }: Deletion) => !found.has(key);
  const isErasure = ({ erase }: Deletion) => erase === true && scope.object === 'contacts';
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

/** The records of one deletion: of several that carry its key all go, and it is done with the last. */
function leavesOf(deletion: Deletion, found: ReadonlyMap<string, readonly StoredRecord[]>) {
  const records = found.get(deletion.key) ?? [];
  return records.map(({ id }, index) => ({ deletion, id, isLast: index === records.length - 1 }));
}

/**
 * Clears what we wrote, but for the key, by which a try that broke off finds the records again. What a rule of the account won't have empty
 * stays, and that alone.
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
      if (!isWhole) scope.log.warn({ count: ids.length }, 'records are deleted with properties that must not be empty');
      return;
    }
    if (answer.status !== 400 && answer.status !== 207) throw scope.client.errorOf(answer);
    const refusedNames = new Set(refusalsIn(answer).flatMap((refusal) => refusal.properties));
    if (!names.some((name) => refusedNames.has(name))) break;
    names = names.filter((name) => !refusedNames.has(name));
  }
  logUnemptied(scope.log, ids.length);
}

/** Why a batch was refused: as a whole, or for some of its rows. */
function refusalsIn({ status, body }: WireResponse): Refusal[] {
  const rows = batchSchema.safeParse(body).data?.errors ?? [];
  return [body, ...rows].map((one) => readRefusal(status, one));
}

/** Deletes a contact for good, with its address (developers.hubspot.com, CRM contacts, GDPR delete). */
async function eraseContact({ client, paths }: Scope, objectId: string) {
  const path = `${paths.objects('contacts')}/gdpr-delete`;
  const answer = await client.send({ label: 'hubspot.contacts.erase', method: 'POST', path, body: { objectId } });
  if (answer.status === 404) return 'already-gone';
  if (!isSuccess(answer)) throw client.errorOf(answer);
  requireNothing(answer);
  return 'deleted';
}

/** Records to take out, by key: the live ones of the key, one of ours that somebody took the key from, and for erasures one in the bin. */
async function lookUp(scope: Scope, deletions: readonly Deletion[]): Promise<Map<string, StoredRecord[]>> {
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

/** Adds those that are not found by key, are known by id, carry our stamp, and no other record's key. */
async function lookUpById(
  scope: Scope,
  deletions: readonly Deletion[],
  archived: boolean,
  found: Map<string, StoredRecord[]>,
): Promise<void> {
  const byId = new Map<string, Deletion>();
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
