import { readdirSync, readFileSync } from 'node:fs';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { type Logger, silentLogger } from '../../src/core/log/logger.ts';
import { pushTarget } from '../../src/engine/push.ts';
import { neverNeedless } from '../../src/jobs/job-kinds.ts';
import { JOBS, type JobHandlers, type JobName } from '../../src/tenant/job-catalogue.ts';
import { pullTenant } from '../../src/tenant/pull.ts';
import { openWorkQueues } from '../../src/tenant/work-queues.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useDamage } from '../support/damage.ts';
import { useRedis } from '../support/redis.ts';
import { shiftDate } from '../support/shifted-date.ts';
import { waitFor } from '../support/wait-for.ts';
import { dueAtIn, jobsIn, type LeftBehind, leaveBehind, openUpgradeWorld, putBehind } from './record-upgrade.ts';
import { startSomeWorkers } from './some-workers.ts';

const redis = useRedis();
const damage = useDamage();
const FIXTURES = new URL('../fixtures/upgrade/', import.meta.url);
const opened: { close(graceMs: number): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close(1_000);
});

/** Brings the clinic into its calendar, then has Redis hold what a version left behind instead. */
async function takeOver(left: LeftBehind) {
  const connection = redis.connect();
  const world = await openUpgradeWorld(connection);
  world.change();
  await connection.flushall();
  await putBehind(connection, left);
  return { ...world, tenant: world.open() };
}

/** Workers of this version that pull and push as the daemon does, and record their other jobs. */
function work({ tenant }: Awaited<ReturnType<typeof takeOver>>) {
  const errors: { data: object; message: string }[] = [];
  const log: Logger = { ...silentLogger, error: (data, message) => errors.push({ data, message }), child: () => log };
  const seen = new Map<string, unknown>();
  const waking = openWorkQueues(redis.url, neverNeedless);
  opened.push(waking);
  const noting = Object.fromEntries(
    (Object.keys(JOBS) as JobName[]).map((name) => [name, async (data: unknown) => void seen.set(name, data)]),
  ) as unknown as JobHandlers;
  const handlers: JobHandlers = {
    ...noting,
    async pull(data, { stop }) {
      await pullTenant(tenant, stop);
      await waking.wake(tenant.id, 'doctor', 0);
      seen.set('pull', data);
    },
    async push(data, signals) {
      const target = tenant.targets.get(data.target);
      const turn = target === undefined ? null : await pushTarget(tenant, target, signals);
      if (turn?.nextInMs != null && !signals.stop.aborted) await waking.wake(data.tenant, data.target, turn.nextInMs);
      seen.set('push', data);
    },
  };
  opened.push(startSomeWorkers(redis.url, handlers, { log }));
  return { seen, errors };
}

describe.each(readdirSync(FIXTURES))('the Redis content of version %s', (version) => {
  const left = JSON.parse(readFileSync(new URL(`${version}/redis.json`, FIXTURES), 'utf8')) as LeftBehind;

  test('is processed: every job is understood, pending writes happen once, and decisions remain', async () => {
    // A version follows the previous one: the test date must be later than the recorded content.
    const date = shiftDate(Math.max(0, dueAtIn(left) - Date.now()));
    onTestFinished(() => date.restore());
    const world = await takeOver(left);
    const before = world.model.calls.operations;
    const { seen, errors } = work(world);
    const names = [...new Set(jobsIn(left).map(({ name }) => name))].toSorted();
    expect(names).toEqual(Object.keys(JOBS).toSorted());
    await waitFor(() => seen.size === names.length, { what: 'every kind of job to be done' });
    await waitFor(async () => (await world.tenant.outbox.counts('doctor')).pending === 0, {
      what: 'what waited to be written',
    });
    expect(errors).toEqual([]);
    expect(world.model.objects()).toHaveLength(4);
    expect(await world.tenant.links.count('doctor')).toBe(4);
    // One is moved, two are new, one stays: nothing is written twice or again.
    expect(world.model.calls.operations - before).toBe(3);
    expect((await world.tenant.holds.list()).map(({ state, recordIds }) => [state, recordIds])).toContainEqual([
      'rejected',
      ['kept-by-a-person'],
    ]);
    expect(Object.keys(await world.tenant.journal.pins('doctor', NOW))).toEqual(['put-back']);
    expect([...damage].filter((found) => !found.endsWith(' runs'))).toEqual([]);
  });
});

test('what this version leaves behind holds a job of every kind', async () => {
  const left = await leaveBehind(redis.connect(), redis.url);
  expect([...new Set(jobsIn(left).map(({ name }) => name))].toSorted()).toEqual(Object.keys(JOBS).toSorted());
});
