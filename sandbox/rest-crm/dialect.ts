import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { World } from './world.ts';

/** The API of one CRM. */
export interface Dialect {
  /** Path prefix of the API. */
  base: string;
  /** Creates the kinds of records with the CRM's standard fields. */
  furnish(world: World): void;
  /** The header with the credentials; its name in lower case. */
  login(token: string): Login;
  /** A call that succeeds on a new sandbox. */
  example: ExampleCall;
  addRoutes(app: FastifyInstance, world: World): void;
  /** Body of a refusal without a specific body: wrong credentials, request limit, faults. */
  bodyOf(status: number): unknown;
}

/** A header that authorizes a request. */
export interface Login {
  header: string;
  value: string;
}

/** A GET, or a POST if there is a body. The path is relative to `base`. */
export interface ExampleCall {
  path: string;
  body?: object;
}

/** Answer of a route. */
export interface Answer {
  status: number;
  body?: unknown;
}

/** Returns the parameters of the path, as strings. */
export function paramsOf(request: FastifyRequest): Record<string, string> {
  return request.params as Record<string, string>;
}

/** Returns the query, with a list for a name that occurs more than once. */
export function queryOf(request: FastifyRequest): Record<string, string | string[] | undefined> {
  return request.query as Record<string, string | string[] | undefined>;
}

/** Returns a query's value as a string; an absent value is the empty string. */
export function textOf(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : (value?.[0] ?? '');
}

/** Returns the body if it is an object, otherwise an empty object. */
export function objectOf(body: unknown): Record<string, unknown> {
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Record<string, unknown>) : {};
}

/** Flattens nested objects to one object with dotted names; lists are values. */
export function flattened(value: Record<string, unknown>, prefix = ''): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.entries(flattened(inner as Record<string, unknown>, `${prefix}${name}.`))
        : [[`${prefix}${name}`, inner]],
    ),
  );
}

/** Reverses {@link flattened}. */
export function nested(values: Record<string, unknown>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(values)) {
    const names = path.split('.');
    const last = names.pop() ?? '';
    let current = result;
    for (const name of names) {
      current[name] = objectOf(current[name]);
      current = current[name] as Record<string, unknown>;
    }
    current[last] = value;
  }
  return result;
}
