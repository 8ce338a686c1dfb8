import { bindSegments, segmentsOf } from '../kit/path.ts';
import type { Handler } from './call.ts';
import { createRows, removeRows, retrieveRows, updateRows, upsertRows } from './collection-routes.ts';
import { describeGlobal, describeObject } from './describe.ts';
import type { QueryRoutes } from './query-routes.ts';
import {
  createRecord,
  readRecord,
  readRecordByKey,
  removeRecord,
  removeRecordByKey,
  updateRecord,
  upsertRecord,
} from './record-routes.ts';
import type { Usage } from './usage.ts';

/** A route below `/services/data/vXX.X`. */
export interface Route {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** A composite accepts at most five of these calls (collections and queries). */
  isCostly: boolean;
  handler: Handler;
}

/** Returns the routes for single calls and for parts of a composite. Fixed paths come before paths with a parameter. */
export function routes(queries: QueryRoutes, usage: Usage): Route[] {
  const cheap = (method: Route['method'], path: string, handler: Handler): Route => ({
    method,
    path,
    isCostly: false,
    handler,
  });
  const costly = (method: Route['method'], path: string, handler: Handler): Route => ({
    method,
    path,
    isCostly: true,
    handler,
  });
  return [
    cheap('GET', '/limits', () => ({ status: 200, body: usage.limits() })),
    cheap('GET', '/sobjects', ({ schema }, { base }) => ({ status: 200, body: describeGlobal(schema, base) })),
    cheap('GET', '/sobjects/:object/describe', ({ schema }, { base, params }) => ({
      status: 200,
      body: describeObject(schema, schema.object(params.object!), base),
    })),
    cheap('POST', '/sobjects/:object', createRecord),
    cheap('GET', '/sobjects/:object/:id', readRecord),
    cheap('PATCH', '/sobjects/:object/:id', updateRecord),
    cheap('DELETE', '/sobjects/:object/:id', removeRecord),
    cheap('GET', '/sobjects/:object/:field/:value', readRecordByKey),
    cheap('PATCH', '/sobjects/:object/:field/:value', upsertRecord),
    cheap('DELETE', '/sobjects/:object/:field/:value', removeRecordByKey),
    costly('POST', '/composite/sobjects', createRows),
    costly('PATCH', '/composite/sobjects', updateRows),
    costly('DELETE', '/composite/sobjects', removeRows),
    costly('GET', '/composite/sobjects/:object', retrieveRows),
    costly('POST', '/composite/sobjects/:object', retrieveRows),
    costly('PATCH', '/composite/sobjects/:object/:field', upsertRows),
    costly('GET', '/query', queries.query),
    costly('GET', '/queryAll', queries.queryAll),
    costly('GET', '/query/:locator', queries.next),
  ];
}

/** Returns the route of a path without query, and the decoded parameters; undefined if no route matches. */
export function findRoute(
  table: readonly Route[],
  method: string,
  path: string,
): { route: Route; params: Record<string, string> } | undefined {
  const segments = segmentsOf(path.replace(/\/$/, ''));
  for (const route of table) {
    const params = route.method === method ? bindSegments(route.path.split('/'), segments) : undefined;
    if (params) {
      return { route, params };
    }
  }
  return undefined;
}
