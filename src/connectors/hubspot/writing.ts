import { asMirrorError } from '../../core/model/errors.ts';
import type { CrmItem } from '../../core/model/items.ts';
import type { ItemKey, Outcome, Write } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import { effectOf, notSent } from '../outcomes.ts';
import { errors } from './errors.ts';
import { type Row, type Scope, type StoredRecord, toItem, toValues } from './from-model.ts';
import { DISSOCIATE_BATCH_SIZE } from './limits.ts';
import { updateSubscriptions } from './mail-subscriptions.ts';
import { lookBefore, readRecords } from './records.ts';
import {
  errorOfRow,
  isRefusedForAddress,
  type RowEnd,
  type SharedOut,
  sendRows,
  shareOut,
  withoutAddress,
} from './rows.ts';
import { associationSchema, batchSchema, errorBodySchema } from './schemas.ts';

/** Outcome without its record id. */
type End<One = Outcome<CrmItem>> = One extends unknown ? Omit<One, 'recordId'> : never;

/** Receives the outcome of one operation. */
export type RecordOutcome = (outcome: Outcome<CrmItem>) => void;

/** State of one write run: unfinished writes, by key. */
interface Writing {
  scope: Scope;
  waiting: Map<ItemKey, Write<CrmItem>>;
  end(key: ItemKey, end: End): void;
}

/**
 * Creates and updates at most 100 objects by upserts, for existing and absent objects. If HubSpot does not enforce unique keys, existing
 * objects are fetched first. Of several operations for one key, the last applies. An activity or a deal is written after its contact
 * exists, and is then associated with the contact.
 * @throws MirrorError for failures of all unfinished writes
 */
export async function writeAll(scope: Scope, writes: readonly Write<CrmItem>[], recordOutcome: RecordOutcome) {
  const waiting = new Map(writes.map((write) => [write.key, write]));
  const writing: Writing = {
    scope,
    waiting,
    end(key, end) {
      waiting.delete(key);
      for (const write of writes) {
        if (write.key === key) recordOutcome({ ...end, recordId: write.recordId } as Outcome<CrmItem>);
      }
    },
  };
  const { existing, contacts } = await beforeWriting(writing);
  const rows = [...waiting.values()].map((write) => rowOf(scope, write, existing));
  const written = await writeRows(writing, shareOut(scope, rows, existing));
  await joinContacts(writing, written, contacts);
  await updateConsents(writing, written);
  for (const [key, { record, row }] of written) {
    const write = waiting.get(key);
    if (write !== undefined) writing.end(key, writtenEnd(scope, write, record, row));
  }
}

/** @throws MirrorError `unsent` if the fetch fails: nothing was written yet */
async function beforeWriting(writing: Writing) {
  try {
    const existing = await readExisting(writing);
    return { existing, contacts: await resolveContacts(writing, existing) };
  } catch (error) {
    throw notSent(asMirrorError(error));
  }
}

/** Fetches the objects for the writes, and completes operations that cannot be written. */
async function readExisting({ scope, waiting, end }: Writing): Promise<Map<ItemKey, StoredRecord>> {
  const { records, burnt, several } = await lookBefore(scope, [...waiting.values()]);
  for (const key of burnt) end(key, { result: 'key-burnt' });
  for (const key of several) end(key, { result: 'failed', error: errors.make('several-matches') });
  return records;
}

function rowOf(scope: Scope, write: Write<CrmItem>, existing: ReadonlyMap<ItemKey, StoredRecord>): Row {
  const { key } = write;
  const id = scope.hasUniqueKey ? undefined : existing.get(key)?.id;
  return { key, values: toValues(scope, write), ...(id === undefined ? {} : { id }) };
}

/**
 * Finds the contacts, completes operations without a contact, and removes associations with previous contacts. The removal comes first:
 * once the stamp contains the new contact, the previous contact is unknown.
 */
async function resolveContacts(
  { scope, waiting, end }: Writing,
  existing: ReadonlyMap<ItemKey, StoredRecord>,
): Promise<Map<ItemKey, string>> {
  const former = (key: ItemKey) => existing.get(key)?.stamp?.contactKey ?? null;
  const writes = [...waiting.values()];
  const wanted = writes.flatMap(({ key, item }) => [item.contactKey, former(key)]).filter((key) => key !== null);
  const contacts = await findContacts(scope, wanted);
  const moved: Pair[] = [];
  for (const { key, item } of writes) {
    const [before, now] = [former(key), item.contactKey];
    if (now !== null && !contacts.has(now)) {
      end(key, { result: 'failed', error: notSent(errors.make('contact-missing')) });
      continue;
    }
    const contactId = before === now ? undefined : contacts.get(before ?? '');
    if (contactId !== undefined) moved.push({ recordId: existing.get(key)!.id, contactId });
  }
  await dissociate(scope, moved);
  return contacts;
}

type Written = Map<ItemKey, { record: StoredRecord; row: Row }>;

/**
 * Writes objects. If HubSpot refuses an e-mail address of a contact, writes the contact again without the e-mail address. The e-mail
 * address belongs to a different contact (families), is blocked after a permanent deletion, or is invalid. The other contact is never
 * changed.
 */
async function writeRows({ scope, end }: Writing, { rows, afterwards, without }: SharedOut): Promise<Written> {
  const written: Written = new Map();
  const failed = new Map<ItemKey, Exclude<RowEnd, { record: StoredRecord }>>();
  const take = async (some: readonly Row[]) => {
    for (const [key, rowEnd] of await sendRows(scope, some)) {
      if ('record' in rowEnd) written.set(key, { record: rowEnd.record, row: some.find((row) => row.key === key)! });
      else failed.set(key, rowEnd);
    }
  };
  await take(rows);
  const refused: { row: Row; holderId: string | null }[] = [];
  for (const row of rows) {
    const rowEnd = failed.get(row.key);
    if (rowEnd === undefined || !('refusal' in rowEnd) || !row.values.email) continue;
    if (!isRefusedForAddress(scope, rowEnd.refusal)) continue;
    failed.delete(row.key);
    refused.push({ row, holderId: rowEnd.refusal.holderId });
  }
  if (refused.length + without > 0) {
    scope.log.info({ count: refused.length + without }, 'contacts were written without their e-mail address');
  }
  await take(refused.map(({ row }) => withoutAddress(row)));
  await takeFreed(scope, written, [...afterwards, ...refused]);
  for (const [key, rowEnd] of failed) end(key, { result: 'failed', error: errorOfRow(scope, rowEnd) });
  return written;
}

/**
 * Assigns an e-mail address that a different contact released in this call, as when two contacts exchange e-mail addresses. A contact that
 * HubSpot refuses again stays without an e-mail address.
 */
async function takeFreed(
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
  for (const [key, rowEnd] of await sendRows(scope, rows)) {
    if ('record' in rowEnd) {
      const { isNew } = written.get(key)!.record;
      written.set(key, { record: { ...rowEnd.record, isNew }, row: rows.find((row) => row.key === key)! });
    }
  }
}

/** Updates subscriptions. A contact whose status HubSpot did not accept is written again. */
async function updateConsents({ scope, waiting, end }: Writing, written: Written): Promise<void> {
  const changed = [...written].flatMap(([key, { record }]) => {
    const write = waiting.get(key);
    return write === undefined ? [] : [{ key, item: write.item, address: record.values.email ?? null }];
  });
  for (const key of await updateSubscriptions(scope, changed)) {
    end(key, { result: 'failed', error: errors.make('subscription-not-taken') });
  }
}

async function joinContacts(
  { scope, waiting, end }: Writing,
  written: Written,
  contacts: ReadonlyMap<ItemKey, string>,
): Promise<void> {
  const pairs = [...written].flatMap(([key, { record }]) => {
    const contactId = contacts.get(waiting.get(key)?.item.contactKey ?? '');
    return contactId === undefined ? [] : [{ key, recordId: record.id, contactId }];
  });
  const { joined, refused } = await associate(scope, pairs);
  for (const { key, recordId } of pairs) {
    if (joined.has(recordId)) continue;
    end(key, { result: 'failed', error: errors.make(refused.has(recordId) ? 'contact-missing' : 'answer-missing') });
  }
}

function writtenEnd(scope: Scope, write: Write<CrmItem>, record: StoredRecord, { values }: Row): End {
  return {
    result: 'written',
    effect: effectOf(write, record.isNew ?? write.kind === 'create'),
    versionTag: null,
    remoteId: record.id,
    stored: toItem(scope, record, write.item, values),
  };
}

/** Own object and contact, by HubSpot's ids. */
export interface Pair {
  recordId: string;
  contactId: string;
}

/** Returns ids of the contacts with these keys, without absent contacts. */
async function findContacts(scope: Scope, keys: readonly ItemKey[]): Promise<Map<ItemKey, string>> {
  const wanted = { object: 'contacts', ids: keys, byKey: true, properties: [scope.keyProperty] } as const;
  const { records } = await readRecords(scope, wanted);
  return new Map(records.flatMap(({ key, id }) => (key === null ? [] : [[key, id]])));
}

/**
 * Associates objects with contacts by the default type, in one batch (at most 2,000). Existing associations are kept.
 * @returns ids of the associated objects, and of objects that were deleted, or whose contact was deleted, in the meantime
 */
async function associate(
  { client, object, paths }: Scope,
  pairs: readonly Pair[],
): Promise<{ joined: Set<string>; refused: Set<string> }> {
  const ends = { joined: new Set<string>(), refused: new Set<string>() };
  if (pairs.length === 0) return ends;
  const batch = await client.demand(batchSchema, {
    label: 'hubspot.associations.create',
    method: 'POST',
    path: `${paths.associations(object, 'contacts')}/batch/associate/default`,
    body: { inputs: pairs.map(({ recordId, contactId }) => ({ from: { id: recordId }, to: { id: contactId } })) },
  });
  // HubSpot returns both directions; the contacts' direction is ignored.
  for (const result of batch.results) {
    const id = associationSchema.safeParse(result).data?.from.id;
    if (id !== undefined) ends.joined.add(id);
  }
  for (const entry of batch.errors) {
    const ids = errorBodySchema.safeParse(entry).data?.context?.fromObjectId ?? [];
    for (const id of ids) ends.refused.add(id);
  }
  return ends;
}

/** Removes associations of all types between objects and contacts. A missing association is not an error. */
async function dissociate({ client, object, paths }: Scope, pairs: readonly Pair[]) {
  for (const slice of slices(pairs, DISSOCIATE_BATCH_SIZE)) {
    await client.demandNothing({
      label: 'hubspot.associations.archive',
      method: 'POST',
      path: `${paths.associations(object, 'contacts')}/batch/archive`,
      body: { inputs: slice.map(({ recordId, contactId }) => ({ from: { id: recordId }, to: [{ id: contactId }] })) },
    });
  }
}
