import { createHash } from 'node:crypto';
import { calculatePKCECodeChallenge, randomNonce, randomPKCECodeVerifier, randomState } from 'openid-client';
import type { Logger } from '../log/logger.ts';
import { message } from '../messages/message.ts';
import type { Account, Credential, TokenSet } from '../model/credentials.ts';
import { asMirrorError, MirrorError } from '../model/errors.ts';
import { type Clock, SECOND_MS } from '../model/time.ts';
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

/** What became of a login: it is stored; scopes that the person did not grant are named, and what needs them stays off. */
export interface LoginResult {
  tenant: string;
  connection: string;
  grantedScopes: readonly string[];
  missingScopes: readonly string[];
  /** Whose login it is; null when the provider does not tell. */
  account: Account | null;
  /** It is used for nothing until a person says that the account is the right one. */
  isUnconfirmed: boolean;
  /** Stored, and it could not be made sure that it is of use: the other side was away, or the operator has to choose a tenant. */
  uncertainty?: MirrorError;
}

/** A connection that a person can log in to. */
export interface LoginTarget {
  context: ConnectionContext;
  server: AuthorizationServer;
  /** Scopes to ask for. */
  scopes: readonly string[];
  clock: Clock;
  /** Whose login it must be; null or absent: anybody's. */
  expected?: ExpectedAccount | null;
  /** What it reads is bound otherwise, and no calendar or CRM is written through it: any account may follow another without a person's word. */
  takesAnyAccount?: boolean;
  /** Asks the other side who the user is, before anything is stored. @throws MirrorError when they can't be used, or it can't be told */
  verify?(accessToken: string, signal: AbortSignal): Promise<void>;
}

/**
 * How a login was made. `here`: whoever began it ended it, at a receiver on this machine. `elsewhere`: by a link or a code, which somebody
 * else may have come by.
 */
export type LoginWay = 'here' | 'elsewhere';

/** How long a login waits for a refresh under way. */
const LEASE_WAIT_MS = 75 * SECOND_MS;

/**
 * Begins a login by authorization code with PKCE S256 (RFC 7636), a random state and, where an id_token is asked for, a nonce. What its
 * answer must fit is kept for ten minutes.
 * @param redirectUri of our receiver: `http://127.0.0.1:<port>/…` (RFC 8252 section 7.3) or the daemon's `/oauth/callback`
 * @param browserKey what the browser holds that may end it at the daemon; null for a receiver of its own on this machine
 * @returns the address to open in the person's browser
 * @throws MirrorError `settings` when the server's metadata is another issuer's (RFC 8414 section 3.3) or an address is insecure
 */
export async function beginLogin(
  target: LoginTarget,
  logins: PendingLogins,
  redirectUri: string,
  browserKey: string | null = null,
): Promise<URL> {
  requireSecureUrl(redirectUri, 'the redirect address');
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
 * Completes a login with the address to which the server sent the browser. Its state is used up whatever comes of it.
 * @param find the connection that a pending login names, as configured now; null when there is none any more
 * @param browserKey what the browser that brought the address holds; null where the receiver is the login's own
 * @throws MirrorError `authorization` when the login is unknown, too old or was completed before (`login-unknown`), when another browser
 *   began it (`login-other-browser`), when the answer isn't the asked server's (`login-answer-rejected`, RFC 9207), when the person
 *   refused (`login-refused`), or when no refresh token came (`no-refresh-token`)
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
  // The address as we asked for it: behind a proxy the request carries another one.
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
 * Stores what a login brought, in place of what stood there, once it is known whose it is. A refresh under way is waited for.
 * @throws MirrorError `authorization`, code `wrong-account` or `account-unknown`, for another account than the settings expect; that of
 *   `verify` for a user who can't be used: nothing is stored then, and what stood there stays
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
    // A lease that can't be released ends by itself.
    await lease.release().catch(() => {});
  }
}

/**
 * How the account of a login stands to those of before. A person has to say that it is the right one when it is another one than that which
 * was right, and when none was known and somebody else than who began the login may have ended it.
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

/** Who is no user of the clinic is refused; what may be mended without another login is told. */
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
 * Whether a failed question who the user is says that they may not be connected. All others say that the settings or the profile are not right
 * yet, or the clinic is away: whoever sets that right needs the login to look.
 */
function speaksOfUser({ actor, code, retry }: MirrorError): boolean {
  if (retry !== 'never') return false;
  return actor === 'authorization' || (code.startsWith('tenant-') && code !== 'tenant-choice');
}

/** A stored credential that can't be opened any more must not stand in the way of a new login. */
async function readReplaceable({ context }: LoginTarget): Promise<Credential | null> {
  try {
    return await context.credentials.read(context.connection);
  } catch (error) {
    if (!(error instanceof MirrorError) || error.actor === 'remote') throw error;
    await context.credentials.remove(context.connection);
    return null;
  }
}

/** `invalid_grant` speaks of the code here, not of a login that has ended, unless it tells what an administrator must set right. */
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

/** The error of a login, or of a link to one, that nothing is known of any more. */
export function loginUnknown(): MirrorError {
  return new MirrorError(message('login-unknown'), {
    actor: 'authorization',
    code: 'login-unknown',
    retry: 'never',
    remedy: message('login-again'),
  });
}

/** The login is used up: whoever brought its code should not have it. */
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

/** What became of the tokens at the provider: they are always forgotten here. */
export type Revocation = 'revoked' | 'not-supported' | 'failed' | 'nothing-to-revoke';

/** A refresh under way is waited for this long, so that what it brings is revoked too. */
const REVOCATION_WAIT_MS = 10 * SECOND_MS;

/**
 * Ends a login: revokes it at the provider as far as possible (the refresh token takes its access tokens with it)
 * and forgets it here whatever the provider says.
 * @param server null for a connection whose provider is no longer configured
 * @throws only when it can't be forgotten, since Redis is away
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
    log.warn({ connection, code: asMirrorError(error).code }, 'the login could not be revoked at the provider');
    return 'failed';
  }
}

function mainToken({ refreshToken, accessToken }: TokenSet): string {
  return refreshToken ?? accessToken;
}
