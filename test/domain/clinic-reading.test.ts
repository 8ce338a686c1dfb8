import { describe, expect, test } from 'vitest';
import { targetStatus } from '../../src/control/status.ts';
import type { Appointment } from '../../src/model/records.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/model/time.ts';
import { cycle, targetOf } from '../jobs/cycle.ts';
import { createModelClinic, type ModelClinic } from '../jobs/model-clinic.ts';
import { createModelTarget } from '../jobs/model-target.ts';
import { openTenant } from '../jobs/open-tenant.ts';
import { held, openCrmWorld, patientOf } from '../jobs/world.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf, NOW } from './arbitraries.ts';

const redis = useRedis();
const LONG_MS = 20 * MINUTE_MS;

/** Makes one of the clinic's lists take long; the appointment is cancelled while it is read. */
function readSlowly(clinic: ModelClinic, list: 'patients' | 'readPatients', clock: { now: number }, id: string): void {
  const read = clinic[list] as (signal: AbortSignal) => Promise<never>;
  Object.assign(clinic, {
    async [list](signal: AbortSignal) {
      clock.now += LONG_MS;
      const known = clinic.appointments.get(id) as Appointment;
      clinic.appointments.set(id, { ...known, status: 'cancelled' });
      return await read(signal);
    },
  });
}

describe('what is planned', () => {
  test('is of after the long list of patients whose names appointments lack, from the first cycle on', async () => {
    const clinic = createModelClinic();
    const model = createModelTarget();
    const clock = { now: NOW };
    const nameless = (id: string) => appointmentOf(id, { patientId: '1', patient: null });
    clinic.patientList.push(patientOf('1'));
    for (const id of ['first', 'second', 'stays']) clinic.appointments.set(id, nameless(id));
    const targets = [{ model, configuration: { title: 'full' as const } }];
    const tenant = openTenant({ redis: redis.connect(), clinic, clock: () => clock.now, targets });
    let written: string[] = [];
    model.beforeApply = (operations) => {
      written = operations.map(({ recordId }) => recordId);
    };
    readSlowly(clinic, 'patients', clock, 'first');
    await cycle(tenant);
    expect(written.sort()).toEqual(['second', 'stays']);
    expect(clinic.counts.lists).toBe(2);
    expect(await targetStatus(tenant, targetOf(tenant), [])).toMatchObject({ inSyncAsOf: NOW + LONG_MS });
    expect(model.objects()[0]?.item.title).toContain('Anna Verdi 1');

    clinic.appointments.set('third', nameless('third'));
    readSlowly(clinic, 'patients', clock, 'third');
    clock.now += HOUR_MS;
    written = [];
    await cycle(tenant);
    expect(written).not.toContain('third');
    expect(clinic.counts.lists).toBe(3);
  });

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
