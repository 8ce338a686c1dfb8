import type { Credential, CredentialStanding, TokenSet } from '../model/credentials.ts';
import { type Instant, MINUTE_MS } from '../model/time.ts';
import { baseUrlOf } from './placed-tokens.ts';
import { missingScopes } from './scopes.ts';
import type { TokenAnswer } from './token-answer.ts';

/** Whose tokens are, and whether they may be used. */
export type AccountStanding = Pick<TokenSet, 'account' | 'isUnconfirmed' | 'rightBefore'>;

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
  whose: AccountStanding,
  asked: readonly string[],
  { before, now }: { before: Credential | null; now: Instant },
): Credential {
  const grantedScopes = answer.scopes ?? asked;
  return {
    version: Math.max(now, (before?.version ?? 0) + 1),
    tokens: { ...placedTokens(answer, answer.refreshToken, null), ...keptOf(whose) },
    grantedScopes,
    obtainedAt: now,
    refreshedAt: null,
    accessExpiresAt: endOf(answer.accessLifeMs, answer),
    refreshExpiresAt: endOf(answer.refreshLifeMs, answer),
    ...connectedStanding(asked, grantedScopes, before, now),
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
  const keepsToken = answer.refreshToken === null || answer.refreshToken === before.tokens.refreshToken;
  const refreshExpiresAt = endOf(answer.refreshLifeMs, answer) ?? (keepsToken ? before.refreshExpiresAt : null);
  const { refusedAt: _, ...kept } = before;
  return {
    ...kept,
    version: before.version + 1,
    tokens: {
      ...placedTokens(answer, answer.refreshToken ?? before.tokens.refreshToken, baseUrlOf(before.tokens)),
      ...keptOf({ ...before.tokens, account: before.tokens.account ?? answer.account }),
    },
    grantedScopes,
    refreshedAt: now,
    accessExpiresAt: endOf(answer.accessLifeMs, answer),
    refreshExpiresAt,
    ...fixedEnd(before, refreshExpiresAt, now),
    ...connectedStanding(asked, grantedScopes, before, now),
  };
}

function keptOf({ account, isUnconfirmed, rightBefore }: AccountStanding): AccountStanding {
  const waits = isUnconfirmed === true ? { isUnconfirmed, ...(rightBefore === undefined ? {} : { rightBefore }) } : {};
  return { ...(account == null ? {} : { account }), ...waits };
}

/** An end that moves goes on by the time since the last answer; what is told in seconds, and late, is not told apart within half of it. */
function fixedEnd(before: Credential, endsAt: Instant | null, now: Instant): Pick<Credential, 'isEndFixed'> {
  const known = before.isEndFixed === undefined ? {} : { isEndFixed: before.isEndFixed };
  if (endsAt === null || before.refreshExpiresAt === null) return known;
  const sinceMs = now - (before.refreshedAt ?? before.obtainedAt);
  // Two refreshes in the same moment tell nothing.
  if (sinceMs < MINUTE_MS) return known;
  return { isEndFixed: endsAt - before.refreshExpiresAt < sinceMs / 2 };
}

function placedTokens(answer: TokenAnswer, refreshToken: string | null, known: string | null): TokenSet {
  const baseUrl = answer.baseUrl ?? known;
  return { accessToken: answer.accessToken, refreshToken, ...(baseUrl === null ? {} : { baseUrl }) };
}

/** Another state or reason; `since` moves only when one of them changes. */
export function standing(
  before: CredentialStanding,
  next: Omit<CredentialStanding, 'since'>,
  now: Instant,
): CredentialStanding {
  const isSame = before.state === next.state && before.reason === next.reason;
  return { ...next, since: isSame ? before.since : now };
}

function connectedStanding(
  asked: readonly string[],
  granted: readonly string[],
  before: Credential | null,
  now: Instant,
): CredentialStanding {
  const reason = missingScopes(asked, granted).length === 0 ? null : MISSING_SCOPES;
  const next = { state: 'connected', reason, unansweredSince: null } as const;
  return before === null ? { ...next, since: now } : standing(before, next, now);
}

function endOf(lifeMs: number | null, answer: TokenAnswer): Instant | null {
  return lifeMs === null ? null : answer.sentAt + lifeMs;
}
