import { retried } from '../core/http/retry.ts';
import type { Logger } from '../core/log/logger.ts';
import type { Credential, CredentialState } from '../core/model/credentials.ts';
import { asMirrorError, MirrorError } from '../core/model/errors.ts';
import type { Clock, Instant } from '../core/model/time.ts';
import { message } from '../messages/message.ts';
import {
  type ConnectionContext,
  credentialFromRefresh,
  credentialLease,
  type HeldLease,
  nextCredentialState,
} from './credential.ts';
import { LOGIN_ENDED, neededFirst } from './error-classes.ts';
import { loginEnded, notConnected, REFUSAL_UNCONFIRMED, refusalUnconfirmed } from './errors.ts';
import { missingScopes } from './providers.ts';
import type { AuthorizationServer } from './server.ts';
import type { TokenAnswer } from './token-requests.ts';

/** Refreshes the tokens of one connection, one refresh at a time over all processes. */
export interface Refresher {
  /**
   * Returns a credential with a version other than the stale version: a peer's stored credential, or the result of one refresh. Callers
   * with equal stale versions share one refresh. A caller that stops waiting does not stop the refresh, because the answer may be the only
   * copy of a rotated token.
   * @throws MirrorError `authorization` if an operator must log in, `settings` if the provider refuses the client or a scope, `remote` if
   * server or Redis are unavailable (the old tokens are kept), `conflict` if a peer took over
   */
  refresh(staleVersion: number): Promise<Credential>;
  /** Waits for running refreshes before the process exits. */
  whenIdle(): Promise<void>;
  /** Whether no refresh is running and no received token waits for storage. */
  isAtRest(): boolean;
}

export interface RefresherOptions {
  context: ConnectionContext;
  server: Pick<AuthorizationServer, 'refresh'>;
  /** Required scopes of the connection; missing scopes are reported. */
  scopes: readonly string[];
  clock: Clock;
  log: Logger;
  /** Time after which a second refusal confirms the first. */
  confirmAfterMs: number;
  /** Waits between checks of the lease and between attempts to store a new token. */
  pause(durationMs: number): Promise<void>;
}

/** Longest wait for a peer's refresh, 75 s: two requests with the HTTP client's default limit, and storing the result. */
const LEASE_LOOK_PAUSE_MS = 100;
const LEASE_LOOKS = 750;
/** For storing a received token: at least a quarter of a minute; the next refresh continues the attempts. */
const STORE_RULES = { tries: 7, firstWaitMs: 250, longestWaitMs: 8_000 };
const NEVER_ABORTED = new AbortController().signal;

/** Creates the refresher of a connection. One per connection and process is enough; several are harmless. */
export function createRefresher(options: RefresherOptions): Refresher {
  return new LeasedRefresher(options);
}

class LeasedRefresher implements Refresher {
  readonly #options: RefresherOptions;
  readonly #flights = new Map<number, Promise<Credential>>();
  /** Received credential before storage. Callers get the credential only after storage, and no refresh runs meanwhile. */
  #unsaved: { replaces: number; next: Credential } | null = null;

  constructor(options: RefresherOptions) {
    this.#options = options;
  }

  get #context(): ConnectionContext {
    return this.#options.context;
  }

  get #connection(): string {
    return this.#context.connection;
  }

  refresh(staleVersion: number): Promise<Credential> {
    const underWay = this.#flights.get(staleVersion);
    if (underWay !== undefined) return underWay;
    const flight = this.#untilStored(staleVersion).finally(() => this.#flights.delete(staleVersion));
    this.#flights.set(staleVersion, flight);
    return flight;
  }

  #untilStored(staleVersion: number): Promise<Credential> {
    const { log, pause } = this.#options;
    const attempt = () =>
      this.#underLease(staleVersion).catch((thrown: unknown) => {
        throw asMirrorError(thrown);
      });
    return retried(attempt, {
      rules: STORE_RULES,
      pause,
      waitMsAfter: (error, attempt) => {
        if (this.#unsaved === null) return null;
        const { code } = asMirrorError(error);
        log.warn({ connection: this.#connection, attempt, code }, 'new tokens are not stored yet, retrying');
        return 0;
      },
    });
  }

  /** Reads the store until the lease is free: most callers find a peer's new credential there. */
  async #underLease(staleVersion: number): Promise<Credential> {
    for (let look = 0; look < LEASE_LOOKS; look += 1) {
      const lease = await this.#context.leases.tryTake(credentialLease(this.#connection));
      if (lease !== null) return thenRelease(lease, this.#renewStale(lease, staleVersion));
      const peers =
        this.#unsaved === null
          ? this.#newerThan(staleVersion, await this.#context.credentials.read(this.#connection))
          : null;
      if (peers !== null) return peers;
      await this.#options.pause(LEASE_LOOK_PAUSE_MS);
    }
    throw refreshBusy();
  }

  /** Reads the store under the lease, because a peer may have refreshed just before. */
  async #renewStale(lease: HeldLease, staleVersion: number): Promise<Credential> {
    const before = await this.#context.credentials.read(this.#connection);
    if (this.#unsaved !== null && before?.version === this.#unsaved.replaces) {
      const { next } = this.#unsaved;
      // An operator may have confirmed the account meanwhile.
      const { isUnconfirmed = false } = before.tokens;
      return this.#save(lease, before, { ...next, tokens: { ...next.tokens, isUnconfirmed } });
    }
    this.#unsaved = null;
    return this.#newerThan(staleVersion, before) ?? this.#askProvider(lease, this.#requireStored(before));
  }

  /** Returns a peer's newer credential, or null if the stale credential is still stored. */
  #newerThan(staleVersion: number, stored: Credential | null): Credential | null {
    const credential = this.#requireStored(stored);
    if (credential.state === 'needs-login') throw loginEnded(this.#connection, credential.reason);
    return credential.version === staleVersion ? null : credential;
  }

  #requireStored(credential: Credential | null): Credential {
    if (credential === null) throw notConnected(this.#connection);
    return credential;
  }

  async #askProvider(lease: HeldLease, before: Credential): Promise<Credential> {
    const { refreshToken } = before.tokens;
    if (refreshToken === null) return this.#endLogin(lease, before, 'no-refresh-token');
    const waitMs = this.#untilConfirmationMs(before);
    if (waitMs > 0) throw refusalUnconfirmed(this.#connection, waitMs);
    // A write precedes each request: if the store is unavailable, a rotated token could not be saved.
    const unansweredSince = before.unansweredSince ?? this.#options.clock();
    if (!(await this.#record(lease, before, { ...before, unansweredSince }))) return this.#readStored();
    const attempts = await send(this.#options.server, refreshToken);
    const mayHaveRotated = attempts.isAmbiguous || before.unansweredSince !== null;
    if (attempts.error !== null) return this.#afterFailure(lease, before, attempts.error, mayHaveRotated);
    const next = credentialFromRefresh(attempts.answer, this.#options.scopes, before, this.#options.clock());
    this.#reportChange(before, next);
    this.#unsaved = { replaces: before.version, next };
    return this.#save(lease, before, next);
  }

  async #save(lease: HeldLease, before: Credential, next: Credential): Promise<Credential> {
    const isStored = await this.#context.credentials.write(lease, this.#connection, before.version, next);
    this.#unsaved = null;
    return isStored ? next : this.#readStored();
  }

  async #afterFailure(
    lease: HeldLease,
    before: Credential,
    error: MirrorError,
    mayHaveRotated: boolean,
  ): Promise<Credential> {
    if (error.actor === 'authorization') {
      const latest = await this.#readStored();
      if (latest.version !== before.version) return latest;
      if (this.#wantsConfirmation(before, error)) return this.#awaitConfirmation(lease, before, mayHaveRotated);
      const isLost = mayHaveRotated && neededFirst(error.code) === null;
      return this.#endLogin(lease, before, isLost ? 'refresh-answer-lost' : error.code);
    }
    const next = this.#stillConnected(before, error.code, mayHaveRotated, before.refusedAt ?? null);
    await this.#record(lease, before, next).catch(() =>
      this.#options.log.warn({ connection: this.#connection }, 'failed refresh could not be recorded'),
    );
    throw error;
  }

  #stillConnected(
    before: Credential,
    reason: string,
    mayHaveRotated: boolean,
    refusedAt: Instant | null,
  ): CredentialState {
    const now = this.#options.clock();
    const unansweredSince = mayHaveRotated ? (before.unansweredSince ?? now) : null;
    return nextCredentialState(before, { state: 'connected', reason, unansweredSince, refusedAt }, now);
  }

  /** Returns the remaining wait before the second attempt; a refusal with a future time comes from a fast clock. */
  #untilConfirmationMs({ refusedAt = null }: Credential): number {
    const sinceMs = refusedAt === null ? -1 : this.#options.clock() - refusedAt;
    return sinceMs < 0 ? 0 : this.#options.confirmAfterMs - sinceMs;
  }

  /**
   * A provider may refuse a working connection once. A refusal that names a different action for a user, or after the known expiry, is
   * final immediately.
   */
  #wantsConfirmation({ refusedAt = null, refreshExpiresAt }: Credential, { code, retry }: MirrorError): boolean {
    const now = this.#options.clock();
    const isOver = refreshExpiresAt !== null && now >= refreshExpiresAt;
    return code === LOGIN_ENDED.code && retry === 'later' && !isOver && (refusedAt === null || refusedAt > now);
  }

  /** Fenced like the end of a connection: a process without the lease must not change the state. */
  async #awaitConfirmation(lease: HeldLease, before: Credential, mayHaveRotated: boolean): Promise<Credential> {
    const next = this.#stillConnected(before, REFUSAL_UNCONFIRMED, mayHaveRotated, this.#options.clock());
    if (!(await this.#record(lease, before, next))) return this.#readStored();
    this.#options.log.warn({ connection: this.#connection }, 'provider refused the connection: daemon checks again');
    throw refusalUnconfirmed(this.#connection, this.#options.confirmAfterMs);
  }

  /** Fenced: a peer with the lease may be storing new tokens, so the connection is not declared ended. */
  async #endLogin(lease: HeldLease, before: Credential, reason: string): Promise<Credential> {
    const ended = nextCredentialState(
      before,
      { state: 'needs-login', reason, unansweredSince: null },
      this.#options.clock(),
    );
    if (!(await this.#record(lease, before, ended))) return this.#readStored();
    this.#options.log.warn(
      { connection: this.#connection, reason },
      'connection expired: an administrator must connect again',
    );
    throw loginEnded(this.#connection, reason);
  }

  #record(lease: HeldLease, before: Credential, next: CredentialState): Promise<boolean> {
    const { state, reason, since, unansweredSince, refusedAt = null } = next;
    return this.#context.credentials.record(lease, this.#connection, before.version, {
      state,
      reason,
      since,
      unansweredSince,
      refusedAt,
    });
  }

  async #readStored(): Promise<Credential> {
    return this.#requireStored(await this.#context.credentials.read(this.#connection));
  }

  #reportChange(before: Credential, next: Credential): void {
    const lost = missingScopes(before.grantedScopes, next.grantedScopes);
    if (lost.length > 0)
      this.#options.log.warn({ connection: this.#connection, lostScopes: lost }, 'provider removed scopes');
    this.#options.log.info(
      { connection: this.#connection, accessExpiresAt: next.accessExpiresAt },
      'tokens were refreshed',
    );
  }

  async whenIdle(): Promise<void> {
    await Promise.allSettled(this.#flights.values());
  }

  isAtRest(): boolean {
    return this.#flights.size === 0 && this.#unsaved === null;
  }
}

async function thenRelease<Result>(lease: HeldLease, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } finally {
    // A lease that cannot be released expires; results of the work stay valid.
    await lease.release().catch(() => {});
  }
}

function refreshBusy(): MirrorError {
  return new MirrorError(message('login-busy'), {
    actor: 'remote',
    code: 'lease-busy',
    retry: 'later',
  });
}

type Attempts =
  | { answer: TokenAnswer; error: null; isAmbiguous: boolean }
  | { answer: null; error: MirrorError; isAmbiguous: boolean };

/**
 * Sends the refresh request; without a clear answer, repeats the request once immediately with the same token. A server that missed the
 * first request answers, and so does a server with a grace period for repeated requests. A server without a grace period has already ended
 * the connection.
 */
async function send(server: Pick<AuthorizationServer, 'refresh'>, refreshToken: string): Promise<Attempts> {
  const first = await attempt(server, refreshToken);
  if (!first.isAmbiguous) return first;
  return { ...(await attempt(server, refreshToken)), isAmbiguous: true };
}

async function attempt(server: Pick<AuthorizationServer, 'refresh'>, refreshToken: string): Promise<Attempts> {
  try {
    return { answer: await server.refresh(refreshToken, NEVER_ABORTED), error: null, isAmbiguous: false };
  } catch (thrown) {
    const error = asMirrorError(thrown);
    return { answer: null, error, isAmbiguous: error.ambiguous };
  }
}
