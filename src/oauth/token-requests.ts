import type { CustomFetch } from 'openid-client';
import type { Budget, HttpClient } from '../http/client.ts';
import { retryAfterMs, serverNow } from '../http/retry.ts';
import type { Account } from '../model/credentials.ts';
import { parseJson } from '../model/json.ts';
import { type Clock, type Instant, SECOND_MS } from '../model/time.ts';
import type { AnswerFacts } from './errors.ts';
import type { Provider } from './providers.ts';

/** What an authorization server is reached with. */
export interface Reach {
  provider: Provider;
  http: HttpClient;
  /** What the client id is allowed, shared with the API's calls where the provider counts them together. */
  budget?: Budget;
  clock: Clock;
}

/**
 * The HTTP client as openid-client's fetch. The time limit is the HTTP client's; the answer is made tidy and its facts are kept for the
 * error. Nothing is sent twice.
 */
export function recordingFetch(
  reach: Reach,
  label: string,
  signal: AbortSignal,
): { fetch: CustomFetch; facts(): AnswerFacts | null } {
  const send = reach.http.asFetch(`oauth.${reach.provider.name}.${label}`, reach.budget);
  let facts: AnswerFacts | null = null;
  return {
    async fetch(url, { method, headers, body }) {
      const response = await send(url, { method, headers, body: body as string, signal, redirect: 'manual' });
      const now = reach.clock();
      facts = {
        status: response.status,
        retryAfterMs: retryAfterMs(response, now),
        skewMs: (serverNow(response.headers) ?? now) - now,
      };
      return method === 'POST' ? tidyAnswer(response) : response;
    },
    facts: () => facts,
  };
}

/** What a token endpoint gave, freed of the ways in which providers say it. */
export interface TokenAnswer {
  accessToken: string;
  /**
   * Null when the answer holds none: an older one stays good.
   * @see RFC 6749 section 6
   */
  refreshToken: string | null;
  /** Null when the answer doesn't tell, or tells nothing usable. */
  accessLifeMs: number | null;
  refreshLifeMs: number | null;
  /**
   * Null when the answer doesn't tell: then what was asked for was granted.
   * @see RFC 6749 section 5.1
   */
  scopes: readonly string[] | null;
  /** Origin of the API that the token is good for; null when the answer tells none. */
  baseUrl: string | null;
  /** Whom it names, proved by TLS alone; null when it does not tell. */
  account: Account | null;
  /** When the request was sent, by our clock: lives are counted from here, which errs to the safe side. */
  sentAt: Instant;
}

/** What the token endpoint gave to a login. */
export interface LoginAnswer extends TokenAnswer {
  /** By what it names whose tokens these are. */
  names: Names;
  /** The server's clock less ours, by its Date header. */
  skewMs: number;
}

/** Members of an answer that name a person or an account, as they came; null is what it does not have. */
export interface Names {
  /** OpenID Connect Core section 2; not validated. */
  idToken: string | null;
  /** Salesforce: address that ends in the ids of organisation and user. */
  identityUrl: string | null;
  /** HubSpot: id of the account that the application is installed in. */
  hubId: string | null;
}

/** Under this name the id_token passes by openid-client, which would void a whole answer for one that it does not like. */
const PASSING_ID_TOKEN = 'unvalidated_id_token';

/** What an answer of openid-client names. */
export function readNames(answer: Readonly<Record<string, unknown>>): Names {
  const textOf = (value: unknown) => (typeof value === 'string' && value !== '' ? value : null);
  const { hub_id: hubId } = answer;
  return {
    idToken: textOf(answer[PASSING_ID_TOKEN]),
    identityUrl: textOf(answer.id),
    hubId: typeof hubId === 'number' ? String(hubId) : textOf(hubId),
  };
}

/**
 * Makes the answer of a token or device endpoint one that openid-client accepts. It refuses an answer as a whole for one odd
 * member, and a rotated refresh token would be lost with it: so nulls go, an `expires_in` that isn't a positive number
 * goes, numbers in text become numbers, lists of scopes become text, HubSpot's words for errors become those of RFC 6749. The id_token is
 * put aside: it is validated once the tokens are safe.
 */
export async function tidyAnswer(response: Response): Promise<Response> {
  const text = await response.text();
  const members = parseObject(text);
  const headers = new Headers(response.headers);
  if (members === null) return new Response(text, { status: response.status, headers });
  headers.set('content-type', 'application/json');
  const tidy = tidyMembers(members);
  // A challenge beside an error member would be read instead of it.
  if (typeof tidy.error === 'string') headers.delete('www-authenticate');
  return new Response(JSON.stringify(tidy), { status: response.status, headers });
}

/** Life of the refresh token: Google's and Keycloak's names for it, seconds; 0 means without end. */
export function refreshLifeMs(members: Readonly<Record<string, unknown>>): number | null {
  return secondsToMs(members.refresh_token_expires_in ?? members.refresh_expires_in);
}

/** A number of seconds, also in text; null unless it is above zero. */
export function secondsToMs(value: unknown): number | null {
  const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds * SECOND_MS : null;
}

function tidyMembers(members: Record<string, unknown>): Record<string, unknown> {
  const { id_token: idToken = null, ...others } = members;
  const normalized = { ...others, [PASSING_ID_TOKEN]: idToken };
  const tidy = Object.fromEntries(Object.entries(normalized).filter(([, value]) => value !== null));
  for (const name of ['expires_in', 'interval']) {
    const lifeMs = secondsToMs(tidy[name]);
    if (lifeMs === null) delete tidy[name];
    else tidy[name] = lifeMs / SECOND_MS;
  }
  // HubSpot's name for the list.
  tidy.scope ??= tidy.scopes;
  if (Array.isArray(tidy.scope)) tidy.scope = tidy.scope.join(' ');
  if (typeof tidy.scope !== 'string') delete tidy.scope;
  if (typeof tidy.refresh_token !== 'string' || tidy.refresh_token === '') delete tidy.refresh_token;
  const error = standardError(tidy);
  if (error !== null) tidy.error = error;
  if ('access_token' in tidy && typeof tidy.token_type !== 'string') tidy.token_type = 'bearer';
  return tidy;
}

/**
 * HubSpot's words for errors, which its old endpoint tells in place of those of RFC 6749 section 5.2.
 * @see https://developers.hubspot.com/docs/api-reference/legacy/authentication/oauth-tokens/v1/guide
 */
const VENDOR_ERRORS: ReadonlyMap<unknown, string> = new Map([
  ['BAD_REFRESH_TOKEN', 'invalid_grant'],
  ['BAD_AUTH_CODE', 'invalid_grant'],
  ['BAD_CLIENT_ID', 'invalid_client'],
  ['BAD_CLIENT_SECRET', 'invalid_client'],
  ['BAD_REDIRECT_URI', 'redirect_uri_mismatch'],
  ['BAD_GRANT_TYPE', 'unsupported_grant_type'],
  ['BAD_SCOPE', 'invalid_scope'],
]);

/** The OAuth error that an answer tells in other words; null when it tells one already, or none. */
function standardError(members: Readonly<Record<string, unknown>>): string | null {
  return 'error' in members || 'access_token' in members ? null : (VENDOR_ERRORS.get(members.status) ?? null);
}

function parseObject(text: string): Record<string, unknown> | null {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}
