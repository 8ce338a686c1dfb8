import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/model/time.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf } from '../sync/arbitraries.ts';
import { held, joined, openCrmWorld, patientOf } from './crm-world.ts';
import { cycle, targetOf } from './cycle.ts';

const redis = useRedis();

test('two patients that the clinic merges become one contact, and what both did is joined to it', async () => {
  const world = openCrmWorld(redis);
  const { clinic, contacts, activities, tenant, clock } = world;
  clinic.patientList.push(patientOf('kept'), patientOf('merged-away'), patientOf('another'));
  clinic.appointments.set('a', { ...appointmentOf('a', { inHours: 24 }), patientId: 'kept' });
  clinic.appointments.set('b', { ...appointmentOf('b', { inHours: 48 }), patientId: 'merged-away' });
  await cycle(tenant);
  expect(held(contacts)).toHaveLength(3);

  clinic.patientList.splice(1, 1);
  clinic.appointments.set('b', { ...appointmentOf('b', { inHours: 48 }), patientId: 'kept' });
  clock.now += 15 * MINUTE_MS;
  await cycle(tenant);
  expect(
    held(contacts)
      .map(({ lastname }) => lastname)
      .sort(),
  ).toEqual(['Verdi another', 'Verdi kept']);
  const key = targetOf(tenant, 'contacts').identity.key('kept', 0);
  expect(joined(activities)).toEqual([key, key]);

  const { operations } = activities.calls;
  clock.now += 15 * MINUTE_MS;
  await cycle(tenant);
  expect(activities.calls.operations).toBe(operations);
});
