import * as openid from 'openid-client';
import { MirrorError, type MirrorErrorOptions } from '../core/model/errors.ts';
import { isCode, message } from '../messages/message.ts';
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

/** HTTP facts of an authorization server's answer. */
export interface AnswerFacts {
  status: number;
  retryAfterMs: number | null;
  /** Server clock minus local clock, from the Date header; 0 without the header. */
  skewMs: number;
}

/**
 * Keeps only the codes of an openid-client error. The original error contains the answer with tokens, and printing the error would print
 * the tokens.
 */
class OAuthFailure extends Error {
  override readonly name = 'OAuthFailure';
  /** `error` of the server's answer, from the body or the redirect; null for a different failure. */
  readonly oauthError: string | null;

  constructor(oauthError: string | null, libraryCode: string | null) {
    super(`OAuth failure ${printable(oauthError) ?? libraryCode ?? 'of unknown kind'}`);
    this.oauthError = printable(oauthError);
  }
}

/** Returns the OAuth error code behind a MirrorError, or null for a different failure. */
export function oauthErrorCode(error: unknown): string | null {
  return error instanceof MirrorError && error.cause instanceof OAuthFailure ? error.cause.oauthError : null;
}

function answeredError(error: unknown): string | null {
  if (error instanceof openid.ResponseBodyError || error instanceof openid.AuthorizationResponseError)
    return error.error;
  return null;
}

/** The description is only matched, never kept: a server may send any text. */
function answeredDescription(error: unknown): string {
  return error instanceof openid.ResponseBodyError ? (error.error_description ?? '') : '';
}

function libraryCodeOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/**
 * Converts a refused refresh. A temporary refusal does not concern the connection. A final refusal that may be a provider's mistake is
 * retried once: `retry` is `later`.
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

/** The provider failed before a decision: the state of the connection is unknown. */
const PROVIDER_FAILED: ErrorClass = { actor: 'remote', code: 'provider-failed', retry: 'later' };

/**
 * Returns the error in a provider's redirect (RFC 6749 section 4.1.2.1), or null without an error. The error is read before all other
 * values of the answer: an error ends an authorization and needs no proof of the sender.
 */
export function callbackError(callback: URL): MirrorError | null {
  const code = callback.searchParams.get('error');
  if (code === null) return null;
  const errorClass = classOfError(code, callback.searchParams.get('error_description') ?? '') ?? unknownError(code);
  const cause = new OAuthFailure(code, null);
  return build(errorClass.code === ENDPOINT_AWAY.code ? PROVIDER_FAILED : errorClass, { cause });
}

/**
 * Converts any error of openid-client. Texts of the server are never repeated; a well-formed error code is kept.
 * @param facts facts of the last answer, null without an answer
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
    // The server behind a gateway's 5xx may have executed the request; 429 and 503 exclude execution.
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
/** No request was sent yet: the authorization response is invalid. */
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

/** Returns a well-formed code, or null; a server may send any text. */
function printable(code: string | null): string | null {
  return code !== null && /^[a-z][a-z0-9_]{0,39}$/.test(code) ? code : null;
}

function build({ message: own, ...errorClass }: ErrorClass, more: Partial<MirrorErrorOptions>): MirrorError {
  const [code, remedy] = [`oauth.${errorClass.code}`, `oauth.${errorClass.code}.remedy`];
  const text = own ?? (isCode(code) ? { code } : errorClass.code);
  return new MirrorError(text, { ...(isCode(remedy) && { remedy: { code: remedy } }), ...errorClass, ...more });
}

/** openid-client wraps errors of its fetch. */
function findMirrorError(error: unknown): MirrorError | null {
  for (let each = error; each instanceof Error; each = each.cause) {
    if (each instanceof MirrorError) return each;
  }
  return null;
}

/** Returns the error of a connection without an authorization. */
export function notConnected(connection: string): MirrorError {
  return new MirrorError(message('connection-without-login', { connection }), {
    actor: 'authorization',
    code: 'not-connected',
    retry: 'never',
    remedy: message('log-in', { command: loginOf(connection) }),
  });
}

/** Code of a refusal that a second attempt must confirm. */
export const REFUSAL_UNCONFIRMED = 'refusal-unconfirmed';

/** Returns the error of a connection with one refusal, before the second attempt. @param waitMs until the second attempt */
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
 * Returns the error of an ended connection. The code is the reason:
 * - `login-ended`: revoked, expired or replaced with the provider;
 * - `refresh-answer-lost`: a crash or the network interrupted a refresh, and the provider had replaced the token by a token that never
 *   arrived;
 * - `interaction-required`, `login-refused`, `no-refresh-token`;
 * - `account-inactive`, `address-restricted`, `application-not-approved`: an administrator must act first.
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
