import { expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import type { OpenReminders } from '../../../src/features/reminders/ports.ts';
import { nextHour, SOURCE_RETRY_MS, sourceStep, stepOf } from '../../../src/features/reminders/steps.ts';
import { NOW } from '../../domain/arbitraries.ts';

const reminders = { file: { unreachableMinutes: 60 } } as OpenReminders;
const away = (retryAfterMs?: number) =>
  new MirrorError('x', {
    actor: 'remote',
    code: 'server-error',
    retry: 'later',
    ...(retryAfterMs && { retryAfterMs }),
  });

test('source-unreachable: an unreachable clinic is queried each minute, or at its requested time, until the time limit', () => {
  expect(sourceStep(away(), NOW, reminders, NOW)).toEqual({
    ...{ wakeAt: NOW + SOURCE_RETRY_MS, code: 'server-error', notSent: true },
  });
  expect(sourceStep(away(5 * MINUTE_MS), NOW, reminders, NOW)).toMatchObject({ wakeAt: NOW + 5 * MINUTE_MS });
  const last = NOW + HOUR_MS - SOURCE_RETRY_MS;
  expect(sourceStep(away(), NOW, reminders, last)).toMatchObject({ wakeAt: NOW + HOUR_MS });
  expect(sourceStep(away(), NOW, reminders, last + 1)).toEqual({
    finish: { state: 'dropped', reason: 'source-unreachable', code: 'server-error' },
  });
});

test('hourly-limit: a reminder waits for the next hour, and is dropped where its grace ends before that', () => {
  const hour = Math.ceil(NOW / HOUR_MS) * HOUR_MS;
  expect(nextHour(hour, hour + HOUR_MS)).toEqual({ wakeAt: hour + HOUR_MS, code: 'hourly-limit', notSent: true });
  expect(nextHour(hour + 59 * MINUTE_MS, hour + HOUR_MS)).toMatchObject({ wakeAt: hour + HOUR_MS });
  expect(nextHour(hour, hour + HOUR_MS - 1)).toMatchObject({ finish: { state: 'dropped', reason: 'hourly-limit' } });
});

test('a decision to wait sends nothing and reports no failure', () => {
  expect(stepOf({ do: 'wait', untilAt: NOW })).toEqual({ wakeAt: NOW, code: null, notSent: true });
});
