import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { type ApiAnswer, sendAnswer } from '../kit/answer.ts';
import type { FaultPlan } from '../kit/faults.ts';
import { originOf } from '../kit/oauth/routes.ts';
import type { Context } from './call.ts';
import { HubSpotError, missingScopes, notFound } from './errors.ts';
import type { Limits } from './limits.ts';
import type { HubSpotOAuth } from './oauth.ts';
import { findObjectType } from './object-types.ts';
import { ROUTES, type Route } from './routes.ts';
import type { World } from './world.ts';

/** Parts that the API handlers share. */
export interface ApiParts {
  world: World;
  limits: Limits;
  faults: FaultPlan;
  oauth: HubSpotOAuth;
  random(): number;
}

const inPath = z.record(z.string(), z.string());

/** Adds the API. Each call of each version has a separate route, so that the counts distinguish the versions. */
export function addApiRoutes(app: FastifyInstance, parts: ApiParts): void {
  for (const route of ROUTES) {
    for (const url of route.paths) {
      app.route({
        method: route.method,
        url,
        handler: (request, reply) => sendAnswer(reply, answer(parts, route, request)),
      });
    }
  }
  app.setNotFoundHandler((_request, reply) => sendAnswer(reply, { status: 404, body: notFound().toBody() }));
}

/** Answers one call: checks the token, the limits and the scopes, then runs the handler. An error becomes the vendor's error body. */
function answer(parts: ApiParts, route: Route, request: FastifyRequest): ApiAnswer {
  const { world, limits, oauth } = parts;
  let headers: Record<string, string> = {};
  try {
    const caller = oauth.requireCaller(request.headers.authorization);
    headers = limits.spend(caller, route.isSearch);
    const context = toContext(parts, caller, request);
    countCall(world, context);
    const missing = route.scopes(context).find((anyOf) => !anyOf.some((scope) => caller.scopes.has(scope)));
    if (missing) {
      throw missingScopes(missing);
    }
    checkContentType(request);
    const answered = route.handler(context);
    return { ...answered, headers: { ...headers, ...answered.headers } };
  } catch (error) {
    if (error instanceof HubSpotError) {
      world.counts.add('errors');
      return { status: error.status, headers: { ...headers, ...error.details.headers }, body: error.toBody() };
    }
    throw error;
  }
}

function toContext(parts: ApiParts, caller: Context['caller'], request: FastifyRequest): Context {
  const origin = originOf(request);
  return {
    world: parts.world,
    limits: parts.limits,
    faults: parts.faults,
    random: parts.random,
    caller,
    method: request.method,
    url: request.url,
    origin,
    parameters: inPath.parse(request.params),
    query: new URL(request.url, origin).searchParams,
    body: typeof request.body === 'string' ? request.body : '',
  };
}

/** Counts a call by object type: the type in the path, or the first type of an association path. */
function countCall({ counts }: World, { parameters }: Context): void {
  const type = findObjectType(parameters.objectType ?? parameters.from ?? '');
  if (type) {
    counts.add(`requests:${type.name}`);
  }
}

function checkContentType({ body, headers }: FastifyRequest): void {
  const isSent = typeof body === 'string' && body !== '';
  if (isSent && !/^application\/json\b/i.test(headers['content-type'] ?? '')) {
    throw new HubSpotError(415, undefined, 'A body needs the Content-Type application/json.');
  }
}
