import type { MirrorError } from '../../model/errors.ts';
import type { CrmItem } from '../../model/items.ts';
import type { ItemKey } from '../../model/operations.ts';
import { slices } from '../../model/pieces.ts';
import type { Holder } from '../connector.ts';
import { parsedBy } from '../errors.ts';
import { isSuccess, type WireResponse } from '../wire.ts';
import { errors, namesIn, type Refusal, readRefusal, toRowError } from './errors.ts';
import { type Row, readRecord, type Scope, type StoredRecord } from './from-model.ts';
import { BATCH_SIZE, HALVING_ALLOWANCE } from './limits.ts';
import { batchSchema, errorBodySchema } from './schemas.ts';

/** What became of a row. */
export type RowEnd = { record: StoredRecord } | { refusal: Refusal } | { error: MirrorError };

/** Statuses with which a batch is refused for some of its rows, none of which was written. */
const ROWS_AT_FAULT: ReadonlySet<number> = new Set([400, 409, 413]);

/** Status of a row by its category; entries of a 207 carry none of their own. */
const STATUS_OF: Readonly<Record<string, number>> = { CONFLICT: 409, MISSING_SCOPES: 403, RATE_LIMITS: 429 };

const NOBODY: ReadonlyMap<ItemKey, Refusal> = new Map();

/** How the rows of one batch go. */
type Verb = 'upsert' | 'create' | 'update';

/**
 * Writes at most 100 rows: where HubSpot holds keys unique it upserts by them, else what was found before is updated by its id, and the
 * rest is made.
 * @returns one end for each row
 * @throws MirrorError for what concerns all rows; those of batches that went before were written then
 */
export async function sendRows(scope: Scope, rows: readonly Row[]): Promise<Map<ItemKey, RowEnd>> {
  if (scope.hasUniqueKey) return await sendBatch(scope, 'upsert', rows);
  const identified = rows.flatMap((row) => (row.id === undefined ? [] : [{ ...row, id: row.id }]));
  const updated = await sendUpdates(scope, identified);
  const made = await sendBatch(
    scope,
    'create',
    rows.filter(({ id }) => id === undefined),
  );
  return new Map([...updated, ...made]);
}

/** Writes at most 100 rows into records that are known by their ids, as {@link sendRows}. */
export async function sendUpdates(
  scope: Scope,
  rows: readonly (Row & { id: string })[],
): Promise<Map<ItemKey, RowEnd>> {
  return await sendBatch(scope, 'update', rows);
}

/**
 * Sends rows in one batch. Each row carries its key as `objectWriteTraceId`, by which HubSpot tells bad rows apart (207) and names them
 * whatever their order; it documents that of creates alone. A batch that is refused as a whole, for an address that other contacts have,
 * is sent again without those who have one, found by one look; for anything else it is halved until the bad rows stand alone.
 * @see https://developers.hubspot.com/docs/api-reference/latest/error-handling
 */
async function sendBatch(scope: Scope, verb: Verb, rows: readonly Row[]): Promise<Map<ItemKey, RowEnd>> {
  const ends = new Map<ItemKey, RowEnd>();
  const waiting = rows.length === 0 ? [] : [[...rows]];
  let allowance = HALVING_ALLOWANCE;
  let mayLook = true;
  for (let batch = waiting.pop(); batch !== undefined; batch = waiting.pop()) {
    const answer = await scope.client.send(callFor(scope, verb, batch));
    if (isSuccess(answer)) {
      for (const [key, end] of endsOf(scope, verb, batch, answer)) ends.set(key, end);
      continue;
    }
    if (!ROWS_AT_FAULT.has(answer.status)) throw scope.client.errorOf(answer);
    const refusal = wholeRefusal(scope, answer);
    if (batch.length === 1) {
      ends.set(batch[0]!.key, { refusal });
      continue;
    }
    if (refusal.codes.includes('PROPERTY_DOESNT_EXIST')) throw missingProperty(scope, answer);
    const looks: boolean = mayLook && isRefusedForAddress(scope, refusal);
    mayLook &&= !looks;
    const held = looks ? await heldAddresses(scope, batch) : NOBODY;
    if (held.size > 0) {
      for (const [key, one] of held) ends.set(key, { refusal: one });
      const others = batch.filter(({ key }) => !held.has(key));
      if (others.length > 0) waiting.push(others);
    } else if (allowance < 2) {
      for (const { key } of batch) ends.set(key, { error: errors.make('batch-refused', { status: answer.status }) });
    } else {
      allowance -= 2;
      const middle = Math.ceil(batch.length / 2);
      waiting.push(batch.slice(middle), batch.slice(0, middle));
    }
  }
  return ends;
}

function callFor({ object, paths, keyProperty }: Scope, verb: Verb, rows: readonly Row[]) {
  const inputs = rows.map(({ key, values: properties, id }) => {
    const written = { properties, objectWriteTraceId: key };
    if (verb === 'create') return written;
    return verb === 'upsert' ? { id: key, idProperty: keyProperty, ...written } : { id, ...written };
  });
  return {
    label: `hubspot.objects.${verb}`,
    method: 'POST',
    path: `${paths.objects(object)}/batch/${verb}`,
    body: { inputs },
  } as const;
}

/** @throws MirrorError `crm-property-missing` when HubSpot can't name records by our key any more */
function wholeRefusal({ object, keyProperty }: Scope, { status, body }: WireResponse): Refusal {
  const refusal = readRefusal(status, body);
  if (refusal.isKeyUnusable) throw errors.make('crm-property-missing', { names: namesIn(object, [keyProperty]) });
  return refusal;
}

/** All rows carry the same properties, so what one lacks they all lack. */
function missingProperty(scope: Scope, { status, body }: WireResponse): MirrorError {
  return toRowError(readRefusal(status, body), scope.object, allowedNamesOf(scope));
}

/** Names of properties that an error may repeat: those that were sent, and those that the account has. */
function allowedNamesOf({ properties, keyProperty, stampProperty, catalogueNames }: Scope): Set<string> {
  const sent = properties.map(({ name }) => name);
  return new Set([...sent, keyProperty, stampProperty, 'hs_timestamp', ...catalogueNames]);
}

function endsOf(scope: Scope, verb: Verb, rows: readonly Row[], { body }: WireResponse): [ItemKey, RowEnd][] {
  const batch = parsedBy(errors, batchSchema, body);
  const results = new Map<string, RowEnd>();
  for (const result of batch.results) {
    const record = readRecord(scope, result);
    const name = record === null ? null : (record.traceId ?? record.key);
    if (record !== null && name !== null) results.set(name, { record: { ...record, isNew: isNewBy(verb, record) } });
  }
  for (const entry of batch.errors) {
    const error = errorBodySchema.safeParse(entry).data;
    const refusal = readRefusal(STATUS_OF[error?.category ?? ''] ?? 400, entry);
    for (const name of error?.context?.objectWriteTraceId ?? error?.context?.ids ?? []) results.set(name, { refusal });
  }
  return rows.map(({ key, id }) => [
    key,
    results.get(key) ?? results.get(id ?? '') ?? { error: errors.make('answer-missing') },
  ]);
}

/** Only an upsert has to tell whether it made the record. */
function isNewBy(verb: Verb, { isNew }: StoredRecord): boolean | null {
  return verb === 'upsert' ? isNew : verb === 'create';
}

/** Why a row was not written. */
export function errorOfRow(scope: Scope, end: { refusal: Refusal } | { error: MirrorError }): MirrorError {
  if ('error' in end) return end.error;
  if (end.refusal.isTaken && end.refusal.properties.includes(scope.keyProperty)) {
    return errors.make('changed-meanwhile', { status: 409 });
  }
  return toRowError(end.refusal, scope.object, allowedNamesOf(scope));
}

/**
 * HubSpot gives an address to one contact, additional addresses included, and tells a batch with a taken one as refused, whole or by row.
 * So what is known of addresses before is settled before.
 */
export interface SharedOut {
  /** The rows, each address with one of them. */
  rows: Row[];
  /** Rows whose address another record of the batch has now and gives up: they are given it once that is written. */
  afterwards: { row: Row; holderId: string }[];
  /** How many rows go without their address since another of the batch has it. */
  without: number;
}

/**
 * Gives each address to one row: to whose contact has it now, else to the first.
 * @param existing what is known of the records as they are now
 */
export function shareOut(
  { object }: Scope,
  rows: readonly Row[],
  existing: ReadonlyMap<ItemKey, StoredRecord>,
): SharedOut {
  if (object !== 'contacts') return { rows: [...rows], afterwards: [], without: 0 };
  const holders = new Map<string, ItemKey>();
  for (const { key } of rows) holders.set(addressOf(existing.get(key)?.values), key);
  const takers = new Map<string, ItemKey>();
  for (const { key, values } of rows) {
    const address = addressOf(values);
    if (!takers.has(address) || holders.get(address) === key) takers.set(address, key);
  }
  const isTaker = ({ key, values }: Row) => takers.get(addressOf(values)) === key;
  const holderOf = ({ key, values }: Row) => {
    const holder = addressOf(values) === '' ? undefined : holders.get(addressOf(values));
    return holder === key ? undefined : holder;
  };
  const afterwards = rows.flatMap((row) => {
    const holder = isTaker(row) ? holderOf(row) : undefined;
    return holder === undefined ? [] : [{ row, holderId: existing.get(holder)!.id }];
  });
  const isBare = (row: Row) => addressOf(row.values) !== '' && (!isTaker(row) || holderOf(row) !== undefined);
  const shared = rows.map((row) => (isBare(row) ? withoutAddress(row) : row));
  return { rows: shared, afterwards, without: rows.filter(isBare).length - afterwards.length };
}

/** The row with an empty address, so that one of before doesn't stay. */
export function withoutAddress(row: Row): Row {
  return { ...row, values: { ...row.values, email: '' } };
}

/** Whether a contact, or a batch of them, was refused for an address. A conflict that names no property is one of addresses (HTTP 409). */
export function isRefusedForAddress({ object }: Scope, { codes, properties, isTaken }: Refusal): boolean {
  if (object !== 'contacts') return false;
  if (codes.some((code) => code.includes('EMAIL')) || properties.includes('email')) return true;
  return isTaken && properties.length === 0;
}

/**
 * Which rows ask for an address that another contact has, found by one look for all: refused as HubSpot would refuse each alone. Where
 * the look tells nothing, halving finds them.
 */
async function heldAddresses(scope: Scope, rows: readonly Row[]): Promise<Map<ItemKey, Refusal>> {
  const addresses = addressesOf(rows.map(({ values }) => values));
  if (addresses.length === 0) return new Map();
  const answer = await scope.client.send(holdersCall(scope, addresses));
  const holders: ReadonlyMap<string, StoredRecord> = isSuccess(answer) ? holdersIn(scope, answer) : new Map();
  const held = rows.flatMap(({ key, values }): [ItemKey, Refusal][] => {
    const holder = holders.get(addressOf(values));
    if (holder === undefined || holder.key === key) return [];
    const message = `Contact already exists. Existing ID: ${holder.id}`;
    return [[key, readRefusal(409, { category: 'CONFLICT', message })]];
  });
  return new Map(held);
}

/**
 * Who has the addresses that contacts of ours should have. @param wanted properties by our key
 * @throws MirrorError what the call meets
 */
export async function findHolders(
  scope: Scope,
  wanted: ReadonlyMap<ItemKey, CrmItem['properties']>,
): Promise<Holder[]> {
  const asked = [...wanted].map(([key, { email = null }]) => ({
    key,
    values: { email: email === null ? null : String(email) },
  }));
  const found: Holder[] = [];
  for (const slice of slices(asked, BATCH_SIZE)) {
    const addresses = addressesOf(slice.map(({ values }) => values));
    if (addresses.length === 0) continue;
    const answer = await scope.client.send(holdersCall(scope, addresses));
    if (!isSuccess(answer)) throw scope.client.errorOf(answer);
    const holders = holdersIn(scope, answer);
    for (const { key, values } of slice) {
      const holder = holders.get(addressOf(values));
      if (holder === undefined || holder.key === key) continue;
      found.push({ key, remoteId: holder.id, isOurs: holder.stamp !== null, property: 'email' });
    }
  }
  return found;
}

/**
 * Reads contacts by their address. It stands in the body, never in the path.
 * @see https://developers.hubspot.com/docs/api-reference/latest/crm/objects/contacts/guide
 */
function holdersCall({ paths, keyProperty, stampProperty }: Scope, addresses: readonly string[]) {
  return {
    label: 'hubspot.contacts.holders',
    method: 'POST',
    path: `${paths.objects('contacts')}/batch/read`,
    body: {
      inputs: addresses.map((id) => ({ id })),
      properties: [keyProperty, stampProperty, 'email', 'hs_additional_emails'],
      idProperty: 'email',
    },
  } as const;
}

/** Contacts of an answer by every address that they have. */
function holdersIn(scope: Scope, { body }: WireResponse): Map<string, StoredRecord> {
  const holders = new Map<string, StoredRecord>();
  for (const result of batchSchema.safeParse(body).data?.results ?? []) {
    const record = readRecord(scope, result);
    const { email, hs_additional_emails: further } = record?.values ?? {};
    for (const address of [email, ...(further?.split(';') ?? [])]) {
      if (record !== null && address) holders.set(address.trim().toLowerCase(), record);
    }
  }
  return holders;
}

/** Each address once. */
function addressesOf(rows: readonly Readonly<Record<string, string | null>>[]): string[] {
  return [...new Set(rows.map((values) => addressOf(values)))].filter((address) => address !== '');
}

/** An address as HubSpot compares it; empty when there is none. */
function addressOf(values: Readonly<Record<string, string | null>> | undefined): string {
  return values?.email?.trim().toLowerCase() ?? '';
}
