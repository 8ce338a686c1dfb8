import type { Credential, CredentialState, TokenSet } from '../model/credentials.ts';
import { type Instant, MINUTE_MS } from '../model/time.ts';
import { baseUrlOf, missingScopes } from './providers.ts';
import type { TokenAnswer } from './token-requests.ts';

/** A lease as far as a fenced write needs it. */
export interface HeldLease {
  readonly key: string;
  readonly token: string;
  release(): Promise<void>;
}

/** Gives leases of one tenant: at most one holder per name. */
export interface LeaseTaker {
  /** @returns null when somebody else holds it */
  tryTake(name: string): Promise<HeldLease | null>;
  /** @throws MirrorError `remote`, code `lease-busy`, when `waitMs` passes */
  take(name: string, waitMs: number, signal: AbortSignal): Promise<HeldLease>;
}

/** Where the credentials of one tenant are kept. */
export interface CredentialStorage {
  read(connection: string): Promise<Credential | null>;
  /** As it was read a short while ago: for whoever wants nothing of it but its access token. Its refresh token may be used up. */
  recent(connection: string): Promise<Credential | null>;
  /**
   * Durable when it returns. @returns false when another version than `expectedVersion` stands there (null: none)
   * @throws MirrorError `conflict` when the lease was lost
   */
  write(lease: HeldLease, connection: string, expectedVersion: number | null, next: Credential): Promise<boolean>;
  /** Changes where the login stands, not its tokens. */
  record(lease: HeldLease, connection: string, version: number, credentialState: CredentialState): Promise<boolean>;
  remove(connection: string): Promise<boolean>;
}

/** A login that a person has begun: what its answer must fit, kept for ten minutes and given once. */
export interface PendingLogin {
  tenant: string;
  connection: string;
  issuer: string;
  redirectUri: string;
  codeVerifier: string;
  /** Its id_token must repeat it; null where none is asked for. */
  nonce: string | null;
  /** Digest of what the one browser holds that may end it; null for a login that ends at a receiver of its own on this machine. */
  browser: string | null;
  scopes: readonly string[];
}

/** Keeps begun logins by their `state`. */
export interface PendingLogins {
  put(state: string, login: PendingLogin): Promise<void>;
  take(state: string): Promise<PendingLogin | null>;
}

/** One connection of one tenant, where its credential is kept and the lease under which it is changed. */
export interface ConnectionContext {
  tenant: string;
  connection: string;
  credentials: CredentialStorage;
  leases: LeaseTaker;
}

/** Name of the lease under which a connection's credential is changed. */
export function credentialLease(connection: string): string {
  return `credential:${connection}`;
}

/** Whose tokens are, and whether they may be used. */
export type AccountState = Pick<TokenSet, 'account' | 'isUnconfirmed' | 'rightBefore'>;

/** Reason of a login that works but lacks scopes. */
const MISSING_SCOPES = 'missing-scopes';

/**
 * The credential that a login brings. Its version is above every earlier one of the connection, also of one that was
 * forgotten meanwhile: what a late worker still holds of that one must not fit.
 * @param whose the account, and whether a person still has to say that it is the right one
 * @param before the credential that it replaces
 * @param asked the scopes that were asked for: granted, when the answer doesn't tell (RFC 6749 section 5.1)
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
 * The credential after a refresh. What the answer leaves out stays: the refresh token, its life, the scopes, the place. The account stays
 * whatever the answer says, and is learned from it where it was not known.
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

/** An end that moves goes on by the time since the last answer; what is told in seconds, and late, is not told apart within half of it. */
function fixedEnd(before: Credential, endsAt: Instant | null, now: Instant): Pick<Credential, 'isEndFixed'> {
  const previous = before.isEndFixed === undefined ? {} : { isEndFixed: before.isEndFixed };
  if (endsAt === null || before.refreshExpiresAt === null) return previous;
  const sinceMs = now - (before.refreshedAt ?? before.obtainedAt);
  // Two refreshes in the same moment tell nothing.
  if (sinceMs < MINUTE_MS) return previous;
  return { isEndFixed: endsAt - before.refreshExpiresAt < sinceMs / 2 };
}

function tokensWithBaseUrl(answer: TokenAnswer, refreshToken: string | null, previous: string | null): TokenSet {
  const baseUrl = answer.baseUrl ?? previous;
  return { accessToken: answer.accessToken, refreshToken, ...(baseUrl === null ? {} : { baseUrl }) };
}

/** Another state or reason; `since` moves only when one of them changes. */
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
