import { describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { notificationStatus } from '../../../src/operator/control/status-view.ts';
import { NO_SUBSCRIPTIONS, type TargetSubscriptions } from '../../../src/tenant/subscription-store.ts';
import { NOW } from '../../domain/arbitraries.ts';

const HEARD = { sinceAt: NOW - HOUR_MS, untilAt: NOW + 1, reason: null };
const current = {
  ...{ connector: 'google-calendar', connection: 'google', container: 'c1' },
  ...{ heardSinceAt: HEARD.sinceAt, expiresAt: HEARD.untilAt },
};
const failure = { code: 'server-error', sinceAt: NOW, retryAt: NOW };

/** The notifications of the target `doctor`, whose calendar is `c1`. */
function statusWith(
  stored: Readonly<Record<string, object>>,
  { isOffered = true, url = 'https://mirror.test' as string | null, paused = false, isTargetPaused = false } = {},
) {
  const tenant = { clock: () => NOW, configuration: { paused }, notifications: { url } };
  const target = {
    id: 'doctor',
    connector: { subscriptions: isOffered ? {} : undefined },
    configuration: { connector: 'google-calendar', connection: 'google', paused: isTargetPaused },
  };
  const all = Object.entries(stored).map(
    ([id, one]) => [id, { ...NO_SUBSCRIPTIONS, ...one } as TargetSubscriptions] as const,
  );
  return notificationStatus(tenant as never, target as never, 'c1', new Map(all));
}

describe('a target is notified of changes', () => {
  test('by its own subscription, and by that of another target on the same calendar', () => {
    expect(statusWith({ doctor: { current } })).toEqual(HEARD);
    expect(statusWith({ nurse: { current } })).toEqual(HEARD);
  });

  test('even if the check of the subscription failed, with the code of the failure', () => {
    expect(statusWith({ nurse: { current, failure } })).toEqual({ ...HEARD, reason: 'server-error' });
  });
});

describe('a target is not notified of changes', () => {
  test.each([
    ['container', 'c2'],
    ['connector', 'caldav'],
    ['connection', 'other'],
    ['expiresAt', NOW],
  ])('by a subscription whose %s is %s', (field, value) => {
    expect(statusWith({ doctor: { current: { ...current, [field]: value } } })).toEqual({
      ...{ sinceAt: null, untilAt: null, reason: 'not-yet' },
    });
  });

  test.each([
    ['not-offered', { isOffered: false, url: null }],
    ['no-public-address', { url: null, paused: true }],
    ['paused', { paused: true }],
    ['paused', { isTargetPaused: true }],
  ])('with the reason %s for %j, for any stored state', (reason, choice) => {
    expect(statusWith({ doctor: { current, failure } }, choice)).toEqual({ sinceAt: null, untilAt: null, reason });
  });

  test('after an error with its code, but not by the error of another target', () => {
    expect(statusWith({ doctor: { failure } }).reason).toBe('server-error');
    expect(statusWith({ nurse: { failure } }).reason).toBe('not-yet');
  });
});
