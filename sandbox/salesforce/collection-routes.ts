import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { type ApiCall, type BegunWrite, readBody } from './call.ts';
import { ApiError, notFound, RowFailure, rolledBack } from './errors.ts';
import { toBody } from './record-body.ts';
import { removeRow, requireKeyField, writeOptions } from './record-routes.ts';
import type { RowRequest } from './row.ts';
import { isLive } from './store.ts';
import { readValue } from './values.ts';
import type { World } from './world.ts';
import { beginWrite, countRows, type RowResult } from './write.ts';

/** Rows in one collection (REST API Developer Guide, sObject Collections). */
const MAX_ROWS = 200;
/** Ids in one retrieve with a body. */
const MAX_RETRIEVED = 2000;
/** The first version with upserts of collections. */
const UPSERT_SINCE = 46;

const sentRow = z.looseObject({ attributes: z.looseObject({ type: z.string() }) });
const collection = z.object({ allOrNone: z.boolean().default(false), records: z.array(sentRow) });
const retrieval = z.object({ ids: z.array(z.string()), fields: z.array(z.string()) });

type SentRow = z.infer<typeof sentRow>;

/** `PATCH /composite/sobjects/{object}/{field}`: upserts rows of one object by key. The results have the order of the rows. */
export function upsertRows(world: World, call: ApiCall): BegunWrite {
  if (call.version < UPSERT_SINCE) {
    throw notFound();
  }
  const object = world.schema.object(call.params.object!);
  const field = requireKeyField(world, object, call.params.field!);
  return writeRows(world, call, true, (row) => {
    if (row.attributes.type.toLowerCase() !== object.name.toLowerCase()) {
      throw new ApiError(400, 'INVALID_TYPE', `All records must be of type ${object.name}`);
    }
    const named = Object.entries(row).find(([name]) => name.toLowerCase() === field.name.toLowerCase());
    if (Object.keys(row).some((name) => name.toLowerCase() === 'id')) {
      return new RowFailure('INVALID_FIELD_FOR_INSERT_UPDATE', 'cannot specify Id in an upsert by external id', ['Id']);
    }
    const value = named ? readValue(field, named[1], world.settings.lowercaseEmails) : null;
    if (value === null) {
      return new RowFailure('MISSING_ARGUMENT', `${field.name} not specified`);
    }
    return { object, target: { by: 'key', field, value }, body: withoutKey(row, named?.[0]) };
  });
}

/** `POST /composite/sobjects`: creates rows of any objects. */
export function createRows(world: World, call: ApiCall): BegunWrite {
  return writeRows(world, call, false, (body) => ({
    object: world.schema.object(body.attributes.type),
    target: { by: 'new' },
    body,
  }));
}

/** `PATCH /composite/sobjects`: updates rows by id. */
export function updateRows(world: World, call: ApiCall): BegunWrite {
  return writeRows(world, call, false, (body) => {
    const id = body.Id ?? body.id;
    return typeof id === 'string'
      ? { object: world.schema.object(body.attributes.type), target: { by: 'id', id }, body }
      : new RowFailure('MISSING_ARGUMENT', 'Id not specified in an update call');
  });
}

/** `DELETE /composite/sobjects?ids=…`. */
export function removeRows(world: World, call: ApiCall): ApiAnswer {
  const ids = (call.query.get('ids') ?? '').split(',').filter((id) => id !== '');
  checkCount(ids.length, MAX_ROWS);
  const allOrNone = call.allOrNone ?? call.query.get('allOrNone') === 'true';
  let results: RowResult[] = [];
  const isKept = world.store.attempt(() => {
    results = ids.map((id) => removeById(world, id));
    return !allOrNone || results.every(({ failure }) => failure === undefined);
  });
  world.counts.add('rowsDeleted', isKept ? results.filter(({ failure }) => !failure).length : 0);
  const shown = isKept ? results : results.map((result) => ({ ...result, failure: result.failure ?? rolledBack() }));
  return { status: 200, body: shown.map((result) => resultBody(result, false)) };
}

/** `GET` or `POST /composite/sobjects/{object}`: returns null for an unknown record. */
export function retrieveRows(world: World, call: ApiCall): ApiAnswer {
  const list = (name: string): string[] => (call.query.get(name) ?? '').split(',').filter((part) => part !== '');
  const wanted =
    call.method === 'GET'
      ? { ids: list('ids'), fields: list('fields') }
      : readBody(call, retrieval, 'an object with ids and fields');
  checkCount(wanted.ids.length, MAX_RETRIEVED);
  const object = world.schema.object(call.params.object!);
  const fields = [...new Set(['Id', ...wanted.fields])].map((name) => world.schema.field(object, name));
  const body = wanted.ids.map((id) => {
    const record = world.store.find(id);
    const isThere = record?.type === object.name && isLive(record);
    return isThere ? toBody(record, object, [...new Set(fields)], call.base) : null;
  });
  return { status: 200, body };
}

function writeRows(
  world: World,
  call: ApiCall,
  isUpsert: boolean,
  toRequest: (row: SentRow) => RowRequest | RowFailure,
): BegunWrite {
  const { records, allOrNone } = readBody(call, collection, 'an object with records, each with attributes.type');
  checkCount(records.length, MAX_ROWS);
  world.counts.add('collections');
  const requests = records.map(toRequest);
  const options = writeOptions(call, allOrNone);
  const unreadable = requests.filter((request) => request instanceof RowFailure);
  const readable = requests.filter((request): request is RowRequest => !(request instanceof RowFailure));
  if (unreadable.length > 0 && options.allOrNone) {
    const results = requests.map((request) => failed(request instanceof RowFailure ? request : rolledBack()));
    return { finish: () => toAnswer(world, results, isUpsert) };
  }
  const finish = beginWrite(world, readable, options);
  return {
    finish: () => {
      const written = finish();
      const results = requests.map((each) => (each instanceof RowFailure ? failed(each) : written.shift()!));
      return toAnswer(world, results, isUpsert);
    },
  };
}

function removeById(world: World, id: string): RowResult {
  const record = world.store.find(id);
  try {
    if (!record) {
      throw new RowFailure('INVALID_CROSS_REFERENCE_KEY', 'invalid cross reference id');
    }
    removeRow(world, record);
    return { id: record.id, isCreated: false, failure: undefined };
  } catch (error) {
    if (error instanceof RowFailure) {
      return failed(error);
    }
    throw error;
  }
}

function toAnswer(world: World, results: readonly RowResult[], isUpsert: boolean): ApiAnswer {
  countRows(world, results);
  return { status: 200, body: results.map((result) => resultBody(result, isUpsert)) };
}

function resultBody({ id, isCreated, failure }: RowResult, isUpsert: boolean): object {
  const created = isUpsert ? { created: isCreated } : {};
  if (!failure) {
    return { id, success: true, errors: [], ...created };
  }
  const { statusCode, message, fields } = failure;
  return { success: false, errors: [{ statusCode, message, fields }], ...created };
}

function failed(failure: RowFailure): RowResult {
  return { id: undefined, isCreated: false, failure };
}

function checkCount(count: number, most: number): void {
  if (count > most) {
    const message = `record limit reached. cannot submit more than ${most} records into this call`;
    throw new ApiError(400, 'EXCEEDED_ID_LIMIT', message);
  }
}

function withoutKey(row: SentRow, key: string | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).filter(([name]) => name !== key));
}
