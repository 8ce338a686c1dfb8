import { createHash } from 'node:crypto';
import { message } from '../messages/message.ts';
import { LONGEST_RATE_LIMIT_WAIT_MS, UNNAMED_WAIT, unnamedWaitMs } from '../model/backoff.ts';
import type { Credential } from '../model/credentials.ts';
import { asMirrorError, MirrorError } from '../model/errors.ts';
import { type Clock, type Instant, MINUTE_MS, SECOND_MS } from '../model/time.ts';
import { type ExpectedAccount, requireRightAccount } from './accounts.ts';
import type { CredentialStorage } from './credential.ts';
import { accessRefreshAt, dueForRefresh, isUsable, type RefreshRules } from './due.ts';
import { loginEnded, notConnected, REFUSAL_UNCONFIRMED } from './errors.ts';
import { baseUrlOf, requireBaseUrl } from './providers.ts';
import type { Refresher } from './refresh.ts';
import type { TokenAnswer } from './token-requests.ts';

/** Gives the Authorization header of a connection: the shape that connectors and the clinic's client ask for. */
export interface ConnectionAuthorizer {
  /** @throws MirrorError `authorization` when a person must act, `remote` when no usable token can be had now */
  header(signal: AbortSignal): Promise<string>;
  /** After a 401: forces one refresh, unless one has just been made, and gives the new value. */
  renew(signal: AbortSignal): Promise<string>;
  /** Opaque id (at most 40 characters) to charge a shared quota to; null when the tokens tell the vendor whom to charge. */
  quotaUser: string | null;
  /** The header that takes the value, where it is not Authorization; lower case. */
  headerName?: string;
  /**
   * Base address that the provider gave with the token, as of the last call of `header` or `renew`, which must come first. Absent
   * where addresses are fixed.
   */
  baseUrl?(): string;
}

/** The authorizer of a login with tokens, and the upkeep of that login. */
export interface TokenAuthorizer extends ConnectionAuthorizer {
  /** Refreshes if it is due, for the job that keeps logins alive. @returns whether it did */
  refreshIfDue(signal: AbortSignal): Promise<boolean>;
  /** Whether no refresh has to wait after one that failed. */
  isAtRest(): boolean;
}

/** What a token authorizer works with. */
interface TokenAuthorizerOptions {
  connection: string;
  credentials: Pick<CredentialStorage, 'read' | 'recent'>;
  refresher: Pick<Refresher, 'refresh'>;
  rules: RefreshRules;
  clock: Clock;
  /** Whose login it must be; null or absent: anybody's who was confirmed. */
  expected?: ExpectedAccount | null;
  /** The provider tells with each token where its API is: the authorizer tells it too. Default false. */
  isFromFile?: boolean;
}

/**
 * A token that a refresh has brought this short ago is not refreshed again for a 401: the 401 was its predecessor's, of a
 * request that was under way. A token that is bad from the start is refreshed again after it.
 */
const RENEW_QUIET_MS = 10 * SECOND_MS;
/** After a refresh that failed, the next one waits: 30 s at first, doubled up to 10 minutes, or as long as the server asked. */
const FIRST_COOL_DOWN_MS = 30 * SECOND_MS;
const LONGEST_COOL_DOWN_MS = 10 * MINUTE_MS;
/**
 * While the authorization server is away. Who asks is paced as work at a server that is away (jobs/outages.ts: one try in 10 s), and must
 * not meet the failure of its last try.
 */
const AWAY_COOL_DOWN_MS = 5 * SECOND_MS;

/**
 * Makes the authorizer of a connection with OAuth tokens. A header may be of a login that was read a moment ago; what is due or was
 * refused is read again, so that no refresh goes by an old one. While the token endpoint is away the old token is used until its end.
 * Tokens of an account that is not the right one, or of which nobody has said so, are given to nobody.
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
    // Twice, since a peer's credential that was found instead of refreshing may be due itself.
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

  /** The place is known by the time the header is given: whoever asks for both has those of one token. */
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

/** How long no refresh of the same tokens is tried after one that failed: a new login waits for none. */
class CoolDown {
  readonly #clock: Clock;
  #failure: { version: number; error: MirrorError; sinceAt: number; untilAt: number; coolDownMs: number } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isOver(): boolean {
    return this.#failure === null || this.#clock() >= this.#failure.untilAt;
  }

  /** @throws MirrorError that of the refresh, until it is over */
  check(version: number): void {
    if (this.#failure?.version !== version || this.isOver()) return;
    const { error, untilAt } = this.#failure;
    throw error.status === 429 ? error.waiting(untilAt - this.#clock()) : error;
  }

  /** Gives what the refresh gives, and goes by it. */
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

  /** Callers who shared one refresh share its error, which counts once. */
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

/** How long nothing is asked after a failed refresh. A limit is over when it says so, else soon: it counts requests, and is no outage. */
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
 * An id to charge a target's calls to where all targets share one account's quota: opaque, stable, 32 characters.
 * @see https://developers.google.com/workspace/calendar/api/guides/quota (quotaUser, at most 40 characters)
 */
export function quotaUserOf(tenant: string, target: string): string {
  return createHash('sha256').update(`quota-user\n${tenant}\n${target}`).digest('base64url').slice(0, 32);
}

/** Waits for work that goes on when the waiting is given up. */
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
 * Makes the authorizer of a login by name and password, as CalDAV servers take it.
 * @throws MirrorError `settings` when the name holds a colon
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
 * Makes the authorizer of a token without an end, as vendors give it to private applications.
 * @see RFC 6750 section 2.1
 */
export function createBearerAuthorizer(connection: string, token: string): ConnectionAuthorizer {
  return { quotaUser: null, header: async () => `Bearer ${token}`, renew: () => refuseKey(connection, 'token') };
}

/**
 * Makes the authorizer of a key that goes into a header by itself.
 * @param header in any case of letters
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

/** There is nothing to renew: a person must make another. */
async function refuseKey(connection: string, what: 'token' | 'key'): Promise<never> {
  throw new MirrorError(message('key-refused', { what, connection }), {
    actor: 'authorization',
    code: 'key-refused',
    retry: 'never',
    remedy: message('key-refused.remedy', { what }),
  });
}

/** What a request for a token came to; `skewMs` is the server's clock less ours, 0 when it told none. */
export type TokenOutcome =
  | { error: null; tokens: TokenAnswer; skewMs: number }
  | { error: MirrorError; skewMs: number };

/** Asks once for a token, with proofs dated by `now`. Never throws. */
type TokenRequest = (now: Instant) => Promise<TokenOutcome>;

/** A token is replaced this long before its end, or at half of a short life. */
const MARGIN_MS = 5 * MINUTE_MS;
/** Our clock may be off by this before a proof is dated by the server's. */
const TOLERATED_SKEW_MS = 30 * SECOND_MS;
/** Life to count on when the answer tells none. */
const ASSUMED_LIFE_MS = 60 * MINUTE_MS;

/**
 * An authorizer for logins without a refresh token: the token lives in this process alone, and nothing breaks when a second
 * process asks for its own. One request serves all who ask meanwhile; a request that was dated wrongly is made once more by
 * the server's clock.
 * @param explain turns the failure of a request into the error to throw
 * @param options.placed name of the connection whose provider tells with each token where its API is; absent where it doesn't
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
