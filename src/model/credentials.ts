import type { Instant } from './time.ts';

/** The secret part of a credential. Never logged, never kept unsealed. */
export interface TokenSet {
  accessToken: string;
  /** Null when the provider gave none: the login ends with its access token. */
  refreshToken: string | null;
  /** Origin of the API that the tokens are good for, where the provider tells one: sealed and stored with them. */
  baseUrl?: string | null;
}

/**
 * Where a connection's login stands, kept beside its tokens.
 * `reason` tells why, in a stable kebab-case code: with `needs-login` what ended the login, with `connected` what is amiss
 * although the login still works (the token endpoint is away, the client was rejected, a scope is missing); null when nothing is.
 */
export interface CredentialStanding {
  state: 'connected' | 'needs-login';
  reason: string | null;
  /** Since when state and reason are as they are. */
  since: Instant;
  /**
   * When a refresh request was sent whose answer was not stored (yet). Still set after a crash or a time-out it tells that
   * the provider may have replaced the refresh token by one that we never got.
   */
  unansweredSince: Instant | null;
}

/** One login of a connection. */
export interface Credential extends CredentialStanding {
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
}
