import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, type Instant } from '../../src/core/model/time.ts';
import { credentialFromLogin, credentialFromRefresh } from '../../src/oauth/credential.ts';
import type { TokenAnswer } from '../../src/oauth/token-requests.ts';

const START = 1_700_000_000_000;

function answerAt(sentAt: Instant, refreshLifeMs: number | null): TokenAnswer {
  const tokens = { accessToken: 'a', refreshToken: null, baseUrl: null, account: null };
  return { ...tokens, accessLifeMs: HOUR_MS, refreshLifeMs, scopes: null, sentAt };
}

function afterRefreshes(lifeMsAt: (sinceMs: number) => number | null) {
  let credential = credentialFromLogin(answerAt(START, lifeMsAt(0)), {}, [], { before: null, now: START });
  for (let sinceMs = HOUR_MS; sinceMs < DAY_MS; sinceMs += HOUR_MS) {
    credential = credentialFromRefresh(answerAt(START + sinceMs, lifeMsAt(sinceMs)), [], credential, START + sinceMs);
  }
  return credential;
}

test('an expiry that refreshing postpones is distinguished from a fixed one', () => {
  expect(afterRefreshes(() => 7 * DAY_MS).isEndFixed).toBe(false);
  const fixed = afterRefreshes((sinceMs) => 7 * DAY_MS - sinceMs);
  expect(fixed).toMatchObject({ isEndFixed: true, refreshExpiresAt: START + 7 * DAY_MS });
  // Some providers report the expiry only at sign-in.
  expect(afterRefreshes((sinceMs) => (sinceMs === 0 ? 7 * DAY_MS : null)).isEndFixed).toBe(true);
  expect(afterRefreshes(() => null).isEndFixed).toBeUndefined();
});

test('one refresh just after another reveals no kind of expiry', () => {
  const known = afterRefreshes(() => 7 * DAY_MS);
  const at = (known.refreshedAt ?? START) + 1_000;
  expect(credentialFromRefresh(answerAt(at, 7 * DAY_MS - 2_000), [], known, at).isEndFixed).toBe(false);
});
