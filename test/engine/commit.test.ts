import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { DAY_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { targetStatus } from '../../src/operator/control/status.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, targetOf } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openCrmWorld, openTenantWorld, patientOf } from '../tenant/world.ts';

const redis = useRedis();

test('a target is not in sync while a list that it requires cannot be read', async () => {
  const { clinic, clock, tenant } = openCrmWorld(redis);
  clinic.patientList.push(patientOf('1'));
  const reasonAfter = async () => {
    const run = await cycle(tenant);
    return (await targetStatus(tenant, targetOf(tenant, 'contacts'), [], run)).reason;
  };
  expect(await reasonAfter()).toBeNull();
  clock.now += 15 * MINUTE_MS;
  const refused = { actor: 'authorization', code: 'missing-claim', retry: 'never', status: 403 } as const;
  clinic.patientsError = new MirrorError('refused', refused);
  expect(await reasonAfter()).toBe('read-failed');
  clinic.patientsError = null;
  expect(await reasonAfter()).toBeNull();
});

describe('the freshness of a target', () => {
  test('after a cycle that could not compute the properties of its contacts', async () => {
    const { clinic, clock, tenant } = openCrmWorld(redis, {
      contacts: { mapping: { lastname: 'lastName', next: 'derived.nextAppointmentAt' } },
    });
    clinic.patientList.push(patientOf('1'));
    await cycle(tenant);
    clock.now += 15 * MINUTE_MS;
    clinic.truncatedAfter = 0;
    await cycle(tenant);
    expect((await tenant.targetStore.read('contacts')).idleAsOf).toBe(NOW);
  });

  test('after an interrupted list of patients, if the target depends on patients', async () => {
    const { clinic, clock, tenant } = openCrmWorld(redis);
    clinic.patientList.push(patientOf('1'));
    clinic.appointments.set('a', { ...appointmentOf('a', { inHours: 24 }), patientId: '1' });
    await cycle(tenant);
    clinic.patientsArePartial = true;
    clock.now += 15 * MINUTE_MS;
    await cycle(tenant);
    expect((await tenant.targetStore.read('activities')).idleAsOf).toBe(NOW);
  });
});

test('the guard counts cancelled and vanished removals, but not those that an administrator approved', async () => {
  const { clinic, clock, tenant } = openTenantWorld(redis, createModelClinic(30), [{ model: createModelTarget() }]);
  await cycle(tenant);
  clinic.appointments.set('0', appointmentOf('0', { inHours: 24, status: 'cancelled' }));
  await cycle(tenant);
  const goneToday = async () => (await tenant.targetStore.goneByDate('doctor', clock.now, 'UTC')).at(-1)?.counts;
  expect(await goneToday()).toMatchObject({ cancelled: 1, vanished: 0, excluded: 0, released: 0 });
  clinic.appointments.clear();
  for (let miss = 0; miss < 2; miss += 1) {
    clock.now += 15 * MINUTE_MS;
    await cycle(tenant);
  }
  const [hold] = await tenant.holds.list();
  expect(hold).toMatchObject({ kind: 'vanished', state: 'open' });
  await tenant.holds.decide(hold?.id ?? '', { state: 'approved', now: clock.now, expiresAt: clock.now + DAY_MS });
  clock.now += 15 * MINUTE_MS;
  await cycle(tenant);
  expect(await tenant.links.count('doctor')).toBe(0);
  expect(await goneToday()).toMatchObject({ cancelled: 1, vanished: 0 });
});
