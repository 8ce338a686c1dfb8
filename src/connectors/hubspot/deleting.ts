import type { Operation } from '../../model/operations.ts';
import { slices } from '../../model/slices.ts';
import { isSuccess } from '../wire.ts';
import type { HubSpotClient } from './client.ts';
import { errors, requireNothing } from './errors.ts';
import type { StoredRecord } from './from-model.ts';
import { BATCH_SIZE } from './limits.ts';
import { readRecords } from './records.ts';
import { batchSchema } from './schemas.ts';
import { namesToRead, type Scope } from './scope.ts';
import type { NoteOutcome } from './writing.ts';

type Deletion = Extract<Operation, { kind: 'delete' }>;

/**
 * Takes records out: into the bin, where HubSpot keeps them for 90 days. Where a person is to be forgotten, a contact goes for good, and
 * others, for which HubSpot has no such call, are emptied before.
 * They are looked up by key before, since the id of a record that people merged leads to another patient's.
 * @throws MirrorError for what concerns all that is not settled by then
 */
export async function deleteAll(
  client: HubSpotClient,
  scope: Scope,
  deletions: readonly Deletion[],
  note: NoteOutcome,
) {
  if (deletions.length === 0) return;
  const found = await lookUp(client, scope, deletions);
  const isGone = ({ key }: Deletion) => !found.has(key);
  const isErasure = ({ erase }: Deletion) => erase === true && scope.object === 'contacts';
  for (const { recordId } of deletions.filter(isGone)) {
    note({ recordId, result: 'deleted', effect: 'already-gone' });
  }
  const there = deletions.filter((deletion) => !isGone(deletion));
  const archived = there.filter((deletion) => !isErasure(deletion));
  for (const slice of slices(archived, BATCH_SIZE)) {
    const forgotten = slice.filter(({ erase }) => erase === true);
    if (forgotten.length > 0)
      await empty(
        client,
        scope,
        forgotten.map(({ key }) => found.get(key)!.id),
      );
    await client.demandNothing({
      label: 'hubspot.objects.archive',
      method: 'POST',
      path: `${scope.paths.objects(scope.object)}/batch/archive`,
      body: { inputs: slice.map(({ key }) => ({ id: found.get(key)!.id })) },
    });
    for (const { recordId } of slice) note({ recordId, result: 'deleted', effect: 'deleted' });
  }
  for (const { recordId, key } of there.filter(isErasure)) {
    const effect = await eraseContact(client, scope, found.get(key)!.id);
    note({ recordId, result: 'deleted', effect });
  }
}

/** Clears what we wrote, but for the key, by which a try that broke off finds the records again. What HubSpot won't have empty stays. */
async function empty(client: HubSpotClient, scope: Scope, ids: readonly string[]): Promise<void> {
  const written = [...namesToRead(scope), ...(scope.object === 'meetings' ? ['hs_meeting_start_time'] : [])];
  const names = written.filter((name) => name !== scope.keyProperty && name !== 'hs_timestamp');
  const properties = Object.fromEntries(names.map((name) => [name, '']));
  const answer = await client.send({
    label: 'hubspot.objects.update',
    method: 'POST',
    path: `${scope.paths.objects(scope.object)}/batch/update`,
    body: { inputs: ids.map((id) => ({ id, properties, objectWriteTraceId: id })) },
  });
  if (answer.status === 200) {
    if (batchSchema.safeParse(answer.body).data?.results.length !== ids.length) throw errors.make('unexpected-answer');
    return;
  }
  if (answer.status !== 400 && answer.status !== 207) throw client.errorOf(answer);
  scope.log.warn({ count: ids.length }, 'records are deleted without being emptied before');
}

/** Deletes a contact for good, with its address (developers.hubspot.com, CRM contacts, GDPR delete). */
async function eraseContact(client: HubSpotClient, { paths }: Scope, objectId: string) {
  const path = `${paths.objects('contacts')}/gdpr-delete`;
  const answer = await client.send({ label: 'hubspot.contacts.erase', method: 'POST', path, body: { objectId } });
  if (answer.status === 404) return 'already-gone';
  if (!isSuccess(answer)) throw client.errorOf(answer);
  requireNothing(answer);
  return 'deleted';
}

/** Records to take out, by key: the live one of the key, one of ours that somebody took the key from, and for erasures one in the bin. */
async function lookUp(
  client: HubSpotClient,
  scope: Scope,
  deletions: readonly Deletion[],
): Promise<Map<string, StoredRecord>> {
  const { object, keyProperty, stampProperty } = scope;
  const properties = [keyProperty, stampProperty];
  const ids = deletions.map(({ key }) => key);
  const { records } = await readRecords(client, scope, { object, ids, byKey: true, properties });
  const found = new Map<string, StoredRecord>();
  for (const record of records) if (!record.isForeign && record.key !== null) found.set(record.key, record);
  await lookUpById(client, scope, deletions, false, found);
  const erasures = deletions.filter(({ erase }) => erase === true && object === 'contacts');
  await lookUpById(client, scope, erasures, true, found);
  return found;
}

/** Adds those that are not found by key, are known by id, carry our stamp, and no other record's key. */
async function lookUpById(
  client: HubSpotClient,
  scope: Scope,
  deletions: readonly Deletion[],
  archived: boolean,
  found: Map<string, StoredRecord>,
): Promise<void> {
  const byId = new Map<string, Deletion>();
  for (const deletion of deletions) {
    if (!found.has(deletion.key) && deletion.remoteId !== null) byId.set(deletion.remoteId, deletion);
  }
  const properties = [scope.keyProperty, scope.stampProperty];
  const wanted = { object: scope.object, ids: [...byId.keys()], byKey: false, properties, archived };
  for (const record of (await readRecords(client, scope, wanted)).records) {
    const key = byId.get(record.id)?.key;
    const isOurs = record.stamp !== null && (record.key === null || record.key === key);
    if (key !== undefined && isOurs) found.set(key, record);
  }
}
