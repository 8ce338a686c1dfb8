import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { viewTargetChanges } from '../../../src/operator/control/target-changes.ts';
import { appointmentOf } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle } from '../../tenant/cycle.ts';
import { openBooked } from './open-installation.ts';

const redis = useRedis();
const TEN = Date.parse('2026-06-15T10:00:00Z');

async function open() {
  await redis.connect().flushall();
  const world = openBooked(redis);
  world.clock.now = TEN;
  const book = (id: string, inHours: number) => world.clinic.appointments.set(id, appointmentOf(id, { inHours }));
  for (const id of ['a', 'b', 'c']) book(id, 48);
  await cycle(world.tenant);
  const later = async (hours: number) => {
    world.clock.now = TEN + hours * HOUR_MS;
    await cycle(world.tenant);
  };
  return { ...world, book, later };
}

describe('what changed in a target', () => {
  test('lists changed and deleted objects of the day with the time before and after, newest first', async () => {
    const { tenant, clinic, book, later } = await open();
    const spanOf = (id: string) => {
      const time = clinic.appointments.get(id)?.time;
      return { startAt: time?.startAt, endAt: time?.endAt };
    };
    const before = spanOf('a');
    book('a', 50);
    await later(1);
    clinic.appointments.set('b', { ...appointmentOf('b', { inHours: 48 }), status: 'cancelled' });
    await later(2);
    const after = spanOf('a');
    expect(after).not.toEqual(before);
    const view = await viewTargetChanges(tenant, 'doctor', '2026-06-15');
    expect(view).toMatchObject({ date: '2026-06-15', created: 3, updated: 1, deleted: 1, isCut: false });
    expect(view.changes).toMatchObject([
      { record: 'b', effect: 'deleted', reason: 'cancelled', changedAt: TEN + 2 * HOUR_MS, before, after: null },
      { record: 'a', effect: 'updated', changedAt: TEN + HOUR_MS, before, after },
    ]);
    expect(view.journalSince).toBe(tenant.clock() - tenant.journal.retentionMs);
  });

  test('is of yesterday by default, in the zone of the clinic', async () => {
    const { tenant, book, later, clock } = await open();
    book('a', 50);
    // 23:00 UTC is the next day in Rome.
    await later(13);
    expect((await viewTargetChanges(tenant, 'doctor', null)).changes).toEqual([]);
    clock.now += DAY_MS;
    const { date, changes, startAt, endAt } = await viewTargetChanges(tenant, 'doctor', null);
    expect([date, changes.map(({ record }) => record)]).toEqual(['2026-06-16', ['a']]);
    expect([startAt, endAt]).toEqual([Date.parse('2026-06-15T22:00Z'), Date.parse('2026-06-16T22:00Z')]);
  });

  test('of an unknown target is refused', async () => {
    const { tenant } = await open();
    await expect(viewTargetChanges(tenant, 'nobody', null)).rejects.toMatchObject({ code: 'no-such-target' });
  });
});
