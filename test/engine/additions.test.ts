import { describe, expect, test } from 'vitest';
import type { Appointment } from '../../src/core/model/records.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { auditTarget } from '../../src/engine/audit-target.ts';
import { eraseRecords } from '../../src/features/forget/erase.ts';
import { findRecords } from '../../src/features/forget/records.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { withSource } from '../support/with-source.ts';
import { cycle, drain, NEVER, pull, targetOf, twoCycles } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenant } from '../tenant/open-tenant.ts';

const redis = useRedis();
const NOTE = 'bring the X-ray';

/** A calendar in which a user added a note to the event of appointment `from`. */
async function noted(more: { reschedule?: number; firstOf?: Partial<Appointment> } = {}) {
  const clinic = createModelClinic(12);
  const model = createModelTarget();
  const clock = { now: NOW };
  const connection = redis.connect();
  const open = (by: RedisClient = connection) => {
    const tenant = openTenant({
      ...{ redis: by, clinic, clock: () => clock.now, targets: [{ model }] },
    });
    const reminders = { rescheduleWithinMinutes: more.reschedule } as NonNullable<
      typeof tenant.configuration.reminders
    >;
    return more.reschedule === undefined
      ? tenant
      : withSource({ ...tenant, configuration: { ...tenant.configuration, reminders } });
  };
  const tenant = open();
  const book = (id: string, changes: Parameters<typeof appointmentOf>[1] = {}) =>
    clinic.appointments.set(id, appointmentOf(id, { patientId: 'p7', treatmentId: 't1', ...changes }));
  for (let id = 0; id < 12; id += 1) book(`${id}`, { patientId: `p${id}x`, inHours: 24 + id });
  book('from', { inHours: 40, ...more.firstOf });
  await cycle(tenant);
  const eventOf = (recordId: string) => {
    const key = targetOf(tenant).identity.key(recordId, 0);
    return model.objects().find((object) => object.key === key);
  };
  eventOf('from')!.additions = [NOTE];
  await auditTarget(tenant, targetOf(tenant), NEVER);
  /** Every note, by the record of its event. */
  const notes = () =>
    Object.fromEntries(
      [...clinic.appointments.keys()].flatMap((id) => {
        const { additions } = eventOf(id) ?? {};
        return additions === undefined ? [] : [[id, additions]];
      }),
    );
  const later = async (minutes: number, by = tenant) => {
    clock.now += minutes * MINUTE_MS;
    await cycle(by);
  };
  return { clinic, model, clock, tenant, open, book, eventOf, notes, later };
}

type World = Awaited<ReturnType<typeof noted>>;

/** How a clinic ends an appointment: it lists it as cancelled, hides it, or deletes it. */
const ENDS: Record<string, (world: World) => void> = {
  cancelled: ({ book }) => void book('from', { inHours: 40, status: 'cancelled' }),
  hidden: ({ book, clinic }) => {
    clinic.hidesCancelled = true;
    book('from', { inHours: 40, status: 'cancelled' });
  },
  'only named as cancelled': ({ clinic }) => {
    clinic.appointments.delete('from');
    clinic.tombstones.add('from');
  },
  deleted: ({ clinic }) => void clinic.appointments.delete('from'),
};

describe.each(Object.entries(ENDS))('an appointment that is %s', (_, end) => {
  test.each<[string, (world: World) => Promise<void>]>([
    [
      'before the new one',
      async (world) => {
        end(world);
        await world.later(1);
        await world.later(1);
        world.book('to', { inHours: 90 });
        await world.later(3);
      },
    ],
    [
      'after the new one',
      async (world) => {
        world.book('to', { inHours: 90 });
        await world.later(1);
        end(world);
        await world.later(4);
      },
    ],
    [
      'together with the new one',
      async (world) => {
        world.book('to', { inHours: 90 });
        end(world);
        await world.later(1);
      },
    ],
  ])('leaves what users added to the event of the new one, %s', async (_, run) => {
    const world = await noted();
    await run(world);
    await world.later(1);
    await world.later(1);
    expect(world.eventOf('from')).toBeUndefined();
    expect(world.notes()).toEqual({ to: [NOTE] });
    const { operations } = world.model.calls;
    await world.later(1);
    await world.later(1);
    expect(world.model.calls.operations, 'nothing is written again').toBe(operations);
  });

  test.each<[string, Parameters<typeof noted>[0], Parameters<World['book']>[1], number]>([
    ['another patient', {}, { patientId: 'p8' }, 1],
    ['later than the time for a move', {}, {}, 30],
    ['if moves are not recognised', { reschedule: 0 }, {}, 1],
  ])('leaves nothing to an appointment of %s', async (_, more, changes, minutes) => {
    const world = await noted(more);
    end(world);
    await world.later(1);
    await world.later(1);
    world.book('to', { inHours: 90, ...changes });
    await world.later(minutes);
    await world.later(1);
    expect(world.eventOf('to')).toBeDefined();
    expect(world.notes()).toEqual({});
  });
});

test('an appointment that the clinic restores has its notes again', async () => {
  const world = await noted();
  ENDS.cancelled!(world);
  await world.later(1);
  expect(world.notes()).toEqual({});
  world.book('from', { inHours: 40 });
  await world.later(1);
  await world.later(1);
  expect(world.notes()).toEqual({ from: [NOTE] });
});

test('of several new appointments, the one of the same treatment takes over', async () => {
  const world = await noted();
  ENDS.cancelled!(world);
  world.book('other', { inHours: 60, treatmentId: 't2' });
  world.book('to', { inHours: 90 });
  world.book('third', { inHours: 70, treatmentId: 't3' });
  await world.later(1);
  await world.later(1);
  expect(world.notes()).toEqual({ to: [NOTE] });
});

test('a clinic that is read once an hour shows by its change times what belongs together', async () => {
  const world = await noted();
  const updatedAt = NOW + 50 * MINUTE_MS;
  world.book('to', { inHours: 90, updatedAt });
  await world.later(60);
  world.book('from', { inHours: 40, status: 'cancelled', updatedAt: updatedAt + 5 * MINUTE_MS });
  await world.later(60);
  await world.later(60);
  expect(world.notes()).toEqual({ to: [NOTE] });
});

test('a target that does not answer gets the notes when it answers, from another process too', async () => {
  const world = await noted();
  ENDS.deleted!(world);
  world.book('to', { inHours: 90 });
  await twoCycles(world.tenant);
  expect(world.eventOf('to')).toBeDefined();
  world.model.fault = () => 'unavailable';
  await world.later(1);
  expect(world.notes()).toEqual({});
  world.model.fault = () => null;
  const another = world.open(redis.connect());
  await world.later(3 * 60, another);
  await world.later(1, another);
  expect(world.notes()).toEqual({ to: [NOTE] });
});

test('a lost answer of the write that takes over adds nothing twice', async () => {
  const world = await noted();
  ENDS.cancelled!(world);
  world.book('to', { inHours: 90 });
  await world.later(1);
  world.model.fault = ({ recordId }) => (recordId === 'to' ? 'lost' : null);
  await world.later(1);
  world.model.fault = () => null;
  await world.later(20);
  expect(world.notes()).toEqual({ to: [NOTE] });
});

test('a plan names the reason, and shows no text of users', async () => {
  const world = await noted();
  ENDS.cancelled!(world);
  world.book('to', { inHours: 90 });
  await world.later(1);
  world.clock.now += MINUTE_MS;
  await pull(world.tenant);
  const pending = await world.tenant.outbox.pendingOf('doctor', 'to');
  expect(pending).toMatchObject({ reason: 'rescheduled', want: 'present' });
  await drain(world.tenant, targetOf(world.tenant));
  const [run] = await world.tenant.runs.list(1);
  expect(JSON.stringify(run)).not.toContain(NOTE);
});

test('of a forgotten patient nothing is stored or taken over', async () => {
  const world = await noted();
  ENDS.cancelled!(world);
  await world.later(1);
  expect((await world.tenant.recentObjects.read('doctor', world.clock.now)).get('from')?.removed).toBeDefined();
  const records = await findRecords(world.tenant, { patientId: 'p7' }, () => {}, NEVER);
  await eraseRecords(world.tenant, records, () => {}, NEVER);
  expect((await world.tenant.recentObjects.read('doctor', world.clock.now)).size).toBe(0);
  world.book('to', { inHours: 90, patientId: 'p9' });
  await world.later(1);
  await world.later(1);
  expect(world.notes()).toEqual({});
});

test('notes of users are encrypted in Redis, and expire', async () => {
  const world = await noted();
  ENDS.cancelled!(world);
  await world.later(1);
  const connection = redis.connect();
  const [key = ''] = (await connection.keys('cm:*recent-objects*')) ?? [];
  expect(JSON.stringify(await connection.hgetall(key))).not.toContain(NOTE);
  expect(await connection.pttl(key)).toBeGreaterThan(23 * HOUR_MS);
  expect(await connection.pttl(key)).toBeLessThanOrEqual(24 * HOUR_MS);
});
