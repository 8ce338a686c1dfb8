import type { Credential, CredentialState, TokenSet } from '../core/model/credentials.ts';
import { type Instant, MINUTE_MS } from '../core/model/time.ts';
import { baseUrlOf, missingScopes } from './providers.ts';
import type { TokenAnswer } from './token-requests.ts';

/** Lease data for a fenced write. */
export interface HeldLease {
  readonly key: string;
  readonly token: string;
  release(): Promise<void>;
}

/** Takes leases of one tenant: at most one holder per name. */
export interface LeaseTaker {
  /** @returns null if another holder has the lease */
  tryTake(name: string): Promise<HeldLease | null>;
  /** @throws MirrorError `remote`, code `lease-busy`, after `waitMs` */
  take(name: string, waitMs: number, signal: AbortSignal): Promise<HeldLease>;
}

/** Stores the credentials of one tenant. */
export interface CredentialStorage {
  read(connection: string): Promise<Credential | null>;
  /** Returns a recently read credential, for callers that use only the access token. The refresh token may already be used. */
  recent(connection: string): Promise<Credential | null>;
  /**
   * Writes durably. @returns false if the stored version is not `expectedVersion` (null: no credential)
   * @throws MirrorError `conflict` if the lease was lost
   */
  write(lease: HeldLease, connection: string, expectedVersion: number | null, next: Credential): Promise<boolean>;
  /** Changes the state of a credential without its tokens. */
  record(lease: HeldLease, connection: string, version: number, credentialState: CredentialState): Promise<boolean>;
  remove(connection: string): Promise<boolean>;
}

/** Pending authorization with the required values of its answer; kept for ten minutes and returned once. */
export interface PendingLogin {
  tenant: string;
  connection: string;
  issuer: string;
  redirectUri: string;
  codeVerifier: string;
  /** Nonce that the id_token must repeat; null without an id_token. */
  nonce: string | null;
  /**
   * Digest of the secret of the only browser that may complete the authorization; null for an authorization with its own receiver on this
   * host.
   */
  browser: string | null;
  scopes: readonly string[];
}

/** Keeps pending authorizations by their `state`. */
export interface PendingLogins {
  put(state: string, login: PendingLogin): Promise<void>;
  take(state: string): Promise<PendingLogin | null>;
}

/** Connection of a tenant, with the store of its credential and the leases for changes. */
export interface ConnectionContext {
  tenant: string;
  connection: string;
  credentials: CredentialStorage;
  leases: LeaseTaker;
}

/** Returns the lease name for changes of a connection's credential. */
export function credentialLease(connection: string): string {
  return `credential:${connection}`;
}

/** Account of tokens, and permission for their use. */
export type AccountState = Pick<TokenSet, 'account' | 'isUnconfirmed' | 'rightBefore'>;

/** Reason for a connection that works but lacks scopes. */
const MISSING_SCOPES = 'missing-scopes';

/**
 * Creates the credential of an authorization. The version is above every earlier version of the connection, including a version that was
 * removed meanwhile: a late worker's old version must not match.
 * @param whose the account, and whether an operator must still confirm the account
 * @param before the replaced credential
 * @param asked requested scopes: granted if the answer names no scopes (RFC 6749 section 5.1)
 */
export function credentialFromLogin(
  answer: TokenAnswer,
  whose: AccountState,
  asked: readonly string[],
  { before, now }: { before: Credential | null; now: Instant },
): Credential {
  const grantedScopes = answer.scopes ?? asked;
  return {
    version: Math.max(now, (before?.version ?? 0) + 1),
    tokens: { ...tokensWithBaseUrl(answer, answer.refreshToken, null), ...retainedState(whose) },
    grantedScopes,
    obtainedAt: now,
    refreshedAt: null,
    accessExpiresAt: endOf(answer.accessLifeMs, answer),
    refreshExpiresAt: endOf(answer.refreshLifeMs, answer),
    ...connectedState(asked, grantedScopes, before, now),
  };
}

/**
 * Creates the credential after a refresh. Values that the answer omits stay: the refresh token, its lifetime, the scopes, the base URL. A
 * known account never changes; an unknown account is set from the answer.
 */
export function credentialFromRefresh(
  answer: TokenAnswer,
  asked: readonly string[],
  before: Credential,
  now: Instant,
): Credential {
  const grantedScopes = answer.scopes ?? before.grantedScopes;
  const reusesToken = answer.refreshToken === null || answer.refreshToken === before.tokens.refreshToken;
  const refreshExpiresAt = endOf(answer.refreshLifeMs, answer) ?? (reusesToken ? before.refreshExpiresAt : null);
  const { refusedAt: _, ...stored } = before;
  return {
    ...stored,
    version: before.version + 1,
    tokens: {
      ...tokensWithBaseUrl(answer, answer.refreshToken ?? before.tokens.refreshToken, baseUrlOf(before.tokens)),
      ...retainedState({ ...before.tokens, account: before.tokens.account ?? answer.account }),
    },
    grantedScopes,
    refreshedAt: now,
    accessExpiresAt: endOf(answer.accessLifeMs, answer),
    refreshExpiresAt,
    ...fixedEnd(before, refreshExpiresAt, now),
    ...connectedState(asked, grantedScopes, before, now),
  };
}

function retainedState({ account, isUnconfirmed, rightBefore }: AccountState): AccountState {
  const waits = isUnconfirmed === true ? { isUnconfirmed, ...(rightBefore === undefined ? {} : { rightBefore }) } : {};
  return { ...(account == null ? {} : { account }), ...waits };
}

/**
 * Decides whether the refresh token's expiry is fixed or moves. A moving expiry advances by the time since the last answer; differences
 * within half of the time are not significant, because lifetimes are delayed and rounded to seconds.
 */
function fixedEnd(before: Credential, endsAt: Instant | null, now: Instant): Pick<Credential, 'isEndFixed'> {
  const previous = before.isEndFixed === undefined ? {} : { isEndFixed: before.isEndFixed };
  if (endsAt === null || before.refreshExpiresAt === null) return previous;
  const sinceMs = now - (before.refreshedAt ?? before.obtainedAt);
  // Two almost simultaneous refreshes give no information.
  if (sinceMs < MINUTE_MS) return previous;
  return { isEndFixed: endsAt - before.refreshExpiresAt < sinceMs / 2 };
}

function tokensWithBaseUrl(answer: TokenAnswer, refreshToken: string | null, previous: string | null): TokenSet {
  const baseUrl = answer.baseUrl ?? previous;
  return { accessToken: answer.accessToken, refreshToken, ...(baseUrl === null ? {} : { baseUrl }) };
}

/** Returns a changed state or reason; `since` moves only on a change. */
export function nextCredentialState(
  before: CredentialState,
  next: Omit<CredentialState, 'since'>,
  now: Instant,
): CredentialState {
  const isSame = before.state === next.state && before.reason === next.reason;
  return { ...next, since: isSame ? before.since : now };
}

function connectedState(
  asked: readonly string[],
  granted: readonly string[],
  before: Credential | null,
  now: Instant,
): CredentialState {
  const reason = missingScopes(asked, granted).length === 0 ? null : MISSING_SCOPES;
  const next = { state: 'connected', reason, unansweredSince: null } as const;
  return before === null ? { ...next, since: now } : nextCredentialState(before, next, now);
}

function endOf(lifeMs: number | null, answer: TokenAnswer): Instant | null {
  return lifeMs === null ? null : answer.sentAt + lifeMs;
}
