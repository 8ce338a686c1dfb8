import type { ApiAnswer } from '../kit/answer.ts';
import type { FaultPlan } from '../kit/faults.ts';
import { bindSegments, segmentsOf } from '../kit/path.ts';
import type { ApiCall, Caller } from './call.ts';
import {
  ApiError,
  authError,
  insufficientPermissions,
  invalid,
  notFound,
  quotaExceeded,
  rateLimited,
} from './errors.ts';
import { selectFields } from './partial-response.ts';
import type { Quotas } from './quotas.ts';
import type { Route } from './routes.ts';
import type { World } from './world.ts';

/** Path of the API below its root url. */
export const API_BASE = '/calendar/v3';

const COMMON_QUERY = new Set([
  ...[
    'alt',
    'fields',
    'key',
    'oauth_token',
    'access_token',
    'prettyPrint',
    'quotaUser',
    'userIp',
    '$.xgafv',
    'uploadType',
  ],
]);
/** developers.google.com/workspace/calendar/api/guides/quota. */
const MAX_QUOTA_USER = 40;

/** Finds the caller behind an Authorization header; undefined when its token is unknown, expired or revoked. */
export type FindCaller = (authorization: string | undefined) => Caller | undefined;

interface Match {
  route: Route;
  parameters: Record<string, string>;
}

/** The calendar API without HTTP, shared by single requests and the parts of a batch. */
export class CalendarApi {
  readonly #world: World;
  readonly #faults: FaultPlan;
  readonly #quotas: Quotas;
  readonly #findCaller: FindCaller;
  readonly #routes: { route: Route; segments: string[] }[];

  constructor(world: World, faults: FaultPlan, quotas: Quotas, findCaller: FindCaller, routes: Route[]) {
    this.#world = world;
    this.#faults = faults;
    this.#quotas = quotas;
    this.#findCaller = findCaller;
    this.#routes = routes.map((route) => ({ route, segments: route.path.split('/') }));
  }

  /** Answers one call; whatever is wrong becomes an answer with the vendor's error body. */
  answer(call: ApiCall): ApiAnswer {
    try {
      return this.#run(call);
    } catch (error) {
      if (error instanceof ApiError) {
        return { status: error.status, body: error.toBody() };
      }
      throw error;
    }
  }

  /** The calendar that a call is about, `primary` resolved; undefined when it is about none. */
  calendarOf(call: Pick<ApiCall, 'method' | 'url' | 'headers'>): string | undefined {
    const id = this.#match(call)?.parameters.calendarId;
    return id === 'primary' ? this.#callerOf(call)?.account : id;
  }

  /** The account behind a call's token. */
  accountOf(call: Pick<ApiCall, 'headers'>): string | undefined {
    return this.#callerOf(call)?.account;
  }

  #run(call: ApiCall): ApiAnswer {
    const match = this.#match(call);
    if (!match) {
      throw notFound();
    }
    const caller = this.#callerOf(call);
    if (!caller) {
      throw authError();
    }
    const { route, parameters } = match;
    const query = new URL(call.url, 'http://sandbox').searchParams;
    this.#playQuotaFaults(call, caller, route);
    this.#quotas.spend(caller, quotaUserOf(call, query), route.units);
    if (!route.scopes.some((scope) => caller.scopes.has(scope))) {
      throw insufficientPermissions();
    }
    checkQuery(query, route);
    if (route.writesEvents) {
      this.#quotas.write(this.calendarOf(call) ?? '');
    }
    const answer = route.handler({ world: this.#world, faults: this.#faults, call, caller, parameters, query });
    const fields = query.get('fields');
    return fields === null || answer.body === undefined
      ? answer
      : { ...answer, body: selectFields(answer.body, fields) };
  }

  #playQuotaFaults(call: ApiCall, caller: Caller, route: Route): void {
    const request = { method: call.method, path: call.url, client: caller.account };
    if (this.#faults.active('rate-limit', request)) {
      throw rateLimited('rateLimitExceeded', this.#world.settings.rateLimitStatus);
    }
    if (this.#faults.active('user-rate-limit', request)) {
      throw rateLimited('userRateLimitExceeded', this.#world.settings.rateLimitStatus);
    }
    if (this.#faults.active('daily-limit', request)) {
      throw new ApiError(403, 'dailyLimitExceeded', 'Daily Limit Exceeded', { domain: 'usageLimits' });
    }
    if (route.method !== 'GET' && this.#faults.active('use-limit', request)) {
      throw quotaExceeded();
    }
  }

  #callerOf(call: Pick<ApiCall, 'headers'>): Caller | undefined {
    return this.#findCaller(call.headers.authorization);
  }

  #match(call: Pick<ApiCall, 'method' | 'url'>): Match | undefined {
    const path = call.url.split('?', 1)[0] ?? '';
    if (!path.startsWith(`${API_BASE}/`)) {
      return undefined;
    }
    const segments = segmentsOf(path.slice(API_BASE.length));
    for (const { route, segments: pattern } of this.#routes) {
      const parameters = route.method === call.method ? bindSegments(pattern, segments) : undefined;
      if (parameters) {
        return { route, parameters };
      }
    }
    return undefined;
  }
}

/** A misspelt parameter would silently do nothing: refuse it. */
function checkQuery(query: URLSearchParams, route: Route): void {
  for (const name of query.keys()) {
    if (!COMMON_QUERY.has(name) && !route.query.includes(name)) {
      const message = `Invalid JSON payload received. Unknown name "${name}": Cannot bind query parameter.`;
      throw new ApiError(400, 'badRequest', message);
    }
  }
}

function quotaUserOf(call: ApiCall, query: URLSearchParams): string | undefined {
  const user = query.get('quotaUser') ?? call.headers['x-goog-quota-user']?.toString();
  if (user !== undefined && user.length > MAX_QUOTA_USER) {
    throw invalid('Invalid value for: quotaUser', 'quotaUser');
  }
  return user;
}
