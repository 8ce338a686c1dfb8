import type { CrmItem } from '../../model/items.ts';
import type { ItemKey, Operation, Outcome } from '../../model/operations.ts';
import { associate, dissociate, findContacts, type Pair } from './associations.ts';
import type { HubSpotClient } from './client.ts';
import { errors } from './errors.ts';
import { type StoredRecord, toItem, toValues } from './from-model.ts';
import { readRecords } from './records.ts';
import type { Refusal } from './refusals.ts';
import type { Scope } from './scope.ts';
import { errorOfRow, type Row, type RowEnd, upsertRows } from './upserting.ts';

/** A create or an update. */
export type Write = Exclude<Operation<CrmItem>, { kind: 'delete' }>;

/** An outcome before it is known whose it is. */
type End<One = Outcome<CrmItem>> = One extends unknown ? Omit<One, 'recordId'> : never;

/** Takes the outcome of one operation. */
export type NoteOutcome = (outcome: Outcome<CrmItem>) => void;

/** One run of writing: what is still to be done, by key. */
interface Writing {
  client: HubSpotClient;
  scope: Scope;
  waiting: Map<ItemKey, Write>;
  end(key: ItemKey, end: End): void;
}

/**
 * Creates and updates, at most 100: an upsert by our key, whether or not the record is there. Of several operations for one key the
 * last counts. An activity or a deal is written once its contact is there, and joined with it.
 * @throws MirrorError for what concerns all that is not settled by then
 */
export async function writeAll(client: HubSpotClient, scope: Scope, writes: readonly Write[], note: NoteOutcome) {
  const waiting = new Map(writes.map((write) => [write.key, write]));
  const writing: Writing = {
    client,
    scope,
    waiting,
    end(key, end) {
      waiting.delete(key);
      for (const write of writes) {
        if (write.key === key) note({ ...end, recordId: write.recordId } as Outcome<CrmItem>);
      }
    },
  };
  const standing = await lookAtUpdates(writing);
  const contacts = await placeContacts(writing, standing);
  const rows = [...waiting.values()].map((write) => ({ key: write.key, values: toValues(scope, write) }));
  const written = await writeRows(writing, rows);
  await joinContacts(writing, written, contacts);
  for (const [key, { record, row }] of written) {
    const write = waiting.get(key);
    if (write !== undefined) writing.end(key, writtenEnd(scope, write, record, row));
  }
}

/**
 * What stands in HubSpot under the keys of updates. A key that HubSpot neither answers nor calls missing leads to another record:
 * ours was merged into it. That record is another patient's, so nothing is written into it and the key is burnt.
 */
async function lookAtUpdates({ client, scope, waiting, end }: Writing): Promise<Map<ItemKey, StoredRecord>> {
  const updates = [...waiting.values()].filter((write) => write.kind === 'update');
  const properties = [scope.keyProperty, scope.stampProperty];
  const { object } = scope;
  const ids = updates.map(({ key }) => key);
  const { records, missing } = await readRecords(client, scope, { object, ids, byKey: true, properties });
  const standing = new Map(records.map((record) => [record.key ?? '', record]));
  const gone = updates.filter(({ key }) => missing.has(key));
  for (const key of ids) {
    const isElsewhere = !standing.has(key) && !missing.has(key);
    if (isElsewhere || standing.get(key)?.isForeign) end(key, { result: 'key-burnt' });
  }
  for (const [key, record] of await restoreKeys(client, scope, gone)) standing.set(key, record);
  return standing;
}

/** Gives records their key back from which somebody took it; the stamp says whose they are. */
async function restoreKeys(
  client: HubSpotClient,
  scope: Scope,
  updates: readonly Extract<Write, { kind: 'update' }>[],
): Promise<Map<ItemKey, StoredRecord>> {
  const byId = new Map(updates.flatMap((write) => (write.remoteId === null ? [] : [[write.remoteId, write]])));
  const properties = [scope.keyProperty, scope.stampProperty];
  const wanted = { object: scope.object, ids: [...byId.keys()], byKey: false, properties };
  const { records } = await readRecords(client, scope, wanted);
  const keyless = records.flatMap((record) => {
    const write = byId.get(record.id);
    const isOurs = write !== undefined && record.key === null && record.stamp?.sealedRecordId === write.sealedRecordId;
    return isOurs ? [{ record, key: write.key }] : [];
  });
  if (keyless.length > 0) {
    await client.demand({
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
 * Finds the contacts, settles what has none yet, and takes records away from the contacts that they belonged to before. That goes
 * first: once the stamp names the new contact, nobody would know of the old one.
 */
async function placeContacts(
  { client, scope, waiting, end }: Writing,
  standing: ReadonlyMap<ItemKey, StoredRecord>,
): Promise<Map<ItemKey, string>> {
  const former = (key: ItemKey) => standing.get(key)?.stamp?.contactKey ?? null;
  const writes = [...waiting.values()];
  const wanted = writes.flatMap(({ key, item }) => [item.contactKey, former(key)]).filter((key) => key !== null);
  const contacts = await findContacts(client, scope, wanted);
  const moved: Pair[] = [];
  for (const { key, item } of writes) {
    const [before, now] = [former(key), item.contactKey];
    if (now !== null && !contacts.has(now)) {
      end(key, { result: 'failed', error: errors.make('contact-missing') });
      continue;
    }
    const contactId = before === now ? undefined : contacts.get(before ?? '');
    if (contactId !== undefined) moved.push({ recordId: standing.get(key)!.id, contactId });
  }
  await dissociate(client, scope, moved);
  return contacts;
}

type Written = Map<ItemKey, { record: StoredRecord; row: Row }>;

/**
 * Upserts, and once more without their address the contacts whose address HubSpot refuses: it belongs to another contact (families),
 * was shut out by a deletion for good, or is none. The other contact is never touched.
 */
async function writeRows({ client, scope, end }: Writing, rows: readonly Row[]): Promise<Written> {
  const written: Written = new Map();
  const failed = new Map<ItemKey, Exclude<RowEnd, { record: StoredRecord }>>();
  const take = async (some: readonly Row[]) => {
    for (const [key, rowEnd] of await upsertRows(client, scope, some)) {
      if ('record' in rowEnd) written.set(key, { record: rowEnd.record, row: some.find((row) => row.key === key)! });
      else failed.set(key, rowEnd);
    }
  };
  await take(rows);
  const withoutAddress: Row[] = [];
  const freed: { row: Row; holderId: string | null }[] = [];
  for (const row of rows) {
    const rowEnd = failed.get(row.key);
    if (rowEnd === undefined || !('refusal' in rowEnd) || !isForAddress(scope, row, rowEnd.refusal)) continue;
    failed.delete(row.key);
    withoutAddress.push({ ...row, values: { ...row.values, email: '' } });
    freed.push({ row, holderId: rowEnd.refusal.holderId });
  }
  if (withoutAddress.length > 0) {
    scope.log.info({ count: withoutAddress.length }, 'contacts are written without their e-mail address');
    await take(withoutAddress);
    await takeFreed(client, scope, written, freed);
  }
  for (const [key, rowEnd] of failed) end(key, { result: 'failed', error: errorOfRow(scope, rowEnd) });
  return written;
}

/**
 * Gives contacts their address after all when the one who had it gave it up in the same call, as when two exchange theirs. What is
 * refused again stays without.
 */
async function takeFreed(
  client: HubSpotClient,
  scope: Scope,
  written: Written,
  refused: readonly { row: Row; holderId: string | null }[],
): Promise<void> {
  const addressOf = new Map([...written.values()].map(({ record, row }) => [record.id, row.values.email ?? '']));
  const rows = refused.flatMap(({ row, holderId }) => {
    const held = holderId === null ? undefined : addressOf.get(holderId);
    const isFreed = held !== undefined && held.toLowerCase() !== row.values.email?.toLowerCase();
    return isFreed && written.has(row.key) ? [row] : [];
  });
  for (const [key, rowEnd] of await upsertRows(client, scope, rows)) {
    if ('record' in rowEnd) {
      const { isNew } = written.get(key)!.record;
      written.set(key, { record: { ...rowEnd.record, isNew }, row: rows.find((row) => row.key === key)! });
    }
  }
}

/** Whether a contact was refused for its address. A conflict that names no property is one of addresses (HTTP 409). */
function isForAddress({ object }: Scope, { values }: Row, refusal: Refusal): boolean {
  if (object !== 'contacts' || !values.email) return false;
  const { codes, properties, isTaken } = refusal;
  if (codes.some((code) => code.includes('EMAIL')) || properties.includes('email')) return true;
  return isTaken && properties.length === 0;
}

async function joinContacts(
  { client, scope, waiting, end }: Writing,
  written: Written,
  contacts: ReadonlyMap<ItemKey, string>,
): Promise<void> {
  const pairs = [...written].flatMap(([key, { record }]) => {
    const contactId = contacts.get(waiting.get(key)?.item.contactKey ?? '');
    return contactId === undefined ? [] : [{ key, recordId: record.id, contactId }];
  });
  const { joined, refused } = await associate(client, scope, pairs);
  for (const { key, recordId } of pairs) {
    if (joined.has(recordId)) continue;
    end(key, { result: 'failed', error: errors.make(refused.has(recordId) ? 'contact-missing' : 'answer-missing') });
  }
}

function writtenEnd({ properties }: Scope, { kind, item }: Write, record: StoredRecord, { values }: Row): End {
  const effects = kind === 'create' ? (['created', 'adopted'] as const) : (['recreated', 'updated'] as const);
  const isNew = record.isNew ?? kind === 'create';
  return {
    result: 'written',
    effect: isNew ? effects[0] : effects[1],
    versionTag: null,
    remoteId: record.id,
    stored: toItem(properties, record, item, values),
  };
}
