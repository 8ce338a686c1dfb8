import type { Instant } from './time.ts';

/**
 * Whose login it is, as the vendor tells and vouches for; null is what it does not. Names a person: sealed where it is kept, shown to
 * operators, and neither logged nor counted.
 */
export interface Account {
  /** The vendor's own id of the user, never given to another one; of HubSpot the id of the account that the application is installed in. */
  subject: string;
  /** By which people know it: an e-mail address that the vendor has verified, or a user name that is one of a kind there. */
  address: string | null;
  /** The organisation's domain, where the vendor has verified that the user is one of it. */
  domain: string | null;
}

/** The secret part of a credential. Never logged, never kept unsealed. */
export interface TokenSet {
  accessToken: string;
  /** Null when the provider gave none: the login ends with its access token. */
  refreshToken: string | null;
  /** Origin of the API that the tokens are good for, where the provider tells one: sealed and stored with them. */
  baseUrl?: string | null;
  /** Whose tokens they are; null or absent: not known, since the vendor does not tell. */
  account?: Account | null;
  /** Nobody has said that this is the right account: the tokens are kept alive, and given to nobody. */
  isUnconfirmed?: boolean;
  /** While it is unconfirmed: subject of the account that was right before. */
  rightBefore?: string;
}

/**
 * Where a connection's login stands, kept beside its tokens.
 * `reason` tells why, in a stable kebab-case code: with `needs-login` what ended the login, with `connected` what is amiss
 * although the login still works (the token endpoint is away, the client was rejected, a scope is missing); null when nothing is.
 */
export interface CredentialState {
  state: 'connected' | 'needs-login';
  reason: string | null;
  /** Since when state and reason are as they are. */
  since: Instant;
  /**
   * When a refresh request was sent whose answer was not stored (yet). Still set after a crash or a time-out it tells that
   * the provider may have replaced the refresh token by one that we never got.
   */
  unansweredSince: Instant | null;
  /**
   * When the provider refused the refresh token of a login that had worked. Set while the second try that must confirm the refusal is still
   * to come; null or absent: nothing was refused.
   */
  refusedAt?: Instant | null;
}

/** One login of a connection. */
export interface Credential extends CredentialState {
  /** Grows with every change of the tokens, and only then. */
  version: number;
  tokens: TokenSet;
  grantedScopes: readonly string[];
  /** When a person logged in. */
  obtainedAt: Instant;
  /** Null before the first refresh. */
  refreshedAt: Instant | null;
  /** By our own clock; null when the provider doesn't tell: the token is used until it is refused. */
  accessExpiresAt: Instant | null;
  /** End of the refresh token's life if it stays unused; null when the provider doesn't tell. */
  refreshExpiresAt: Instant | null;
  /** Whether a refresh left that end where it was: then the login ends there, however often it is used. Absent: no refresh told yet. */
  isEndFixed?: boolean;
}
