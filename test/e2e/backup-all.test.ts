import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DAY_MS } from '../../src/core/model/time.ts';
import { createClinicTenantStore } from '../../src/domain/clinic-tenant.ts';
import { forgetPatient } from '../../src/features/forget/forget.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { useRedis } from '../support/redis.ts';
import type { SmallWorld } from './support/small-world.ts';
import { useSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const NEVER = new AbortController().signal;
const TENANTS = ['clinic-1', 'clinic-2'];

function tenantsOf(world: SmallWorld): OpenTenant[] {
  return TENANTS.map((id) => world.opened().installation.tenants.get(id) as OpenTenant);
}

/** Two running clinics: in the first a patient was forgotten, in the second a removal was rejected and a record was restored manually. */
async function open() {
  const world = await useSmallWorld({ redisUrl: redis.url, tenants: 2, appointments: 20 });
  for (const tenant of TENANTS) await world.cycle(tenant);
  const [{ clinicId = '' } = {}] = world.tenants;
  const forgotten = [...world.clinic.appointments(clinicId)].flatMap(({ patientId }) => patientId ?? [])[0] ?? '';
  const signals = { stop: NEVER, abort: NEVER };
  await forgetPatient(world.opened().installation, 'clinic-1', forgotten, { progress: () => {}, signals });
  const [, second] = tenantsOf(world);
  const [target = ''] = second!.targets.keys();
  const context = { linkCount: 20, now: Date.now(), expiresAt: Date.now() + DAY_MS };
  const hold = await second!.holds.cover(target, 'vanished', ['kept-by-a-person'], context);
  await second!.holds.decide(hold!.id, { state: 'rejected', now: Date.now(), expiresAt: Date.now() + DAY_MS });
  await second!.journal.pin(target, ['put-back'], Date.now() + DAY_MS);
  return { world, forgotten, target };
}

/** State in Redis that protects people and decisions. */
async function standing(world: SmallWorld, forgotten: string, target: string) {
  const [first, second] = tenantsOf(world);
  const logins = TENANTS.map((id) => world.opened().installation.tenants.get(id)!);
  return {
    isForgotten: (await first!.tombstones.load())(forgotten),
    rejected: (await second!.holds.list())
      .filter(({ state }) => state === 'rejected')
      .map(({ recordIds }) => recordIds),
    pins: Object.keys(await second!.journal.pins(target, Date.now())),
    clinics: await Promise.all(
      TENANTS.map((id) =>
        createClinicTenantStore(redis.connect(), id, createProofSealer(Buffer.alloc(32, 1), id)).read(),
      ),
    ),
    connected: await Promise.all(
      logins.map(async (tenant) => (await world.opened().installation.connections(tenant)).map(({ state }) => state)),
    ),
  };
}

/** Without a data directory actions are reported as audit lines, and standard error has no other output. */
const ACTS_ALONE = expect.stringMatching(/^(\{"audit":true.*\n)*$/);

test('one file restores all clinics into an empty Redis, without duplicates and without forgotten patients', async () => {
  const { world, forgotten, target } = await open();
  const before = await standing(world, forgotten, target);
  expect(before).toMatchObject({ isForgotten: true, rejected: [['kept-by-a-person']], pins: ['put-back'] });
  const shown = await world.compareAll();
  const file = join(world.dir, 'all.backup');
  expect(await world.cli('backup', '--all', file)).toMatchObject({ code: 0, err: ACTS_ALONE });
  // An existing backup file is not overwritten.
  expect(await world.cli('backup', '--all', file)).toMatchObject({
    code: 1,
    err: expect.stringContaining('file-unusable'),
  });
  expect(await readFile(file, 'utf8')).not.toMatch(/kept-by-a-person|put-back|example/);

  await redis.connect().flushall();
  const damaged = join(world.dir, 'damaged.backup');
  const text = await readFile(file, 'utf8');
  const lines = text.trimEnd().split('\n');
  for (const wrong of [
    lines.slice(0, -1),
    lines.toSpliced(1, 1),
    [...lines.slice(0, 2), lines[1]!, ...lines.slice(2)],
  ]) {
    await writeFile(damaged, `${wrong.join('\n')}\n`);
    expect(await world.cli('restore', '--all', damaged)).toMatchObject({
      code: 1,
      err: expect.stringContaining('backup-damaged'),
    });
  }
  expect(await standing(world, forgotten, target)).toMatchObject({ isForgotten: false, rejected: [], pins: [] });

  const one = await world.cli('restore', '--all', file, '--only', 'clinic-2', '--json');
  expect([one.code, JSON.parse(one.out).restored.map(({ tenant }: { tenant: string }) => tenant)]).toEqual([
    0,
    ['clinic-2'],
  ]);
  expect(await standing(world, forgotten, target)).toMatchObject({ isForgotten: false, pins: ['put-back'] });

  const all = await world.cli('restore', '--all', file);
  expect(all).toMatchObject({ code: 0, err: ACTS_ALONE });
  expect(await standing(world, forgotten, target)).toEqual(before);
  for (const tenant of TENANTS) await world.cycle(tenant);
  expect(await world.compareAll()).toEqual(shown);
  const lacking = await world.cli('restore', '--all', file, '--only', 'nobody');
  expect(lacking).toMatchObject({ code: 1, out: expect.stringContaining('not-in-backup') });
});
