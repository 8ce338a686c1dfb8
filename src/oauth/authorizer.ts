import { createHash } from 'node:crypto';
import { LONGEST_RATE_LIMIT_WAIT_MS, UNNAMED_WAIT, unnamedWaitMs } from '../core/model/backoff.ts';
import type { Credential } from '../core/model/credentials.ts';
import { asMirrorError, MirrorError } from '../core/model/errors.ts';
import { type Clock, type Instant, MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import { message } from '../messages/message.ts';
import { type ExpectedAccount, requireRightAccount } from './accounts.ts';
import type { CredentialStorage } from './credential.ts';
import { accessRefreshAt, dueForRefresh, isUsable, type RefreshRules } from './due.ts';
import { loginEnded, notConnected, REFUSAL_UNCONFIRMED } from './errors.ts';
import { baseUrlOf, requireBaseUrl } from './providers.ts';
import type { Refresher } from './refresh.ts';
import type { TokenOutcome } from './token-requests.ts';

/** Provides the Authorization header of a connection to connectors and the clinic's client. */
export interface ConnectionAuthorizer {
  /** @throws MirrorError `authorization` if an operator is required, `remote` if no usable token is available at the moment */
  header(signal: AbortSignal): Promise<string>;
  /** Forces one refresh after a 401, unless a refresh has just finished, and returns the new value. */
  renew(signal: AbortSignal): Promise<string>;
  /** Opaque id (at most 40 characters) for charging a shared quota; null if the tokens identify the charged account. */
  quotaUser: string | null;
  /** Header name for the value, in lower case, if not Authorization. */
  headerName?: string;
  /**
   * Returns the base URL that the provider sent with the token, as of the last `header` or `renew`, which must be called first. Absent
   * for vendors with fixed URLs.
   */
  baseUrl?(): string;
}

/** Authorizer of a connection with tokens, with maintenance of the tokens. */
export interface TokenAuthorizer extends ConnectionAuthorizer {
  /** Refreshes if due, for the job that keeps connections alive. @returns whether a refresh took place */
  refreshIfDue(signal: AbortSignal): Promise<boolean>;
  /** Whether no refresh waits after a failure. */
  isAtRest(): boolean;
}

interface TokenAuthorizerOptions {
  connection: string;
  credentials: Pick<CredentialStorage, 'read' | 'recent'>;
  refresher: Pick<Refresher, 'refresh'>;
  rules: RefreshRules;
  clock: Clock;
  /** Required account; null or absent: any confirmed account. */
  expected?: ExpectedAccount | null;
  /** Whether the provider sends the API's base URL with each token, and the authorizer exposes the URL. Default false. */
  isFromFile?: boolean;
}

/**
 * A 401 within this time after a refresh causes no new refresh: the 401 belongs to an earlier request with the old token. A token that is
 * invalid from the start is refreshed after this time.
 */
const RENEW_QUIET_MS = 10 * SECOND_MS;
/** Wait after a failed refresh: 30 s at first, doubled up to 10 minutes, or the server's requested wait. */
const FIRST_COOL_DOWN_MS = 30 * SECOND_MS;
const LONGEST_COOL_DOWN_MS = 10 * MINUTE_MS;
/**
 * Wait while the authorization server is unavailable. The callers' attempts are already limited by outage handling (jobs/outages.ts: one
 * attempt in 10 s), and must not receive the error of their last attempt.
 */
const AWAY_COOL_DOWN_MS = 5 * SECOND_MS;

/**
 * Creates the authorizer of a connection with OAuth tokens. A header may come from a recently read credential; a due or refused credential
 * is read again, so that no refresh uses an old credential. While the token endpoint is unavailable, the old token is used until it
 * expires. Tokens of a wrong or unconfirmed account are never returned.
 */
export function createTokenAuthorizer(options: TokenAuthorizerOptions): TokenAuthorizer {
  const { connection, clock, rules } = options;
  const hasBaseUrl = options.isFromFile ?? false;
  let baseUrl: string | null = null;
  const coolDown = new CoolDown(clock);

  function required(credential: Credential | null): Credential {
    if (credential === null) throw notConnected(connection);
    if (credential.state === 'needs-login') throw loginEnded(connection, credential.reason);
    requireRightAccount(connection, credential.tokens, options.expected ?? null);
    return credential;
  }

  async function refresh(staleVersion: number, signal: AbortSignal): Promise<Credential> {
    coolDown.check(staleVersion);
    return abandonable(coolDown.watch(staleVersion, options.refresher.refresh(staleVersion)), signal);
  }

  function isDue(credential: Credential): boolean {
    const dueAt = accessRefreshAt(credential, rules);
    return dueAt !== null && clock() >= dueAt;
  }

  async function fresh(signal: AbortSignal): Promise<Credential> {
    let credential = required(await options.credentials.recent(connection));
    if (isDue(credential)) credential = required(await options.credentials.read(connection));
    // Two rounds, because a credential from a peer, found instead of a refresh, may be due too.
    for (let round = 0; round < 2 && isDue(credential); round += 1) {
      try {
        credential = await refresh(credential.version, signal);
      } catch (error) {
        if (signal.aborted || asMirrorError(error).actor === 'authorization') throw error;
        if (!isUsable(credential, clock())) throw error;
        return credential;
      }
    }
    return credential;
  }

  /** The base URL is set before the header is returned, so that callers get both values of one token. */
  function headerOf(credential: Credential): string {
    const { accessToken } = credential.tokens;
    if (hasBaseUrl) baseUrl = requireBaseUrl(baseUrlOf(credential.tokens), connection);
    return `Bearer ${accessToken}`;
  }

  return {
    quotaUser: null,
    isAtRest: () => coolDown.isOver(),
    ...(hasBaseUrl ? { baseUrl: () => requireBaseUrl(baseUrl, connection) } : {}),
    header: async (signal) => headerOf(await fresh(signal)),
    async renew(signal) {
      const credential = required(await options.credentials.read(connection));
      const { refreshedAt } = credential;
      const isJustRefreshed = refreshedAt !== null && Math.abs(clock() - refreshedAt) < RENEW_QUIET_MS;
      return headerOf(isJustRefreshed ? credential : await refresh(credential.version, signal));
    },
    async refreshIfDue(signal) {
      const credential = await options.credentials.read(connection);
      if (credential === null || !dueForRefresh(credential, clock(), rules)) return false;
      await refresh(credential.version, signal);
      return true;
    },
  };
}

/** Blocks refreshes of the same tokens for a time after a failure; new credentials are refreshed immediately. */
class CoolDown {
  readonly #clock: Clock;
  #failure: { version: number; error: MirrorError; sinceAt: number; untilAt: number; coolDownMs: number } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isOver(): boolean {
    return this.#failure === null || this.#clock() >= this.#failure.untilAt;
  }

  /** @throws MirrorError error of the failed refresh, until the wait is over */
  check(version: number): void {
    if (this.#failure?.version !== version || this.isOver()) return;
    const { error, untilAt } = this.#failure;
    throw error.status === 429 ? error.waiting(untilAt - this.#clock()) : error;
  }

  /** Returns the result of a refresh, and records a failure. */
  async watch(version: number, refresh: Promise<Credential>): Promise<Credential> {
    try {
      const credential = await refresh;
      this.#failure = null;
      return credential;
    } catch (thrown) {
      const error = asMirrorError(thrown);
      this.#record(version, error);
      throw error;
    }
  }

  /** Callers of one shared refresh share its error, which is recorded once. */
  #record(version: number, error: MirrorError): void {
    const before = this.#failure?.version === version ? this.#failure : null;
    if (before?.error === error || error.actor === 'authorization' || error.actor === 'conflict') return;
    const doubledMs = before === null ? FIRST_COOL_DOWN_MS : before.coolDownMs * 2;
    const coolDownMs = Math.min(doubledMs, LONGEST_COOL_DOWN_MS);
    const now = this.#clock();
    const sinceAt = before?.sinceAt ?? now;
    const untilAt = now + waitAfter(error, coolDownMs, now - sinceAt);
    this.#failure = { version, error, sinceAt, untilAt, coolDownMs };
  }
}

/** Returns the wait after a failed refresh. A rate limit ends at its named time, otherwise soon: rate limits are not outages. */
function waitAfter(
  { actor, code, status, retryAfterMs }: MirrorError,
  coolDownMs: number,
  failingForMs: number,
): number {
  if (code === REFUSAL_UNCONFIRMED) return retryAfterMs ?? 0;
  if (status !== 429) return Math.max(actor === 'remote' ? AWAY_COOL_DOWN_MS : coolDownMs, retryAfterMs ?? 0);
  if (retryAfterMs !== undefined) return Math.min(retryAfterMs, LONGEST_RATE_LIMIT_WAIT_MS);
  return unnamedWaitMs(UNNAMED_WAIT.firstMs, LONGEST_COOL_DOWN_MS, failingForMs);
}

/**
 * Returns the quota id of a target, for targets that share one account's quota: opaque, stable, 32 characters.
 * @see https://developers.google.com/workspace/calendar/api/guides/quota (quotaUser, at most 40 characters)
 */
export function quotaUserOf(tenant: string, target: string): string {
  return createHash('sha256').update(`quota-user\n${tenant}\n${target}`).digest('base64url').slice(0, 32);
}

/** Waits for work that continues after the signal aborts the wait. */
export function abandonable<Result>(work: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    const giveUp = () =>
      reject(new MirrorError(message('wait-aborted'), { actor: 'remote', code: 'aborted', retry: 'later' }));
    if (signal.aborted) giveUp();
    signal.addEventListener('abort', giveUp, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', giveUp));
  });
}

/**
 * Creates the authorizer of a connection with user name and password, for CalDAV servers.
 * @throws MirrorError `settings` if the name contains a colon
 * @see RFC 7617
 */
export function createBasicAuthorizer(connection: string, username: string, password: string): ConnectionAuthorizer {
  if (username.includes(':')) {
    throw new MirrorError(message('username-invalid', { connection }), {
      actor: 'settings',
      code: 'username-invalid',
      retry: 'never',
      remedy: message('username-invalid.remedy'),
    });
  }
  const value = `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
  return {
    quotaUser: null,
    header: async () => value,
    async renew() {
      throw new MirrorError(message('password-refused', { connection }), {
        actor: 'authorization',
        code: 'password-refused',
        retry: 'never',
        remedy: message('password-refused.remedy'),
      });
    },
  };
}

/**
 * Creates the authorizer of a token without expiry, which vendors issue for private applications.
 * @see RFC 6750 section 2.1
 */
export function createBearerAuthorizer(connection: string, token: string): ConnectionAuthorizer {
  return { quotaUser: null, header: async () => `Bearer ${token}`, renew: () => refuseKey(connection, 'token') };
}

/**
 * Creates the authorizer of a key in a custom header.
 * @param header in any case
 */
export function createKeyAuthorizer(connection: string, header: string, key: string): ConnectionAuthorizer {
  const headerName = header.toLowerCase();
  return {
    quotaUser: null,
    ...(headerName === 'authorization' ? {} : { headerName }),
    header: async () => key,
    renew: () => refuseKey(connection, 'key'),
  };
}

/** A key cannot be refreshed: the operator must create a new key. */
async function refuseKey(connection: string, what: 'token' | 'key'): Promise<never> {
  throw new MirrorError(message('key-refused', { what, connection }), {
    actor: 'authorization',
    code: 'key-refused',
    retry: 'never',
    remedy: message('key-refused.remedy', { what }),
  });
}

/** Requests a token once, with proofs dated `now`. Never throws. */
type TokenRequest = (now: Instant) => Promise<TokenOutcome>;

/** A token is replaced this long before expiry, or at half of a short lifetime. */
const MARGIN_MS = 5 * MINUTE_MS;
/** Largest clock difference for dating proofs by the local clock; above the limit, the server's clock is used. */
const TOLERATED_SKEW_MS = 30 * SECOND_MS;
/** Lifetime if the answer contains none. */
const ASSUMED_LIFE_MS = 60 * MINUTE_MS;

/**
 * Creates an authorizer without a refresh token: the token exists only in this process, and a second process safely requests its own token.
 * Concurrent callers share one request. A request with a wrong date is repeated once by the server's clock.
 * @param explain converts the failure of a request to an error
 * @param options.placed name of the connection whose provider sends the API's base URL with each token; otherwise absent
 */
export function createHeldTokenAuthorizer(
  request: TokenRequest,
  explain: (error: MirrorError) => MirrorError,
  { clock, quotaUser, fileToken }: { clock: Clock; quotaUser: string | null; fileToken?: string },
): ConnectionAuthorizer {
  let held: { value: string; refreshAt: Instant; baseUrl: string | null } | null = null;
  let asking: Promise<string> | null = null;
  let skewMs = 0;

  async function ask(): Promise<string> {
    const sentAt = clock();
    const first = await request(sentAt + skewMs);
    const isDatedWrongly = first.error !== null && Math.abs(first.skewMs - skewMs) > TOLERATED_SKEW_MS;
    if (isDatedWrongly) skewMs = first.skewMs;
    const outcome = isDatedWrongly ? await request(clock() + skewMs) : first;
    if (outcome.error !== null) throw explain(outcome.error);
    const lifeMs = outcome.tokens.accessLifeMs ?? ASSUMED_LIFE_MS;
    const refreshAt = sentAt + lifeMs - Math.min(MARGIN_MS, lifeMs / 2);
    const { accessToken, baseUrl } = outcome.tokens;
    if (fileToken !== undefined) requireBaseUrl(baseUrl, fileToken);
    held = { value: `Bearer ${accessToken}`, refreshAt, baseUrl };
    return held.value;
  }

  function obtain(signal: AbortSignal): Promise<string> {
    asking ??= ask().finally(() => {
      asking = null;
    });
    return abandonable(asking, signal);
  }

  return {
    quotaUser,
    ...(fileToken === undefined ? {} : { baseUrl: () => requireBaseUrl(held?.baseUrl ?? null, fileToken) }),
    header: async (signal) => (held !== null && clock() < held.refreshAt ? held.value : obtain(signal)),
    renew: obtain,
  };
}
