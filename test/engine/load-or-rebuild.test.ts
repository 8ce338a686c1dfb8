import { describe, expect, test, vi } from 'vitest';
import { appointmentOf } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, drain, pull, targetOf } from '../tenant/cycle.ts';
import type { TargetChoice } from '../tenant/open-tenant.ts';
import { openCalendarWorld, openDriftWorld, shownBy, stateOf } from '../tenant/world.ts';

const redis = useRedis();

const open = (booked: number, choice?: Partial<TargetChoice>) => openCalendarWorld(redis, booked, choice);

test.each(['links', 'pending'] as const)(
  'a deletion that is carried out after a cycle has read the %s does not hide that its record came back',
  async (first) => {
    const world = openDriftWorld(redis.connect(), 10, 'repair');
    const { clinic, tenant } = world;
    await cycle(tenant);
    clinic.appointments.set('0', appointmentOf('0', { inHours: 24, status: 'cancelled' }));
    await pull(tenant);
    expect(await tenant.outbox.counts('doctor')).toMatchObject({ pending: 1 });
    clinic.appointments.set('0', appointmentOf('0', { inHours: 24 }));

    const drained = () => drain(tenant, targetOf(tenant));
    const { links, outbox } = tenant;
    const [read, pending] = [links.read.bind(links), outbox.pending.bind(outbox)];
    if (first === 'links') {
      vi.spyOn(links, 'read').mockImplementationOnce(async (target) => {
        const found = await read(target);
        await drained();
        return found;
      });
    } else {
      vi.spyOn(outbox, 'pending').mockImplementationOnce(async (target) => {
        const found = await pending(target);
        await drained();
        return found;
      });
    }
    expect((await pull(tenant)).error).toBeNull();
    await drained();
    expect(shownBy(world)).toHaveLength(10);
  },
);

describe('the state that was lost', () => {
  test('is rebuilt from the calendar: nothing is created, nothing is written', async () => {
    const { model, tenant } = open(12);
    await cycle(tenant);
    model.addForeign('Dentist');
    const before = { ...model.calls };
    await redis.connect().flushall();
    const run = await cycle(tenant);
    expect(run.targets[0]).toMatchObject({ planned: {}, unchanged: 12 });
    expect(model.calls).toMatchObject({ operations: before.operations, read: before.read + 1 });
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', links: 12, adopted: 12, ambiguous: 0 });
  });

  test('is rebuilt, and changes in the meantime are corrected', async () => {
    const { clinic, model, tenant } = open(5);
    await cycle(tenant);
    await redis.connect().flushall();
    clinic.appointments.delete('0');
    clinic.appointments.set('1', appointmentOf('1', { inHours: 99 }));
    const edited = model.objects().find(({ item }) => item.time.kind === 'timed' && item.time.start.includes('T12:'));
    if (edited === undefined) throw new Error('expected an object at noon');
    edited.item.title = 'Lunch';
    const first = await cycle(tenant);
    // The forgotten patients are no longer known: writes of patient data wait for an administrator.
    expect(first.targets[0]).toMatchObject({ planned: {}, held: 2 });
    await tenant.protection.accept();
    const second = await cycle(tenant);
    expect(second.targets[0]?.planned).toEqual({ 'content-changed': 2, vanished: 1 });
    expect(model.objects().map(({ item }) => item.title)).toEqual(Array(4).fill('Appointment'));
  });
});

describe('a calendar that was replaced', () => {
  test('is filled again, and is not called in sync before', async () => {
    const { clinic, model, clock, tenant } = open(6);
    await cycle(tenant);
    model.replaceCalendar();
    clinic.appointments.set('new', appointmentOf('new'));
    await cycle(tenant);
    clock.now += 20_000;
    await drain(tenant, targetOf(tenant));
    expect(model.objects()).toEqual([]);
    expect(await stateOf(tenant)).toMatchObject({ links: 0, inSyncAsOf: null, reason: 'first-sync' });
    await cycle(tenant);
    expect(model.objects()).toHaveLength(7);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', links: 7, inSyncAsOf: clock.now });
  });
});
