import type { Instant } from './time.ts';

/**
 * The account of a connection, as the vendor vouches for it; null for unknown parts. Identifies a human: stored encrypted, shown to
 * operators, never logged or counted.
 */
export interface Account {
  /** The vendor's user id, never reused. For HubSpot, the id of the account that contains the installed app. */
  subject: string;
  /** An e-mail address verified by the vendor, or a user name that is unique at the vendor. */
  address: string | null;
  /** Domain of the organisation, if the vendor has verified the membership. */
  domain: string | null;
}

/** The secret part of a credential. Never logged, and always stored encrypted. */
export interface TokenSet {
  accessToken: string;
  /** Null if the provider gave none: the connection expires with its access token. */
  refreshToken: string | null;
  /** API origin for the tokens, if the provider names one. Stored encrypted with the tokens. */
  baseUrl?: string | null;
  /** Owner of the tokens; null or absent if the vendor does not identify the owner. */
  account?: Account | null;
  /** The account is unconfirmed: the daemon refreshes the tokens, but no component may use them. */
  isUnconfirmed?: boolean;
  /** While unconfirmed: subject of the previous confirmed account. */
  rightBefore?: string;
}

/**
 * State of a connection, stored with its tokens. `reason` is a stable kebab-case code. With `needs-login`, the cause of the end. With
 * `connected`, a fault that does not end the connection: an unreachable token endpoint, a rejected client or a missing scope. Null without
 * a fault.
 */
export interface CredentialState {
  state: 'connected' | 'needs-login';
  reason: string | null;
  /** Last change of state or reason. */
  since: Instant;
  /**
   * Send time of a refresh request whose answer is not stored. A value after a crash or time-out means that the provider possibly replaced
   * the refresh token by one that never arrived.
   */
  unansweredSince: Instant | null;
  /** Time of the first refused refresh. Set until a second attempt confirms the refusal; otherwise null or absent. */
  refusedAt?: Instant | null;
}

/** Tokens and state of a connection. */
export interface Credential extends CredentialState {
  /** Grows only when the tokens change. */
  version: number;
  tokens: TokenSet;
  grantedScopes: readonly string[];
  /** Time when a user connected. */
  obtainedAt: Instant;
  /** Null before the first refresh. */
  refreshedAt: Instant | null;
  /** By the local clock. Null if the provider names no expiry: the token is used until the provider refuses it. */
  accessExpiresAt: Instant | null;
  /** Expiry of an unused refresh token; null if the provider names none. */
  refreshExpiresAt: Instant | null;
  /** The last refresh did not extend the expiry, so the connection expires then. Absent: no refresh has shown it. */
  isEndFixed?: boolean;
}
