import { z } from 'zod';
import manifest from '../../../../package.json' with { type: 'json' };
import type { Route } from './routes.ts';
import { PROBLEM_TYPE, problemDocument } from './routes.ts';

/** Answer for long work that continues. */
export const begunTask = z.object({
  task: z.string(),
  address: z.string().describe('URL of the task; any process of the installation returns its state, for one hour'),
});

/** Path prefix of the API. */
export const API_PATH = '/api/v1';

/** A part of a JSON document. */
type Json = Record<string, unknown>;

/** Refusals that every route can return. */
const REFUSED = {
  400: 'The request does not match the schema',
  401: 'Sign-in required',
  403: 'The access level is too low',
};
const REFUSED_FURTHER = {
  404: 'There is none, or not for this visitor',
  409: 'It can not be done as things are',
  429: 'Too many requests in a minute, or tasks at once: Retry-After contains the seconds to wait',
  '5XX': 'It could not be done or told now',
};

const REFUSED_FAULTS = { 422: 'The configuration has faults; the response lists every fault' };
const REFUSED_REVISED = {
  ...REFUSED_FAULTS,
  412: 'It has another revision by now',
  428: 'If-Match is missing',
};

/** Returns the OpenAPI 3.1 description (https://spec.openapis.org/oas/v3.1.1), generated from the validation schemas. */
export function openApiDocument(routes: readonly Route[]): Json {
  const paths: Record<string, Json> = {};
  for (const route of routes) {
    const path = `${API_PATH}${route.path}`;
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(route) };
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'clinic-mirror',
      version: manifest.version,
      description: 'What the pages for operators do. Times are milliseconds since 1970-01-01 UTC.',
      license: { name: 'Unlicensed' },
    },
    servers: [{ url: '/', description: 'The port for operators' }],
    security: [{ token: [] }, { session: [] }],
    tags: [...new Set(routes.map(tagOf))].map((name) => ({ name })),
    paths,
    components: {
      schemas: { Problem: schemaOf(problemDocument, 'output'), BegunTask: schemaOf(begunTask, 'output') },
      securitySchemes: {
        token: { type: 'http', scheme: 'bearer', description: 'A token of an administrator' },
        session: {
          type: 'apiKey',
          in: 'cookie',
          name: '__Host-session',
          description: 'A session of the pages; changes also need x-csrf-token',
        },
      },
    },
  };
}

function operationOf(route: Route): Json {
  const { method, name, summary, level, params, query, body, reply, isRevised, task } = route;
  const problem = { [PROBLEM_TYPE]: { schema: { $ref: '#/components/schemas/Problem' } } };
  const isConditional = isRevised && (method === 'PUT' || method === 'DELETE');
  const ofRevised = isConditional ? REFUSED_REVISED : isRevised && body !== null ? REFUSED_FAULTS : {};
  const refused = { ...REFUSED, ...REFUSED_FURTHER, ...ofRevised };
  const refusals = Object.entries(refused).map(([status, description]) => [
    status,
    { description, ...(status === '429' ? { headers: RETRY_AFTER } : {}), content: problem },
  ]);
  return {
    operationId: name,
    summary,
    description: `For visitors of the level ${level} or above.`,
    'x-level': level,
    tags: [tagOf(route)],
    parameters: [
      ...[...parametersOf(params, 'path'), ...parametersOf(query, 'query')],
      ...[...(task === null ? [] : [PREFER]), ...(isConditional ? [IF_MATCH] : [])],
    ],
    ...(body === null
      ? {}
      : {
          requestBody: {
            required: isRequired(body),
            content: { 'application/json': { schema: schemaOf(body, 'input') } },
          },
        }),
    responses: {
      200: {
        description: 'Done',
        ...(isRevised ? { headers: ETAG } : {}),
        content: { 'application/json': { schema: schemaOf(reply, 'output') } },
      },
      ...(task === null ? {} : { 202: BEGUN }),
      ...Object.fromEntries(refusals),
    },
  };
}

const IF_MATCH = {
  name: 'If-Match',
  in: 'header',
  required: true,
  schema: { type: 'string' },
  description: 'ETag of the read response (RFC 9110 section 13.1.1)',
};
const RETRY_AFTER = {
  'Retry-After': {
    schema: { type: 'integer' },
    description: 'Seconds (RFC 9110 section 10.2.3); absent if unknown',
  },
};
const ETAG = { ETag: { schema: { type: 'string' }, description: 'The revision; none for what a file configures' } };

const PREFER = {
  name: 'Prefer',
  in: 'header',
  schema: { type: 'string' },
  description:
    '`respond-async`, or `wait=<seconds>`: how long to wait for the end before a task is answered (RFC 7240)',
};

const BEGUN = {
  description: 'The task continues: read its URL',
  headers: { Location: { schema: { type: 'string' }, description: 'URL of the task' } },
  content: { 'application/json': { schema: { $ref: '#/components/schemas/BegunTask' } } },
};

/** Returns the first path segment after the tenant as the tag. */
function tagOf({ path }: Route): string {
  const [first = '', second = first] = path.split('/').filter((part) => part !== '' && !part.startsWith('{'));
  return first === 'tenants' ? second : first;
}

function parametersOf(schema: z.ZodObject, location: 'path' | 'query'): Json[] {
  return Object.entries(schema.shape).map(([name, type]) => {
    const { description, ...rest } = schemaOf(type as z.ZodType, 'input');
    const required = location === 'path' || isRequired(type as z.ZodType);
    return { name, in: location, required, schema: rest, ...(description === undefined ? {} : { description }) };
  });
}

function isRequired(schema: z.ZodType): boolean {
  return !schema.safeParse(schema instanceof z.ZodObject ? {} : undefined).success;
}

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, target: 'draft-2020-12', unrepresentable: 'any' });
  return rest;
}
