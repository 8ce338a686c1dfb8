import { asMirrorError, type MirrorError } from '../../model/errors.ts';
import type { CrmItem } from '../../model/items.ts';
import type { Outcome } from '../../model/operations.ts';
import { failed } from '../settle.ts';
import { inBatches } from './batches.ts';
import type { CrmResource } from './description.ts';
import { errors, rowRefused } from './errors.ts';
import { idAt, writeValues } from './from-model.ts';
import { isObject, valueAt } from './json-paths.ts';
import { rowsIn } from './lookup.ts';
import { type Scope, selection } from './scope.ts';
import { renderBody } from './templates.ts';
import type { Write } from './writing.ts';

type Upsert = NonNullable<CrmResource['upsert']>;
/** A write with the id of the contact that it belongs to. */
export type ReadyWrite = { operation: Write; contactId: string | null };

/**
 * Writes rows by the CRM's own upsert, in batches. A batch that is refused as a whole is halved until the row that spoils it stands
 * alone.
 * Never throws: what fails stands in the outcomes.
 */
export async function upsertAll(
  scope: Scope,
  upsert: Upsert,
  writes: readonly ReadyWrite[],
): Promise<Outcome<CrmItem>[]> {
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

/** Whether one row may have brought the whole batch down, so that nothing of it was written. */
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
  const answers = rowsIn(answer, upsert.rows);
  // Rows are told apart by their order alone: with one missing none can be told.
  if (answers.length !== writes.length) throw errors.make('answer-missing');
  return writes.map(({ operation }, index) => toOutcome(scope, upsert, operation, answers[index]));
}

function toOutcome(scope: Scope, upsert: Upsert, operation: Write, row: unknown): Outcome<CrmItem> {
  const status = valueAt(row, upsert.status);
  const isTaken = isObject(row) && upsert.taken.some((taken) => taken === status);
  if (!isTaken) return failed(operation, rowRefused(row, scope.description.errors, scope.known));
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

function effectOf({ kind }: Write, wasCreated: boolean) {
  if (kind === 'create') return wasCreated ? 'created' : 'adopted';
  return wasCreated ? 'recreated' : 'updated';
}
