import type { MirrorError } from '../../core/model/errors.ts';
import type { CrmItem } from '../../core/model/items.ts';
import type { ItemKey } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import type { Holder } from '../connector.ts';
import { parsedBy } from '../errors.ts';
import { isSuccess, type WireResponse } from '../wire.ts';
import { errors, namesIn, type Refusal, readRefusal, toRowError } from './errors.ts';
import { type Row, readRecord, type Scope, type StoredRecord } from './from-model.ts';
import { BATCH_SIZE, HALVING_ALLOWANCE } from './limits.ts';
import { batchSchema, errorBodySchema } from './schemas.ts';

/** Result of one object in a batch. */
export type RowEnd = { record: StoredRecord } | { refusal: Refusal } | { error: MirrorError };

/** Statuses of a batch that HubSpot refused, without any write, because of some objects. */
const ROWS_AT_FAULT: ReadonlySet<number> = new Set([400, 409, 413]);

/** Status of an object by its category; elements of a 207 have no status. */
const STATUS_OF: Readonly<Record<string, number>> = { CONFLICT: 409, MISSING_SCOPES: 403, RATE_LIMITS: 429 };

const NOBODY: ReadonlyMap<ItemKey, Refusal> = new Map();

/** Method of a batch. */
type Verb = 'upsert' | 'create' | 'update';

/**
 * Writes at most 100 objects. If HubSpot enforces unique keys, upserts by key. Otherwise, updates found objects by id and creates the rest.
 * @returns one result per object
 * @throws MirrorError for failures of all objects; earlier batches are already written
 */
export async function sendRows(scope: Scope, rows: readonly Row[]): Promise<Map<ItemKey, RowEnd>> {
  if (scope.hasUniqueKey) return await sendBatch(scope, 'upsert', rows);
  const { update = [], create = [] } = Object.groupBy(rows, ({ id }) => (id === undefined ? 'create' : 'update'));
  return new Map([...(await sendBatch(scope, 'update', update)), ...(await sendBatch(scope, 'create', create))]);
}

/** Updates at most 100 objects by id, as {@link sendRows}. */
export async function sendUpdates(
  scope: Scope,
  rows: readonly (Row & { id: string })[],
): Promise<Map<ItemKey, RowEnd>> {
  return await sendBatch(scope, 'update', rows);
}

/**
 * Sends objects in one batch. Each object has its key as `objectWriteTraceId`, so that HubSpot reports invalid objects separately (207), in
 * any order. HubSpot documents this identifier only for creates. If HubSpot refuses the batch because other contacts have an e-mail
 * address, one request finds those e-mail addresses, and the batch is repeated without the affected objects. For other reasons, the batch
 * is halved until only invalid objects remain.
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

/** @throws MirrorError `crm-property-missing` if the key no longer identifies objects */
function wholeRefusal({ object, keyProperty }: Scope, { status, body }: WireResponse): Refusal {
  const refusal = readRefusal(status, body);
  if (refusal.isKeyUnusable) throw errors.make('crm-property-missing', { names: namesIn(object, [keyProperty]) });
  return refusal;
}

/** All objects of a batch have equal properties, so a missing property affects all. */
function missingProperty(scope: Scope, { status, body }: WireResponse): MirrorError {
  return toRowError(readRefusal(status, body), scope.object, allowedNamesOf(scope));
}

/** Returns the property names that an error may repeat: sent properties and the account's properties. */
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

/** Only an upsert reports whether it created the object. */
function isNewBy(verb: Verb, { isNew }: StoredRecord): boolean | null {
  return verb === 'upsert' ? isNew : verb === 'create';
}

/** Returns the error of an object that was not written. */
export function errorOfRow(scope: Scope, end: { refusal: Refusal } | { error: MirrorError }): MirrorError {
  if ('error' in end) return end.error;
  if (end.refusal.isTaken && end.refusal.properties.includes(scope.keyProperty)) {
    return errors.make('changed-meanwhile', { status: 409 });
  }
  return toRowError(end.refusal, scope.object, allowedNamesOf(scope));
}

/**
 * Objects of a batch, divided so that each e-mail address occurs once. HubSpot assigns an e-mail address, including additional addresses,
 * to one contact, and refuses a batch or an object with an e-mail address in use. Known conflicts are therefore resolved before the batch.
 */
export interface SharedOut {
  /** Objects to write first, each e-mail address with one object. */
  rows: Row[];
  /** Objects whose e-mail address a different object of the batch releases: these objects receive the e-mail address after that write. */
  afterwards: { row: Row; holderId: string }[];
  /** Number of objects without their e-mail address, because a different object of the batch has it. */
  without: number;
}

/**
 * Assigns each e-mail address to one object: to the contact that has it now, otherwise to the first object.
 * @param existing current state of the objects
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

/** Clears the e-mail address, so that no earlier e-mail address remains. */
export function withoutAddress(row: Row): Row {
  return { ...row, values: { ...row.values, email: '' } };
}

/**
 * Checks whether HubSpot refused a contact, or a batch of contacts, because of an e-mail address. A conflict without a property concerns
 * e-mail addresses (HTTP 409).
 */
export function isRefusedForAddress({ object }: Scope, { codes, properties, isTaken }: Refusal): boolean {
  if (object !== 'contacts') return false;
  if (codes.some((code) => code.includes('EMAIL')) || properties.includes('email')) return true;
  return isTaken && properties.length === 0;
}

/**
 * Finds objects whose e-mail address belongs to a different contact, in one request for all objects. The result has the form of HubSpot's
 * refusals. If the request fails, halving finds the objects.
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
 * Finds the current contacts of desired e-mail addresses. @param wanted properties by key
 * @throws MirrorError if the call fails
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
 * Reads contacts by e-mail address, with the e-mail address in the body, never in the path.
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

/** Returns the contacts of a response by all of their e-mail addresses. */
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

/** Returns the distinct e-mail addresses. */
function addressesOf(rows: readonly Readonly<Record<string, string | null>>[]): string[] {
  return [...new Set(rows.map((values) => addressOf(values)))].filter((address) => address !== '');
}

/** Normalises an e-mail address for comparison as HubSpot does; empty if absent. */
function addressOf(values: Readonly<Record<string, string | null>> | undefined): string {
  return values?.email?.trim().toLowerCase() ?? '';
}
