import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runFortnight } from '../../bench/reminders/fortnight.ts';
import { reportOn } from '../../bench/reminders/report.ts';
import { useRedis } from '../support/redis.ts';
import { TESTER } from '../support/redis-users.ts';

const redis = useRedis();
const HOUR_MS = 3_600_000;
const SOUND = '../../bench/reminders/worker-main.ts';

/** A few days around the change to summer time in Rome. */
async function simulate(
  script: string,
  own: { appointments: number; seed: number; kills: number; pullEveryMs: number },
) {
  const connection = redis.connect();
  const run = await runFortnight({
    ...own,
    firstDay: '2026-03-26',
    days: 5,
    failures: { lostAnswers: 0.04, throttled: 0.04 },
    // The simulated queue has separate keys, which the daemon's Redis user must not access.
    redisUrl: `redis://${TESTER.username}:${TESTER.password}@127.0.0.1:${redis.port}`,
    redis: connection,
    script: fileURLToPath(new URL(script, import.meta.url)),
    onDay: () => {},
  });
  return reportOn(run, own.appointments, connection);
}

test('days with kills, a downtime and lost answers: nothing wrong, double, missed or left open', async () => {
  const report = await simulate(SOUND, { appointments: 50, seed: 5, kills: 3, pullEveryMs: HOUR_MS });
  expect(report).toMatchObject({
    wrongBy: {},
    double: 0,
    missed: 0,
    examples: [],
    claimed: 0,
    open: 0,
    false: 0,
    strangers: 0,
    killed: 3,
  });
  expect(Math.min(report.corrected, report.listed)).toBeGreaterThan(0);
  expect(report.sent).toBeGreaterThan(40);
  expect(report.received).toBeGreaterThanOrEqual(report.sent);
});

test('the judge sees that a worker does not query the clinic again, knows no night, and forgets what it did', async () => {
  const report = await simulate('broken-worker.ts', {
    appointments: 30,
    seed: 5,
    kills: 0,
    pullEveryMs: 3 * HOUR_MS,
  });
  // Each number is zero without its fault.
  const { night = 0, cancelled = 0, 'nothing-then': nothingThen = 0 } = report.wrongBy;
  expect(night).toBeGreaterThan(0);
  expect(cancelled + nothingThen).toBeGreaterThan(0);
  expect(report.double).toBeGreaterThan(0);
});
