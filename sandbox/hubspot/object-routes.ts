import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { createWithLinks, findLive, newRecordSchema, requireUnique, valuesSchema } from './batch-routes.ts';
import { type Context, checkQuery, flagIn, limitIn, listIn, readBody, typeIn } from './call.ts';
import { HubSpotError, invalidInput, notFound } from './errors.ts';
import { findObjectType, type ObjectType } from './object-types.ts';
import type { StoredRecord } from './record-store.ts';
import { archiveRecord, eraseContact, mergeRecords, updateRecord } from './records.ts';
import { toResource } from './resource.ts';
import { checkRules } from './rules.ts';

const updateSchema = z.strictObject({ properties: valuesSchema });
const mergeSchema = z.strictObject({ primaryObjectId: z.string(), objectIdToMerge: z.string() });
const eraseSchema = z.strictObject({ objectId: z.string().min(1), idProperty: z.string().optional() });

/** `POST /{object}` */
export function createOne(context: Context): ApiAnswer {
  const type = typeIn(context);
  const { record, afterwards } = createWithLinks(context, type, readBody(context, newRecordSchema));
  afterwards();
  context.world.counts.add(`rows:${type.name}:create`);
  const location = `${context.origin}${context.url.split('?', 1)[0]}/${record.id}`;
  return { status: 201, headers: { location }, body: show(context, type, record) };
}

/** `GET /{object}/{id}`, by a unique value with `idProperty`. */
export function readOne(context: Context): ApiAnswer {
  const { query } = context;
  checkQuery(query, ['properties', 'associations', 'archived', 'idProperty']);
  const type = typeIn(context);
  const record = findOne(context, type, flagIn(query, 'archived'));
  return { status: 200, body: withLinks(context, type, record) };
}

/** Returns a record as a read shows it: the requested properties, and those requested associations that are not empty. */
function withLinks(context: Context, type: ObjectType, record: StoredRecord): object {
  const resource = toResource(record, viewOf(context, type));
  const links = (listIn(context.query, 'associations') ?? []).map((name) => linksTo(context, type, record, name));
  const filled = links.filter(([, { results }]) => results.length > 0);
  return filled.length === 0 ? resource : { ...resource, associations: Object.fromEntries(filled) };
}

/** `GET /{object}`: oldest first, in pages. */
export function listAll(context: Context): ApiAnswer {
  const { query, world, origin, url } = context;
  checkQuery(query, ['limit', 'after', 'properties', 'associations', 'archived']);
  const type = typeIn(context);
  const isArchived = flagIn(query, 'archived');
  const limit = limitIn(query, 10, 100);
  const after = Number(query.get('after') ?? 0);
  const rest = world
    .records(type.name)
    .values()
    .filter(({ id, archivedAt }) => (archivedAt !== undefined) === isArchived && Number(id) > after)
    .sort((a, b) => Number(a.id) - Number(b.id));
  const page = rest.slice(0, limit);
  const results = page.map((record) => withLinks(context, type, record));
  if (rest.length <= limit) {
    return { status: 200, body: { results } };
  }
  const next = new URL(url, origin);
  next.searchParams.set('after', page.at(-1)?.id ?? '');
  return { status: 200, body: { results, paging: { next: { after: page.at(-1)?.id, link: next.href } } } };
}

/** `PATCH /{object}/{id}` */
export function updateOne(context: Context): ApiAnswer {
  checkQuery(context.query, ['idProperty']);
  const type = typeIn(context);
  const { properties } = readBody(context, updateSchema);
  const found = findOne(context, type, false);
  checkRules(context, type, properties, found);
  const record = updateRecord(context.world, type, found, properties, context.caller.scopes);
  context.world.counts.add(`rows:${type.name}:update`);
  return { status: 200, body: show(context, type, record) };
}

/** `DELETE /{object}/{id}`: archives a record. Archiving an archived record is no error. */
export function archiveOne(context: Context): ApiAnswer {
  const type = typeIn(context);
  const record = context.world.records(type.name).get(context.parameters.id ?? '');
  if (!record) {
    throw notFound();
  }
  archiveRecord(context.world, type, record);
  context.world.counts.add(`rows:${type.name}:archive`);
  return { status: 204 };
}

/** `POST /{object}/merge` */
export function mergeTwo(context: Context): ApiAnswer {
  const type = typeIn(context);
  const { primaryObjectId, objectIdToMerge } = readBody(context, mergeSchema);
  const first = findLive(context, type, primaryObjectId, undefined);
  const second = findLive(context, type, objectIdToMerge, undefined);
  if (!first || !second) {
    throw notFound();
  }
  if (first.id === second.id) {
    throw invalidInput('A record cannot be merged with itself.');
  }
  return { status: 200, body: show(context, type, mergeRecords(context.world, type, first, second)) };
}

/**
 * `POST /contacts/gdpr-delete`: deletes the contact permanently and blocks its e-mail addresses. An e-mail address without a contact is
 * blocked too.
 */
export function eraseOne(context: Context): ApiAnswer {
  const { world } = context;
  const type = typeIn(context);
  const { objectId, idProperty } = readBody(context, eraseSchema);
  if (type.name !== 'contacts') {
    throw new HubSpotError(404, undefined, 'resource not found');
  }
  if (idProperty !== undefined) {
    requireUnique(context, type, idProperty);
  }
  const record =
    idProperty === undefined ? world.records(type.name).get(objectId) : findLive(context, type, objectId, idProperty);
  if (record) {
    eraseContact(world, type, record);
  } else if (idProperty === 'email') {
    world.blockedEmails.add(objectId.trim().toLowerCase());
  } else {
    throw notFound();
  }
  world.counts.add(`rows:${type.name}:gdpr-delete`);
  return { status: 204 };
}

function findOne(context: Context, type: ObjectType, isArchived: boolean): StoredRecord {
  const { world, query, parameters } = context;
  const id = parameters.id ?? '';
  const idProperty = query.get('idProperty') ?? undefined;
  if (idProperty !== undefined) {
    requireUnique(context, type, idProperty);
  } else if (!/^\d+$/.test(id)) {
    const details = { context: { id: [id] } };
    throw new HubSpotError(404, 'OBJECT_NOT_FOUND', 'Object not found.  objectId are usually numeric.', details);
  }
  const record = isArchived ? world.records(type.name).get(id) : findLive(context, type, id, idProperty);
  if (!record || (record.archivedAt !== undefined) !== isArchived) {
    throw notFound();
  }
  return record;
}

function show({ world, caller }: Context, type: ObjectType, record: StoredRecord): object {
  return toResource(record, { world, type, reader: caller.scopes, properties: 'all' });
}

function viewOf({ world, caller, query }: Context, type: ObjectType) {
  return { world, type, reader: caller.scopes, properties: listIn(query, 'properties') ?? ('default' as const) };
}

/** Returns the associated records of one object type in the format of reads: one line per record and association type. */
function linksTo(
  { world }: Context,
  type: ObjectType,
  { id }: StoredRecord,
  name: string,
): [string, { results: { id: string; type: string }[] }] {
  const to = findObjectType(name);
  if (!to) {
    throw invalidInput('Unable to infer object type from the query.');
  }
  const results = world.associations.of({ object: type.name, id }, to.name).flatMap((link) =>
    link.types.map(({ label }) => ({
      id: link.id,
      type: `${type.singular}_to_${to.singular}${label === null ? '' : `_${label.toLowerCase()}`}`,
    })),
  );
  return [to.name, { results }];
}
