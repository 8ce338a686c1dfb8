import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import { answered } from '../setup/profile-finder/answers.ts';
import { useRedis } from '../support/redis.ts';
import { EXACT, type SmallWorld, startSmallWorld } from './support/small-world.ts';
import { useProfile } from './support/use-profile.ts';

const redis = useRedis();
const DOCUMENT = fileURLToPath(new URL('../fixtures/openapi-numbers.yaml', import.meta.url));

/** Syncs, cancels five appointments to come, syncs again: each time every calendar shows what the clinic shows. */
async function expectFollowed(world: SmallWorld): Promise<void> {
  const sync = async () => {
    const { code, out, err } = await world.cli('sync', 'clinic-1');
    expect([code, err], out).toEqual([0, expect.not.stringContaining('What to do')]);
    const compared = await world.compareAll();
    expect(compared).toEqual(world.targets.map(() => expect.objectContaining(EXACT)));
    return compared.reduce((sum, { records }) => sum + records, 0);
  };
  const before = await sync();
  const clinicId = world.tenants[0]?.clinicId ?? '';
  const toCome = [...world.clinic.appointments(clinicId)].filter(
    ({ status, start, patientId }) => status === 'Booked' && start > Date.now() && patientId !== null,
  );
  for (const { id } of toCome.slice(0, 5)) world.clinic.cancel(clinicId, id);
  expect([toCome.length >= 5, await sync()]).toEqual([true, before - 5]);
}

async function clinicOfNumbers() {
  const clinic = { dialect: 'numbers' } as const;
  return startSmallWorld({
    redisUrl: redis.url,
    appointments: 160,
    targets: ['google-calendar', 'google-calendar'],
    clinic,
  });
}

test('a clinic of numbers is synced with the profile that check-spec proposes from its document, once the states are answered', async () => {
  const world = await clinicOfNumbers();
  await using _closing = { [Symbol.asyncDispose]: () => world.close() };
  const proposed = join(world.dir, 'proposed.yaml');
  const check = await world.cli('check-spec', DOCUMENT, '--write', proposed);
  expect(check.code).toBe(1);
  const [first, question] = check.out.split('\n');
  expect(first).toMatch(/^Decide, or ask/);
  expect(question).toContain('appointments.statuses: what does the state mean: 0, 10, 20, 30, 40, 90, 91?');
  await useProfile(world, stringify(answered(await readFile(proposed, 'utf8'))));
  await world.logIn();
  await expectFollowed(world);
});

test('and with the profile that the probe proposes from its answers only', async () => {
  const world = await clinicOfNumbers();
  await using _closing = { [Symbol.asyncDispose]: () => world.close() };
  await useProfile(world, '{}');
  await world.logIn();
  const proposed = join(world.dir, 'proposed.yaml');
  const probe = await world.cli('clinic', 'probe', 'clinic-1', '--write', proposed);
  expect([probe.code, probe.err]).toEqual([1, expect.not.stringContaining('What to do')]);
  expect(probe.out).toMatch(/appointments\.statuses: what does the state mean: .*\b90\b/);
  expect(probe.out).toMatch(/^Result of this profile for 20 records: 20 read\.$/m);
  const lines = probe.out.split('\n');
  expect(
    Math.max(
      ...lines.slice(lines.findIndex((line) => line.startsWith('Result of this profile'))).map(({ length }) => length),
    ),
  ).toBeLessThanOrEqual(100);
  await useProfile(world, stringify(answered(await readFile(proposed, 'utf8'))));
  await expectFollowed(world);
});
