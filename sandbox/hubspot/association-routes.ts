import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { type AssociationType, defaultType, type End, requireType } from './associations.ts';
import { batchAnswer, inputsOf } from './batch.ts';
import { type Context, checkQuery, limitIn, readBody, typeIn } from './call.ts';
import { HubSpotError, notFound } from './errors.ts';
import type { ObjectType } from './object-types.ts';
import { checkMayJoin } from './rules.ts';

/** Limits of one call (developers.hubspot.com, associations v4). */
const MAX_CREATES = 2000;
const MAX_READS = 1000;
const MAX_ARCHIVES = 100;
const MAX_PAGE = 500;

const endSchema = z.strictObject({ id: z.string().min(1) });
const specSchema = z.strictObject({ associationCategory: z.string(), associationTypeId: z.int() });
const plainInputs = inputsOf(z.strictObject({ from: endSchema, to: endSchema }), MAX_CREATES);
const typedInputs = inputsOf(
  z.strictObject({ from: endSchema, to: endSchema, types: z.array(specSchema).min(1) }),
  MAX_CREATES,
);
const readInputs = inputsOf(z.strictObject({ id: z.string().min(1), after: z.string().optional() }), MAX_READS);
const archiveInputs = inputsOf(z.strictObject({ from: endSchema, to: z.array(endSchema).min(1) }), MAX_ARCHIVES);

interface Pair {
  from: ObjectType;
  to: ObjectType;
}

/** `PUT …/{from}/{id}/associations/default/{to}/{toId}` */
export function associateByDefault(context: Context): ApiAnswer {
  checkMayJoin(context);
  const pair = pairIn(context);
  const { id = '', toId = '' } = context.parameters;
  const results = joinByDefault(context, pair, id, toId);
  return batchAnswer(context, { status: 200, startedAt: context.world.now(), results, errors: [] });
}

/** `PUT …/{from}/{id}/associations/{to}/{toId}` with types. */
export function associate(context: Context): ApiAnswer {
  checkMayJoin(context);
  const pair = pairIn(context);
  const { id = '', toId = '' } = context.parameters;
  const types = readBody(context, z.array(specSchema).min(1));
  return { status: 201, body: join(context, pair, id, toId, types) };
}

/** `DELETE …/{from}/{id}/associations/{to}/{toId}` */
export function dissociate(context: Context): ApiAnswer {
  checkMayJoin(context);
  const { from, to } = pairIn(context);
  const { id = '', toId = '' } = context.parameters;
  context.world.associations.remove(current(context, from, id), current(context, to, toId));
  return { status: 204 };
}

/** `GET …/{from}/{id}/associations/{to}` */
export function listAssociations(context: Context): ApiAnswer {
  checkQuery(context.query, ['limit', 'after']);
  const { from, to } = pairIn(context);
  const end = liveEnd(context, from, context.parameters.id ?? '');
  const limit = limitIn(context.query, MAX_PAGE, MAX_PAGE);
  return { status: 200, body: pageOf(context, end, to, limit, context.query.get('after') ?? undefined) };
}

/** `POST …/{from}/{to}/batch/associate/default` */
export function batchAssociateByDefault(context: Context): ApiAnswer {
  checkMayJoin(context);
  const pair = pairIn(context);
  const { inputs } = readBody(context, plainInputs);
  return joinAll(context, inputs, 200, ({ from, to }) => joinByDefault(context, pair, from.id, to.id));
}

/** `POST …/{from}/{to}/batch/create` */
export function batchAssociate(context: Context): ApiAnswer {
  checkMayJoin(context);
  const pair = pairIn(context);
  const { inputs } = readBody(context, typedInputs);
  return joinAll(context, inputs, 201, ({ from, to, types }) => [join(context, pair, from.id, to.id, types)]);
}

/** `POST …/{from}/{to}/batch/read`: a record without associations is reported as an error (207). */
export function batchReadAssociations(context: Context): ApiAnswer {
  const { from, to } = pairIn(context);
  const { inputs } = readBody(context, readInputs);
  const results: unknown[] = [];
  const errors: unknown[] = [];
  for (const { id, after } of inputs) {
    const { results: found, ...paging } = pageOf(context, current(context, from, id), to, MAX_PAGE, after);
    if (found.length > 0) {
      results.push({ from: { id }, to: found, ...paging });
    } else {
      const message = `No ${to.singular} is associated with ${from.singular} ${id}.`;
      const subCategory = 'crm.associations.NO_ASSOCIATIONS_FOUND';
      const where = { fromObjectId: [id], fromObjectType: [from.singular], toObjectType: [to.singular] };
      errors.push(new HubSpotError(404, 'OBJECT_NOT_FOUND', message, { subCategory }).toRow(where));
    }
  }
  return batchAnswer(context, { status: 200, startedAt: context.world.now(), results, errors });
}

/** `POST …/{from}/{to}/batch/archive`: all types between two records. */
export function batchDissociate(context: Context): ApiAnswer {
  checkMayJoin(context);
  const { from, to } = pairIn(context);
  const { inputs } = readBody(context, archiveInputs);
  for (const input of inputs) {
    for (const other of input.to) {
      context.world.associations.remove(current(context, from, input.from.id), current(context, to, other.id));
    }
  }
  return { status: 204 };
}

function joinAll<T extends { from: { id: string }; to: { id: string } }>(
  context: Context,
  inputs: readonly T[],
  status: number,
  run: (input: T) => unknown[],
): ApiAnswer {
  const results: unknown[] = [];
  const errors: unknown[] = [];
  for (const input of inputs) {
    try {
      results.push(...run(input));
    } catch (error) {
      if (!(error instanceof HubSpotError) || error.status !== 404) {
        throw error;
      }
      const row = new HubSpotError(404, 'OBJECT_NOT_FOUND', 'One or more of the objects do not exist.');
      errors.push(row.toRow({ fromObjectId: [input.from.id], toObjectId: [input.to.id] }));
    }
  }
  context.world.counts.add('rows:associations:create', inputs.length - errors.length);
  return batchAnswer(context, { status, startedAt: context.world.now(), results, errors });
}

/** Joins two records by the default types of both directions, and returns both associations. */
function joinByDefault(context: Context, { from, to }: Pair, fromId: string, toId: string): object[] {
  const [first, second] = [liveEnd(context, from, fromId), liveEnd(context, to, toId)];
  const type = defaultType(from, to);
  context.world.associations.add(first, second, type);
  const tell = (a: End, b: End, associationTypeId: number): object => ({
    from: { id: a.id },
    to: { id: b.id },
    associationSpec: { associationCategory: 'HUBSPOT_DEFINED', associationTypeId },
  });
  return [tell(first, second, type.typeId), tell(second, first, type.inverse)];
}

function join(
  context: Context,
  { from, to }: Pair,
  fromId: string,
  toId: string,
  types: readonly z.infer<typeof specSchema>[],
): object {
  const [first, second] = [liveEnd(context, from, fromId), liveEnd(context, to, toId)];
  const wanted = types.map(({ associationCategory, associationTypeId }) =>
    requireType(from, to, associationCategory, associationTypeId),
  );
  for (const type of wanted) {
    context.world.associations.add(first, second, type);
  }
  return {
    fromObjectTypeId: from.typeId,
    fromObjectId: first.id,
    toObjectTypeId: to.typeId,
    toObjectId: second.id,
    labels: wanted.flatMap(({ label }) => label ?? []),
  };
}

interface Page {
  results: object[];
  paging?: { next: { after: string } };
}

function pageOf({ world }: Context, end: End, to: ObjectType, limit: number, after: string | undefined): Page {
  const rest = world.associations
    .of(end, to.name)
    .filter(({ id }) => Number(id) > Number(after ?? 0))
    .sort((a, b) => Number(a.id) - Number(b.id));
  const page = rest.slice(0, limit);
  const results = page.map(({ id, types }) => ({ toObjectId: id, associationTypes: types.map(tellType) }));
  const paging = rest.length > limit ? { paging: { next: { after: page.at(-1)?.id ?? '' } } } : {};
  return { results, ...paging };
}

function tellType({ typeId, label }: AssociationType): object {
  return { category: 'HUBSPOT_DEFINED', typeId, label };
}

function pairIn(context: Context): Pair {
  return { from: typeIn(context, 'from'), to: typeIn(context, 'to') };
}

/** Returns one end of an association. The id of a merged record becomes the winner's id; an unknown id is returned unchanged. */
function current({ world }: Context, type: ObjectType, id: string): End {
  return { object: type.name, id: world.records(type.name).get(id)?.id ?? id };
}

function liveEnd({ world }: Context, type: ObjectType, id: string): End {
  const record = world.records(type.name).get(id);
  if (!record || record.archivedAt !== undefined) {
    throw notFound();
  }
  return { object: type.name, id: record.id };
}
