import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { World } from './world.ts';

/** How one CRM speaks. */
export interface Dialect {
  /** Where its API begins. */
  base: string;
  /** Makes the kinds of records with the fields that come with the CRM. */
  furnish(world: World): void;
  /** The header that carries the login; its name in lower case. */
  login(token: string): Login;
  /** A call that works at once. */
  example: ExampleCall;
  addRoutes(app: FastifyInstance, world: World): void;
  /** The body of a refusal that has none of its own: bad login, limit, faults. */
  bodyOf(status: number): unknown;
}

/** A header that lets a request in. */
export interface Login {
  header: string;
  value: string;
}

/** A GET, or with a body a POST. The path comes after `base`. */
export interface ExampleCall {
  path: string;
  body?: object;
}

/** What a route answers. */
export interface Answer {
  status: number;
  body?: unknown;
}

/** Parameters of a path and a query, as texts. */
export function paramsOf(request: FastifyRequest): Record<string, string> {
  return request.params as Record<string, string>;
}

/** The query, lists for names that occur more than once. */
export function queryOf(request: FastifyRequest): Record<string, string | string[] | undefined> {
  return request.query as Record<string, string | string[] | undefined>;
}

/** A query's value as text; absent as the empty text. */
export function textOf(value: string | string[] | undefined): string {
  return typeof value === 'string' ? value : (value?.[0] ?? '');
}

/** A body that is an object; anything else is an empty one. */
export function objectOf(body: unknown): Record<string, unknown> {
  return typeof body === 'object' && body !== null && !Array.isArray(body) ? (body as Record<string, unknown>) : {};
}

/** An object of objects as one by names with dots; lists are values. */
export function flattened(value: Record<string, unknown>, prefix = ''): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inner]) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.entries(flattened(inner as Record<string, unknown>, `${prefix}${name}.`))
        : [[`${prefix}${name}`, inner]],
    ),
  );
}

/** The contrary of {@link flattened}. */
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
