import { describe, expect, test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { cycle } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenantWorld } from '../tenant/world.ts';
import { appointmentOf } from './arbitraries.ts';

const redis = useRedis();

describe('the report of a run', () => {
  const open = () =>
    openTenantWorld(redis, createModelClinic(3), [{ model: createModelTarget(), configuration: { title: 'busy' } }]);

  test('counts rows that can’t be used and names twenty of them, but none of a forgotten patient', async () => {
    const { clinic, tenant } = open();
    for (let row = 0; row < 25; row += 1) {
      clinic.appointments.set(`odd-${row}`, appointmentOf(`odd-${row}`, { inHours: 24 }));
      clinic.unusable.add(`odd-${row}`);
    }
    const isForgotten = Object.assign((id: string) => id === 'odd-0', { size: 1 });
    const run = await cycle({
      ...tenant,
      tombstones: { ...tenant.tombstones, load: async () => isForgotten },
    } as never);
    expect(Object.values(run.unusable)).toEqual([25]);
    expect(run.unusableExamples).toHaveLength(20);
    const named = run.unusableExamples.map(({ recordId }) => recordId);
    expect(named).toContain('odd-1');
    expect(named).not.toContain('odd-0');
    expect(named.filter((id) => id === null)).toHaveLength(1);
  });

  test('lists each unknown status of the clinic once', async () => {
    const { clinic, tenant } = open();
    for (const id of ['0', '1', '2'])
      clinic.appointments.set(id, { ...appointmentOf(id, { inHours: 24 }), status: 'unknown', rawStatus: 'moved?' });
    clinic.appointments.set('3', { ...appointmentOf('3', { inHours: 25 }), status: 'unknown', rawStatus: null });
    expect((await cycle(tenant)).unknownStatuses).toEqual(['moved?', '(none)']);
  });
});
