import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MirrorError, storedError } from '../../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import type { RunReport } from '../../../src/domain/runs.ts';
import type { ConnectionStatus } from '../../../src/operator/control/status-schemas.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { loginOf, problems, targetOf } from './status-of.ts';

function ofLogin(changes: Partial<ConnectionStatus>) {
  return problems({ connections: [loginOf('connected', changes)] });
}

test('a connection with a fixed end is reported before it expires, with the required action', () => {
  // Seven days, as Google gives applications in testing.
  const login = { kind: 'google', isEndFixed: true, usedAt: NOW };
  const after = (days: number) =>
    ofLogin({ ...login, obtainedAt: NOW - days * DAY_MS, refreshExpiresAt: NOW + (7 - days) * DAY_MS });
  expect(after(4)).toEqual([]);
  const next = 'clinic-mirror login aurora dav';
  const told = {
    subject: 'connection dav',
    code: 'login-ending',
    health: 'action-required',
    breaksAt: NOW + 2 * DAY_MS,
    next,
  };
  expect(after(5)).toMatchObject([told]);
});

test('a connection that is refreshed is never reported, with any lifetime of its refresh token', () => {
  const lives = fc.integer({ min: HOUR_MS, max: 400 * DAY_MS });
  fc.assert(
    fc.property(lives, fc.double({ min: 0, max: 0.6, noNaN: true }), (lifeMs, share) => {
      // It is used by the half of its life at the latest.
      const usedAt = NOW - Math.min(lifeMs * share, DAY_MS);
      const obtainedAt = NOW - 300 * DAY_MS;
      expect(ofLogin({ usedAt, obtainedAt, refreshExpiresAt: usedAt + lifeMs })).toEqual([]);
    }),
  );
});

test.each([
  ['google', 180],
  ['microsoft', 90],
  ['salesforce', 30],
])('an unused connection at %s is reported before its %i days end', (kind, days) => {
  const rested = (restedDays: number) => ofLogin({ kind, usedAt: NOW - restedDays * DAY_MS });
  expect(rested(3)).toEqual([]);
  expect(rested(days - 3)).toMatchObject([
    { code: 'login-resting', health: 'action-required', breaksAt: NOW + 3 * DAY_MS },
  ]);
});

test('an unused connection that does not expire is not reported', () => {
  expect(ofLogin({ kind: 'hubspot', usedAt: NOW - 300 * DAY_MS })).toEqual([]);
});

test('notifications that cannot be renewed are reported a day before they expire', () => {
  const of = (untilAt: number | null, reason: string | null) =>
    problems({ targets: [targetOf(null, { notifications: { sinceAt: NOW, untilAt, reason } })] });
  expect(of(NOW + 2 * HOUR_MS, null)).toEqual([]);
  expect(of(NOW + 2 * DAY_MS, 'forbidden')).toEqual([]);
  expect(of(null, 'not-offered')).toEqual([]);
  const told = { code: 'notifications-ending', health: 'action-required', breaksAt: NOW + 2 * HOUR_MS };
  expect(of(NOW + 2 * HOUR_MS, 'forbidden')).toMatchObject([told]);
});

test('changes that wait longer with each cycle are reported, and need an operator after hours', () => {
  const of = (waitedMs: number) =>
    problems({ targets: [targetOf('writing', { pending: 40, oldestPendingAt: NOW - waitedMs })] });
  expect(of(50 * MINUTE_MS)).toEqual([]);
  expect(of(2 * HOUR_MS)).toMatchObject([{ code: 'backlog-growing', health: 'retrying', waiting: 40 }]);
  expect(of(7 * HOUR_MS)).toMatchObject([{ code: 'backlog-growing', health: 'action-required' }]);
});

test.each([
  ['certificate', 'server redis.example:6379', 13, 15, 90],
  ['secret', 'microsoftClients main', 29, 31, 700],
  ['certificate', 'server redis.example:6379', 1, 3, 6],
] as const)(
  'a %s of %s is reported %i days before it expires, and not %i days before',
  (kind, subject, near, far, lifeDays) => {
    const of = (leftDays: number) => {
      const endsAt = NOW + leftDays * DAY_MS;
      const named = subject.replace('server ', '');
      return problems({}, { endings: [{ kind, of: named, beganAt: endsAt - lifeDays * DAY_MS, endsAt }] });
    };
    expect(of(far)).toEqual([]);
    const told = {
      tenant: null,
      subject,
      code: `${kind}-ending`,
      health: 'action-required',
      breaksAt: NOW + near * DAY_MS,
    };
    expect(of(near)).toMatchObject([told]);
    expect(of(-1)[0]?.sentence).toContain('has expired');
  },
);

test('a quota is reported at four fifths of use, and a daily one with the time of exhaustion', () => {
  const of = (hourShare: number, share: number) => {
    const days = [{ tenant: 'aurora', share, usedUpAt: NOW + HOUR_MS }];
    return problems({}, { quotas: [{ client: 'salesforceClients main', hourShare, days }] });
  };
  expect(of(0.79, 0.79)).toEqual([]);
  const subject = 'quota of salesforceClients main';
  expect(of(0.85, 0.9)).toMatchObject([
    { tenant: 'aurora', subject, code: 'daily-quota-short', health: 'action-required', breaksAt: NOW + HOUR_MS },
    { tenant: null, subject, code: 'quota-short', health: 'retrying' },
  ]);
});

test('clinics that no process works for are reported, all in one problem', () => {
  const ended = (agoMs: number) => ({ finishedAt: NOW - agoMs, error: null }) as RunReport;
  expect(problems({ lastRun: ended(50 * MINUTE_MS) })).toEqual([]);
  const told = {
    tenant: null,
    subject: 'cycles',
    code: 'no-cycles',
    health: 'action-required',
    sinceAt: NOW - 2 * HOUR_MS,
  };
  expect(problems({ lastRun: ended(2 * HOUR_MS) })).toMatchObject([told]);
  expect(problems({ lastRun: ended(2 * HOUR_MS), cycleEveryMs: HOUR_MS })).toEqual([]);
});

test('a future action comes after current required actions, and before temporary problems', () => {
  const soon = loginOf('connected', { kind: 'google', usedAt: NOW - 179 * DAY_MS });
  const resting = {
    ...storedError(new MirrorError('later', { actor: 'remote', code: 'throttled', retry: 'later' })),
    sinceAt: NOW,
  };
  const targets = [targetOf('backing-off', { failure: resting }), targetOf('on-hold', { held: 3 })];
  expect(problems({ connections: [soon], targets }).map(({ code }) => code)).toEqual([
    'on-hold',
    'login-resting',
    'throttled',
  ]);
});
