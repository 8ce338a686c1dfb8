import { expect, test } from 'vitest';
import { HOUR_MS } from '../../../../src/core/model/time.ts';
import type { InstallationReadings } from '../../../../src/operator/control/installation-readings.ts';
import { factsOf } from '../../../../src/operator/http-server/pages/installation-facts.ts';
import { NOW } from '../../../domain/arbitraries.ts';
import { pageContext, wordsOf } from './page-context.ts';

/** State of a healthy installation. */
function readings(changes: Partial<InstallationReadings> = {}, status: object = {}): InstallationReadings {
  const healthy = {
    ...{ at: NOW, incidents: [], awaitsRestart: [], refused: [], unusable: [], daemons: [], alertFailures: [] },
    ...{ quotas: [], tenants: [], endings: [], removed: [], unkept: null },
    state: { durability: 'durable', directory: 'kept' },
    ...status,
  };
  return {
    ...{ status: healthy as never, problems: [], ended: [], queues: [], checks: null, readAt: NOW },
    redis: { refusal: null, clockAheadMs: 0, daemonSeenAgoMs: 0, answerMs: 0.4, memory: null },
    backups: { log: 'read', last: null },
    ...changes,
  };
}

const told = (part: keyof ReturnType<typeof factsOf>, found: InstallationReadings, language: 'en' | 'it' = 'en') =>
  wordsOf(String(factsOf(pageContext({ language }), found, 0)[part].content ?? ''));

test('a backup is told with its tenant and time; without one, the command that writes it', () => {
  const last = { at: NOW - HOUR_MS, tenant: 'aurora' };
  expect(told('backups', readings({ backups: { log: 'read', last } }))).toContain('aurora');
  expect(told('backups', readings())).toContain('clinic-mirror backup --all');
  const texts = (['none', 'failed'] as const).map((log) => told('backups', readings({ backups: { log, last: null } })));
  expect(new Set(texts).size).toBe(2);
});

test('no part without a check has a state', () => {
  const facts = factsOf(pageContext(), readings(), 0);
  expect([facts.backups.isJudged, facts.retention.isJudged, facts.redis.isJudged]).toEqual([false, false, true]);
});

test('daemons with one configuration are one sentence, with several one for each', () => {
  const running = (pid: number, hash: string) => ({ host: 'one', pid, hash, sinceAt: NOW - pid });
  expect(told('daemons', readings())).not.toContain('one (pid');
  const same = told('daemons', readings({}, { daemons: [running(1, 'a'), running(2, 'a')] }));
  const different = told('daemons', readings({}, { daemons: [running(1, 'a'), running(2, 'b')] }));
  expect(same).toContain('pid 1');
  expect(different).not.toBe(same);
});

test('the memory of Redis is told with and without a limit, in both languages', () => {
  const of = (limitBytes: number | null) =>
    readings({ redis: { ...readings().redis, memory: { usedBytes: 3 * 2 ** 20, limitBytes } } });
  expect(told('redis', of(null))).toContain('3 MiB');
  expect(told('redis', of(2 ** 30), 'it')).toMatch(/3 MiB.*1[.\s]?024 MiB/);
});

test('the most used budget is told in whole percent', () => {
  const quotas = [
    { client: 'a', hourShare: 0.1, days: [] },
    { client: 'b', hourShare: 0.899, days: [] },
  ];
  expect(told('budgets', readings({}, { quotas }))).toMatch(/ b, .*89 %/);
});
