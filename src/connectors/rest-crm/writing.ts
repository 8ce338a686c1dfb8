import { asMirrorError, type MirrorError } from '../../core/model/errors.ts';
import type { CrmItem, PropertyValue } from '../../core/model/items.ts';
import type { ItemKey, Operation, Outcome, Write, WriteEffect } from '../../core/model/operations.ts';
import { isJsonObject, valueAt } from '../../described-api/paths.ts';
import { renderBody } from '../../described-api/templates.ts';
import { effectOf, failed, inTurn, notSent, resolveOutcomes } from '../outcomes.ts';
import { supersededBy } from '../owner.ts';
import { type CrmAnswer, isMissing, speaksOf } from './client.ts';
import { inBatches, type Removal, remove, removeAll, toRemovals } from './deleting.ts';
import type { CrmResource } from './description.ts';
import { errors, rowRefused } from './errors.ts';
import { type CrmRow, idAt, isSameItem, readRow, type Scope, selection, writeValues } from './from-model.ts';
import { findByKeys, findContacts, lookAgain, lookAtId, rowsIn, theOne } from './lookup.ts';

/**
 * Carries out operations. An error of the whole target stops further requests.
 * @throws MirrorError if no operation has an outcome; `unsent` if the fetch before the operations failed
 */
export async function applyAll(scope: Scope, operations: readonly Operation<CrmItem>[]): Promise<Outcome<CrmItem>[]> {
  let hasLooked = false;
  const carryOutSome = async (some: readonly Operation<CrmItem>[]) => {
    const seen = await lookBefore(scope, some).catch((error) => {
      throw hasLooked ? error : notSent(asMirrorError(error));
    });
    hasLooked = true;
    return carryOutAll(scope, some, seen);
  };
  return resolveOutcomes(await writeSharing(scope, operations, carryOutSome), errors);
}

/** Result of the fetch before the operations. */
interface Seen {
  objects: Map<ItemKey, CrmRow[]>;
  contacts: Map<ItemKey, CrmRow[]>;
}

async function carryOutAll(scope: Scope, operations: readonly Operation<CrmItem>[], seen: Seen) {
  const { upsert, deleteMany } = scope.resource;
  const ready: ReadyWrite[] = [];
  const leaving: Removal[] = [];
  const outcomes = await inTurn(operations, errors, scope.signal, async (operation) => {
    const contactId = contactIdOf(seen.contacts, operation);
    const found = seen.objects.get(operation.key) ?? [];
    // Copies are deleted separately, before their original.
    if (operation.kind === 'delete' && deleteMany !== undefined && found.length < 2) {
      const removals = await toRemovals(scope, operation, found);
      if ('result' in removals) return removals;
      leaving.push(...removals);
      return null;
    }
    if (upsert === undefined || operation.kind === 'delete') return carryOut(scope, operation, found, contactId);
    ready.push({ operation, contactId });
    return null;
  });
  if (deleteMany !== undefined) outcomes.push(...(await removeAll(scope, deleteMany, leaving)));
  if (upsert !== undefined) outcomes.push(...(await upsertAll(scope, upsert, ready)));
  return { outcomes, before: seen.objects };
}

async function lookBefore(scope: Scope, operations: readonly Operation<CrmItem>[]): Promise<Seen> {
  const { upsert } = scope.resource;
  const oneByOne = operations.filter(({ kind }) => upsert === undefined || kind === 'delete');
  const contactKeys = operations.flatMap((operation) =>
    operation.kind === 'delete' || operation.item.contactKey === null ? [] : [operation.item.contactKey],
  );
  const objects = await findByKeys(
    scope,
    scope.resource,
    oneByOne.map(({ key }) => key),
  );
  return { objects, contacts: await findContacts(scope, contactKeys) };
}

/** @throws MirrorError for this operation only: the contact is absent or ambiguous */
function contactIdOf(contacts: Seen['contacts'], operation: Operation<CrmItem>): string | null {
  if (operation.kind === 'delete' || operation.item.contactKey === null) return null;
  const contact = theOne(contacts.get(operation.item.contactKey) ?? [], null);
  if (contact === null) throw notSent(errors.make('contact-missing'));
  return contact.id;
}

type Upsert = NonNullable<CrmResource['upsert']>;
/** Write with the id of its contact. */
type ReadyWrite = { operation: Write<CrmItem>; contactId: string | null };

/**
 * Writes objects by the CRM's upsert, in batches. A batch that the CRM refuses is halved until only the invalid object remains. Never
 * throws: failures are outcomes.
 */
async function upsertAll(scope: Scope, upsert: Upsert, writes: readonly ReadyWrite[]): Promise<Outcome<CrmItem>[]> {
  return await inBatches(writes, upsert.size, (some) => upsertSome(scope, upsert, some));
}

async function upsertSome(scope: Scope, upsert: Upsert, writes: readonly ReadyWrite[]): Promise<Outcome<CrmItem>[]> {
  try {
    return await upsertBatch(scope, upsert, writes);
  } catch (thrown) {
    const error = asMirrorError(thrown);
    if (!spoilsBatch(error) || writes.length === 1) return writes.map(({ operation }) => failed(operation, error));
    const middle = Math.ceil(writes.length / 2);
    const first = await upsertSome(scope, upsert, writes.slice(0, middle));
    return [...first, ...(await upsertSome(scope, upsert, writes.slice(middle)))];
  }
}

/** Checks whether one object may have failed the whole batch, so that the CRM wrote nothing. */
function spoilsBatch({ code }: MirrorError): boolean {
  return code === 'record-refused' || code === 'record-too-large';
}

async function upsertBatch(scope: Scope, upsert: Upsert, writes: readonly ReadyWrite[]): Promise<Outcome<CrmItem>[]> {
  const { client, resource, signal } = scope;
  const rows = writes.map(({ operation, contactId }) =>
    renderBody(upsert.body, writeValues(scope, operation, contactId)),
  );
  const values = { ...selection(scope, resource), rows };
  const answer = await client.send('rest-crm.upsert', upsert.call, values, signal);
  const answers = rowsIn(answer, upsert.listPath);
  // Results are identified only by position: if one is missing, all are unknown.
  if (answers.length !== writes.length) throw errors.make('answer-missing');
  return writes.map(({ operation }, index) => toOutcome(scope, upsert, operation, answers[index]));
}

function toOutcome(scope: Scope, upsert: Upsert, operation: Write<CrmItem>, row: unknown): Outcome<CrmItem> {
  const status = valueAt(row, upsert.status);
  const isTaken = isJsonObject(row) && upsert.taken.some((taken) => taken === status);
  if (!isTaken) return failed(operation, rowRefused(row, scope.description.errors, scope.codes));
  const remoteId = idAt(row, upsert.id);
  if (remoteId === null) return failed(operation, errors.make('unexpected-answer', { names: ['id'] }));
  const wasCreated = upsert.effect !== undefined && valueAt(row, upsert.effect) === upsert.created;
  return {
    recordId: operation.recordId,
    result: 'written',
    effect: effectOf(operation, upsert.effect === undefined ? operation.kind === 'create' : wasCreated),
    versionTag: null,
    remoteId,
  };
}

/** Carries out operations; `before` contains the objects that were fetched for their keys. */
type CarryOutAll = (
  operations: readonly Operation<CrmItem>[],
) => Promise<{ outcomes: Outcome<CrmItem>[]; before: ReadonlyMap<ItemKey, readonly CrmRow[]> }>;

/**
 * Carries out operations in a CRM with unique properties, such as the e-mail address that relatives share. A refused object is written
 * again without the unique values, whatever the reason, and `stored` contains the reduced values. If a different object of this call
 * released the value, as when two contacts exchange e-mail addresses, the object is then written with the value.
 * @returns one outcome per operation
 */
async function writeSharing(
  scope: Scope,
  operations: readonly Operation<CrmItem>[],
  carryOutAll: CarryOutAll,
): Promise<Outcome<CrmItem>[]> {
  const { outcomes, before } = await carryOutAll(operations);
  const { unique } = scope.resource;
  const ends = new Map(outcomes.map((outcome) => [outcome.recordId, outcome]));
  const refused = operations.filter((operation) => hasAny(operation, unique)).filter((one) => isRefused(ends, one));
  if (refused.length === 0) return outcomes;
  const reduced = new Map(refused.map((operation) => [operation.recordId, without(operation, unique)]));
  for (const end of (await carryOutAll([...reduced.values()])).outcomes) {
    // The first refusal is more specific than the refusal of the reduced object.
    if (end.result === 'failed' && end.error.code === 'record-refused') reduced.delete(end.recordId);
    else ends.set(end.recordId, withStored(end, reduced));
  }
  const now = operations.map((operation) => reduced.get(operation.recordId) ?? operation);
  const freed = freedValues(unique, now, ends, before);
  const freely = refused.filter(
    ({ recordId, item }) => reduced.has(recordId) && valuesOf(unique, item).some((value) => freed.has(value)),
  );
  if (freely.length === 0) return [...ends.values()];
  for (const end of (await carryOutAll(freely)).outcomes) {
    const first = ends.get(end.recordId);
    if (end.result === 'written' && first?.result === 'written')
      ends.set(end.recordId, { ...end, effect: first.effect });
  }
  return [...ends.values()];
}

/** Reports omitted values, also if the CRM does not return stored values. */
function withStored(end: Outcome<CrmItem>, reduced: ReadonlyMap<string, Write<CrmItem>>): Outcome<CrmItem> {
  return end.result === 'written' ? { ...end, stored: end.stored ?? reduced.get(end.recordId)!.item } : end;
}

function isRefused(ends: ReadonlyMap<string, Outcome<CrmItem>>, { recordId }: Write<CrmItem>): boolean {
  const end = ends.get(recordId);
  return end?.result === 'failed' && end.error.code === 'record-refused';
}

function hasAny(operation: Operation<CrmItem>, names: readonly string[]): operation is Write<CrmItem> {
  return operation.kind !== 'delete' && valuesOf(names, operation.item).length > 0;
}

function without(operation: Write<CrmItem>, names: readonly string[]): Write<CrmItem> {
  const properties: Record<string, PropertyValue> = { ...operation.item.properties };
  for (const name of names) if (Object.hasOwn(properties, name)) properties[name] = null;
  return { ...operation, item: { ...operation.item, properties } };
}

/** Returns values that objects had before and lost by a write or deletion of this call. */
function freedValues(
  names: readonly string[],
  operations: readonly Operation<CrmItem>[],
  ends: ReadonlyMap<string, Outcome<CrmItem>>,
  before: ReadonlyMap<ItemKey, readonly CrmRow[]>,
): Set<string> {
  const released = operations.flatMap((operation) => {
    if (ends.get(operation.recordId)?.result === 'failed') return [];
    const now = new Set(operation.kind === 'delete' ? [] : valuesOf(names, operation.item));
    const had = (before.get(operation.key) ?? []).flatMap(({ remote }) => valuesOf(names, remote.item));
    return had.filter((value) => !now.has(value));
  });
  return new Set(released);
}

/** Returns non-empty values with their property names, in lower case. */
function valuesOf(names: readonly string[], item: CrmItem | null): string[] {
  return names.flatMap((name) => {
    const value = item?.properties[name] ?? null;
    return value === null || value === '' ? [] : [`${name} ${String(value).toLowerCase()}`];
  });
}

/**
 * Carries out one operation after the search by key. If one object has the key, no new object is created. Of several objects, the known
 * object is written, or all are deleted; without a known object, none is chosen.
 * @param found objects with the key
 * @param contactId contact of the object; null for a contact
 * @throws MirrorError the reason why this operation, or the whole target, failed
 */
export async function carryOut(
  scope: Scope,
  operation: Operation<CrmItem>,
  found: readonly CrmRow[],
  contactId: string | null,
): Promise<Outcome<CrmItem>> {
  if (operation.kind === 'delete') return await remove(scope, operation, found);
  const storedId = operation.kind === 'update' ? operation.remoteId : null;
  return await write(scope, operation, theOne(found, storedId), contactId);
}

async function write(scope: Scope, operation: Write<CrmItem>, row: CrmRow | null, contactId: string | null) {
  if (row?.owner === 'foreign') return { recordId: operation.recordId, result: 'key-burnt' } as const;
  const stored = row ?? (await lookAtId(scope, operation));
  if (typeof stored === 'object' && stored !== null) return await overwrite(scope, operation, stored, contactId);
  if (stored === undefined && operation.kind === 'update' && operation.remoteId !== null) {
    const answer = await put(scope, operation, contactId, { id: operation.remoteId, versionTag: operation.versionTag });
    if (!isMissing(answer))
      return await updated(scope, operation, { id: operation.remoteId, answer, contactId }, 'updated');
  }
  return await create(scope, operation, contactId);
}

async function overwrite(
  scope: Scope,
  operation: Write<CrmItem>,
  row: CrmRow,
  contactId: string | null,
): Promise<Outcome<CrmItem>> {
  const effect = effectOf(operation, false);
  const { recordId } = operation;
  const { versionTag } = row.remote;
  const superseded = supersededBy(operation, { key: operation.key, ...row.remote });
  if (superseded !== null) return superseded;
  if (row.key === operation.key && isSameItem(scope, row, operation, contactId)) {
    return { recordId, result: 'written', effect, versionTag, remoteId: row.id };
  }
  const answer = await put(scope, operation, contactId, { id: row.id, versionTag });
  if (!isMissing(answer)) return await updated(scope, operation, { id: row.id, answer, contactId }, effect);
  // The object existed a moment earlier, so a user deleted it in the meantime.
  return await makeAgain(scope, operation, contactId);
}

/** Creates an object. If the CRM refuses the key because a concurrent writer created an object after the search, that object is used. */
async function create(scope: Scope, operation: Write<CrmItem>, contactId: string | null): Promise<Outcome<CrmItem>> {
  try {
    return await makeAgain(scope, operation, contactId);
  } catch (thrown) {
    if (asMirrorError(thrown).code !== 'record-refused') throw thrown;
    const { key } = operation;
    const [row, ...others] = (await findByKeys(scope, scope.resource, [key])).get(key) ?? [];
    if (row === undefined || row.owner === 'foreign' || others.length > 0) throw thrown;
    return await overwrite(scope, operation, row, contactId);
  }
}

async function makeAgain(scope: Scope, operation: Write<CrmItem>, contactId: string | null): Promise<Outcome<CrmItem>> {
  const { resource, client, signal } = scope;
  const values = { ...selection(scope, resource), ...writeValues(scope, operation, contactId) };
  const answer = await client.send('rest-crm.create', resource.create.call, values, signal);
  const row = rowOf(scope, answer, resource.create.recordPath);
  const id = resource.create.id === undefined ? row?.id : idAt(answer.body, resource.create.id);
  if (id === undefined || id === null) throw errors.make('unexpected-answer', { names: ['id'] });
  return written(operation, effectOf(operation, true), id, row);
}

async function put(
  scope: Scope,
  operation: Write<CrmItem>,
  contactId: string | null,
  stored: { id: string; versionTag: string | null },
): Promise<CrmAnswer> {
  const { resource, client, signal } = scope;
  const values = { ...selection(scope, resource), ...writeValues(scope, operation, contactId), ...stored };
  return await client.send('rest-crm.update', resource.update.call, values, signal);
}

async function updated(
  scope: Scope,
  operation: Write<CrmItem>,
  { id, answer, contactId }: { id: string; answer: CrmAnswer; contactId: string | null },
  effect: WriteEffect,
): Promise<Outcome<CrmItem>> {
  if (speaksOf(answer, id))
    return written(operation, effect, id, rowOf(scope, answer, scope.resource.update.recordPath));
  const stored = await lookAgain(scope, operation, id);
  if (stored?.key !== operation.key || !isSameItem(scope, stored, operation, contactId))
    throw errors.make('write-not-shown', { status: answer.status });
  return written(operation, effect, id, stored);
}

/** Returns the object from the response, if present. */
function rowOf(scope: Scope, answer: CrmAnswer, path: string | undefined): CrmRow | null {
  return path === undefined ? null : readRow(scope, scope.resource, valueAt(answer.body, path));
}

function written(operation: Write<CrmItem>, effect: WriteEffect, id: string, row: CrmRow | null): Outcome<CrmItem> {
  const { recordId, key } = operation;
  const shown = row?.key === key && row.id === id ? row.remote : null;
  const stored = shown?.item ?? null;
  return {
    recordId,
    result: 'written',
    effect,
    versionTag: shown?.versionTag ?? null,
    remoteId: id,
    ...(stored === null ? {} : { stored, marks: 'kept' }),
  };
}
