import type { MirrorError } from '../../model/errors.ts';
import type { ItemKey } from '../../model/operations.ts';
import { isSuccess, type WireResponse } from '../wire.ts';
import type { HubSpotClient } from './client.ts';
import { errors, namesIn, toRowError } from './errors.ts';
import { readRecord, type StoredRecord, type Values } from './from-model.ts';
import { HALVING_ALLOWANCE } from './limits.ts';
import { type Refusal, readRefusal } from './refusals.ts';
import { batchSchema, errorBodySchema } from './schemas.ts';
import type { Scope } from './scope.ts';

/** One row of an upsert; it is known by its key in both directions. */
export interface Row {
  key: ItemKey;
  values: Values;
}

/** What became of a row. */
export type RowEnd = { record: StoredRecord } | { refusal: Refusal } | { error: MirrorError };

/** Statuses with which a batch is refused for some of its rows, none of which was written. */
const ROWS_AT_FAULT: ReadonlySet<number> = new Set([400, 409, 413]);

/** Status of a row by its category; entries of a 207 carry none of their own. */
const STATUS_OF: Readonly<Record<string, number>> = { CONFLICT: 409, MISSING_SCOPES: 403, RATE_LIMITS: 429 };

/**
 * Upserts rows by our key in one batch (at most 100). Each row carries its key as `objectWriteTraceId`, by which HubSpot tells bad rows
 * apart (207) and names them whatever their order. A batch that is refused as a whole is halved until the bad rows stand alone.
 * @returns one end for each row
 * @throws MirrorError for what concerns all rows; those of halves that went before were written then
 */
export async function upsertRows(
  client: HubSpotClient,
  scope: Scope,
  rows: readonly Row[],
): Promise<Map<ItemKey, RowEnd>> {
  const ends = new Map<ItemKey, RowEnd>();
  const waiting = rows.length === 0 ? [] : [[...rows]];
  let allowance = HALVING_ALLOWANCE;
  for (let batch = waiting.pop(); batch !== undefined; batch = waiting.pop()) {
    const answer = await client.send(upsertCall(scope, batch));
    if (isSuccess(answer)) readEnds(scope, batch, answer, ends);
    else if (!ROWS_AT_FAULT.has(answer.status)) throw client.errorOf(answer);
    else if (batch.length === 1) ends.set(batch[0]!.key, { refusal: wholeRefusal(scope, answer) });
    else if (wholeRefusal(scope, answer).codes.includes('PROPERTY_DOESNT_EXIST')) throw missingProperty(scope, answer);
    else if (allowance < 2)
      for (const { key } of batch) ends.set(key, { error: errors.make('batch-refused', { status: answer.status }) });
    else {
      allowance -= 2;
      const middle = Math.ceil(batch.length / 2);
      waiting.push(batch.slice(middle), batch.slice(0, middle));
    }
  }
  return ends;
}

function upsertCall({ object, paths, keyProperty }: Scope, rows: readonly Row[]) {
  const inputs = rows.map(({ key, values }) => ({
    id: key,
    idProperty: keyProperty,
    properties: values,
    objectWriteTraceId: key,
  }));
  const path = `${paths.objects(object)}/batch/upsert`;
  return { label: 'hubspot.objects.upsert', method: 'POST', path, body: { inputs } } as const;
}

/** @throws MirrorError `crm-property-missing` when HubSpot can't name records by our key any more */
function wholeRefusal({ object, keyProperty }: Scope, { status, body }: WireResponse): Refusal {
  const refusal = readRefusal(status, body);
  if (refusal.isKeyUnusable) throw errors.make('crm-property-missing', { names: namesIn(object, [keyProperty]) });
  return refusal;
}

/** All rows carry the same properties, so what one lacks they all lack. */
function missingProperty(scope: Scope, { status, body }: WireResponse): MirrorError {
  return toRowError(readRefusal(status, body), scope.object, namesSent(scope));
}

/** Names of properties that an error may repeat. */
function namesSent({ properties, keyProperty, stampProperty }: Scope): Set<string> {
  return new Set([...properties.map(({ name }) => name), keyProperty, stampProperty, 'hs_timestamp']);
}

function readEnds(scope: Scope, rows: readonly Row[], { body }: WireResponse, ends: Map<ItemKey, RowEnd>): void {
  const batch = batchSchema.safeParse(body);
  if (!batch.success) throw errors.make('unexpected-answer');
  const told = new Map<string, RowEnd>();
  for (const result of batch.data.results) {
    const record = readRecord(scope, result);
    const name = record === null ? null : (record.traceId ?? record.key);
    if (record !== null && name !== null) told.set(name, { record });
  }
  for (const entry of batch.data.errors) {
    const error = errorBodySchema.safeParse(entry).data;
    const refusal = readRefusal(STATUS_OF[error?.category ?? ''] ?? 400, entry);
    for (const name of error?.context?.objectWriteTraceId ?? error?.context?.ids ?? []) told.set(name, { refusal });
  }
  for (const { key } of rows) ends.set(key, told.get(key) ?? { error: errors.make('answer-missing') });
}

/** Why a row was not written. */
export function errorOfRow(scope: Scope, end: { refusal: Refusal } | { error: MirrorError }): MirrorError {
  if ('error' in end) return end.error;
  if (end.refusal.isTaken && end.refusal.properties.includes(scope.keyProperty)) {
    return errors.make('changed-meanwhile', { status: 409 });
  }
  return toRowError(end.refusal, scope.object, namesSent(scope));
}
