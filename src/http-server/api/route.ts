import { z } from 'zod';
import type { Acting } from '../../control/recording.ts';
import type { Tasks } from '../../control/tasks.ts';
import type { StopSignals } from '../../jobs/push.ts';
import type { TaskKind } from '../../model/kept-task.ts';
import type { Progress } from '../../model/progress.ts';
import type { Immutable } from '../../operations/operation.ts';
import { paging } from '../../operations/schemas.ts';
import type { OperatorDesk } from '../operator-desk.ts';
import type { AccessLevel, Visitor } from '../visitors.ts';

/** Names in braces within a path. */
type NamesIn<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | NamesIn<Rest> : never;

/** What a route works on. */
export interface Given<Params, Query, Body> {
  params: Params;
  query: Query;
  body: Body;
  visitor: Visitor;
  desk: OperatorDesk;
  tasks: Tasks;
  /** For verbs that change something: the visitor, with the `reason` of the body. */
  acting: Acting;
  progress: Progress;
  signals: StopSignals;
  /** The revision that a change is for (RFC 9110 section 13.1.1); null where none is named. */
  ifMatch: string | null;
}

/** A route as it is written down. */
export interface RouteDefinition<
  Path extends string,
  Query extends z.ZodObject,
  Body extends z.ZodObject,
  Reply extends z.ZodType,
> {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Below `/api/v1`; the tenant is `{tenant}`. */
  path: Path;
  /** Names the operation for programs: one word in camel case. */
  name: string;
  summary: string;
  level: AccessLevel;
  query?: Query;
  /** Of a POST: by default a reason alone. */
  body?: Body;
  /** What is not in it is not answered. */
  reply: Reply;
  /** Bytes of the body, where it is more than 64 KiB. */
  bodyLimit?: number;
  /** It answers what has a revision: that is its ETag, and a change names it as If-Match. */
  isRevised?: boolean;
  /** Its tenant may be one that is not run: it looks for it itself. */
  isOfAny?: boolean;
  /** It may take long: after some seconds the caller is answered a task to ask for. */
  task?: TaskKind;
  handle(
    given: Given<Record<NamesIn<Path>, string>, z.output<Query>, z.output<Body>>,
  ): Promise<Immutable<z.input<Reply>>>;
}

/** A route of the API, whatever it takes and gives. */
export interface Route extends Pick<RouteDefinition<string, z.ZodObject, z.ZodObject, z.ZodType>, 'method' | 'path'> {
  name: string;
  summary: string;
  level: AccessLevel;
  params: z.ZodObject;
  query: z.ZodObject;
  /** Null for a GET. */
  body: z.ZodObject | null;
  reply: z.ZodType;
  bodyLimit: number;
  isRevised: boolean;
  isOfAny: boolean;
  task: TaskKind | null;
  handle(given: Given<unknown, unknown, unknown>): Promise<unknown>;
}

/** Largest body of a route that says nothing of it. */
export const BODY_LIMIT_BYTES = 65_536;
/** Longest id in an address. */
const LONGEST_ID = 200;

/** Why somebody does it, for the audit log; recorded and checked by `control/recording.ts`. */
export const withReason = z.strictObject({
  reason: z.string().nullable().default(null).describe('Why, for the audit log; best the number of a ticket'),
});

/** The question for a page. */
export const paged = z.strictObject(paging);

/** Writes a route down: what it takes and gives is checked by the compiler here, and by its schemas when it is called. */
export function route<
  const Path extends string,
  Reply extends z.ZodType,
  Query extends z.ZodObject = z.ZodObject<Record<string, never>>,
  Body extends z.ZodObject = typeof withReason,
>(definition: RouteDefinition<Path, Query, Body, Reply>): Route {
  const { method, path, query, body, task = null, handle, ...told } = definition;
  const { bodyLimit = BODY_LIMIT_BYTES, isRevised = false, isOfAny = false } = definition;
  const id = z.string().min(1).max(LONGEST_ID);
  return {
    ...told,
    ...{ method, path, bodyLimit, isRevised, isOfAny, task },
    params: z.strictObject(Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => [name, id]))),
    query: query ?? z.strictObject({}),
    body: method === 'GET' ? null : (body ?? withReason),
    handle: (given) => handle(given as Parameters<typeof handle>[0]),
  };
}
