import { asMirrorError } from '../../model/errors.ts';
import type { CrmItem } from '../../model/items.ts';
import type { Operation, Outcome } from '../../model/operations.ts';
import { supersededBy } from '../owner.ts';
import { type CrmAnswer, isMissing, speaksOf } from './client.ts';
import { remove } from './deleting.ts';
import { errors } from './errors.ts';
import { type CrmRow, idAt, isSameItem, readRow, type Scope, selection, writeValues } from './from-model.ts';
import { findByKeys, lookAgain, lookAtId, theOne } from './lookup.ts';
import { valueAt } from './templates.ts';

/** A create or an update. */
export type Write = Extract<Operation<CrmItem>, { kind: 'create' | 'update' }>;
type Effect = Extract<Outcome, { result: 'written' }>['effect'];

/**
 * Carries out one operation after a look by key. One object with the key is it, and none is made. Of several the known one is written,
 * and all are deleted; where none is known none is chosen.
 * @param found what carries the key
 * @param contactId id of the contact that the object belongs to; null for a contact
 * @throws MirrorError why this operation, or everything, could not be done
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

async function write(scope: Scope, operation: Write, row: CrmRow | null, contactId: string | null) {
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
  operation: Write,
  row: CrmRow,
  contactId: string | null,
): Promise<Outcome<CrmItem>> {
  const effect = operation.kind === 'create' ? 'adopted' : 'updated';
  const { recordId } = operation;
  const { versionTag } = row.remote;
  const superseded = supersededBy(operation, { key: operation.key, ...row.remote });
  if (superseded !== null) return superseded;
  if (row.key === operation.key && isSameItem(scope, row, operation, contactId)) {
    return { recordId, result: 'written', effect, versionTag, remoteId: row.id };
  }
  const answer = await put(scope, operation, contactId, { id: row.id, versionTag });
  if (!isMissing(answer)) return await updated(scope, operation, { id: row.id, answer, contactId }, effect);
  // It was there a moment ago: somebody deleted it meanwhile.
  return await makeAgain(scope, operation, contactId);
}

/** A create that is refused may have met the key of another writer, made since the look: then that object is it. */
async function create(scope: Scope, operation: Write, contactId: string | null): Promise<Outcome<CrmItem>> {
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

async function makeAgain(scope: Scope, operation: Write, contactId: string | null): Promise<Outcome<CrmItem>> {
  const { resource, client, signal } = scope;
  const values = { ...selection(scope, resource), ...writeValues(scope, operation, contactId) };
  const answer = await client.send('rest-crm.create', resource.create.call, values, signal);
  const row = rowOf(scope, answer, resource.create.row);
  const id = resource.create.id === undefined ? row?.id : idAt(answer.body, resource.create.id);
  if (id === undefined || id === null) throw errors.make('unexpected-answer', { names: ['id'] });
  return written(operation, operation.kind === 'create' ? 'created' : 'recreated', id, row);
}

async function put(
  scope: Scope,
  operation: Write,
  contactId: string | null,
  stored: { id: string; versionTag: string | null },
): Promise<CrmAnswer> {
  const { resource, client, signal } = scope;
  const values = { ...selection(scope, resource), ...writeValues(scope, operation, contactId), ...stored };
  return await client.send('rest-crm.update', resource.update.call, values, signal);
}

async function updated(
  scope: Scope,
  operation: Write,
  { id, answer, contactId }: { id: string; answer: CrmAnswer; contactId: string | null },
  effect: Effect,
): Promise<Outcome<CrmItem>> {
  if (speaksOf(answer, id)) return written(operation, effect, id, rowOf(scope, answer, scope.resource.update.row));
  const stored = await lookAgain(scope, operation, id);
  if (stored?.key !== operation.key || !isSameItem(scope, stored, operation, contactId))
    throw errors.make('write-not-shown', { status: answer.status });
  return written(operation, effect, id, stored);
}

/** The object as the answer shows it, where it does. */
function rowOf(scope: Scope, answer: CrmAnswer, path: string | undefined): CrmRow | null {
  return path === undefined ? null : readRow(scope, scope.resource, valueAt(answer.body, path));
}

function written(operation: Write, effect: Effect, id: string, row: CrmRow | null): Outcome<CrmItem> {
  const { recordId, key } = operation;
  const shown = row?.key === key && row.id === id ? row.remote : null;
  const stored = shown?.item ?? null;
  return {
    recordId,
    result: 'written',
    effect,
    versionTag: shown?.versionTag ?? null,
    remoteId: id,
    ...(stored === null ? {} : { stored }),
  };
}
