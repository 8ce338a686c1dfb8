import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { renderHistory } from '../../../src/operator/cli/render-history.ts';
import type { TargetHistory } from '../../../src/operator/control/history-schemas.ts';
import { NOW } from '../../domain/arbitraries.ts';

const ages = [null, 1, 5, 6, 61, 2_000, ...Array.from({ length: 18 }, () => 4)];
const TARGET: TargetHistory = {
  ...{ target: 'doctor-with-a-long-name', name: 'Dr Bianchi', connector: 'google-calendar' },
  ...{ inSyncAsOf: NOW - MINUTE_MS, recordedSince: NOW - DAY_MS, worstMs: 2_000 * MINUTE_MS, unprovedHours: 1 },
  ...{ created: 12, updated: 3, deleted: 4_000 },
  steps: ages.map((minutes, hour) => ({
    startAt: NOW + (hour - ages.length) * HOUR_MS,
    worstMs: minutes === null ? null : minutes * MINUTE_MS,
    unprovedHours: minutes === null ? 1 : 0,
  })),
  days: [
    {
      ...{ date: '2026-06-15', startAt: NOW - DAY_MS, endAt: NOW, worstMs: null, unprovedHours: 1 },
      ...{ created: 12, updated: 3, deleted: 4_000 },
    },
  ],
  outages: [{ sinceAt: NOW - HOUR_MS, untilAt: null }],
};
const shown = (targets: TargetHistory[], isOfOne: boolean, days: '1' | '30' = '1') =>
  renderHistory(
    { tenant: 'aurora', zone: 'Europe/Rome', fromAt: NOW - DAY_MS, untilAt: NOW, targets },
    { isOfOne, days },
  );

test('targets have one line each, with a bar per hour and a dot without a proof, within 100 columns', () => {
  const text = shown([TARGET, { ...TARGET, target: 'new', recordedSince: null, worstMs: null }], false);
  expect(text).toContain(`·▁▁▂▅█${'▁'.repeat(18)}`);
  expect(text).toMatch(/\ndoctor-with.*… .* 60 s +33 h +1 +12 +3 +4000 +1\n/);
  expect(text).toMatch(/\nnew .* – {2}/);
  expect(Math.max(...text.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(100);
});

test('one target has a line per day, its outages and the bars', () => {
  const text = shown([TARGET], true, '30');
  expect(text).toMatch(/2026-06-15 +– +1 +12 +3 +4000\n/);
  expect(text).toMatch(/outage: \S+ \S+ to now/);
  expect(text).toContain('doctor-with-a-long-name  ·▁▁');
  expect(text).not.toContain('--days 7');
});

test('a longer history has one bar for several steps, with the worst of them', () => {
  const steps = Array.from({ length: 120 }, (_, step) => ({
    ...{ startAt: NOW, unprovedHours: 0 },
    worstMs: step === 41 ? DAY_MS : MINUTE_MS,
  }));
  expect(shown([{ ...TARGET, steps }], false, '30')).toContain(`${'▁'.repeat(8)}▆${'▁'.repeat(15)}`);
  expect(shown([], false)).toBe('No target is configured.');
});
