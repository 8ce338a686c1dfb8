import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { useRedis } from '../support/redis.ts';
import { expectExact, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const UNGUARDED = { vanished: { share: 1, count: 1_000 } };

test('one command restores a calendar that a wrong filter emptied, and the calendar stays until it is released', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, targets: ['outlook-calendar'] });
  await world.cycle();
  await expectExact(world);
  const file = join(world.configDir, 'tenants', 'clinic-1.yaml');
  const tenant = parse(await readFile(file, 'utf8')) as { targets: Record<string, object> };
  const [[target, settings] = ['', {}]] = Object.entries(tenant.targets);
  tenant.targets[target] = { ...settings, agendas: ['no-such-agenda'], guard: UNGUARDED };
  await writeFile(file, stringify(tenant));

  // The agenda does not exist in the clinic, so the target is never in sync.
  expect((await world.cli('sync', 'clinic-1')).code).toBe(1);
  const emptied = await world.compareAll();
  expect(emptied[0]?.missing).toBeGreaterThan(0);

  const { runs } = JSON.parse((await world.cli('runs', '--json')).out) as { runs: { run: string; deleted: number }[] };
  const [latest] = runs;
  expect(latest?.deleted).toBe(emptied[0]?.missing);
  const run = latest?.run ?? '';
  expect((await world.cli('undo', run, '--dry-run')).out).toContain('nothing was written');
  expect((await world.compareAll())[0]?.missing).toBe(emptied[0]?.missing);

  expect(await world.cli('undo', run)).toMatchObject({
    code: 0,
    out: expect.stringContaining('restored with current'),
  });
  await expectExact(world);
  expect((await world.cli('sync', 'clinic-1')).code).toBe(1);
  await expectExact(world);

  expect((await world.cli('undo', run, '--release')).code).toBe(0);
  expect((await world.cli('sync', 'clinic-1')).code).toBe(1);
  expect((await world.compareAll())[0]?.missing).toBe(emptied[0]?.missing);
});
