import { describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../src/core/model/time.ts';
import { targetStatus } from '../../src/operator/control/status.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, targetOf } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenant } from '../tenant/open-tenant.ts';
import { patientOf } from '../tenant/world.ts';
import { appointmentOf, NOW } from './arbitraries.ts';
import { LONG_MS, readSlowly } from './slow-lists.ts';

const redis = useRedis();

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
});
