import { setTimeout as delay } from 'node:timers/promises';
import type { ApiAnswer } from '../kit/answer.ts';
import type { ApiCall, BegunWrite } from './call.ts';
import { ApiError, notFound } from './errors.ts';
import type { SalesforceOAuth } from './oauth.ts';
import { findRoute, type Route } from './routes.ts';
import type { Usage } from './usage.ts';
import type { World } from './world.ts';

/** Parts that the API handlers share. */
export interface ApiParts {
  world: World;
  oauth: SalesforceOAuth;
  usage: Usage;
  routes: readonly Route[];
}

/** Finds the route of a call and starts the handler. Throws ApiError. */
export function start(parts: ApiParts, call: ApiCall): ApiAnswer | BegunWrite {
  const found = findRoute(parts.routes, call.method, pathIn(call));
  if (!found) {
    throw notFound();
  }
  return found.route.handler(parts.world, { ...call, params: found.params });
}

/** Waits for the duration of a write, then finishes the write. Throws ApiError. */
export async function finished(world: World, answer: ApiAnswer | BegunWrite): Promise<ApiAnswer> {
  if (!('finish' in answer)) {
    return answer;
  }
  if (world.settings.writeMs > 0) {
    await delay(world.settings.writeMs);
  }
  return answer.finish();
}

/** Returns a call after checking the version. Throws ApiError: 410 or 404 for a retired version, 404 for a future version. */
export function toCall(
  { settings }: World,
  given: Pick<ApiCall, 'method' | 'url' | 'headers' | 'body' | 'username'>,
): ApiCall {
  const url = new URL(given.url, 'http://sandbox');
  const [, base = '', version = ''] = /^(\/services\/data\/v(\d+)\.0)(\/|$)/.exec(url.pathname) ?? [];
  if (base === '' || Number(version) > settings.newestVersion) {
    throw notFound();
  }
  if (Number(version) < settings.oldestVersion) {
    throw settings.retiredStatus === 404
      ? notFound()
      : new ApiError(410, 'UNSUPPORTED_API_VERSION', 'The requested API version is retired.');
  }
  return { ...given, version: Number(version), base, params: {}, query: url.searchParams };
}

/** Returns the path of a call below its version, without query. */
export function pathIn(call: ApiCall): string {
  return new URL(call.url, 'http://sandbox').pathname.slice(call.base.length);
}

/** Returns the answer to a refused call. Rethrows every error except ApiError. */
export function toErrorAnswer(error: unknown): ApiAnswer {
  if (error instanceof ApiError) {
    return { status: error.status, body: error.toBody() };
  }
  throw error;
}
