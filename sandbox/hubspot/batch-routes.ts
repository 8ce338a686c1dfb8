import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { type AssociationType, objectBehind, requireType } from './associations.ts';
import { checkDuplicates, foundRows, inputsOf, type RowResult, writeRows } from './batch.ts';
import { type Context, checkQuery, flagIn, readBody, typeIn } from './call.ts';
import { HubSpotError, invalidInput, rowNotFound } from './errors.ts';
import type { ObjectType } from './object-types.ts';
import type { StoredRecord } from './record-store.ts';
import { archiveRecord, createRecord, updateRecord, type Values } from './records.ts';
import { toResource } from './resource.ts';
import { checkRules } from './rules.ts';

/** The API accepts property values only as strings. */
export const valuesSchema = z.record(z.string(), z.string());
const idSchema = z.string().min(1);
const specSchema = z.strictObject({ associationCategory: z.string(), associationTypeId: z.int() });

/** A new record with its associations. */
export const newRecordSchema = z.strictObject({
  properties: valuesSchema,
  associations: z
    .array(z.strictObject({ to: z.strictObject({ id: idSchema }), types: z.array(specSchema).min(1) }))
    .default([]),
  objectWriteTraceId: z.string().optional(),
});
type NewRecord = z.infer<typeof newRecordSchema>;

const keyedRowSchema = z.strictObject({
  id: idSchema,
  idProperty: z.string().optional(),
  properties: valuesSchema,
  objectWriteTraceId: z.string().optional(),
});
const readSchema = z.strictObject({
  inputs: z
    .array(z.strictObject({ id: idSchema }))
    .min(1)
    .max(100),
  properties: z.array(z.string()).default([]),
  propertiesWithHistory: z.array(z.never()).default([]),
  idProperty: z.string().optional(),
});

/** `POST …/batch/create` */
export function batchCreate(context: Context): ApiAnswer {
  const type = typeIn(context);
  const { inputs } = readBody(context, inputsOf(newRecordSchema));
  return writeRows(context, type, inputs, (input) => createWithLinks(context, type, input), 'create');
}

/** `POST …/batch/update`: by id, or by a unique property. */
export function batchUpdate(context: Context): ApiAnswer {
  const type = typeIn(context);
  const { inputs } = readBody(context, inputsOf(keyedRowSchema));
  checkKeys(context, type, inputs);
  const update = (input: (typeof inputs)[number]): RowResult => {
    const found = findLive(context, type, input.id, input.idProperty);
    if (!found) {
      throw rowNotFound(type.singular.toUpperCase());
    }
    checkRules(context, type, input.properties, found);
    return { record: updateRecord(context.world, type, found, input.properties, context.caller.scopes) };
  };
  return writeRows(context, type, inputs, update, 'update');
}

/** `POST …/batch/upsert`: by one unique property, or (contacts) by e-mail, which then replaces the whole record. */
export function batchUpsert(context: Context): ApiAnswer {
  const { world, limits, caller } = context;
  const type = typeIn(context);
  const { inputs } = readBody(context, inputsOf(keyedRowSchema));
  const idProperty = checkKeys(context, type, inputs);
  if (idProperty === undefined) {
    throw invalidInput('An upsert needs an idProperty for each input.');
  }
  limits.spendRows(type, inputs.length);
  const upsert = ({ id, properties }: (typeof inputs)[number]): RowResult => {
    const told = properties[idProperty] ?? id;
    if (comparable(told, idProperty) !== comparable(id, idProperty)) {
      throw invalidInput('The id of a row and its value of the idProperty differ.');
    }
    const values = { ...properties, [idProperty]: id };
    const found = findLive(context, type, id, idProperty);
    checkRules(context, type, values, found);
    return found
      ? { record: updateRecord(world, type, found, values, caller.scopes, idProperty === 'email'), isNew: false }
      : { record: createRecord(world, type, values, caller.scopes), isNew: true };
  };
  return writeRows(context, type, inputs, upsert, 'upsert');
}

/** `POST …/batch/read` */
export function batchRead(context: Context): ApiAnswer {
  const { world, caller, query } = context;
  checkQuery(query, ['archived']);
  const isArchived = flagIn(query, 'archived');
  const type = typeIn(context);
  const { inputs, properties, idProperty } = readBody(context, readSchema);
  if (idProperty !== undefined) {
    requireUnique(context, type, idProperty);
  }
  const startedAt = world.now();
  const ids = [...new Set(inputs.map(({ id }) => id))];
  const view = {
    world,
    type,
    reader: caller.scopes,
    properties: properties.length === 0 ? 'default' : properties,
  } as const;
  const rows = ids.map((id) => {
    const record = isArchived ? world.records(type.name).get(id) : findLive(context, type, id, idProperty);
    const isWanted = record !== undefined && (record.archivedAt !== undefined) === isArchived;
    return { id, row: isWanted ? toResource(record, view) : undefined };
  });
  world.counts.add(`rows:${type.name}:read`, rows.length);
  return foundRows(context, type, rows, startedAt);
}

/** `POST …/batch/archive`: unknown ids are ignored. */
export function batchArchive(context: Context): ApiAnswer {
  const type = typeIn(context);
  const { inputs } = readBody(context, inputsOf(z.strictObject({ id: idSchema })));
  for (const { id } of inputs) {
    const record = context.world.records(type.name).get(id);
    if (record) {
      archiveRecord(context.world, type, record);
    }
  }
  context.world.counts.add(`rows:${type.name}:archive`, inputs.length);
  return { status: 204 };
}

/** Creates a record; `afterwards` adds the associations. Throws HubSpotError. */
export function createWithLinks(
  context: Context,
  type: ObjectType,
  { properties, associations }: NewRecord,
): { record: StoredRecord; afterwards(): void } {
  const links = associations.flatMap(({ to, types }) => types.map((spec) => toLink(context, type, to.id, spec)));
  checkRules(context, type, properties, undefined);
  const record = createRecord(context.world, type, properties, context.caller.scopes);
  const afterwards = (): void => {
    for (const { id, link } of links) {
      context.world.associations.add({ object: type.name, id: record.id }, { object: link.to, id }, link);
    }
  };
  return { record, afterwards };
}

/** Returns the live record with an id or with a value of a unique property; undefined if no record matches. Throws HubSpotError 400. */
export function findLive(
  { world }: Context,
  type: ObjectType,
  id: string,
  idProperty: string | undefined,
): StoredRecord | undefined {
  const store = world.records(type.name);
  if (idProperty === undefined) {
    const record = store.get(id);
    return record?.archivedAt === undefined ? record : undefined;
  }
  const found = store.findBy(idProperty, id);
  return found ?? (world.settings.mergedKeys === 'winner' ? store.findMergedBy(idProperty, id) : undefined);
}

/** Throws HubSpotError 400 unless records of this type can be found by the property. */
export function requireUnique({ world }: Context, type: ObjectType, idProperty: string): void {
  const isEmail = type.name === 'contacts' && idProperty === 'email';
  if (!isEmail && !world.uniqueProperties(type.name).includes(idProperty)) {
    const where = `${type.typeId} property ${idProperty} in portal ID ${world.settings.portalId}`;
    throw invalidInput(`Unable to perform update/upsert by non-unique ${where}`);
  }
}

/** Returns the property by which all rows identify their records. Throws HubSpotError 400. */
function checkKeys(
  context: Context,
  type: ObjectType,
  inputs: readonly { id: string; idProperty?: string | undefined; properties: Values }[],
): string | undefined {
  const [idProperty, ...others] = new Set(inputs.map((input) => input.idProperty));
  if (others.length > 0) {
    throw invalidInput('All inputs of a batch must have the same idProperty.');
  }
  if (idProperty !== undefined) {
    requireUnique(context, type, idProperty);
  }
  checkDuplicates(inputs.map(({ id }) => comparable(id, idProperty)));
  return idProperty;
}

/** E-mail addresses are compared without regard to case. */
function comparable(id: string, idProperty: string | undefined): string {
  return idProperty === 'email' ? id.trim().toLowerCase() : id;
}

function toLink(
  { world }: Context,
  type: ObjectType,
  id: string,
  { associationCategory, associationTypeId }: z.infer<typeof specSchema>,
): { id: string; link: AssociationType } {
  const to = objectBehind(type, associationTypeId);
  const link = requireType(type, to ?? type, associationCategory, associationTypeId);
  const other = world.records(link.to).get(id);
  if (!other || other.archivedAt !== undefined) {
    throw new HubSpotError(400, 'VALIDATION_ERROR', 'One or more associations are invalid', {
      context: { INVALID_OBJECT_IDS: [id], objectType: [link.to] },
    });
  }
  return { id: other.id, link };
}
