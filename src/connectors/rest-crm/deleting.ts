import { asMirrorError, type MirrorError } from '../../core/model/errors.ts';
import type { CrmItem } from '../../core/model/items.ts';
import type { Deletion, Operation, Outcome } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import { valueAt } from '../../described-api/paths.ts';
import { concernsOneItem, failed, inTurn, notSent } from '../outcomes.ts';
import { supersededBy } from '../owner.ts';
import { isMissing, speaksOf } from './client.ts';
import type { CrmResource } from './description.ts';
import { errors } from './errors.ts';
import { type CrmRow, idAt, type Scope } from './from-model.ts';
import { lookAgain, lookAtId, rowsIn } from './lookup.ts';

type DeleteMany = NonNullable<CrmResource['deleteMany']>;

/** Deletion of one object. */
export interface Removal {
  operation: Deletion<CrmItem>;
  id: string;
  /** Stored object: null if already deleted, undefined if the CRM cannot be queried. */
  stored: CrmRow | null | undefined;
}

/**
 * Deletes the objects with a record's key, including users' copies, which contain data of the patient too.
 * @param found objects with the key
 * @throws MirrorError the reason why this deletion, or the whole target, failed
 */
export async function remove(
  scope: Scope,
  operation: Deletion<CrmItem>,
  found: readonly CrmRow[],
): Promise<Outcome<CrmItem>> {
  const removals = await toRemovals(scope, operation, found);
  if ('result' in removals) return removals;
  const outcomes: Outcome<CrmItem>[] = [];
  for (const removal of removals) outcomes.push(await removeOne(scope, removal));
  if (removals.length > 1)
    scope.log.warn({ copies: removals.length - 1 }, 'copies of a record were deleted with the record');
  return outcomes.find((outcome) => 'effect' in outcome && outcome.effect === 'deleted') ?? gone(operation);
}

/**
 * Returns the objects of a deletion, with the known object last, so that the deletion is retried until this object is absent. Without such
 * objects, returns an outcome: already deleted, foreign, or written later.
 * @param found objects with the key
 * @throws MirrorError as {@link remove}
 */
export async function toRemovals(
  scope: Scope,
  operation: Deletion<CrmItem>,
  found: readonly CrmRow[],
): Promise<Removal[] | Outcome<CrmItem>> {
  const { remoteId, key } = operation;
  const ours = found.filter(({ owner }) => owner !== 'foreign');
  if (ours.length === 0) {
    const stored = found.length > 0 ? 'theirs' : await lookAtId(scope, operation);
    // A foreign object is not changed; the own object is absent.
    if (stored === 'theirs') return gone(operation);
    const id = stored?.id ?? remoteId;
    if (id === null) return gone(operation);
    return (stored ? supersededBy(operation, { key, ...stored.remote }) : null) ?? [{ operation, id, stored }];
  }
  for (const { remote } of ours) {
    const superseded = supersededBy(operation, { key, ...remote });
    if (superseded !== null) return superseded;
  }
  const ordered = ours.toSorted((one, other) => Number(one.id === remoteId) - Number(other.id === remoteId));
  return ordered.map((stored) => ({ operation, id: stored.id, stored }));
}

/**
 * Deletes objects by the CRM's batch call. Only objects that the response confirms are deleted. Other objects, and a batch that failed
 * because of one object, are deleted separately. Never throws: failures are outcomes.
 */
export async function removeAll(
  scope: Scope,
  deleteMany: DeleteMany,
  removals: readonly Removal[],
): Promise<Outcome<CrmItem>[]> {
  const isAlone = ({ operation: { erase }, stored }: Removal) =>
    stored === null || (erase === true && scope.resource.erase !== undefined);
  const outcomes = await inBatches(
    removals.filter((removal) => !isAlone(removal)),
    deleteMany.size,
    (some) => removeSome(scope, deleteMany, some),
  );
  return [...outcomes, ...(await eachAlone(scope, removals.filter(isAlone)))];
}

async function removeSome(
  scope: Scope,
  deleteMany: DeleteMany,
  removals: readonly Removal[],
): Promise<Outcome<CrmItem>[]> {
  let deleted: ReadonlySet<string>;
  try {
    deleted = await namedAsDeleted(scope, deleteMany, removals);
  } catch (thrown) {
    const error = asMirrorError(thrown);
    const isOfRecords = concernsOneItem(error, errors) && error.code !== 'connection-failed';
    if (!isOfRecords) return removals.map(({ operation }) => failed(operation, error));
    deleted = new Set();
  }
  const isDeleted = ({ id }: Removal) => deleted.has(id);
  return [
    ...removals.filter(isDeleted).map(({ operation }) => ({ ...gone(operation), effect: 'deleted' }) as const),
    ...(await eachAlone(
      scope,
      removals.filter((removal) => !isDeleted(removal)),
    )),
  ];
}

async function namedAsDeleted(
  { client, signal }: Scope,
  { call, separator, listPath, status, taken, id }: DeleteMany,
  removals: readonly Removal[],
): Promise<Set<string>> {
  const ids = removals.map((removal) => removal.id);
  const values = { ids: separator === undefined ? ids : ids.join(separator) };
  const answer = await client.send('rest-crm.delete-many', call, values, signal);
  const isTaken = (row: unknown) => taken.some((word) => word === valueAt(row, status));
  return new Set(
    rowsIn(answer, listPath)
      .filter(isTaken)
      .flatMap((row) => idAt(row, id) ?? []),
  );
}

async function eachAlone(scope: Scope, removals: readonly Removal[]): Promise<Outcome<CrmItem>[]> {
  const byRecord = new Map(removals.map((removal) => [removal.operation.recordId, removal]));
  const operations = removals.map(({ operation }) => operation);
  return await inTurn(operations, errors, scope.signal, ({ recordId }) => removeOne(scope, byRecord.get(recordId)!));
}

async function removeOne(scope: Scope, { operation, id, stored }: Removal): Promise<Outcome<CrmItem>> {
  const { client, resource, signal } = scope;
  const values = { id, key: operation.key, versionTag: stored?.remote.versionTag ?? operation.versionTag };
  const answer = stored === null ? null : await client.send('rest-crm.delete', resource.delete.call, values, signal);
  const isProved = answer === null || isMissing(answer) || speaksOf(answer, id);
  if (!isProved && (await lookAgain(scope, operation, id)) !== null)
    throw errors.make('write-not-shown', { status: answer.status });
  // Also erases objects that were deleted earlier, which a recycle bin may still contain.
  if (operation.erase === true && resource.erase !== undefined) {
    await client.send('rest-crm.erase', resource.erase.call, values, signal);
  }
  return answer === null || isMissing(answer) ? gone(operation) : { ...gone(operation), effect: 'deleted' };
}

function gone({ recordId }: Deletion<CrmItem>) {
  return { recordId, result: 'deleted', effect: 'already-gone' } as const;
}

/**
 * Sends batches in sequence. An error of the whole target stops the sequence.
 * @param send returns the outcomes of one batch and never throws
 */
export async function inBatches<Ready extends { operation: Operation<CrmItem> }>(
  ready: readonly Ready[],
  size: number,
  send: (some: readonly Ready[]) => Promise<Outcome<CrmItem>[]>,
): Promise<Outcome<CrmItem>[]> {
  const outcomes: Outcome<CrmItem>[] = [];
  for (const some of slices(ready, size)) {
    const ending = endingOf(outcomes.at(-1));
    outcomes.push(...(ending === null ? await send(some) : some.map(({ operation }) => failed(operation, ending))));
  }
  return outcomes;
}

function endingOf(before: Outcome<CrmItem> | undefined): MirrorError | null {
  return before?.result === 'failed' && !concernsOneItem(before.error, errors) ? notSent(before.error) : null;
}
