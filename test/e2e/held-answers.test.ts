import { expect, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { startDaemon } from '../../src/main.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { useSmallWorld } from './support/small-world.ts';

const redis = useRedis();

test('while a clinic system answers some clinics of a client not at all, another one gets its calendar', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    targets: ['google-calendar'],
    tenants: 7,
    appointments: 10,
    settings: { operator: { port: 0 }, schedule: { pullEverySeconds: 86_400, auditEverySeconds: 604_800 } },
    clinicClient: { budget: { requestsPerMinute: 60_000, burst: 1_000 } },
  });
  await world.logIn();
  const held = world.tenants.slice(0, 6);
  const healthy = world.tenants[6]?.id ?? '';
  const released = Promise.withResolvers<void>();
  for (const { clinicId } of held) {
    const url = new RegExp(`/${clinicId}([/?]|$)`);
    world.clinicProxy.add({ url, times: 1_000, fault: { kind: 'hold', until: released.promise } });
  }
  const daemon = await startDaemon(world.open().configuration, silentLogger, new AbortController().signal);
  try {
    const written = async (tenant: string) => {
      const { links } = daemon.composition.installation.tenants.get(tenant) ?? { links: null };
      return (await links?.count('doctor-1')) ?? 0;
    };
    await waitFor(async () => (await written(healthy)) > 0, { what: "the healthy clinic's entries" });
    expect(await Promise.all(held.map(({ id }) => written(id)))).toEqual(held.map(() => 0));
    released.resolve();
    await waitFor(async () => (await Promise.all(held.map(({ id }) => written(id)))).every((count) => count > 0), {
      what: 'the others, when they are answered',
    });
  } finally {
    released.resolve();
    await daemon.close();
  }
});
