import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type Result, writeResult } from '../../bench/result.ts';
import { performanceParts, performancePictures, readResults } from '../../tools/performance-page.ts';

const COMMON = { command: 'npm run bench -- --only a', measuredOn: '2026-05-13', machine: { cores: 2 } };

function resultOf(values: Readonly<Record<string, number>>): Result {
  return { ...COMMON, figures: Object.entries(values).map(([name, value]) => ({ name, value, n: 10 })) };
}

function growthOf(bytes: (size: number) => number): Result {
  const rows = [1_000, 10_000, 100_000].map((size) => ({ size, stateBytes: bytes(size) }));
  return { ...COMMON, figures: [], rows };
}

test('a line has the measured values, and is left out without a value', () => {
  const results = new Map([['latency', resultOf({ 'latency p50': 46.2, 'latency p99': 1_234 })]]);
  const part = performanceParts(results).get('performance-latency') ?? '';
  expect(part).toMatch(/^- \*\*Clinic that answers at once: p50 46\.2 ms, p99 1,230 ms\.\*\* clinic-mirror /);
  expect(part).not.toContain('after 50 ms');
  expect(part).toContain('Command: `npm run bench -- --only a`; measured on 2026-05-13, 2 cores.');
});

test('a cost that grows with the number is no exception', () => {
  const results = new Map([['growth-appointments', growthOf((size) => 1e6 + 50 * size)]]);
  const part = performanceParts(results).get('performance-growth-appointments') ?? '';
  expect(part).toContain('| Redis memory (MB) | 1.5 at 10,000 | 6 at 100,000 | 0.4 |');
  expect(part).toContain('No row grows faster');
});

test('a cost that grows faster than the number is named', () => {
  const results = new Map([['growth-appointments', growthOf((size) => size ** 1.5)]]);
  expect(performanceParts(results).get('performance-growth-appointments')).toContain(
    'Faster than the number of appointments (*growth per unit* above 1.25): Redis memory (MB).',
  );
});

test('a picture exists for each measurement with rows or a series', () => {
  const tenants: Result = {
    ...resultOf({ 'tenants memory': 300 }),
    megabytesOverTime: [
      [0, 200],
      [60, 300],
    ],
  };
  const results = new Map([
    ['growth-appointments', growthOf((size) => size)],
    ['tenants', tenants],
  ]);
  expect([...performancePictures(results).keys()]).toEqual(['growth-appointments.svg', 'memory.svg']);
  expect(performanceParts(results).get('performance-memory')).toContain('10 clinics at work, 1 min: 200 to 300');
});

test('a result is read as written, with four digits', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'clinic-mirror-results-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await writeResult(folder, 'latency', { ...resultOf({ 'latency p50': 46.23456 }), rows: [{ size: 1, seconds: 2 }] });
  const expected = { ...resultOf({ 'latency p50': 46.23 }), rows: [{ size: 1, seconds: 2 }] };
  expect(readResults(folder)).toEqual(new Map([['latency', expected]]));
});
