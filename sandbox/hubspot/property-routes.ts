import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { batchAnswer, inputsOf } from './batch.ts';
import { type Context, checkQuery, readBody, typeIn } from './call.ts';
import { HubSpotError, invalidInput } from './errors.ts';
import type { ObjectType } from './object-types.ts';
import type { Property, PropertyOption, Sensitivity } from './property.ts';
import type { World } from './world.ts';

const optionSchema = z.strictObject({
  label: z.string().min(1),
  value: z.string().min(1),
  displayOrder: z.int().default(-1),
  hidden: z.boolean().default(false),
  description: z.string().optional(),
});
const sensitivitySchema = z.enum(['non_sensitive', 'sensitive', 'highly_sensitive']);
const changeSchema = z.strictObject({
  label: z.string().min(1).exactOptional(),
  description: z.string().exactOptional(),
  groupName: z.string().exactOptional(),
  type: z.string().exactOptional(),
  fieldType: z.string().exactOptional(),
  options: z.array(optionSchema).exactOptional(),
  hidden: z.boolean().exactOptional(),
  formField: z.boolean().exactOptional(),
  displayOrder: z.int().exactOptional(),
});
const newSchema = changeSchema.extend({
  name: z.string().min(1),
  label: z.string().min(1),
  groupName: z.string(),
  type: z.string(),
  fieldType: z.string(),
  hasUniqueValue: z.boolean().exactOptional(),
  dataSensitivity: sensitivitySchema.exactOptional(),
});
const groupSchema = z.strictObject({
  name: z.string().min(1),
  label: z.string().min(1),
  displayOrder: z.int().default(-1),
});
const namesSchema = inputsOf(z.strictObject({ name: z.string() }));

/** `GET /{object}`: returns the properties of one sensitivity; the default is non-sensitive properties. */
export function listProperties(context: Context): ApiAnswer {
  checkQuery(context.query, ['archived', 'dataSensitivity', 'properties']);
  const type = typeIn(context);
  const wanted = sensitivityIn(context);
  const shown = context.world.properties.list(type.name).filter(({ dataSensitivity }) => dataSensitivity === wanted);
  return { status: 200, body: { results: shown.map((property) => toResource(property)) } };
}

/** `POST /{object}`: creates a property. The name and the uniqueness cannot be changed later. */
export function createProperty(context: Context): ApiAnswer {
  const type = typeIn(context);
  return { status: 201, body: create(context, type, readBody(context, newSchema)) };
}

/** `POST /{object}/batch/create`: 207 with an error for each refused property. */
export function createProperties(context: Context): ApiAnswer {
  const type = typeIn(context);
  const { inputs } = readBody(context, inputsOf(newSchema));
  const results: unknown[] = [];
  const errors: unknown[] = [];
  for (const input of inputs) {
    try {
      results.push(create(context, type, input));
    } catch (error) {
      if (!(error instanceof HubSpotError)) {
        throw error;
      }
      errors.push(error.toRow({ name: [input.name] }));
    }
  }
  return batchAnswer(context, { status: 201, startedAt: context.world.now(), results, errors });
}

/** `POST /{object}/batch/read` */
export function readProperties(context: Context): ApiAnswer {
  const type = typeIn(context);
  const { inputs } = readBody(context, namesSchema.extend({ archived: z.literal(false).default(false) }));
  const found = inputs.map(({ name }) => ({ name, property: context.world.properties.find(type.name, name) }));
  const results = found.flatMap(({ property }) => (property ? [toResource(property)] : []));
  const errors = found.flatMap(({ name, property }) => (property ? [] : [noSuch(name).toRow({ name: [name] })]));
  return batchAnswer(context, { status: 200, startedAt: context.world.now(), results, errors });
}

/** `GET /{object}/{name}` */
export function readProperty(context: Context): ApiAnswer {
  checkQuery(context.query, ['archived', 'dataSensitivity', 'properties']);
  return { status: 200, body: toResource(propertyIn(context)) };
}

/** `PATCH /{object}/{name}`: changes everything except name, uniqueness and sensitivity. */
export function changeProperty(context: Context): ApiAnswer {
  const property = propertyIn(context);
  const { options, displayOrder: _order, ...changes } = readBody(context, changeSchema);
  const changed = { ...property, ...changes, ...(options ? { options: options.map(toOption) } : {}) };
  context.world.properties.replace(typeIn(context).name, changed);
  return { status: 200, body: toResource(changed) };
}

/** `DELETE /{object}/{name}`: deletes a custom property and its values. */
export function archiveProperty(context: Context): ApiAnswer {
  const property = propertyIn(context);
  if (property.hubspotDefined) {
    throw invalidInput('A property of the vendor cannot be deleted.');
  }
  removeProperty(context.world, typeIn(context), property.name);
  return { status: 204 };
}

/** `GET /{object}/groups` */
export function listGroups(context: Context): ApiAnswer {
  const groups = context.world.properties.groups(typeIn(context).name);
  return { status: 200, body: { results: groups.map(toGroup) } };
}

/** `POST /{object}/groups` */
export function createGroup(context: Context): ApiAnswer {
  const { name, label } = readBody(context, groupSchema);
  context.world.properties.addGroup(typeIn(context).name, name, label);
  return { status: 201, body: toGroup({ name, label }) };
}

/** `GET /{object}/groups/{name}` */
export function readGroup(context: Context): ApiAnswer {
  const name = context.parameters.name ?? '';
  const group = context.world.properties.groups(typeIn(context).name).find((each) => each.name === name);
  if (!group) {
    throw noSuch(name);
  }
  return { status: 200, body: toGroup(group) };
}

/** Removes a property and all its values. */
export function removeProperty(world: World, type: ObjectType, name: string): void {
  const store = world.records(type.name);
  for (const record of store.values()) {
    const { [name]: value, ...properties } = record.properties;
    if (value !== undefined) {
      store.put({ ...record, properties });
    }
  }
  world.properties.remove(type.name, name);
}

function create({ world }: Context, type: ObjectType, wanted: z.infer<typeof newSchema>): object {
  const { options, displayOrder: _order, ...more } = wanted;
  if ((more.dataSensitivity ?? 'non_sensitive') !== 'non_sensitive' && !world.settings.sensitiveData) {
    throw invalidInput('Sensitive data is not switched on for this account.');
  }
  if (type.name === 'meetings' && more.hasUniqueValue === true && world.settings.meetingKeys === 'refused') {
    throw invalidInput('Properties of this object type cannot require unique values.');
  }
  const property = { ...more, options: (options ?? []).map(toOption) };
  return toResource(world.properties.create(type.name, property, world.now()));
}

function toOption({ label, value, displayOrder, hidden }: z.infer<typeof optionSchema>): PropertyOption {
  return { label, value, displayOrder, hidden };
}

function propertyIn(context: Context): Property {
  const name = context.parameters.name ?? '';
  const property = context.world.properties.find(typeIn(context).name, name);
  if (!property) {
    throw noSuch(name);
  }
  return property;
}

function sensitivityIn({ query }: Context): Sensitivity {
  const wanted = sensitivitySchema.safeParse(query.get('dataSensitivity') ?? 'non_sensitive');
  if (!wanted.success) {
    throw invalidInput("The query option 'dataSensitivity' has an unknown value.");
  }
  return wanted.data;
}

function noSuch(name: string): HubSpotError {
  return new HubSpotError(404, 'OBJECT_NOT_FOUND', `Property "${name}" does not exist`);
}

function toGroup(group: { name: string; label: string }): object {
  return { ...group, displayOrder: -1, archived: false };
}

function toResource({ readOnly, createdAt, ...property }: Property): object {
  const at = createdAt === undefined ? {} : { createdAt: new Date(createdAt).toISOString() };
  const modificationMetadata = {
    archivable: !property.hubspotDefined,
    readOnlyDefinition: property.hubspotDefined,
    readOnlyValue: readOnly,
  };
  return { ...property, displayOrder: -1, calculated: false, archived: false, modificationMetadata, ...at };
}
