import { expect, onTestFinished, test } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { type Composition, compose } from '../../src/daemon/compose.ts';
import { requireEntry } from '../../src/daemon/open-connection.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { syncTenant } from '../../src/operator/control/sync.ts';
import { loadConfiguration } from '../../src/settings/configuration-files.ts';
import { useRedis } from '../support/redis.ts';
import type { SmallWorld } from './support/small-world.ts';
import { expectExact, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const NEVER = new AbortController().signal;

/** The product with a limit of one open tenant. */
function openNarrow(world: SmallWorld): Composition {
  const { configDir: dir, env } = world;
  const configuration = loadConfiguration({ dir, env, connectors, reminderChannels, mode: 'strict' });
  const composition = compose({ configuration, log: silentLogger, priority: 'interactive', openTenants: 1 });
  onTestFinished(() => composition.close());
  return composition;
}

const sync = (composition: Composition, tenant: string) =>
  syncTenant(composition.installation, tenant, { progress: () => {}, signals: { stop: NEVER, abort: NEVER } });

test('a closed tenant continues where it stopped, without more requests or writes than an open one', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, tenants: 2, targets: ['google-calendar'] });
  const composition = openNarrow(world);
  /** Requests of one cycle of each tenant to the clinic and the calendars. */
  const asked = async (by: Composition) => {
    const count = () => ({ clinic: world.clinic.counts.requests(), google: world.google.counts.httpRequests });
    const before = count();
    for (const { id } of world.tenants) await sync(by, id);
    const after = count();
    return { clinic: after.clinic - before.clinic, google: after.google - before.google };
  };
  await asked(composition);
  await expectExact(world);
  const first = composition.composed.get('clinic-1');
  const closed = await asked(composition);
  expect(composition.composed.get('clinic-1')).not.toBe(first);

  const wide = world.open();
  await asked(wide);
  const open = await asked(wide);
  expect(open.clinic).toBeGreaterThan(0);
  expect(closed).toEqual(open);
  await expectExact(world);
});

test('a tenant stays open while it has running work, even if others are opened', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, tenants: 3, targets: ['google-calendar'] });
  const composition = openNarrow(world);
  const { composed } = composition;
  const tenant = composed.get('clinic-1');
  await composition.whileOpen('clinic-1', async () => {
    for (const id of ['clinic-2', 'clinic-3', 'clinic-2']) composed.get(id);
    expect(composed.get('clinic-1')).toBe(tenant);
  });
  composed.get('clinic-2');
  expect(composed.get('clinic-1')).not.toBe(tenant);
});

test('a tenant that is opened again by a process with an older configuration does not take it for the newest', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, tenants: 2, targets: ['google-calendar'] });
  const older = openNarrow(world);
  await sync(older, 'clinic-1');
  await requireEntry(older.configVersions, 'clinic-1').join();
  const newer = openNarrow(world);
  const hash = 'of-another-file';
  const { number } = await requireEntry(older.configVersions, 'clinic-1').newest();
  await newer.redis.hset('cm:{clinic-1}:configuration', { number: number + 1, hash });
  older.composed.get('clinic-2');
  await expect(sync(older, 'clinic-1')).rejects.toMatchObject({ code: 'configuration-superseded' });
  expect(await requireEntry(newer.configVersions, 'clinic-1').newest()).toMatchObject({
    number: number + 1,
    isOurs: false,
  });
});
