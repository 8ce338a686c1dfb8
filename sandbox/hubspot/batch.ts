import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { shuffled } from '../kit/random.ts';
import type { Context } from './call.ts';
import { HubSpotError, invalidInput, rowNotFound } from './errors.ts';
import type { ObjectType } from './object-types.ts';
import type { StoredRecord } from './record-store.ts';
import { toResource } from './resource.ts';

/** Most inputs of one batch of records (developers.hubspot.com, batch endpoints). */
const MAX_INPUTS = 100;

/** One row of a batch that writes. */
export interface RowInput {
  id?: string | undefined;
  objectWriteTraceId?: string | undefined;
}

/** Result of one row. Only upserts set `isNew`. */
export interface RowResult {
  record: StoredRecord;
  isNew?: boolean;
  /** Runs after the whole batch was accepted. */
  afterwards?(): void;
}

/** `inputs` of a batch: one to `most`. */
export function inputsOf<T extends z.ZodType>(row: T, most = MAX_INPUTS) {
  return z.strictObject({ inputs: z.array(row).min(1).max(most) });
}

/**
 * Runs the rows of a batch. A bad row is reported separately (207) if it names no record, or if every row carries objectWriteTraceId and
 * the sandbox reports row errors for this operation. Otherwise the whole batch is refused and nothing is written.
 * @throws HubSpotError
 */
export function writeRows<T extends RowInput>(
  context: Context,
  type: ObjectType,
  inputs: readonly T[],
  run: (input: T) => RowResult,
  operation: 'create' | 'update' | 'upsert',
): ApiAnswer {
  const { world } = context;
  const traces = inputs.flatMap(({ objectWriteTraceId }) => objectWriteTraceId ?? []);
  checkDuplicates(traces);
  const { rowErrors } = world.settings;
  const tellsRows = rowErrors === 'traced' || (rowErrors === 'created' && operation === 'create');
  const isTraced = tellsRows && traces.length === inputs.length;
  const poison = poisonedIds(context);
  const startedAt = world.now();
  const results: unknown[] = [];
  const errors: unknown[] = [];
  const refusals: HubSpotError[] = [];
  const done: RowResult[] = [];
  world.records(type.name).atomically(() => {
    for (const input of inputs) {
      try {
        checkPoison(input, poison);
        const result = run(input);
        done.push(result);
        results.push(toRow(context, type, input, result));
      } catch (error) {
        if (!(error instanceof HubSpotError) || error.status === 403) {
          throw error;
        }
        errors.push(error.toRow(rowContext(input)));
        refusals.push(error);
      }
    }
    const fatal = refusals.filter(({ category }) => category !== 'OBJECT_NOT_FOUND');
    if (fatal[0] && !isTraced) {
      throw wholeRefusal(fatal[0], fatal);
    }
  });
  for (const { afterwards } of done) {
    afterwards?.();
  }
  world.counts.add(`rows:${type.name}:${operation}`, results.length);
  world.counts.add(`failedRows:${type.name}`, errors.length);
  const status = operation === 'create' ? 201 : 200;
  return batchAnswer(context, { status, startedAt, results: withoutMissing(context, results), errors });
}

/** Answers a batch that reads or finds rows. All unknown ids are reported in one error (207). */
export function foundRows(
  context: Context,
  type: ObjectType,
  rows: { id: string; row: unknown }[],
  startedAt: number,
): ApiAnswer {
  const ids = rows.filter(({ row }) => row === undefined).map(({ id }) => id);
  const errors = ids.length === 0 ? [] : [rowNotFound(type.singular.toUpperCase()).toRow({ ids })];
  const results = rows.flatMap(({ row }) => (row === undefined ? [] : [row]));
  return batchAnswer(context, { status: 200, startedAt, results, errors });
}

/** Builds the body of a batch answer: status 207 if there are errors. */
export function batchAnswer(
  { world, random }: Context,
  { status, startedAt, results, errors }: { status: number; startedAt: number; results: unknown[]; errors: unknown[] },
): ApiAnswer {
  const rows = world.settings.shuffleRows ? shuffled(results, random) : results;
  const body = {
    status: 'COMPLETE',
    results: rows,
    startedAt: new Date(startedAt).toISOString(),
    completedAt: new Date(world.now()).toISOString(),
  };
  return errors.length === 0 ? { status, body } : { status: 207, body: { ...body, numErrors: errors.length, errors } };
}

/** Throws HubSpotError 400 if two rows refer to the same record. The whole batch is refused, even with trace ids. */
export function checkDuplicates(ids: readonly string[]): void {
  const twice = [...new Set(ids.filter((id, index) => ids.indexOf(id) < index))];
  if (twice.length > 0) {
    const message = `Duplicate IDs found in batch input: [${twice.join(', ')}]. IDs must be unique`;
    throw invalidInput(message, { context: { ids: twice } });
  }
}

function toRow({ world, caller }: Context, type: ObjectType, input: RowInput, { record, isNew }: RowResult): unknown {
  return {
    ...toResource(record, { world, type, reader: caller.scopes, properties: 'all' }),
    ...(isNew === undefined ? {} : { new: isNew }),
    ...(input.objectWriteTraceId === undefined ? {} : { objectWriteTraceId: input.objectWriteTraceId }),
  };
}

function rowContext({ id, objectWriteTraceId }: RowInput): Record<string, string[]> {
  return {
    ...(id === undefined ? {} : { ids: [id] }),
    ...(objectWriteTraceId === undefined ? {} : { objectWriteTraceId: [objectWriteTraceId] }),
  };
}

/** Returns one error for a whole batch: the first error, with the details of the other rows added. */
function wholeRefusal(first: HubSpotError, all: readonly HubSpotError[]): HubSpotError {
  const errors = all.flatMap(({ details }) => details.errors ?? []);
  const details = { ...first.details, ...(errors.length === 0 ? {} : { errors }) };
  return new HubSpotError(first.status, first.category, first.message, details);
}

/** Returns the ids of rows that an injected fault refuses. */
function poisonedIds({ faults, method, url }: Context): ReadonlySet<string> {
  const fault = faults.active('poison-row', { method, path: url });
  return new Set(fault && 'ids' in fault && Array.isArray(fault.ids) ? fault.ids.map(String) : []);
}

function checkPoison({ id, objectWriteTraceId }: RowInput, poison: ReadonlySet<string>): void {
  if (poison.has(id ?? '') || poison.has(objectWriteTraceId ?? '')) {
    throw invalidInput('This row cannot be processed.');
  }
}

function withoutMissing({ faults, method, url }: Context, results: unknown[]): unknown[] {
  return faults.active('missing-row', { method, path: url }) ? results.slice(0, -1) : results;
}
