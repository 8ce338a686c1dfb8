import type { ApiAnswer } from '../kit/answer.ts';
import type { FaultPlan } from '../kit/faults.ts';
import { bindSegments, segmentsOf } from '../kit/path.ts';
import { checkLicence, findMailbox } from './access.ts';
import type { ApiCall, Caller, Context } from './call.ts';
import { accessDenied, GraphError, resourceNotFound } from './errors.ts';
import type { GraphOAuth } from './oauth.ts';
import { readPreferences } from './preferences.ts';
import type { Route } from './routes.ts';
import type { Throttling } from './throttling.ts';
import type { Mailbox, World } from './world.ts';

/** Path of the API below its root url. */
export const API_BASE = '/v1.0';

interface Match {
  route: Route;
  /** `me`, an object id or an email address; empty for a call that concerns no mailbox. */
  user: string;
  parameters: Record<string, string>;
}

/** What the API is made of. */
export interface GraphApiParts {
  world: World;
  faults: FaultPlan;
  throttling: Throttling;
  oauth: GraphOAuth;
  routes: readonly Route[];
}

/** The calendar API without HTTP, shared by single requests and the parts of a batch. */
export class GraphApi {
  readonly #parts: GraphApiParts;
  readonly #patterns: { route: Route; segments: string[] }[];

  constructor(parts: GraphApiParts) {
    this.#parts = parts;
    this.#patterns = parts.routes.map((route) => ({ route, segments: route.path.split('/').filter(Boolean) }));
  }

  /** Answers one call; whatever is wrong becomes an answer with the vendor's error body. */
  async answer(call: ApiCall): Promise<ApiAnswer> {
    try {
      return await this.#run(call);
    } catch (error) {
      if (error instanceof GraphError) {
        return { status: error.status, headers: error.headers, body: error.toBody() };
      }
      throw error;
    }
  }

  /** Returns the mailbox whose limits apply to a call; undefined if the call concerns no mailbox or the caller has no valid token. */
  mailboxOf(call: Pick<ApiCall, 'method' | 'url' | 'headers'>): Mailbox | undefined {
    const match = this.#match(call);
    const caller = this.#callerOf(call);
    if (match?.route.at !== 'mailbox' || !match.route.limited || !caller) {
      return undefined;
    }
    return this.#parts.world.find(match.user === 'me' ? (caller.account ?? '') : match.user);
  }

  /** The account behind a call's token, or the application behind an app-only one. */
  clientOf(call: Pick<ApiCall, 'headers'>): string | undefined {
    const caller = this.#callerOf(call);
    return caller?.account ?? caller?.clientId;
  }

  async #run(call: ApiCall): Promise<ApiAnswer> {
    const caller = this.#parts.oauth.requireCaller(call.headers.authorization);
    const match = this.#match(call);
    if (!match) {
      throw resourceNotFound();
    }
    const { world, faults, throttling } = this.#parts;
    const { route, parameters, user } = match;
    const preferences = readPreferences(call.headers);
    const query = new URL(call.url, call.origin).searchParams;
    const context: Context = { world, faults, call, caller, parameters, query, preferences };
    if (!route.permissions.some((permission) => caller.permissions.has(permission))) {
      throw accessDenied();
    }
    if (route.at === 'root') {
      return route.handler(context);
    }
    const mailbox = findMailbox(world, caller, user);
    if (route.limited) {
      throttling.spend(caller, mailbox);
      checkLicence(mailbox);
    }
    const answer = await route.handler({ ...context, mailbox });
    const applied = preferences.applied.join(', ');
    return applied === '' ? answer : { ...answer, headers: { ...answer.headers, 'preference-applied': applied } };
  }

  #callerOf(call: Pick<ApiCall, 'headers'>): Caller | undefined {
    return this.#parts.oauth.findCaller(call.headers.authorization);
  }

  #match(call: Pick<ApiCall, 'method' | 'url'>): Match | undefined {
    const path = call.url.split('?', 1)[0] ?? '';
    if (!path.startsWith(`${API_BASE}/`)) {
      return undefined;
    }
    const segments = segmentsOf(path.slice(API_BASE.length + 1));
    const prefix = { me: 1, users: 2 }[segments[0] ?? ''] ?? 0;
    const user = prefix === 0 ? '' : (segments[prefix - 1] ?? '');
    const rest = segments.slice(prefix);
    for (const { route, segments: pattern } of this.#patterns) {
      const isPlace = (route.at === 'mailbox') === prefix > 0;
      const parameters = isPlace && route.method === call.method ? bindSegments(pattern, rest) : undefined;
      if (parameters) {
        return { route, parameters, user };
      }
    }
    return undefined;
  }
}
