import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { viewHistory } from '../../../src/operator/control/history.ts';
import { tenantStatus } from '../../../src/operator/control/status.ts';
import { createOutageStore, type HostOutage } from '../../../src/state/outages.ts';
import { appointmentOf } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle } from '../../tenant/cycle.ts';
import { openBooked } from './open-installation.ts';

const redis = useRedis();
const TEN = Date.parse('2026-06-15T10:00:00Z');

async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const world = openBooked(redis, 3);
  world.clock.now = TEN;
  const cycleAt = async (minutes: number) => {
    world.clock.now = TEN + minutes * MINUTE_MS;
    await cycle(world.tenant);
  };
  const view = async (days: '1' | '7' | '30' = '1', outages: readonly HostOutage[] = []) => {
    const { targets } = await tenantStatus(world.installation, world.tenant);
    const present = { at: world.clock.now, targets, outages };
    const found = await viewHistory(world.tenant, present, { days, target: undefined });
    const [doctor] = found.targets;
    if (doctor === undefined) throw new Error('there is no target');
    return { ...found, doctor };
  };
  return { ...world, connection, cycleAt, view };
}

describe('the history of a target', () => {
  test('is the largest age of each hour, also of cycles without changes, and the present age', async () => {
    const { cycleAt, clock, view } = await open();
    for (const minutes of [0, 5, 10, 30, 55, 61]) await cycleAt(minutes);
    clock.now = TEN + 66 * MINUTE_MS;
    const { doctor, fromAt, untilAt } = await view();
    expect([fromAt, untilAt]).toEqual([TEN - 22 * HOUR_MS, clock.now]);
    expect(doctor.steps).toHaveLength(24);
    expect(doctor.steps.slice(-2)).toEqual([
      { startAt: TEN, worstMs: 25 * MINUTE_MS, unprovedHours: 0 },
      { startAt: TEN + HOUR_MS, worstMs: 6 * MINUTE_MS, unprovedHours: 0 },
    ]);
    expect(doctor).toMatchObject({ worstMs: 25 * MINUTE_MS, unprovedHours: 0, recordedSince: TEN });
  });

  test('shows hours without a cycle as not proved, never as fresh, and then the age of the data', async () => {
    const { cycleAt, clock, view } = await open();
    for (const minutes of [0, 5, 10]) await cycleAt(minutes);
    clock.now = TEN + 4 * HOUR_MS + 10 * MINUTE_MS;
    const stopped = await view();
    expect(stopped.doctor.steps.slice(-5).map(({ worstMs }) => worstMs && worstMs / MINUTE_MS)).toEqual([
      50,
      null,
      null,
      null,
      240,
    ]);
    expect(stopped.doctor.unprovedHours).toBe(3);
    await cycleAt(4 * 60 + 20);
    const { doctor } = await view();
    expect(doctor.steps.slice(-5).map(({ worstMs }) => worstMs && worstMs / MINUTE_MS)).toEqual([
      50,
      null,
      null,
      null,
      250,
    ]);
  });

  test('has steps of six hours for 30 days, and a line for each local day', async () => {
    const { cycleAt, view, clinic } = await open();
    await cycleAt(0);
    clinic.appointments.set('more', appointmentOf('more', { inHours: 100 }));
    await cycleAt(24 * 60);
    const { doctor } = await view('30');
    expect(doctor.steps).toHaveLength(120);
    expect(doctor.days.map(({ date }) => date).slice(-2)).toEqual(['2026-06-15', '2026-06-16']);
    expect(doctor.days.slice(-2).map(({ created }) => created)).toEqual([3, 1]);
    expect(doctor).toMatchObject({ created: 4, updated: 0, deleted: 0 });
    expect(doctor.days.at(-1)?.endAt).toBe(Date.parse('2026-06-16T22:00:00Z'));
  });

  test('is empty before the first cycle', async () => {
    const { view } = await open();
    const { doctor } = await view('7');
    expect(doctor).toMatchObject({ recordedSince: null, worstMs: null, unprovedHours: 0, inSyncAsOf: null });
    expect(doctor.steps.every(({ worstMs }) => worstMs === null)).toBe(true);
  });

  test('has past outages, and the present one, of servers that stop the target', async () => {
    const { connection, tenant, view } = await open();
    const store = createOutageStore(connection, Buffer.alloc(32, 7));
    const facts = { code: 'connection-failed', mayTry: true, lastsAfterMs: HOUR_MS };
    await store.wait('old.example', { tenant: tenant.id, target: null }, { ...facts, now: TEN - DAY_MS });
    await store.end('old.example', TEN - HOUR_MS);
    await store.wait('dav.example', { tenant: tenant.id, target: 'doctor' }, { ...facts, now: TEN - MINUTE_MS });
    await store.wait('crm.example', { tenant: tenant.id, target: 'contacts' }, { ...facts, now: TEN - MINUTE_MS });
    const { doctor } = await view('1', await store.list(TEN));
    expect(doctor.outages).toEqual([
      { sinceAt: TEN - DAY_MS, untilAt: TEN - HOUR_MS },
      { sinceAt: TEN - MINUTE_MS, untilAt: null },
    ]);
  });

  test('of an unknown target is refused', async () => {
    const { tenant } = await open();
    const present = { at: TEN, targets: [], outages: [] };
    await expect(viewHistory(tenant, present, { days: '1', target: 'nobody' })).rejects.toMatchObject({
      code: 'no-such-target',
    });
  });
});
