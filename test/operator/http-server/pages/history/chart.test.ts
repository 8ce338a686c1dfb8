import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../../../src/core/model/time.ts';
import type { TargetHistory } from '../../../../../src/operator/control/history-schemas.ts';
import { ageChart, changesChart } from '../../../../../src/operator/http-server/pages/history/chart.ts';

const FROM = Date.parse('2026-06-15T00:00:00Z');
const RANGE = { fromAt: FROM, untilAt: FROM + 4 * HOUR_MS };
const DAY = { date: '2026-06-15', startAt: FROM, endAt: FROM + 2 * HOUR_MS, worstMs: null, unprovedHours: 0 };
const TARGET: TargetHistory = {
  ...{ target: 'doctor', name: null, connector: 'caldav', inSyncAsOf: FROM, recordedSince: FROM, worstMs: null },
  ...{ unprovedHours: 0, created: 0, updated: 0, deleted: 0, outages: [], days: [] },
  steps: [
    { startAt: FROM, worstMs: 0, unprovedHours: 0 },
    { startAt: FROM + HOUR_MS, worstMs: 4_096 * MINUTE_MS, unprovedHours: 0 },
    { startAt: FROM + 2 * HOUR_MS, worstMs: null, unprovedHours: 1 },
    { startAt: FROM + 3 * HOUR_MS, worstMs: 63 * MINUTE_MS, unprovedHours: 0 },
  ],
};
const ages = (changes: Partial<TargetHistory> = {}) =>
  ageChart({ ...TARGET, ...changes }, RANGE, {
    summary: 'Age <1>',
    ageText: (ms) => `${ms / MINUTE_MS} min`,
  }).toString();
const pathOf = (chart: string, name: string) =>
  new RegExp(`<path class="${name}" d="([^"]*)"`).exec(chart)?.[1] ?? null;

describe('the chart of ages', () => {
  test('has a step per hour on a logarithmic scale, and a gap where nothing is proved', () => {
    const chart = ages();
    expect(pathOf(chart, 'age')).toBe('M0 72V72H250V72zM250 72V0H500V72zM750 72V36H1000V72z');
    expect(pathOf(chart, 'unproved')).toBe('M500 0H750V72H500z');
    expect(chart).toContain('aria-label="Age &lt;1&gt;"');
    expect(chart).toContain('>60 min</text>');
  });

  test('marks no gap before the history began', () => {
    expect(pathOf(ages({ recordedSince: null }), 'unproved')).toBeNull();
  });

  test('has a band for each outage within the range, and a narrow one stays visible', () => {
    const outages = [
      { sinceAt: FROM - 9 * HOUR_MS, untilAt: FROM - HOUR_MS },
      { sinceAt: FROM - HOUR_MS, untilAt: FROM + HOUR_MS },
      { sinceAt: FROM + 2 * HOUR_MS, untilAt: FROM + 2 * HOUR_MS + 1_000 },
      { sinceAt: FROM + 3 * HOUR_MS, untilAt: null },
    ];
    const bands = [...ages({ outages }).matchAll(/class="outage" x="(\d+)" y="0" width="(\d+)"/g)];
    expect(bands.map(([, from, width]) => [from, width])).toEqual([
      ['0', '250'],
      ['500', '3'],
      ['750', '250'],
    ]);
  });
});

test('the chart of changes stacks the kinds of each day below the largest day', () => {
  const days = [
    { ...DAY, created: 2, updated: 1, deleted: 1 },
    { ...DAY, startAt: FROM + 2 * HOUR_MS, endAt: FROM + 9 * HOUR_MS, created: 0, updated: 2, deleted: 0 },
  ];
  const chart = changesChart({ ...TARGET, days }, RANGE, 'Changes').toString();
  expect(pathOf(chart, 'created')).toBe('M4 47V25H496V47z');
  expect(pathOf(chart, 'updated')).toBe('M4 25V14H496V25zM504 47V25H996V47z');
  expect(pathOf(chart, 'deleted')).toBe('M4 14V3H496V14z');
  expect(chart).toContain('>4</text>');
  expect(pathOf(changesChart(TARGET, RANGE, 'Changes').toString(), 'created')).toBeNull();
});
