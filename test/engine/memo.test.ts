import { describe, expect, test, vi } from 'vitest';
import { MirrorError, storedError } from '../../src/core/model/errors.ts';
import { HOUR_MS } from '../../src/core/model/time.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, pull } from '../tenant/cycle.ts';
import { AGENDAS, inOne, openShared, trySettledHistories, worldOf } from '../tenant/settled-histories.ts';

const redis = useRedis({ appendOnly: false });

// More cases: settled-histories.test.ts.
test('a process that remembers plans as one that does not', () => trySettledHistories(redis, 3));

describe('a calendar for which nothing was planned', () => {
  async function settled() {
    const shared = await openShared(redis);
    for (const [id, agendaId] of [
      ['1', 'a1'],
      ['2', 'a2'],
    ] as const)
      shared.clinic.appointments.set(id, appointmentOf(id, { agendaId, treatmentId: 't1' }));
    const tenant = worldOf(shared, 'studio-rossi', 'appointments').tenant();
    await cycle(tenant);
    await pull(tenant);
    return { shared, tenant, read: vi.spyOn(tenant.links, 'read') };
  }
  const opened = (read: { mock: { calls: [target: string][] } }) => [...new Set(read.mock.calls.map(([id]) => id))];

  test('is not opened again while nothing changes, and says as of when it is in sync', async () => {
    const { shared, tenant, read } = await settled();
    shared.now += HOUR_MS;
    const run = await pull(tenant);
    expect(opened(read)).toEqual([]);
    expect(run.targets.map(({ target, unchanged }) => [target, unchanged])).toEqual([
      ['doctor', 1],
      ['assistant', 1],
      ['clinic', 2],
    ]);
    for (const id of Object.keys(AGENDAS)) {
      const { idleAsOf, plannedAsOf, lastPlannedAt } = await tenant.targetStore.read(id);
      expect([idleAsOf, plannedAsOf, lastPlannedAt]).toEqual([shared.now, shared.now, shared.now]);
    }
  });

  test('is not opened again if it never had an appointment, until its first', async () => {
    const shared = await openShared(redis);
    const { clinic } = shared;
    clinic.appointments.set('1', appointmentOf('1', { agendaId: 'a1', treatmentId: 't1' }));
    const tenant = worldOf(shared, 'studio-rossi', 'appointments').tenant();
    await cycle(tenant);
    await pull(tenant);
    const read = vi.spyOn(tenant.links, 'read');
    shared.now += HOUR_MS;
    await pull(tenant);
    expect(opened(read)).toEqual([]);
    const { idleAsOf, plannedAsOf } = await tenant.targetStore.read('assistant');
    expect([idleAsOf, plannedAsOf]).toEqual([shared.now, shared.now]);
    clinic.appointments.set('2', appointmentOf('2', { agendaId: 'a2', treatmentId: 't1' }));
    const run = await pull(tenant);
    expect(run.targets.find(({ target }) => target === 'assistant')?.planned).toEqual({ new: 1 });
  });

  test('is not opened again when its appointments are recreated with equal content', async () => {
    const { shared, tenant, read } = await settled();
    async function pullAnew() {
      tenant.memory.appointments.invalidate();
      for (const [id, one] of shared.clinic.appointments) shared.clinic.appointments.set(id, structuredClone(one));
      read.mockClear();
      return pull(tenant);
    }
    // Their names were not cached before.
    await pullAnew();
    const { targets } = await pullAnew();
    expect(opened(read)).toEqual([]);
    expect(targets.map(({ unchanged }) => unchanged)).toEqual([1, 1, 2]);
    shared.clinic.appointments.set('2', appointmentOf('2', { agendaId: 'a2', treatmentId: 't1', inHours: 30 }));
    await pullAnew();
    expect(opened(read)).toEqual(['assistant', 'clinic']);
  });

  test('is opened when an appointment of its agendas changes, and the others are not', async () => {
    const { shared, tenant, read } = await settled();
    shared.clinic.appointments.set('2', appointmentOf('2', { agendaId: 'a2', treatmentId: 't1', inHours: 30 }));
    await pull(tenant);
    expect(opened(read)).toEqual(['assistant', 'clinic']);
  });

  test('is opened when its links change, as an audit does that finds a change by hand', async () => {
    const { shared, tenant, read } = await settled();
    await inOne(shared, tenant, { do: 'touch', id: '1', target: 'doctor' });
    read.mockClear();
    const run = await pull(tenant);
    expect(opened(read)).toEqual(['doctor']);
    expect(run.targets[0]?.planned).toEqual({ 'removed-by-hand': 1 });
  });

  test('is opened when records were fetched singly: they may belong to any calendar', async () => {
    const { shared, tenant, read } = await settled();
    shared.clinic.appointments.delete('2');
    await pull(tenant);
    expect(opened(read)).toContain('doctor');
  });

  test('is not reported in sync from a fetch that replaces nearly all of another calendar', async () => {
    const { shared, tenant } = await settled();
    const bookAll = (inHoursOf: (index: number) => number) => {
      for (let index = 0; index < 12; index += 1) {
        const booked = { agendaId: 'a2', treatmentId: 't1', inHours: inHoursOf(index) };
        shared.clinic.appointments.set(`more-${index}`, appointmentOf(`more-${index}`, booked));
      }
    };
    bookAll((index) => 30 + index);
    await cycle(tenant);
    await pull(tenant);
    bookAll((index) => 1 + 2 * index);
    shared.now += HOUR_MS;
    const run = await pull(tenant);
    expect(run.targets.find(({ target }) => target === 'assistant')?.held).toBe(12);
    expect((await tenant.targetStore.read('doctor')).plannedAsOf).toBe(NOW);
  });

  test('is not changed by a note that comes after another change of the calendar', async () => {
    const { shared, tenant } = await settled();
    const { recordIdle: settle } = tenant.targetStore;
    vi.spyOn(tenant.targetStore, 'recordIdle').mockImplementation(async (...told) => {
      await tenant.targetStore.write('doctor', {
        failure: {
          ...storedError(new MirrorError('x', { actor: 'remote', code: 'x', retry: 'later' })),
          sinceAt: shared.now,
        },
      });
      return settle(...told);
    });
    shared.now += HOUR_MS;
    await pull(tenant);
    const [doctor, assistant] = [await tenant.targetStore.read('doctor'), await tenant.targetStore.read('assistant')];
    expect(doctor.idleAsOf).toBe(NOW);
    expect(assistant.idleAsOf).toBe(shared.now);
  });
});
