import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { connectors } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { inPieces } from '../../src/core/pieces/in-pieces.ts';
import { type Composition, compose } from '../../src/daemon/compose.ts';
import { requireEntry } from '../../src/daemon/open-connection.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import type { ConfigurationChanges } from '../../src/settings/configuration-changes.ts';
import { ConfigurationFiles } from '../../src/settings/configuration-files.ts';
import { retitle, tenantFile, useSmallWorld } from '../e2e/support/small-world.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis();
const NEVER = new AbortController().signal;

/** The product over two clinics, both open, and its files. */
async function open() {
  const world = await useSmallWorld({ redisUrl: redis.url, tenants: 2, targets: ['google-calendar'] });
  const { configDir: dir, env } = world;
  const files = new ConfigurationFiles({ dir, env, connectors, reminderChannels, mode: 'set-aside' });
  const { configuration } = files;
  const composition = compose({ configuration, log: silentLogger, priority: 'interactive' });
  onTestFinished(() => composition.close());
  return {
    world,
    composition,
    configuration,
    settings: join(dir, 'clinic-mirror.yaml'),
    async takeUp(signal = NEVER): Promise<ConfigurationChanges> {
      const next = await inPieces(files.readAgain(await inPieces(files.readStamps())));
      return composition.takeUp(next, signal);
    },
  };
}

const entry = ({ composed }: Composition, id: string) => requireEntry(composed, id);

test('an unchanged tenant stays open; a changed one reopens under another generation, with patient protection', async () => {
  const { world, composition, takeUp } = await open();
  const [one, two] = [entry(composition, 'clinic-1'), entry(composition, 'clinic-2')];
  await retitle(world, 'clinic-1', 'busy');
  expect(await takeUp()).toMatchObject({ changed: ['clinic-1'], unchanged: 1 });
  const [changed, same] = [entry(composition, 'clinic-1'), entry(composition, 'clinic-2')];
  expect(same).toBe(two);
  expect(changed).not.toBe(one);
  expect(changed.tenant.configVersion).not.toBe(one.tenant.configVersion);
  expect([one.tenant.configVersion.hasEnded(), changed.tenant.configVersion.hasEnded()]).toEqual([true, false]);
  expect(changed.tenant.targets.get('doctor-1')?.configuration.title).toBe('busy');
  expect(changed.tenant.protection).toBe(one.tenant.protection);
  expect(changed.tenant.memory).not.toBe(one.tenant.memory);
  await expect(one.tenant.leases.tryTake('plan')).rejects.toMatchObject({ code: 'configuration-superseded' });
  expect(await changed.tenant.leases.tryTake('plan')).not.toBeNull();
});

test('a change without effect on plans reopens the tenants, with their state and generations', async () => {
  const { composition, settings, takeUp } = await open();
  const before = entry(composition, 'clinic-1');
  await writeFile(settings, `${await readFile(settings, 'utf8')}push: { sliceOperations: 17 }\n`);
  expect(await takeUp()).toMatchObject({ changed: [], reopened: ['clinic-1', 'clinic-2'], unchanged: 0 });
  const after = entry(composition, 'clinic-1');
  expect(after.tenant.slice.operations).toBe(17);
  for (const part of ['configVersion', 'links', 'memory', 'protection'] as const) {
    expect(after.tenant[part], part).toBe(before.tenant[part]);
  }
  expect(before.tenant.configVersion.hasEnded()).toBe(false);
});

test('a removed tenant is gone for every caller, and an added one exists', async () => {
  const { world, composition, takeUp } = await open();
  const { tenants } = composition.installation;
  const content = await readFile(tenantFile(world, 'clinic-2'), 'utf8');
  await rm(tenantFile(world, 'clinic-2'));
  const leases = entry(composition, 'clinic-2').tenant.leases;
  await leases.tryTake('plan');
  const removed = await takeUp();
  await composition.register(removed, { rejoins: false });
  expect([tenants.size, tenants.get('clinic-2'), composition.configVersions.has('clinic-2')]).toEqual([
    1,
    undefined,
    false,
  ]);
  expect(await redis.connect().exists('cm:{clinic-2}:lease:plan')).toBe(0);
  await writeFile(tenantFile(world, 'clinic-2'), content);
  await composition.register(await takeUp(), { rejoins: false });
  expect(tenants.get('clinic-2')?.id).toBe('clinic-2');
  expect((await composition.configVersions.get('clinic-2')?.newest())?.isOurs).toBe(true);
});

test('no tenant is replaced while a rotated token is only in memory', async () => {
  const { world, composition, takeUp } = await open();
  const before = entry(composition, 'clinic-1');
  const { refresher } = before.connections.get('clinic')?.tokens ?? {};
  if (refresher === undefined) throw new Error('there are no tokens');
  let asked = 0;
  let isStored = false;
  refresher.isAtRest = () => {
    asked += 1;
    return isStored;
  };
  await retitle(world, 'clinic-1', 'busy');
  const taking = takeUp();
  await waitFor(() => asked > 1, { what: 'the second check' });
  expect(entry(composition, 'clinic-1')).toBe(before);
  isStored = true;
  expect(await taking).toMatchObject({ changed: ['clinic-1'] });
  expect(entry(composition, 'clinic-1')).not.toBe(before);
});

test('the end waits for the tokens of open tenants, and opens no other', async () => {
  const { composition, configuration } = await open();
  const read = vi.spyOn(configuration.tenants, 'get');
  entry(composition, 'clinic-2');
  expect(read.mock.calls).toEqual([['clinic-2']]);
  await composition.close();
  expect(read.mock.calls).toEqual([['clinic-2']]);
});
