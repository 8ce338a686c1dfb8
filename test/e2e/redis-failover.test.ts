import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { startDaemon as startProcess } from '../../demo/daemon.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { startDaemon } from '../../src/main.ts';
import { status } from '../../src/operator/control/status.ts';
import { keys } from '../../src/state/keys.ts';
import { cutReplicas, type RedisGroup, startClusterGroup, startSentinelGroup } from '../../tools/redis-groups.ts';
import { waitFor } from '../support/wait-for.ts';
import type { SmallTarget } from './support/small-configuration.ts';
import type { SmallWorld } from './support/small-world.ts';
import { expectExact, useSmallWorld } from './support/small-world.ts';
import { BATCHES } from './support/traffic.ts';

const LOST = keys.outbox('clinic-1', 'doctor');

describe.each([
  ['the master that the sentinels know', startSentinelGroup],
  ["a tenant's master of a cluster", startClusterGroup],
])('%s dies', (_, startGroup) => {
  async function open(): Promise<{ group: RedisGroup; world: SmallWorld }> {
    const group = await startGroup(inject('redisServer'));
    onTestFinished(() => group.stop());
    const dataDirectory = await mkdtemp(join(tmpdir(), 'clinic-mirror-data-'));
    onTestFinished(() => rm(dataDirectory, { recursive: true }));
    const settings = { dataDirectory };
    const world = await useSmallWorld({ redis: group.settings, settings, appointments: 90 });
    await group.untilReplicated();
    return { group, world };
  }

  test('in the middle of a sync: its replica takes over, and nothing is doubled, lost or held', async () => {
    const { group, world } = await open();
    const [{ proxy }] = world.targets as [SmallTarget];
    const master = await group.masterOf(LOST);
    let isDead = false;
    // Google has carried out the batch; what it answered can't be stored any more.
    const strike = <Passed>(passed: Passed) => {
      void master.crash().then(() => {
        isDead = true;
      });
      return passed;
    };
    proxy.add({ url: BATCHES, times: 1, fault: { kind: 'rewrite', answer: strike } });
    const daemon = start(world);
    await waitFor(() => isDead, { what: 'the death of the master' });

    await untilInSync(world);

    expect((await group.masterOf(LOST)).pid).not.toBe(master.pid);
    await expectExact(world);
    await expectEnd(daemon, world);
  });

  test('before its replica received a sync: the loss is detected, and the written objects are found', async () => {
    const { group, world } = await open();
    await world.cycle();
    await group.untilReplicated();
    const master = await group.masterOf(LOST);
    await cutReplicas(group, master);
    world.clinic.simulate(world.tenants[0]?.clinicId ?? '', { booked: 6, moved: 6, cancelled: 3 });
    await world.cycle();
    await master.crash();
    world.clinic.simulate(world.tenants[0]?.clinicId ?? '', { booked: 2, moved: 2, cancelled: 2 });
    const daemon = await startDaemon(world.opened().configuration, silentLogger, new AbortController().signal);
    onTestFinished(() => daemon.close());

    await untilInSync(world);

    const { state, tenants } = await status(world.opened().installation);
    expect(state.writesLostAt).not.toBeNull();
    expect(tenants.map(({ uncertainty: doubt }) => doubt)).toEqual([null]);
    await expectExact(world);
  });
});

/** Expects the daemon to exit by itself; otherwise shows its last log lines. */
async function expectEnd(daemon: ReturnType<typeof start>, { dir }: SmallWorld): Promise<void> {
  const code = await daemon.stop();
  const logged = code === 0 ? [] : (await readFile(join(dir, 'daemon.log'), 'utf8')).split('\n').slice(-30);
  expect(code, logged.join('\n')).toBe(0);
}

function start(world: SmallWorld) {
  const daemon = startProcess(world);
  onTestFinished(async () => {
    if (daemon.process.exitCode === null && daemon.process.signalCode === null) await daemon.kill();
  });
  return daemon;
}

/** In sync now, without open holds. */
async function untilInSync(world: SmallWorld): Promise<void> {
  const since = Date.now();
  const { installation, queues } = world.opened();
  await waitFor(
    async () => {
      for (const { id } of world.tenants) await queues.pullNow(id);
      const { tenants } = await status(installation);
      const targets = tenants.flatMap((tenant) => tenant.targets);
      if (targets.every((one) => one.sync === 'in-sync' && (one.inSyncAsOf ?? 0) >= since && one.held === 0))
        return true;
      const logins = tenants.flatMap(({ connections }) => connections.map(({ state }) => state));
      const error = tenants.map(({ lastRun }) => lastRun?.error?.code ?? 'none');
      throw new Error(`targets ${targets.map(({ sync }) => sync)}, logins ${logins}, errors ${error}`);
    },
    { what: 'the targets to be in sync', timeoutMs: 60_000, intervalMs: 300 },
  );
}
