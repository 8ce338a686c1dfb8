import * as openid from 'openid-client';
import { isCode, message } from '../messages/message.ts';
import { MirrorError, type MirrorErrorOptions } from '../model/errors.ts';
import {
  CLIENT_REJECTED,
  classOfError,
  ENDPOINT_AWAY,
  type ErrorClass,
  isFinal,
  isPassing,
  LOGIN_ENDED,
  neededFirst,
} from './error-classes.ts';

/** What is known of the HTTP answer to a call of the authorization server. */
export interface AnswerFacts {
  status: number;
  retryAfterMs: number | null;
  /** The server's clock less ours, from its Date header; 0 when it tells none. */
  skewMs: number;
}

/**
 * What is kept of an error of openid-client: its codes alone. The error itself holds the answer, and with it tokens, which
 * whoever prints an error would print too.
 */
class OAuthFailure extends Error {
  override readonly name = 'OAuthFailure';
  /** The `error` of the server's answer, from its body or the redirect; null when the failure was another. */
  readonly oauthError: string | null;

  constructor(oauthError: string | null, libraryCode: string | null) {
    super(`OAuth failure ${printable(oauthError) ?? libraryCode ?? 'of another kind'}`);
    this.oauthError = printable(oauthError);
  }
}

/** The OAuth error code behind an error of ours; null when the failure was another. */
export function oauthErrorCode(error: unknown): string | null {
  return error instanceof MirrorError && error.cause instanceof OAuthFailure ? error.cause.oauthError : null;
}

function answeredError(error: unknown): string | null {
  if (error instanceof openid.ResponseBodyError || error instanceof openid.AuthorizationResponseError)
    return error.error;
  return null;
}

/** Told apart by its words, and never kept: a server may put anything there. */
function answeredDescription(error: unknown): string {
  return error instanceof openid.ResponseBodyError ? (error.error_description ?? '') : '';
}

function libraryCodeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/**
 * A refused refresh as an error of ours. One that passes says nothing of the login; one that ends the login and may be a mistake of the
 * provider is to be tried once more: `retry` is `later`.
 * @param facts as of {@link toMirrorError}
 */
export function refreshError(error: unknown, facts: AnswerFacts | null): MirrorError {
  const mirrorError = toMirrorError(error, facts);
  const { status, retryAfterMs, cause } = mirrorError;
  const description = answeredDescription(error);
  if (isPassing(description)) return build(ENDPOINT_AWAY, { status, retryAfterMs, cause });
  const isDoubtful = mirrorError.code === LOGIN_ENDED.code && !isFinal(description);
  return isDoubtful ? build({ ...LOGIN_ENDED, retry: 'later' }, { status, cause }) : mirrorError;
}

/** The provider failed before it asked anybody: nothing is known of the login. */
const PROVIDER_FAILED: ErrorClass = { actor: 'remote', code: 'provider-failed', retry: 'later' };

/**
 * What the provider sent the browser back with in place of a code (RFC 6749 section 4.1.2.1); null for a callback without an error. It is read
 * before anything else of the answer: an error ends a login, and needs no proof of who sent it.
 */
export function callbackError(callback: URL): MirrorError | null {
  const code = callback.searchParams.get('error');
  if (code === null) return null;
  const errorClass = classOfError(code, callback.searchParams.get('error_description') ?? '') ?? unknownError(code);
  const cause = new OAuthFailure(code, null);
  return build(errorClass.code === ENDPOINT_AWAY.code ? PROVIDER_FAILED : errorClass, { cause });
}

/**
 * Anything that openid-client threw as an error of ours. Texts of the server are never repeated; its error code is, when it
 * is one by its form.
 * @param facts of the last answer, null when none came
 */
export function toMirrorError(error: unknown, facts: AnswerFacts | null): MirrorError {
  const ours = findMirrorError(error);
  if (ours !== null) return ours;
  const wait = facts?.retryAfterMs ?? null;
  const code = answeredError(error);
  const libraryCode = libraryCodeOf(error);
  const more = {
    cause: new OAuthFailure(code, libraryCode),
    ...(facts === null ? {} : { status: facts.status }),
    ...(wait === null ? {} : { retryAfterMs: wait }),
  };
  if (facts !== null && (facts.status === 429 || facts.status >= 500)) {
    // Behind a gateway's 5xx the request may have been carried out; 429 and 503 say that it was not.
    return build(ENDPOINT_AWAY, { ...more, ambiguous: facts.status !== 429 && facts.status !== 503 });
  }
  if (code !== null) return build(classOfError(code, answeredDescription(error)) ?? unknownError(code), more);
  if (facts?.status === 401) return build(CLIENT_REJECTED, more);
  return libraryError(libraryCode, facts, more);
}

function libraryError(code: string | null, facts: AnswerFacts | null, more: Partial<MirrorErrorOptions>): MirrorError {
  if (code === 'OAUTH_MISSING_SERVER_METADATA' || code === 'OAUTH_INVALID_SERVER_METADATA') {
    return build({ actor: 'settings', code: 'endpoint-unknown', retry: 'never' }, more);
  }
  if (code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') return build(ISSUER_MISMATCH, more);
  if (code === 'OAUTH_INVALID_RESPONSE' && facts === null) return build(LOGIN_ANSWER_REJECTED, more);
  return build(UNREADABLE, { ...more, ambiguous: true });
}

const ISSUER_MISMATCH: ErrorClass = { actor: 'settings', code: 'issuer-mismatch', retry: 'never' };
/** Nothing was sent yet: it is the authorization response that was found wanting. */
const LOGIN_ANSWER_REJECTED: ErrorClass = { actor: 'authorization', code: 'login-answer-rejected', retry: 'never' };
const UNREADABLE: ErrorClass = { actor: 'contract', code: 'token-answer-unreadable', retry: 'later' };

function unknownError(code: string): ErrorClass {
  const shown = printable(code);
  const cause = message('oauth.token-error-unknown');
  return {
    actor: 'contract',
    code: 'token-error-unknown',
    retry: 'later',
    message: shown === null ? cause : message('in-brackets', { cause, code: shown }),
  };
}

/** A code that is one by its form; a server may put anything there. */
function printable(code: string | null): string | null {
  return code !== null && /^[a-z][a-z0-9_]{0,39}$/.test(code) ? code : null;
}

function build({ message: own, ...errorClass }: ErrorClass, more: Partial<MirrorErrorOptions>): MirrorError {
  const [code, remedy] = [`oauth.${errorClass.code}`, `oauth.${errorClass.code}.remedy`];
  const text = own ?? (isCode(code) ? { code } : errorClass.code);
  return new MirrorError(text, { ...(isCode(remedy) && { remedy: { code: remedy } }), ...errorClass, ...more });
}

/** openid-client wraps what its fetch threw. */
function findMirrorError(error: unknown): MirrorError | null {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof MirrorError) return each;
  }
  return null;
}

/** The error of a connection that nobody has logged in to. */
export function notConnected(connection: string): MirrorError {
  return new MirrorError(message('connection-without-login', { connection }), {
    actor: 'authorization',
    code: 'not-connected',
    retry: 'never',
    remedy: message('log-in', { command: loginOf(connection) }),
  });
}

/** Code of a refusal that a second try must still confirm. */
export const REFUSAL_UNCONFIRMED = 'refusal-unconfirmed';

/** The error of a connection whose login was refused once, and is asked about again. @param waitMs until the second try */
export function refusalUnconfirmed(connection: string, waitMs: number): MirrorError {
  return new MirrorError(message('refusal-unconfirmed', { connection }), {
    actor: 'remote',
    code: REFUSAL_UNCONFIRMED,
    retry: 'later',
    retryAfterMs: waitMs,
    remedy: message('refusal-unconfirmed.remedy', { command: loginOf(connection) }),
  });
}

/**
 * The error of a connection whose login has ended; its code is the reason: `login-ended` (revoked, expired or replaced at the
 * provider), `refresh-answer-lost` (a refresh was cut off by a crash or the network, and the provider had replaced the token
 * by one that never arrived), `interaction-required`, `login-refused`, `no-refresh-token`, or what an administrator must set right
 * first: `account-inactive`, `address-restricted`, `application-not-approved`.
 */
export function loginEnded(connection: string, reason: string | null): MirrorError {
  const first = neededFirst(reason);
  const again = message('log-in-again', { command: loginOf(connection) });
  return new MirrorError(message('connection-login-ended', { connection }), {
    actor: 'authorization',
    code: reason ?? 'login-ended',
    retry: 'never',
    remedy: first === null ? again : message('oauth.first-then', { first, next: again }),
  });
}

function loginOf(connection: string): string {
  return `clinic-mirror login <tenant> ${connection}`;
}
