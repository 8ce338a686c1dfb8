import type { CustomFetch, TokenEndpointResponse } from 'openid-client';
import type { Budget, HttpClient } from '../core/http/client.ts';
import { retryAfterMs, serverNow } from '../core/http/retry.ts';
import type { Account } from '../core/model/credentials.ts';
import type { MirrorError } from '../core/model/errors.ts';
import { parseJson } from '../core/model/json.ts';
import { STORED_LIMITS } from '../core/model/stored-limits.ts';
import { type Clock, type Instant, SECOND_MS } from '../core/model/time.ts';
import type { AnswerFacts } from './errors.ts';
import { type Provider, readBaseUrl } from './providers.ts';

/** Data for reaching an authorization server. */
export interface Reach {
  provider: Provider;
  http: HttpClient;
  /** Budget of the client id, shared with API calls if the provider counts both together. */
  budget?: Budget;
  clock: Clock;
}

/**
 * Adapts the HTTP client as openid-client's fetch. The HTTP client sets the time limit; the answer is normalized and its facts are kept for
 * errors. No request is repeated.
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

/** Normalized answer of a token endpoint. */
export interface TokenAnswer {
  accessToken: string;
  /**
   * Null if the answer has no refresh token: the previous refresh token stays valid.
   * @see RFC 6749 section 6
   */
  refreshToken: string | null;
  /** Null if the answer contains no usable lifetime. */
  accessLifeMs: number | null;
  refreshLifeMs: number | null;
  /**
   * Null if the answer names no scopes: the requested scopes are granted.
   * @see RFC 6749 section 5.1
   */
  scopes: readonly string[] | null;
  /** Origin of the token's API; null if absent. */
  baseUrl: string | null;
  /** Account in the answer, proved only by TLS; null if absent. */
  account: Account | null;
  /** Time of the request by the local clock: lifetimes start here, which is the safe choice. */
  sentAt: Instant;
}

/** Answer of a token endpoint to an authorization. */
export interface LoginAnswer extends TokenAnswer {
  /** Members that identify the account. */
  names: Names;
  /** Server clock minus local clock, from the Date header. */
  skewMs: number;
}

/** Unchanged members of an answer that identify a user or an account; null if absent. */
export interface Names {
  /** OpenID Connect Core section 2; not validated. */
  idToken: string | null;
  /** Salesforce: URL with the final ids of organisation and user. */
  identityUrl: string | null;
  /** HubSpot: id of the account with the installed application. */
  hubId: string | null;
}

/** This name hides the id_token from openid-client, which would reject a whole answer because of an invalid id_token. */
const PASSING_ID_TOKEN = 'unvalidated_id_token';

/** Reads the identifying members of an openid-client answer. */
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
 * Normalizes the answer of a token or device endpoint for openid-client, which rejects a whole answer because of one unusual member, so
 * that a rotated refresh token would be lost. Removes nulls and an `expires_in` that is not a positive number. Converts numbers in strings
 * to numbers, lists of scopes to strings, and HubSpot's error codes to RFC 6749 codes. The id_token is kept separately: validation follows after
 * the tokens are safe.
 */
export async function tidyAnswer(response: Response): Promise<Response> {
  const text = await response.text();
  const members = parseObject(text);
  const headers = new Headers(response.headers);
  if (members === null) return new Response(text, { status: response.status, headers });
  headers.set('content-type', 'application/json');
  const tidy = tidyMembers(members);
  // openid-client would read a challenge instead of the error member.
  if (typeof tidy.error === 'string') headers.delete('www-authenticate');
  return new Response(JSON.stringify(tidy), { status: response.status, headers });
}

/** Returns the lifetime of the refresh token: names of Google and Keycloak, in seconds; 0 means no expiry. */
export function refreshLifeMs(members: Readonly<Record<string, unknown>>): number | null {
  return secondsToMs(members.refresh_token_expires_in ?? members.refresh_expires_in);
}

/** Converts seconds, also in a string; null unless positive. */
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
 * Error codes of HubSpot's old endpoint, instead of RFC 6749 section 5.2 codes.
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

/** Returns the OAuth error for a vendor-specific code; null for a standard error or for success. */
function standardError(members: Readonly<Record<string, unknown>>): string | null {
  return 'error' in members || 'access_token' in members ? null : (VENDOR_ERRORS.get(members.status) ?? null);
}

function parseObject(text: string): Record<string, unknown> | null {
  const value = parseJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

/** Converts the answer of openid-client. */
export function readTokens(answer: TokenEndpointResponse, sentAt: Instant): TokenAnswer {
  return {
    accessToken: answer.access_token,
    refreshToken: answer.refresh_token ?? null,
    accessLifeMs: secondsToMs(answer.expires_in),
    refreshLifeMs: refreshLifeMs(answer),
    scopes: answer.scope === undefined ? null : splitScopes(answer.scope.slice(0, STORED_LIMITS.scopes)),
    baseUrl: readBaseUrl(answer.instance_url),
    account: null,
    sentAt,
  };
}

function splitScopes(scope: string): string[] {
  return scope.split(/[\s,]+/).filter((each) => each !== '');
}

/** Result of a token request; `skewMs` is server clock minus local clock, 0 without a Date header. */
export type TokenOutcome =
  | { error: null; tokens: TokenAnswer; skewMs: number }
  | { error: MirrorError; skewMs: number };
