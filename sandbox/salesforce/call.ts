import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { malformedBody } from './errors.ts';
import type { World } from './world.ts';

/** One call to the API, single or as a part of a composite. */
export interface ApiCall {
  method: string;
  /** As sent, with its query. */
  url: string;
  /** Whole number. */
  version: number;
  /** `/services/data/v68.0`. */
  base: string;
  /** Decoded parameters of the route's path. */
  params: Readonly<Record<string, string>>;
  query: URLSearchParams;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON; undefined without a body. */
  body: unknown;
  /** The user of the session. */
  username: string;
  /** Set by a composite request with allOrNone; applies to the collections inside the request too. */
  allOrNone?: boolean;
}

/** A started write: its records are found and locked. `finish()` writes and releases the locks; call it exactly once. */
export interface BegunWrite {
  finish(): ApiAnswer;
}

/** One route of the API; throws ApiError. */
export type Handler = (world: World, call: ApiCall) => ApiAnswer | BegunWrite;

const anyObject = z.record(z.string(), z.unknown());

/** Returns the body as an object. Throws ApiError 400. */
export function objectBody(call: ApiCall): Record<string, unknown> {
  return readBody(call, anyObject, 'an object');
}

/** Returns the body if it matches the schema of the route. Throws ApiError 400. */
export function readBody<Shape>(call: ApiCall, shape: z.ZodType<Shape>, what: string): Shape {
  const read = shape.safeParse(call.body);
  if (!read.success) {
    const [issue] = read.error.issues;
    throw malformedBody(`The body must be ${what}: ${issue?.path.join('.')} ${issue?.message}`);
  }
  return read.data;
}

/** Returns a header of the call; undefined if the header is missing. */
export function header(call: ApiCall, name: string): string | undefined {
  const found = Object.entries(call.headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return Array.isArray(found) ? found[0] : found;
}
