import type { z } from 'zod';
import { parseJson } from '../kit/answer.ts';
import type { FaultPlan } from '../kit/faults.ts';
import type { Caller } from './caller.ts';
import { invalidInput } from './errors.ts';
import type { Limits } from './limits.ts';
import { findObjectType, type ObjectType } from './object-types.ts';
import type { World } from './world.ts';

/** Input of a handler. `parameters` are the decoded parts of the path. */
export interface Context {
  world: World;
  limits: Limits;
  faults: FaultPlan;
  caller: Caller;
  /** Seeded random numbers, for the order of shuffled rows. */
  random(): number;
  method: string;
  /** Path with the query, as sent. */
  url: string;
  /** URL at which the client reached the server. */
  origin: string;
  parameters: Record<string, string>;
  query: URLSearchParams;
  /** The raw body; empty if the request has no body. */
  body: string;
}

/** Returns the parsed JSON body. Throws HubSpotError 400, which names the wrong fields but never a value. */
export function readBody<T>({ body }: Context, schema: z.ZodType<T>): T {
  const parsed = parseJson(body);
  if (parsed === undefined) {
    throw invalidInput('Invalid input JSON on line 1, column 1: it cannot be read.');
  }
  const result = schema.safeParse(parsed);
  if (!result.success) {
    const where = result.error.issues.map(({ path, code }) => `${path.join('.') || 'body'} (${code})`);
    throw invalidInput(`Invalid input JSON: ${where.join(', ')}`);
  }
  return result.data;
}

/** Returns the object type in a part of the path. Throws HubSpotError 400. */
export function typeIn(context: Context, parameter = 'objectType'): ObjectType {
  const type = findObjectType(context.parameters[parameter] ?? '');
  if (!type) {
    throw invalidInput('Unable to infer object type from the path.');
  }
  return type;
}

/** Returns a list from the query, separated by commas or repeated; undefined if the query does not contain the name. */
export function listIn(query: URLSearchParams, name: string): string[] | undefined {
  const values = query.getAll(name).flatMap((value) => value.split(','));
  const given = values.map((value) => value.trim()).filter((value) => value !== '');
  return query.has(name) ? given : undefined;
}

/** A flag of the query. Throws HubSpotError 400. */
export function flagIn(query: URLSearchParams, name: string): boolean {
  const value = query.get(name) ?? 'false';
  if (!['true', 'false'].includes(value)) {
    throw invalidInput(`The query option '${name}' must be true or false.`);
  }
  return value === 'true';
}

/** A whole number of the query from 1 to `most`. Throws HubSpotError 400. */
export function limitIn(query: URLSearchParams, usual: number, most: number): number {
  const value = query.get('limit') ?? String(usual);
  if (!/^\d{1,6}$/.test(value) || Number(value) < 1 || Number(value) > most) {
    throw invalidInput(`The query option 'limit' must be from 1 to ${most}.`);
  }
  return Number(value);
}

/** Throws HubSpotError 400 for unknown query options, which would have no effect. */
export function checkQuery(query: URLSearchParams, known: readonly string[]): void {
  for (const name of query.keys()) {
    if (!known.includes(name)) {
      throw invalidInput(`The query option '${name}' is not supported here.`);
    }
  }
}
