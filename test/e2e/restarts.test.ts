import { expect, test } from 'vitest';
import { keys } from '../../src/state/keys.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { runUntilInSync, start } from './support/daemons.ts';
import type { SmallTarget, SmallTenant } from './support/small-configuration.ts';
import { expectExact, useSmallWorld } from './support/small-world.ts';
import { BATCHES, writesAt } from './support/traffic.ts';

const redis = useRedis();
/** Waiting for the leases and locks of dead processes to expire would take far longer than the test. */
const TEN_MINUTES_MS = 600_000;
const RESTARTS = 3;
/** From the end of the start to the first write, though a process that died elsewhere holds the lane. */
const RESUMES_MS = 10_000;

test('a daemon that is killed after each planned cycle writes again at once after each restart', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    appointments: 60,
    settings: { leases: { ttlMs: TEN_MINUTES_MS } },
  });
  const { clinicId } = world.tenants[0] as SmallTenant;
  const { proxy } = world.targets[0] as SmallTarget;
  const { installation } = world.open();
  const lastRun = async () => (await installation.tenants.get('clinic-1')?.runs.list(1))?.[0]?.id;
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    proxy.forget();
    world.clinic.simulate(clinicId, { booked: 4, moved: 4, cancelled: 2 });
    const before = await lastRun();
    const daemon = start(world);
    await waitFor(async () => (await lastRun()) !== before, { what: 'a planned cycle' });
    await waitFor(() => writesAt(proxy).length > 0, { what: 'a write' });
    await daemon.kill();
  }

  await runUntilInSync(world, [start(world)]);

  await expectExact(world);
  expect(writesAt(proxy).length).toBeGreaterThan(0);
});

test('a daemon that was killed on another host in the middle of a write is succeeded within ten seconds, three times in a row', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    appointments: 60,
    settings: { leases: { ttlMs: TEN_MINUTES_MS } },
  });
  const { proxy } = world.targets[0] as SmallTarget;
  const client = redis.connect();
  const killedInWrite = async (timeoutMs: number) => {
    const daemon = start(world);
    const request = <Passed>(passed: Passed) => {
      daemon.process.kill('SIGKILL');
      return passed;
    };
    proxy.add({ url: BATCHES, fault: { kind: 'rewrite', request } });
    await daemon.started;
    await waitFor(() => daemon.process.signalCode === 'SIGKILL', { what: 'a write', timeoutMs });
    proxy.clear();
    await moveToAnotherHost();
    expect(await client.keys('*:lease:lane-*')).toHaveLength(1);
  };
  /** Records of another boot of another kernel prove nothing here. */
  const moveToAnotherHost = async () => {
    for (const [id, entry] of Object.entries(await client.hgetall(keys.processes()))) {
      await client.hset(keys.processes(), id, JSON.stringify({ ...JSON.parse(entry), kernel: `host of ${id}` }));
    }
  };
  await killedInWrite(90_000);

  for (let restart = 0; restart < RESTARTS; restart += 1) await killedInWrite(RESUMES_MS);

  await runUntilInSync(world, [start(world)]);
  await expectExact(world);
});
