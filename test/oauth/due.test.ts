import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Credential } from '../../src/core/model/credentials.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { accessRefreshAt, DEFAULT_REFRESH_RULES, dueForRefresh, keepAliveAt, spreadOf } from '../../src/oauth/due.ts';

const START = 1_700_000_000_000;

function credential(changes: Partial<Credential> = {}): Credential {
  return {
    version: 1,
    tokens: { accessToken: 'a', refreshToken: 'r' },
    grantedScopes: [],
    obtainedAt: START,
    refreshedAt: null,
    accessExpiresAt: START + HOUR_MS,
    refreshExpiresAt: null,
    state: 'connected',
    reason: null,
    since: START,
    unansweredSince: null,
    ...changes,
  };
}

const rules = (spread: number) => ({ ...DEFAULT_REFRESH_RULES, spread });

describe('when an access token is refreshed', () => {
  test.each([
    ['an hour: 6 minutes ahead', HOUR_MS, 0, 6 * MINUTE_MS],
    ['half an hour: 5 minutes ahead', 30 * MINUTE_MS, 0, 5 * MINUTE_MS],
    ['a day: a tenth ahead', DAY_MS, 0, DAY_MS / 10],
    ['an hour, at the end of the spread: a minute more', HOUR_MS, 1, 7 * MINUTE_MS],
    ['a minute: half a minute ahead', MINUTE_MS, 1, MINUTE_MS / 2],
  ])('%s', (_name, lifeMs, spread, aheadMs) => {
    const short = credential({ accessExpiresAt: START + lifeMs });
    expect(accessRefreshAt(short, rules(spread))).toBe(START + lifeMs - aheadMs);
  });

  test('is between half of its life and its end, whatever life and spread', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1_000, max: 90 * DAY_MS }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (lifeMs, spread) => {
          const at = accessRefreshAt(credential({ accessExpiresAt: START + lifeMs }), rules(spread)) ?? 0;
          expect(at).toBeGreaterThanOrEqual(START + lifeMs / 2);
          expect(at).toBeLessThan(START + lifeMs);
        },
      ),
    );
  });

  test('counts the life from the last refresh', () => {
    const refreshed = credential({ refreshedAt: START + DAY_MS, accessExpiresAt: START + DAY_MS + HOUR_MS });
    expect(accessRefreshAt(refreshed, rules(0))).toBe(START + DAY_MS + 54 * MINUTE_MS);
  });
});

describe('the need for a refresh', () => {
  test('turns true at the moment, not before', () => {
    const at = START + 54 * MINUTE_MS;
    expect(dueForRefresh(credential(), at - 1)).toBe(false);
    expect(dueForRefresh(credential(), at)).toBe(true);
  });

  test('exists once a day for an idle connection, also when its access token is not used', () => {
    for (const accessExpiresAt of [null, START + 30 * DAY_MS]) {
      const idle = credential({ accessExpiresAt });
      expect(dueForRefresh(idle, START + DAY_MS - 1)).toBe(false);
      expect(dueForRefresh(idle, START + DAY_MS)).toBe(true);
      expect(dueForRefresh({ ...idle, refreshedAt: START + DAY_MS }, START + DAY_MS + HOUR_MS)).toBe(false);
    }
  });

  test('exists after half of the remaining life of a refresh token that lives less than two days, never continuously', () => {
    const short = credential({ accessExpiresAt: null, refreshExpiresAt: START + 10 * HOUR_MS });
    expect(keepAliveAt(short, rules(0))).toBe(START + 5 * HOUR_MS);
    const ending = credential({ accessExpiresAt: null, refreshExpiresAt: START + MINUTE_MS });
    expect(keepAliveAt(ending, rules(0))).toBe(START + 10 * MINUTE_MS);
  });

  test('is absent for an expired connection and for one without a refresh token', () => {
    const late = START + 10 * DAY_MS;
    expect(dueForRefresh(credential(), late)).toBe(true);
    expect(dueForRefresh(credential({ state: 'needs-login' }), late)).toBe(false);
    expect(dueForRefresh(credential({ tokens: { accessToken: 'a', refreshToken: null } }), late)).toBe(false);
  });
});

test('the spread is stable, between 0 and 1, and spreads', () => {
  const places = Array.from({ length: 1_000 }, (_, index) => spreadOf(`tenant-${index}/clinic`));
  expect(spreadOf('tenant-7/clinic')).toBe(places[7]);
  expect(Math.min(...places)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...places)).toBeLessThan(1);
  for (let tenth = 0; tenth < 10; tenth += 1) {
    expect(places.filter((place) => Math.floor(place * 10) === tenth).length).toBeGreaterThan(50);
  }
});
