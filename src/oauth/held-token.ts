import type { MirrorError } from '../model/errors.ts';
import { type Clock, type Instant, MINUTE_MS, SECOND_MS } from '../model/time.ts';
import { abandonable, type ConnectionAuthorizer } from './authorizer.ts';
import { requireBaseUrl } from './placed-tokens.ts';
import type { TokenAnswer } from './token-answer.ts';

/** What a request for a token came to; `skewMs` is the server's clock less ours, 0 when it told none. */
export type TokenOutcome =
  | { error: null; tokens: TokenAnswer; skewMs: number }
  | { error: MirrorError; skewMs: number };

/** Asks once for a token, with proofs dated by `now`. Never throws. */
export type TokenRequest = (now: Instant) => Promise<TokenOutcome>;

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
  { clock, quotaUser, placed }: { clock: Clock; quotaUser: string | null; placed?: string },
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
    if (placed !== undefined) requireBaseUrl(baseUrl, placed);
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
    ...(placed === undefined ? {} : { baseUrl: () => requireBaseUrl(held?.baseUrl ?? null, placed) }),
    header: async (signal) => (held !== null && clock() < held.refreshAt ? held.value : obtain(signal)),
    renew: obtain,
  };
}
