import { createHash } from 'node:crypto';
import { calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client';
import type { Logger } from '../core/log/logger.ts';
import type { Account, Credential, TokenSet } from '../core/model/credentials.ts';
import { asMirrorError, MirrorError } from '../core/model/errors.ts';
import { type Clock, SECOND_MS } from '../core/model/time.ts';
import { message } from '../messages/message.ts';
import { accountError, type ExpectedAccount, mismatchOf } from './accounts.ts';
import {
  type AccountState,
  type ConnectionContext,
  credentialFromLogin,
  credentialLease,
  type PendingLogins,
} from './credential.ts';
import { neededFirst } from './error-classes.ts';
import { callbackError, oauthErrorCode } from './errors.ts';
import { missingScopes, requireSecureUrl } from './providers.ts';
import type { AuthorizationServer } from './server.ts';
import type { LoginAnswer } from './token-requests.ts';

/** Result of a stored authorization. Scopes that the user did not grant are listed, and dependent features stay off. */
export interface LoginResult {
  tenant: string;
  connection: string;
  grantedScopes: readonly string[];
  missingScopes: readonly string[];
  /** Account of the authorization; null if the provider does not report the account. */
  account: Account | null;
  /** Whether the authorization stays unused until an operator confirms the account. */
  isUnconfirmed: boolean;
  /** Reason why a stored authorization is not verified: the server was unavailable, or the operator has to choose a tenant. */
  uncertainty?: MirrorError;
}

/** Connection for an authorization. */
export interface LoginTarget {
  context: ConnectionContext;
  server: AuthorizationServer;
  /** Requested scopes. */
  scopes: readonly string[];
  clock: Clock;
  /** Required account; null or absent: any account. */
  expected?: ExpectedAccount | null;
  /**
   * Whether a different account needs no confirmation: the data source is bound in a different way, and the connection writes to no
   * calendar or CRM.
   */
  takesAnyAccount?: boolean;
  /**
   * Verifies the user with the server before the authorization is stored. @throws MirrorError if the user is unsuitable or cannot be
   * verified
   */
  verify?(accessToken: string, signal: AbortSignal): Promise<void>;
}

/**
 * Origin of an authorization. `here`: the same user started and completed the authorization at a receiver on this host. `elsewhere`: by a
 * link or a code, which a different user may have obtained.
 */
export type LoginWay = 'here' | 'elsewhere';

/** Longest wait for a running refresh. */
const LEASE_WAIT_MS = 75 * SECOND_MS;

/**
 * Starts an authorization by code with PKCE S256 (RFC 7636), a random state and, if an id_token is requested, a nonce. The required values
 * of the answer are kept for ten minutes.
 * @param redirectUri URL of the receiver: `http://127.0.0.1:<port>/…` (RFC 8252 section 7.3) or the daemon's `/oauth/callback`
 * @param browserKey secret of the browser that may complete the authorization at the daemon; null for a separate receiver on this host
 * @returns the URL to open in the operator's browser
 * @throws MirrorError `settings` for metadata of a different issuer (RFC 8414 section 3.3) or an insecure URL
 */
export async function beginLogin(
  target: LoginTarget,
  logins: PendingLogins,
  redirectUri: string,
  browserKey: string | null = null,
): Promise<URL> {
  requireSecureUrl(redirectUri, 'the redirect URL');
  const { server, context, scopes } = target;
  const state = randomState();
  const codeVerifier = randomPKCECodeVerifier();
  const nonce = scopes.includes('openid') ? randomNonce() : null;
  const url = await server.authorizationUrl({
    redirect_uri: redirectUri,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    state,
    ...(nonce === null ? {} : { nonce }),
    code_challenge: await calculatePKCECodeChallenge(codeVerifier),
    code_challenge_method: 'S256',
  });
  const { tenant, connection } = context;
  const { issuer } = server.provider;
  const browser = browserKey === null ? null : digestOf(browserKey);
  await logins.put(state, { tenant, connection, issuer, redirectUri, codeVerifier, nonce, browser, scopes });
  return url;
}

/**
 * Completes an authorization with the server's redirect. The state is used up with any result.
 * @param find returns the currently configured connection of a pending authorization, or null
 * @param browserKey secret of the redirected browser; null for the authorization's own receiver
 * @throws MirrorError `authorization`: `login-unknown` (unknown, expired or already completed), `login-other-browser` (started in a
 * different browser), `login-answer-rejected` (answer of a different server, RFC 9207), `login-refused` (the user refused),
 * `no-refresh-token`
 */
export async function completeLogin(
  { callback, browserKey = null }: { callback: URL; browserKey?: string | null },
  logins: PendingLogins,
  find: (tenant: string, connection: string) => LoginTarget | null,
  signal: AbortSignal,
): Promise<LoginResult> {
  const state = callback.searchParams.get('state');
  const pending = state === null ? null : await logins.take(state);
  if (state === null || pending === null) throw loginUnknown();
  if (pending.browser !== (browserKey === null ? null : digestOf(browserKey))) throw otherBrowser();
  const target = find(pending.tenant, pending.connection);
  if (target === null || target.server.provider.issuer !== pending.issuer) throw configurationChanged();
  // The requested redirect URL: behind a proxy, the received request has a different URL.
  const response = new URL(pending.redirectUri);
  response.search = callback.search;
  const { codeVerifier, nonce, browser } = pending;
  const refusal = callbackError(response);
  if (refusal !== null) throw refusal;
  const answer = await target.server.exchangeCode(response, { state, codeVerifier }, signal).catch(codeRefused);
  const way = browser === null ? 'here' : 'elsewhere';
  return storeLogin({ ...target, scopes: pending.scopes }, answer, { way, nonce }, signal);
}

/**
 * Stores the result of an authorization and replaces the previous credential, after the account is known. Waits for a running refresh.
 * @throws MirrorError `authorization`, code `wrong-account` or `account-unknown`, for an account that the settings do not expect; the error
 * of `verify` for an unsuitable user: the previous credential then stays
 */
export async function storeLogin(
  target: LoginTarget,
  answer: LoginAnswer,
  { way, nonce = null }: { way: LoginWay; nonce?: string | null },
  signal: AbortSignal,
): Promise<LoginResult> {
  const { context, scopes, clock, expected = null } = target;
  if (answer.refreshToken === null) throw noRefreshToken();
  const account = await target.server.accountOf(answer, nonce, signal);
  const mismatch = expected === null ? null : mismatchOf(account, expected);
  if (mismatch !== null) throw accountError(context.connection, mismatch);
  const warning = await warningOf(target, answer, signal);
  const { tenant, connection, credentials } = context;
  const lease = await context.leases.take(credentialLease(connection), LEASE_WAIT_MS, new AbortController().signal);
  try {
    const before = await readReplaceable(target);
    const isRight = target.takesAnyAccount === true || expected !== null;
    const whose = isRight ? { account } : accountStateOf(account, before, way);
    const next = credentialFromLogin(answer, whose, scopes, { before, now: clock() });
    if (!(await credentials.write(lease, connection, before?.version ?? null, next))) throw overtaken();
    const { grantedScopes } = next;
    const missing = missingScopes(scopes, grantedScopes);
    const { isUnconfirmed = false } = whose;
    const result = { tenant, connection, grantedScopes, missingScopes: missing, account, isUnconfirmed };
    return warning === null ? result : { ...result, uncertainty: warning };
  } finally {
    // A lease that cannot be released expires.
    await lease.release().catch(() => {});
  }
}

/**
 * Compares the account of an authorization with earlier accounts. An operator must confirm an account that differs from the last confirmed
 * account. Confirmation is also required if no account was known and a different user may have completed the authorization.
 */
function accountStateOf(account: Account | null, before: Credential | null, way: LoginWay): AccountState {
  const { account: formerAccount = null, isUnconfirmed = false, rightBefore } = before?.tokens ?? {};
  const right = isUnconfirmed ? rightBefore : formerAccount?.subject;
  if (account !== null && account.subject === right) return { account };
  if (way === 'here' && formerAccount === null && !isUnconfirmed) return { account };
  return { account, isUnconfirmed: true, ...(right === undefined ? {} : { rightBefore: right }) };
}

function digestOf(browserKey: string): string {
  return createHash('sha256').update(browserKey).digest('base64url');
}

/** Refuses users without access to the clinic; a problem that needs no new authorization becomes a warning. */
async function warningOf(
  { verify }: LoginTarget,
  { accessToken }: LoginAnswer,
  signal: AbortSignal,
): Promise<MirrorError | null> {
  try {
    await verify?.(accessToken, signal);
    return null;
  } catch (error) {
    signal.throwIfAborted();
    const failure = asMirrorError(error);
    if (speaksOfUser(failure)) throw failure;
    return failure;
  }
}

/**
 * Decides whether a failed verification means that the user must not be connected. All other failures mean that settings or profile are
 * incomplete, or the clinic is unavailable: correcting them requires the stored authorization.
 */
function speaksOfUser({ actor, code, retry }: MirrorError): boolean {
  if (retry !== 'never') return false;
  return actor === 'authorization' || (code.startsWith('tenant-') && code !== 'tenant-choice');
}

/** A stored credential that cannot be decrypted must not block a new authorization. */
async function readReplaceable({ context }: LoginTarget): Promise<Credential | null> {
  try {
    return await context.credentials.read(context.connection);
  } catch (error) {
    if (!(error instanceof MirrorError) || error.actor === 'remote') throw error;
    await context.credentials.remove(context.connection);
    return null;
  }
}

/** Here, `invalid_grant` concerns the code, not an ended connection, unless the error names a step for an administrator. */
export function codeRefused(error: unknown): never {
  if (oauthErrorCode(error) !== 'invalid_grant' || neededFirst(asMirrorError(error).code) !== null) throw error;
  throw new MirrorError(message('login-code-refused'), {
    actor: 'authorization',
    code: 'login-code-refused',
    retry: 'never',
    remedy: message('login-again'),
    cause: error,
  });
}

/** Returns the error of an unknown or expired authorization or authorization link. */
export function loginUnknown(): MirrorError {
  return new MirrorError(message('login-unknown'), {
    actor: 'authorization',
    code: 'login-unknown',
    retry: 'never',
    remedy: message('login-again'),
  });
}

/** The authorization is used up: the sender of the code may be an attacker. */
function otherBrowser(): MirrorError {
  return new MirrorError(message('login-other-browser'), {
    actor: 'authorization',
    code: 'login-other-browser',
    retry: 'never',
    remedy: message('login-other-browser.remedy'),
  });
}

function configurationChanged(): MirrorError {
  return new MirrorError(message('login-overtaken'), {
    actor: 'authorization',
    code: 'login-overtaken',
    retry: 'never',
    remedy: message('login-again'),
  });
}

function overtaken(): MirrorError {
  return new MirrorError(message('login-stored-twice'), {
    actor: 'conflict',
    code: 'login-overtaken',
    retry: 'never',
  });
}

function noRefreshToken(): MirrorError {
  return new MirrorError(message('no-refresh-token'), {
    actor: 'authorization',
    code: 'no-refresh-token',
    retry: 'never',
    remedy: message('no-refresh-token.remedy'),
  });
}

/** Result of the revocation with the provider; the local copy is always removed. */
export type Revocation = 'revoked' | 'not-supported' | 'failed' | 'nothing-to-revoke';

/** Longest wait for a running refresh, so that its new tokens are revoked too. */
const REVOCATION_WAIT_MS = 10 * SECOND_MS;

/**
 * Disconnects: revokes the tokens with the provider if possible (revoking the refresh token includes its access tokens), and always removes
 * the local copy.
 * @param server null for a connection whose provider is no longer configured
 * @throws only if the local copy cannot be removed because Redis is unavailable
 * @see RFC 7009
 */
export async function disconnect(
  context: ConnectionContext,
  server: Pick<AuthorizationServer, 'revoke'> | null,
  log: Logger,
  signal: AbortSignal,
): Promise<Revocation> {
  const { connection, credentials, leases } = context;
  const lease = await leases.take(credentialLease(connection), REVOCATION_WAIT_MS, signal).catch(() => null);
  try {
    return await revokeStored(context, server, log, signal);
  } finally {
    await credentials.remove(connection);
    await lease?.release().catch(() => {});
  }
}

async function revokeStored(
  { connection, credentials }: ConnectionContext,
  server: Pick<AuthorizationServer, 'revoke'> | null,
  log: Logger,
  signal: AbortSignal,
): Promise<Revocation> {
  try {
    const credential = await credentials.read(connection);
    if (credential === null) return 'nothing-to-revoke';
    if (server === null) return 'not-supported';
    return (await server.revoke(mainToken(credential.tokens), signal)) ? 'revoked' : 'not-supported';
  } catch (error) {
    log.warn({ connection, code: asMirrorError(error).code }, 'connection could not be revoked with the provider');
    return 'failed';
  }
}

function mainToken({ refreshToken, accessToken }: TokenSet): string {
  return refreshToken ?? accessToken;
}
