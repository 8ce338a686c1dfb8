import { describe, expect, test } from 'vitest';
import { targetStatus } from '../../src/operator/control/status.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, targetOf } from '../tenant/cycle.ts';
import { held, openCrmWorld, patientOf } from '../tenant/world.ts';
import { appointmentOf, NOW } from './arbitraries.ts';
import { readSlowly } from './slow-lists.ts';

const redis = useRedis();

describe('what is planned', () => {
  test('uses a registry read before it if a CRM depends on the registry, and is as fresh as its oldest source', async () => {
    const { clinic, clock, tenant, activities } = openCrmWorld(redis);
    clinic.patientList.push(patientOf('1'));
    for (const id of ['gone', 'stays']) clinic.appointments.set(id, appointmentOf(id, { patientId: '1' }));
    readSlowly(clinic, 'readPatients', clock, 'gone');
    await cycle(tenant);
    expect(held(activities)).toHaveLength(1);
    expect(activities.calls.operations).toBe(1);
    for (const id of ['contacts', 'activities']) {
      expect(await targetStatus(tenant, targetOf(tenant, id), [])).toMatchObject({ inSyncAsOf: NOW });
    }
  });
});
