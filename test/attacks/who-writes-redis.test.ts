import { createHash } from 'node:crypto';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { reminderKeys } from '../../src/features/reminders/keys.ts';
import { parseEntry, type StoredEntry } from '../../src/state/formats.ts';
import { keys } from '../../src/state/keys.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import {
  ANSWER_FILE,
  book,
  createReminderWorld,
  ID,
  openAnswerBed,
  press,
} from '../features/reminders/reminder-world.ts';
import { useDamage } from '../support/damage.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, drain, pull, targetOf } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenant } from '../tenant/open-tenant.ts';

const redis = useRedis();
const damage = useDamage();
const TENANT = 'studio-rossi';

/** A calendar that shows three appointments, as a cycle left it. */
async function openWritten() {
  const clinic = createModelClinic();
  for (const id of ['1', '2', '3']) clinic.appointments.set(id, appointmentOf(id));
  const model = createModelTarget();
  const connection = redis.connect();
  const tenant = openTenant({ redis: connection, clinic, targets: [{ model }], clock: () => NOW });
  await cycle(tenant);
  expect(model.objects()).toHaveLength(3);
  const titles = () => model.objects().map(({ item }) => item?.title);
  return { clinic, model, connection, tenant, doctor: targetOf(tenant), titles };
}

async function plant(connection: Redis, id: string, entry: object, target = 'doctor') {
  await connection.hset(keys.outbox(TENANT, target), id, JSON.stringify(entry));
  await connection.zadd(keys.outboxDue(TENANT, target), NOW, id);
}

const FORGED = {
  ...{ r: 9_999, w: 'a', f: null, s: NOW, t: NOW, why: 'cancelled', n: 0, e: null, p: false, q: NOW, d: NOW },
  ...{ i: false, z: null, k: 0, u: null },
};

describe('a forged entry of the outbox', () => {
  test.each([
    ['without a seal', { ...FORGED, x: null }],
    ['with a forged seal', { ...FORGED, x: `s1.k1.${Buffer.alloc(40, 1).toString('base64url')}` }],
    ['with unreadable content', { x: 5 }],
    ['as an erasure', { ...FORGED, why: 'forgotten' }],
  ])('deletes nothing %s, is counted and removed', async (_, entry) => {
    const { model, connection, tenant, doctor } = await openWritten();
    await plant(connection, '1', entry);
    await drain(tenant, doctor);
    expect(model.objects()).toHaveLength(3);
    expect(await tenant.targetStore.read('doctor')).toMatchObject({ deleted: 0 });
    expect([...damage]).toEqual([`${TENANT} outbox`]);
    expect(await tenant.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
  });

  test('does not block other writes', async () => {
    const { model, clinic, connection, tenant } = await openWritten();
    await plant(connection, '1', { ...FORGED, x: null });
    clinic.appointments.set('4', appointmentOf('4'));
    await cycle(tenant);
    expect(model.objects()).toHaveLength(4);
  });

  test('copied from another record does nothing', async () => {
    const { model, clinic, connection, tenant, doctor } = await openWritten();
    clinic.appointments.set('1', appointmentOf('1', { status: 'cancelled' }));
    await pull(tenant);
    const own = await connection.hget(keys.outbox(TENANT, 'doctor'), '1');
    await plant(connection, '2', parseEntry(own ?? ''));
    await drain(tenant, doctor);
    expect(model.objects()).toHaveLength(2);
    expect(await tenant.targetStore.read('doctor')).toMatchObject({ deleted: 1 });
    expect([...damage]).toEqual([`${TENANT} outbox`]);
  });

  test('changed in any decided field does nothing', async () => {
    const { clinic, connection, tenant } = await openWritten();
    clinic.appointments.set('1', appointmentOf('1', { inHours: 30 }));
    clinic.appointments.set('2', appointmentOf('2', { status: 'cancelled' }));
    await pull(tenant);
    const place = keys.outbox(TENANT, 'doctor');
    const own = new Map(Object.entries(await connection.hgetall(place)));
    const change: fc.Arbitrary<Partial<StoredEntry>> = fc.oneof(
      fc.constantFrom<Partial<StoredEntry>>(
        { w: 'a' },
        { w: 'p' },
        { why: 'forgotten' },
        { why: 'vanished' },
        { why: 'new' },
      ),
      fc.record({ f: fc.option(fc.string()) }),
      fc.record({ s: fc.integer() }),
      fc.record({ t: fc.integer() }),
      fc.record({ u: fc.option(fc.string()) }),
      fc.record({
        x: fc.oneof(
          fc.string(),
          fc.base64String().map((text) => `s1.k1.${text}`),
        ),
      }),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom('1', '2'), change, async (id, changed) => {
        const before = parseEntry(own.get(id) ?? '');
        const after = { ...before, ...changed };
        await plant(connection, id, after);
        const taken = (await tenant.outbox.due('doctor', NOW, 10)).map(({ recordId }) => recordId);
        expect(taken.includes(id)).toBe(JSON.stringify(after) === JSON.stringify(before));
        await plant(connection, id, before);
      }),
    );
  });

  test('a genuine outbox entry stays valid with the notes of scripts', async () => {
    const { clinic, connection, tenant } = await openWritten();
    clinic.appointments.set('2', appointmentOf('2', { status: 'cancelled' }));
    await pull(tenant);
    const own = parseEntry((await connection.hget(keys.outbox(TENANT, 'doctor'), '2')) ?? '');
    await plant(connection, '2', {
      ...own,
      n: 4,
      e: 'timeout',
      b: 'title',
      p: true,
      i: true,
      z: NOW - 5,
      d: NOW - 1,
      k: 2,
    });
    expect(await tenant.outbox.due('doctor', NOW, 10)).toMatchObject([{ recordId: '2', want: 'absent', idAttempt: 2 }]);
  });
});

describe('a forged hold', () => {
  test('approves nothing, and is removed', async () => {
    const clinic = createModelClinic();
    for (let id = 1; id <= 30; id += 1) clinic.appointments.set(String(id), appointmentOf(String(id)));
    const model = createModelTarget();
    const connection = redis.connect();
    const tenant = openTenant({ redis: connection, clinic, targets: [{ model }], clock: () => NOW });
    await cycle(tenant);
    for (let id = 1; id <= 25; id += 1) clinic.appointments.delete(String(id));
    await cycle(tenant);
    await cycle(tenant);
    const [open] = await tenant.holds.list();
    if (open === undefined) throw new Error('nothing is held');
    // As an approval under the hold's own id, and under another id.
    const approved = { ...open, state: 'approved', decidedAt: NOW };
    await connection.hset(
      keys.holds(TENANT),
      open.id,
      JSON.stringify(approved),
      'forge',
      JSON.stringify({ ...approved, id: 'forge' }),
    );

    await cycle(tenant);

    expect(model.objects()).toHaveLength(30);
    const holds = await tenant.holds.list();
    expect(holds.map(({ state }) => state)).toEqual(['open']);
    expect(await connection.hkeys(keys.holds(TENANT))).toEqual(holds.map(({ id }) => id));
  });
});

describe('a forged link in a reminder', () => {
  const TOKEN = 'A'.repeat(22);
  const place = (token: string) => reminderKeys.answerLink(createHash('sha256').update(token).digest('base64url'));

  test('opens nothing, although it names an existing reminder', async () => {
    const bed = await openAnswerBed(redis.connect());
    const own = JSON.parse((await redis.connect().get(place(bed.token))) ?? '{}') as { reminder: string };
    await redis.connect().set(place(TOKEN), JSON.stringify(own));
    expect(await bed.desk.show(TOKEN)).toMatchObject({ says: 'unknown', about: null });
    expect(await press({ ...bed, token: TOKEN }, 'cancelled')).toMatchObject({ says: 'unknown' });
    expect(bed.world.clinic.appointments.get('one')?.status).toBe('booked');
  });

  test('opens no appointment that an attacker wrote into the ledger', async () => {
    const bed = await openAnswerBed(redis.connect());
    book(bed.world, 'two', 30);
    const forged = {
      id: 'forged',
      appointmentId: 'two',
      startAt: bed.world.now + 6 * 3_600_000,
      state: 'sent',
      rule: 'r',
      channel: 'c',
    };
    await redis.connect().hset(reminderKeys.reminder(ID, 'forged'), forged);
    const link = { tenant: ID, reminder: 'forged', patientId: 'p1', proof: 'A'.repeat(22) };
    await redis.connect().set(place(TOKEN), JSON.stringify(link));
    expect(await bed.desk.show(TOKEN)).toMatchObject({ says: 'unknown', about: null });
  });

  test('gives no answer for another patient', async () => {
    const bed = await openAnswerBed(redis.connect());
    const own = JSON.parse((await redis.connect().get(place(bed.token))) ?? '{}') as object;
    await redis.connect().set(place(bed.token), JSON.stringify({ ...own, patientId: 'p2' }));
    expect(await bed.desk.show(bed.token)).toMatchObject({ says: 'unknown' });
  });

  test('opens the appointment only if genuine', async () => {
    const bed = await openAnswerBed(redis.connect(), ANSWER_FILE);
    expect(await press(bed, 'confirmed')).toMatchObject({ says: 'confirmed' });
  });
});

describe('a forged reminder', () => {
  test('is not sent, for any origin of its job, and reports the reason', async () => {
    const connection = redis.connect();
    const world = createReminderWorld(connection);
    book(world, 'one', 48);
    book(world, 'two', 49);
    await world.cycle();
    const own = (await world.entries()).find(({ appointmentId }) => appointmentId === 'one');
    if (own === undefined) throw new Error('there is no reminder');
    const ids = ['0'.repeat(32), own.id];
    // A forged reminder, and a genuine one changed to another appointment.
    const stored = await connection.hgetall(reminderKeys.reminder(TENANT, own.id));
    for (const id of ids)
      await connection.hset(reminderKeys.reminder(TENANT, id), {
        ...stored,
        id,
        appointmentId: 'two',
        state: 'planned',
      });
    for (const id of ids) {
      await connection.zadd(reminderKeys.remindersOpen(TENANT), own.dueAt, id);
      world.alarms.wakes.set(`forged-${id}`, { id, wakeAt: own.dueAt });
    }
    await world.advance(72 * 3_600_000);
    expect(world.gateway.delivered.map(({ appointment }) => appointment.id)).toEqual(['two']);
    const fates = (await world.entries()).map(({ state, reason }) => `${state} ${reason}`).sort();
    expect(fates).toEqual(['dropped state-damaged', 'dropped state-damaged', 'sent null']);
  });
});
