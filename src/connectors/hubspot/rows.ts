import type { MirrorError } from '../../model/errors.ts';
import type { ItemKey } from '../../model/operations.ts';
import { parsedBy } from '../errors.ts';
import { isSuccess, type WireResponse } from '../wire.ts';
import { heldAddresses, isRefusedForAddress } from './addresses.ts';
import { errors, namesIn, type Refusal, readRefusal, toRowError } from './errors.ts';
import type { Scope } from './from-model.ts';
import { type Row, readRecord, type StoredRecord } from './from-model.ts';
import { HALVING_ALLOWANCE } from './limits.ts';
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
