import { createHash } from 'node:crypto';
import type { Credential } from '../core/model/credentials.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../core/model/time.ts';

export interface RefreshRules {
  /** Least time between a refresh and the access token's expiry. */
  marginMs: number;
  /** Longest time between uses of a refresh token, so that an idle connection does not expire. */
  keepAliveMs: number;
  /** Between 0 and 1: this connection's share of the spread, see {@link spreadOf}. */
  spread: number;
}

/** Five minutes before expiry, and at least one refresh a day. */
export const DEFAULT_REFRESH_RULES: RefreshRules = { marginMs: 5 * MINUTE_MS, keepAliveMs: 24 * HOUR_MS, spread: 0 };

/** Longest advance of a refresh, so that connections from the same time refresh at different times. */
const SPREAD_MS = MINUTE_MS;
const SHARE_OF_LIFE = 0.1;
/** A shorter keep-alive interval gives no benefit. */
const SHORTEST_KEEP_ALIVE_MS = 10 * MINUTE_MS;

/** Returns a connection's position in the spread: between 0 and 1, constant for each text. */
export function spreadOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32;
}

/**
 * Returns when to refresh the access token: max(5 min, 10 % of its lifetime) before expiry, less up to a minute. A short-lived token is
 * used for at least half of its lifetime. Null if the expiry is unknown.
 */
export function accessRefreshAt(credential: Credential, rules: RefreshRules): Instant | null {
  const { accessExpiresAt } = credential;
  if (accessExpiresAt === null) return null;
  const lifeMs = accessExpiresAt - lastAnsweredAt(credential);
  const aheadMs = Math.max(rules.marginMs, lifeMs * SHARE_OF_LIFE) + rules.spread * SPREAD_MS;
  return accessExpiresAt - Math.min(aheadMs, Math.max(lifeMs / 2, 0));
}

/** Returns when to use the refresh token without need for an access token: daily, or at half of the remaining lifetime. */
export function keepAliveAt(credential: Credential, rules: RefreshRules): Instant {
  const usedAt = lastAnsweredAt(credential);
  const { refreshExpiresAt } = credential;
  const halfLifeMs = refreshExpiresAt === null ? Number.POSITIVE_INFINITY : (refreshExpiresAt - usedAt) / 2;
  const everyMs = Math.min(rules.keepAliveMs, Math.max(halfLifeMs, SHORTEST_KEEP_ALIVE_MS));
  return usedAt + everyMs - Math.min(rules.spread * SPREAD_MS, everyMs / 2);
}

/** Decides whether a refresh is due now. An ended connection or a connection without a refresh token is never due. */
export function dueForRefresh(
  credential: Credential,
  now: Instant,
  rules: RefreshRules = DEFAULT_REFRESH_RULES,
): boolean {
  if (credential.state === 'needs-login' || credential.tokens.refreshToken === null) return false;
  const accessAt = accessRefreshAt(credential, rules);
  return now >= Math.min(accessAt ?? Number.POSITIVE_INFINITY, keepAliveAt(credential, rules));
}

/** Decides whether the access token is usable; a token without a known expiry is usable until refused. */
export function isUsable(credential: Credential, now: Instant): boolean {
  return credential.accessExpiresAt === null || now < credential.accessExpiresAt;
}

function lastAnsweredAt(credential: Credential): Instant {
  return credential.refreshedAt ?? credential.obtainedAt;
}

/**
 * Idle time after which an issuer ends a refresh token, by kind of connection. Absent for issuers without such a limit (HubSpot), with a
 * limit in each token answer (clinics), or with an unknown limit.
 * @see https://developers.google.com/identity/protocols/oauth2#expiration (six months)
 * @see https://learn.microsoft.com/entra/identity-platform/refresh-tokens#token-lifetime (90 days)
 * @see https://help.salesforce.com/s/articleView?id=sf.remoteaccess_oauth_refresh_token_flow.htm (30 days)
 */
export const IDLE_LIFE_MS: Readonly<Record<string, number>> = {
  google: 180 * DAY_MS,
  microsoft: 90 * DAY_MS,
  salesforce: 30 * DAY_MS,
};
