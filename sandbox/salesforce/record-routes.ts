import type { ApiAnswer } from '../kit/answer.ts';
import { type ApiCall, type BegunWrite, header, objectBody } from './call.ts';
import { ApiError, entityIsDeleted, notFound, RowFailure } from './errors.ts';
import type { Field } from './fields.ts';
import { toLongId } from './ids.ts';
import { toBody } from './record-body.ts';
import { deleteRecord } from './recycle-bin.ts';
import type { RowTarget } from './row.ts';
import type { SObject } from './schema.ts';
import { isLive, type StoredRecord } from './store.ts';
import { readValue } from './values.ts';
import type { World } from './world.ts';
import { beginWrite, countRows, type RowResult, type WriteOptions } from './write.ts';

/** From this version on, an upsert that updates a record answers 200 with a body. Older versions answer 204. */
const UPSERT_WITH_BODY = 46;

/** `POST /sobjects/{object}`. */
export function createRecord(world: World, call: ApiCall): BegunWrite {
  const object = world.schema.object(call.params.object!);
  return writeOne(world, call, object, { by: 'new' }, ({ id }) => ({
    status: 201,
    headers: { location: `${call.base}/sobjects/${object.name}/${id}` },
    body: { id, success: true, errors: [] },
  }));
}

/** `PATCH /sobjects/{object}/{id}`. */
export function updateRecord(world: World, call: ApiCall): BegunWrite {
  const object = world.schema.object(call.params.object!);
  const { id } = requireRecord(world, object, call.params.id!);
  return writeOne(world, call, object, { by: 'id', id }, () => ({ status: 204 }));
}

/** `PATCH /sobjects/{object}/{field}/{value}`: creates or updates by key. */
export function upsertRecord(world: World, call: ApiCall): ApiAnswer | BegunWrite {
  const object = world.schema.object(call.params.object!);
  const field = requireKeyField(world, object, call.params.field!);
  const names = Object.keys(objectBody(call)).map((name) => name.toLowerCase());
  if (names.includes(field.name.toLowerCase()) || names.includes('id')) {
    const message = `The ${field.name} field should not be specified in the sobject data.`;
    throw new ApiError(400, 'INVALID_FIELD', message, [field.name]);
  }
  const value = readValue(field, call.params.value, false);
  const matches = world.store.withKey(object.name, field, value).filter(isLive);
  if (matches.length > 1) {
    return { status: 300, body: matches.map(({ id }) => `${call.base}/sobjects/${object.name}/${id}`) };
  }
  if (matches.length === 0 && call.query.get('updateOnly') === 'true') {
    throw notFound();
  }
  return writeOne(world, call, object, { by: 'key', field, value }, ({ id, isCreated }) => {
    const body = { id, success: true, errors: [], created: isCreated };
    return isCreated || call.version >= UPSERT_WITH_BODY ? { status: isCreated ? 201 : 200, body } : { status: 204 };
  });
}

/** `GET /sobjects/{object}/{id}`. */
export function readRecord(world: World, call: ApiCall): ApiAnswer {
  const object = world.schema.object(call.params.object!);
  return { status: 200, body: shown(world, call, object, requireRecord(world, object, call.params.id!)) };
}

/** `GET /sobjects/{object}/{field}/{value}`. */
export function readRecordByKey(world: World, call: ApiCall): ApiAnswer {
  const object = world.schema.object(call.params.object!);
  const found = findByKey(world, call, object);
  return 'status' in found ? found : { status: 200, body: shown(world, call, object, found) };
}

/** `DELETE /sobjects/{object}/{id}`. */
export function removeRecord(world: World, call: ApiCall): ApiAnswer {
  const object = world.schema.object(call.params.object!);
  return removed(world, requireRecord(world, object, call.params.id!));
}

/** `DELETE /sobjects/{object}/{field}/{value}`. */
export function removeRecordByKey(world: World, call: ApiCall): ApiAnswer {
  const found = findByKey(world, call, world.schema.object(call.params.object!));
  return 'status' in found ? found : removed(world, found);
}

/** Returns the options of a write, from the call's headers. */
export function writeOptions(call: ApiCall, allOrNone: boolean): WriteOptions {
  const allowDuplicates = /allowSave\s*=\s*true/i.test(header(call, 'sforce-duplicate-rule-header') ?? '');
  const { method, url, username } = call;
  return { allOrNone: call.allOrNone ?? allOrNone, allowDuplicates, method, path: url, username };
}

/** Returns a field by which records can be upserted. Throws ApiError 404. */
export function requireKeyField(world: World, object: SObject, name: string): Field {
  const field = world.schema.visibleFields(object).find((each) => each.name.toLowerCase() === name.toLowerCase());
  if (!field?.externalId) {
    throw notFound(`Provided external ID field does not exist or is not accessible: ${name}`);
  }
  return field;
}

/** Returns a live record. Throws ApiError 404: ENTITY_IS_DELETED for a record in the recycle bin, NOT_FOUND for an unknown id. */
function requireRecord(world: World, object: SObject, id: string): StoredRecord {
  if (toLongId(id) === undefined) {
    throw notFound();
  }
  const found = world.store.find(id);
  if (found?.type !== object.name) {
    throw notFound();
  }
  if (!isLive(found)) {
    throw entityIsDeleted().toApiError();
  }
  return found;
}

function writeOne(
  world: World,
  call: ApiCall,
  object: SObject,
  target: RowTarget,
  answer: (result: RowResult) => ApiAnswer,
): BegunWrite {
  const finish = beginWrite(world, [{ object, target, body: objectBody(call) }], writeOptions(call, false));
  return {
    finish: () => {
      const results = finish();
      countRows(world, results);
      const [result] = results;
      if (result!.failure) {
        throw result!.failure.toApiError();
      }
      return answer(result!);
    },
  };
}

function findByKey(world: World, call: ApiCall, object: SObject): StoredRecord | ApiAnswer {
  const field = requireKeyField(world, object, call.params.field!);
  const value = readValue(field, call.params.value, false);
  const [first, ...more] = world.store.withKey(object.name, field, value).filter(isLive);
  if (!first) {
    throw notFound();
  }
  const all = [first, ...more].map(({ id }) => `${call.base}/sobjects/${object.name}/${id}`);
  return more.length > 0 ? { status: 300, body: all } : first;
}

function shown(world: World, call: ApiCall, object: SObject, record: StoredRecord): object {
  const wanted = call.query.get('fields')?.split(',');
  const fields = wanted?.map((name) => world.schema.field(object, name.trim())) ?? world.schema.visibleFields(object);
  return toBody(record, object, fields, call.base);
}

function removed(world: World, record: StoredRecord): ApiAnswer {
  try {
    removeRow(world, record);
  } catch (error) {
    throw error instanceof RowFailure ? error.toApiError() : error;
  }
  world.counts.add('rowsDeleted');
  return { status: 204 };
}

/** Deletes a record as an API call does. Throws RowFailure. */
export function removeRow(world: World, record: StoredRecord): void {
  if (world.schema.object(record.type).readOnly) {
    throw new RowFailure('INSUFFICIENT_ACCESS_OR_READONLY', 'insufficient access rights on object id');
  }
  if (record.type === 'Contact' && record.fields.IsPersonAccount === true) {
    throw new RowFailure('INVALID_OPERATION', 'The contact of a person account is deleted through its account.');
  }
  deleteRecord(world, record);
}
