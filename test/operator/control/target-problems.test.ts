import { describe, expect, test } from 'vitest';
import { type Actor, MirrorError, storedError } from '../../../src/core/model/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import type { TargetFailure } from '../../../src/engine/store.ts';
import type { TargetReason, TargetStatus } from '../../../src/operator/control/status-schemas.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { loginOf, problems, targetOf } from './status-of.ts';

const FAILURE = failureOf('calendar-gone', 'settings', 'run: clinic-mirror sync <tenant>');

const RESTING = failureOf('throttled', 'remote');

function failureOf(code: string, actor: Actor, remedy?: string): TargetFailure {
  const error = new MirrorError('the calendar is gone', { actor, code, retry: 'later', remedy });
  return { ...storedError(error), sinceAt: NOW - HOUR_MS };
}

describe('a target', () => {
  const gap = { code: 'agenda-unknown' as const, count: 1, what: ['4'], soon: [] };
  test.each<[TargetReason, Partial<TargetStatus>, 'action-required' | 'retrying', string, string | null]>([
    ['error', { failure: FAILURE }, 'action-required', 'calendar-gone', 'run: clinic-mirror sync aurora'],
    ['backing-off', { failure: RESTING }, 'retrying', 'throttled', null],
    ['on-hold', { held: 48 }, 'action-required', 'on-hold', 'clinic-mirror holds list aurora'],
    [
      'writes-failed',
      { failing: 2, oldestPendingAt: NOW - MINUTE_MS },
      'retrying',
      'writes-failed',
      'clinic-mirror health aurora room',
    ],
    [
      'writes-failed',
      { failing: 2, oldestPendingAt: NOW - 2 * HOUR_MS },
      'action-required',
      'writes-failed',
      'clinic-mirror health aurora room',
    ],
    ['manual-changes', {}, 'action-required', 'manual-changes', 'clinic-mirror audit aurora'],
    [
      'incomplete-data',
      { gaps: [gap] },
      'action-required',
      'agenda-unknown',
      'correct agendas of room in tenants/aurora.yaml',
    ],
    ['read-failed', {}, 'retrying', 'read-failed', null],
  ])('that is %s: %o', (reason, changes, health, code, next) => {
    const found = problems({ targets: [targetOf(reason, changes)] });
    expect(found).toMatchObject([{ tenant: 'aurora', subject: 'target room', health, code, next }]);
  });

  test.each<[string, Partial<TargetStatus>, TargetReason, string[]]>([
    ['its vendor rests', { failure: RESTING }, 'backing-off', ['throttled', 'on-hold']],
    ['it is stopped', { failure: FAILURE }, 'error', ['calendar-gone', 'on-hold']],
    [
      'another hold of its vendor',
      { failure: { ...FAILURE, actor: 'guard', code: 'account' } },
      'on-hold',
      ['account', 'on-hold'],
    ],
    ['records fail', { failing: 2, oldestPendingAt: NOW - MINUTE_MS }, 'on-hold', ['on-hold', 'writes-failed']],
    ['changes by hand wait', { isDriftUnrepaired: true }, 'on-hold', ['on-hold', 'manual-changes']],
    ["rows can't be read", { gaps: [gap] }, 'on-hold', ['on-hold', 'agenda-unknown']],
    ['the last cycle read not all', {}, 'read-failed', ['on-hold', 'read-failed']],
  ])('that is held is reported as held, also while %s', (_what, changes, reason, codes) => {
    const target = targetOf(reason, { ...changes, held: 48, pending: 3 });
    const found = problems({ targets: [target] });
    expect(found.map(({ code }) => code).toSorted()).toEqual(codes.toSorted());
    expect(found.find(({ code }) => code === 'on-hold')).toMatchObject({
      health: 'action-required',
      next: 'clinic-mirror holds list aurora',
    });
    // Each waiting change is counted once.
    expect(found.map(({ waiting }) => waiting).reduce((sum, each) => sum + each, 0)).toBe(3);
  });

  test('that is held is reported after its connection has ended, or while the clinic cannot be read', () => {
    const held = targetOf('on-hold', { held: 48 });
    expect(problems({ connections: [loginOf('needs-login')], targets: [held] }).map(({ code }) => code)).toContain(
      'on-hold',
    );
  });

  test('in its first sync is no problem before an unusually long time', () => {
    const first = (since: number) =>
      targetOf('first-sync', { firstSync: { written: 120, of: 895 }, pending: 775, oldestPendingAt: NOW - since });
    expect(problems({ targets: [first(5 * HOUR_MS)] })).toEqual([]);
    expect(problems({ targets: [first(7 * HOUR_MS)] })).toMatchObject([
      { code: 'first-sync-slow', health: 'action-required', sentence: 'the first sync takes long: 120 of 895 written' },
    ]);
  });

  test('that is held is reported with the begin of the hold', () => {
    const target = targetOf('on-hold', { held: 48, heldSinceAt: NOW - HOUR_MS });
    expect(problems({ targets: [target] })).toMatchObject([{ code: 'on-hold', sinceAt: NOW - HOUR_MS }]);
  });

  test('with a hold of many removed objects names the kind of the hold and the exceeded limit', () => {
    const heldRestorations = { count: 21, limit: { share: 0.2, count: 10 } };
    const target = targetOf('on-hold', { held: 22, heldRestorations });
    expect(problems({ targets: [target] })).toMatchObject([
      {
        code: 'on-hold',
        next: 'clinic-mirror holds list aurora',
        sentence:
          '22 changes on hold until an operator decides. manual-changes: 21 objects removed by hand, above the limit for automatic restoration (more than 10 and 20 %, or half of a small target)',
      },
    ]);
  });

  test('whose connection has ended is reported once, by the connection, with the waiting targets', () => {
    const stopped = targetOf('error', { failure: { ...FAILURE, code: 'login-ended' }, pending: 14 });
    const found = problems({ connections: [loginOf('needs-login', { reason: 'login-ended' })], targets: [stopped] });
    const next = 'clinic-mirror login aurora dav';
    expect(found).toMatchObject([
      { subject: 'connection dav', code: 'login-ended', health: 'action-required', waiting: 14, next },
    ]);
  });
});
