import { describe, expect, test } from 'vitest';
import { errors } from '../../../src/connectors/google-calendar/errors.ts';
import { HOUR_MS, SECOND_MS } from '../../../src/core/model/time.ts';

function refusal(status: number, domain?: string, reason?: string, retryAfterMs: number | null = null) {
  const details = [{ domain, reason, message: 'text with Some Name' }];
  const body = { error: { code: status, message: 'text with Some Name', errors: details } };
  return errors.of({ status, body, retryAfterMs });
}

describe("Google's refusals", () => {
  test.each([403, 429])('a rate limit means the same as %i', (status) => {
    for (const reason of ['rateLimitExceeded', 'userRateLimitExceeded']) {
      const error = refusal(status, 'usageLimits', reason);
      expect(error).toMatchObject({ actor: 'remote', code: 'rate-limited', retry: 'later', ambiguous: false });
      expect(error.retryAfterMs).toBeGreaterThanOrEqual(SECOND_MS);
    }
  });

  test('a rate limit waits as long as Google says', () => {
    expect(refusal(403, 'usageLimits', 'rateLimitExceeded', 120_000).retryAfterMs).toBe(120_000);
  });

  test('usage limits and daily limits wait an hour at least', () => {
    for (const reason of ['quotaExceeded', 'dailyLimitExceeded']) {
      expect(refusal(403, 'usageLimits', reason).retryAfterMs).toBe(HOUR_MS);
      expect(refusal(403, 'usageLimits', reason, 5_000).retryAfterMs).toBe(HOUR_MS);
      expect(refusal(403, 'usageLimits', reason, 3 * HOUR_MS).retryAfterMs).toBe(3 * HOUR_MS);
    }
  });

  test.each(['rateLimitExceeded', 'userRateLimitExceeded'])(
    'a daily quota that comes as %s waits an hour at least',
    (reason) => {
      const message =
        "Quota exceeded for quota metric 'Queries' and limit 'Queries per day' of service 'calendar-json.googleapis.com'";
      const errorsOf = (told: string) => [{ domain: 'usageLimits', reason, message: told }];
      for (const error of [{ message, errors: errorsOf('Quota exceeded') }, { errors: errorsOf(message) }]) {
        const found = errors.of({ status: 403, body: { error }, retryAfterMs: 20_000 });
        expect(found).toMatchObject({ code: 'daily-limit', retryAfterMs: HOUR_MS, growsToMs: undefined });
      }
      const perMinute = { message: "Quota exceeded for limit 'Queries per minute per user'", errors: errorsOf('x') };
      expect(errors.of({ status: 403, body: { error: perMinute }, retryAfterMs: null }).code).toBe('rate-limited');
    },
  );

  test('an unknown reason of the usage limits is a limit too', () => {
    expect(refusal(403, 'usageLimits', 'newKindOfLimit')).toMatchObject({ actor: 'remote', code: 'rate-limited' });
  });

  test.each([
    [401, 'global', 'authError', 'authorization', 'login-refused', 'never'],
    [403, 'global', 'insufficientPermissions', 'authorization', 'scope-missing', 'never'],
    [403, 'calendar', 'requiredAccessLevel', 'settings', 'calendar-forbidden', 'never'],
    [403, 'calendar', 'forbiddenForNonOrganizer', 'settings', 'event-forbidden', 'never'],
    [403, 'usageLimits', 'accessNotConfigured', 'settings', 'api-disabled', 'never'],
    [403, 'global', 'neverHeardOf', 'settings', 'calendar-forbidden', 'never'],
    [400, 'calendar', 'timeRangeEmpty', 'contract', 'empty-time-range', 'never'],
    [400, 'global', 'invalid', 'contract', 'refused', 'never'],
    [409, 'global', 'conflict', 'remote', 'batch-conflict', 'later'],
    [412, 'global', 'conditionNotMet', 'conflict', 'changed-meanwhile', 'now'],
    [302, undefined, undefined, 'contract', 'unexpected-status', 'later'],
  ])('%i %s/%s', (status, domain, reason, actor, code, retry) => {
    expect(refusal(status, domain, reason)).toMatchObject({ actor, code, retry, ambiguous: false, status });
  });

  test('a server error may have been carried out', () => {
    const error = errors.of({ status: 503, body: undefined, retryAfterMs: null });
    expect(error).toMatchObject({ actor: 'remote', code: 'server-error', retry: 'later', ambiguous: true });
  });

  test('a name that every object has is no reason', () => {
    expect(refusal(400, 'global', 'toString').code).toBe('refused');
  });

  test("Google's own words are not passed on", () => {
    expect(refusal(400, 'global', 'invalid').message).not.toContain('Some Name');
  });

  test('only refusals of every operation concern the whole target', () => {
    expect(errors.scopeOf(refusal(403, 'usageLimits', 'quotaExceeded'))).toBe('target');
    expect(errors.scopeOf(refusal(400, 'global', 'invalid'))).toBe('item');
    expect(errors.scopeOf(refusal(403, 'calendar', 'forbiddenForNonOrganizer'))).toBe('item');
  });
});
