import { expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { useRedis } from '../support/redis.ts';
import { openComposition } from './open-composition.ts';

const redis = useRedis();

const REMINDERS = `reminders:
  phone: "06 1234567"
  channels: { test: { kind: dry } }
  rules: { soon: { before: PT1H, channels: [test] } }
  links: { cancel: true }
`;

const open = (settings = '', tenant = '') =>
  openComposition(redis.url, { settings, tenant }).composed.get('uno')!.tenant;

test.each([
  [30, HOUR_MS, 15 * SECOND_MS],
  [3_600, 2 * HOUR_MS, 5 * MINUTE_MS],
])(
  'cycles each %d s: a plan is valid for an hour or two cycles, a miss for half a cycle or five minutes',
  (seconds, planLifeMs, missedForMs) => {
    const tenant = open(`schedule: { pullEverySeconds: ${seconds} }\n`);
    expect(tenant).toMatchObject({ pullEveryMs: seconds * SECOND_MS, planLifeMs, missedForMs });
  },
);

test('a slice of a lane ends at the limits in the settings', () => {
  const tenant = open('push: { sliceOperations: 17, sliceSeconds: 9 }\n');
  expect(tenant.slice).toEqual({ operations: 17, durationMs: 9 * SECOND_MS });
});

test('a tenant without reminders watches no appointments for them', () => {
  expect(open()).toMatchObject({ reminders: null, followers: [] });
  expect(open('', REMINDERS.replace(/ {2}links.*\n/, '')).followers).toHaveLength(1);
});

test('queries of a clinic for users and those for cycles have one source each', () => {
  const composed = openComposition(redis.url).composed.get('uno')!;
  expect(composed.promptClinic).toBe(composed.promptClinic);
  expect(composed.tenant.clinic).toBe(composed.tenant.clinic);
  expect(composed.promptClinic).not.toBe(composed.tenant.clinic);
});
