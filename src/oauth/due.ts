import { createHash } from 'node:crypto';
import type { Credential } from '../model/credentials.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../model/time.ts';

/** When tokens are refreshed. */
export interface RefreshRules {
  /** At least this long before the access token ends. */
  marginMs: number;
  /** A refresh token is used at least this often, so that an idle login doesn't die. */
  keepAliveMs: number;
  /** Between 0 and 1: this connection's share of the spread, see {@link spreadOf}. */
  spread: number;
}

/** Five minutes ahead, and a refresh a day at least. */
export const DEFAULT_REFRESH_RULES: RefreshRules = { marginMs: 5 * MINUTE_MS, keepAliveMs: 24 * HOUR_MS, spread: 0 };

/** Refreshes come earlier by up to this, so that connections made together don't come back together. */
const SPREAD_MS = MINUTE_MS;
const SHARE_OF_LIFE = 0.1;
/** Refreshing more often than this keeps nothing alive that a rarer refresh wouldn't. */
const SHORTEST_KEEP_ALIVE_MS = 10 * MINUTE_MS;

/** A connection's place in the spread: between 0 and 1, always the same for the same text. */
export function spreadOf(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) / 2 ** 32;
}

/**
 * When the access token is to be refreshed: max(5 min, 10 % of its life) before its end, less up to a minute. A token that
 * lives shortly is used for half its life at least. Null when its end isn't known.
 */
export function accessRefreshAt(credential: Credential, rules: RefreshRules): Instant | null {
  const { accessExpiresAt } = credential;
  if (accessExpiresAt === null) return null;
  const lifeMs = accessExpiresAt - lastAnsweredAt(credential);
  const aheadMs = Math.max(rules.marginMs, lifeMs * SHARE_OF_LIFE) + rules.spread * SPREAD_MS;
  return accessExpiresAt - Math.min(aheadMs, Math.max(lifeMs / 2, 0));
}

/** When the refresh token is to be used though nobody needs an access token: daily, or at half of what is left of its life. */
export function keepAliveAt(credential: Credential, rules: RefreshRules): Instant {
  const usedAt = lastAnsweredAt(credential);
  const { refreshExpiresAt } = credential;
  const halfLifeMs = refreshExpiresAt === null ? Number.POSITIVE_INFINITY : (refreshExpiresAt - usedAt) / 2;
  const everyMs = Math.min(rules.keepAliveMs, Math.max(halfLifeMs, SHORTEST_KEEP_ALIVE_MS));
  return usedAt + everyMs - Math.min(rules.spread * SPREAD_MS, everyMs / 2);
}

/** Whether the login wants a refresh now. A login that has ended never does, nor one without a refresh token. */
export function dueForRefresh(
  credential: Credential,
  now: Instant,
  rules: RefreshRules = DEFAULT_REFRESH_RULES,
): boolean {
  if (credential.state === 'needs-login' || credential.tokens.refreshToken === null) return false;
  const accessAt = accessRefreshAt(credential, rules);
  return now >= Math.min(accessAt ?? Number.POSITIVE_INFINITY, keepAliveAt(credential, rules));
}

/** Whether the access token can still be used; one without a known end can, until it is refused. */
export function isUsable(credential: Credential, now: Instant): boolean {
  return credential.accessExpiresAt === null || now < credential.accessExpiresAt;
}

function lastAnsweredAt(credential: Credential): Instant {
  return credential.refreshedAt ?? credential.obtainedAt;
}

/**
 * How long a refresh token may rest before its issuer ends it, by kind of connection; none stands here of issuers that end none for that
 * (HubSpot), that tell it with each token (clinics), or of which it is not known.
 * @see https://developers.google.com/identity/protocols/oauth2#expiration (six months)
 * @see https://learn.microsoft.com/entra/identity-platform/refresh-tokens#token-lifetime (90 days)
 * @see https://help.salesforce.com/s/articleView?id=sf.remoteaccess_oauth_refresh_token_flow.htm (30 days)
 */
export const IDLE_LIFE_MS: Readonly<Record<string, number>> = {
  google: 180 * DAY_MS,
  microsoft: 90 * DAY_MS,
  salesforce: 30 * DAY_MS,
};
