import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { Appointment } from '../../../src/core/model/records.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { useRedis } from '../../support/redis.ts';
import { type Receiver, startReceiver } from '../reminders/channels/receiver.ts';
import { booking, createTriggerWorld, type TriggerWorld, told } from './trigger-world.ts';

const redis = useRedis();
const ALL = ['appointment.booked', 'appointment.moved', 'appointment.cancelled'];
let receiver: Receiver;
let world: TriggerWorld;
beforeAll(async () => {
  receiver = await startReceiver();
});
afterAll(() => receiver.close());
beforeEach(() => {
  world = worldWith();
});

function worldWith(file: object = {}, events = ALL): TriggerWorld {
  receiver.taken.length = 0;
  return createTriggerWorld(redis.connect(), { portal: { url: `${receiver.url}/in`, events } }, file);
}
const put = (id: string, inMs = DAY_MS, own: Partial<Appointment> = {}) =>
  world.documents.appointments.set(id, booking(id, world.now + inMs, own));
const edit = (id: string, own: Partial<Appointment>) =>
  world.documents.appointments.set(id, { ...(world.documents.appointments.get(id) as Appointment), ...own });
const remove = (id: string) => world.documents.appointments.delete(id);
const messages = () => told(receiver).map(({ type, data }) => `${type.split('.')[1]} ${String(data.appointmentId)}`);
const turnLater = async () => {
  world.now += 10 * MINUTE_MS;
  await world.turn();
};
/** Existing appointments are treated as reported. */
async function begin(...ids: string[]): Promise<void> {
  for (const id of ids) put(id);
  await world.turn();
  expect(messages()).toEqual([]);
}
const place = { endpoint: 'portal', event: 'appointment.cancelled' } as const;
const endpoint = () => world.open().triggers!.store.endpoint('portal');

test('an appointment that is booked, moved, put into another agenda and cancelled is reported each time, by ids only', async () => {
  await begin('old');
  put('a');
  await turnLater();
  edit('a', { time: booking('a', world.now + 2 * DAY_MS).time });
  await turnLater();
  edit('a', { agendaId: 'a2' });
  await turnLater();
  edit('a', { status: 'cancelled' });
  await turnLater();
  expect(messages()).toEqual(['booked a', 'moved a', 'moved a', 'cancelled a']);
  expect(told(receiver)[2]?.data).toEqual({
    tenant: 'studio-rossi',
    appointmentId: 'a',
    patientId: 'patient-of-a',
    agendaId: 'a2',
  });
});

test('a move there, back and there again is three messages with different ids', async () => {
  await begin('a');
  for (const agendaId of ['a2', 'a1', 'a2']) {
    edit('a', { agendaId });
    await turnLater();
  }
  expect(messages()).toEqual(['moved a', 'moved a', 'moved a']);
  expect(new Set(receiver.taken.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
});

test('other changes of an appointment are not reported', async () => {
  await begin('a');
  edit('a', { status: 'confirmed', treatmentId: 't1', locationId: 'l1', updatedAt: world.now });
  await turnLater();
  edit('a', { status: 'no_show' });
  await turnLater();
  expect(messages()).toEqual([]);
});

test('blocked time is no appointment; one that loses its patient is cancelled', async () => {
  await begin('a');
  put('lunch', DAY_MS, { patientId: null });
  edit('a', { patientId: null });
  await turnLater();
  expect(messages()).toEqual(['cancelled a']);
});

test('an endpoint receives only its events', async () => {
  world = worldWith({}, ['appointment.cancelled']);
  await begin('a');
  put('b');
  edit('a', { status: 'cancelled' });
  await turnLater();
  edit('b', { status: 'cancelled' });
  await turnLater();
  expect(messages()).toEqual(['cancelled a', 'cancelled b']);
});

describe('an appointment that the list lacks', () => {
  test('is cancelled when two readings find it gone', async () => {
    await begin('a');
    remove('a');
    await turnLater();
    expect(messages()).toEqual([]);
    await turnLater();
    await turnLater();
    expect(messages()).toEqual(['cancelled a']);
    expect(told(receiver)[0]?.data).toMatchObject({ patientId: null, agendaId: null });
  });

  test('is cancelled at once by a row that says no more than that, and once only', async () => {
    await begin('a', 'b');
    remove('a');
    world.documents.tombstones.add('a').add('unknown');
    await turnLater();
    await turnLater();
    expect(messages()).toEqual(['cancelled a']);
  });

  test('and that exists when it is read by id is not cancelled', async () => {
    await begin('a');
    world.documents.unlisted.add('a');
    for (let count = 0; count < 3; count += 1) await turnLater();
    expect(messages()).toEqual([]);
  });

  test('since it was moved out of the window is moved', async () => {
    await begin('a', 'b');
    edit('a', { time: booking('a', world.now - 3 * DAY_MS).time });
    edit('b', { time: booking('b', world.now + 400 * DAY_MS).time });
    for (let count = 0; count < 3; count += 1) await turnLater();
    expect(messages().sort()).toEqual(['moved a', 'moved b']);
    remove('b');
    for (let count = 0; count < 3; count += 1) await turnLater();
    expect(messages()).toHaveLength(2);
  });

  test('since it is over is neither cancelled nor kept', async () => {
    await begin('a');
    world.now += 3 * DAY_MS;
    for (let count = 0; count < 3; count += 1) await turnLater();
    remove('a');
    for (let count = 0; count < 3; count += 1) await turnLater();
    expect(messages()).toEqual([]);
    expect(await world.open().triggers!.store.appointments(place)).toEqual(new Map());
  });

  test('in a list that is not whole, and whose row can not be used, is not looked for', async () => {
    await begin('a', 'b');
    world.documents.unusable.add('b');
    world.documents.partial = true;
    remove('a');
    for (let count = 0; count < 3; count += 1) await turnLater();
    expect(messages()).toEqual([]);
  });
});

test('with far more missing at once than usual requires a decision before any message', async () => {
  world = worldWith({ mostAtOnce: 2 });
  await begin('a', 'b', 'c');
  for (const id of ['a', 'b', 'c']) remove(id);
  for (let count = 0; count < 3; count += 1) await turnLater();
  expect(messages()).toEqual([]);
  expect((await endpoint()).closed).toMatchObject({ code: 'too-many-at-once' });
});

test('a partial first list reports nothing, and the event waits for a complete one', async () => {
  world.documents.partial = true;
  put('a');
  await world.turn();
  world.documents.partial = false;
  await turnLater();
  put('b');
  await turnLater();
  expect(messages()).toEqual(['booked b']);
});

test('an appointment that could not be used at first is reported when it changes after it could', async () => {
  world.documents.unusable.add('a');
  world.documents.unusable.add('b');
  await begin('a', 'b');
  edit('b', { status: 'cancelled' });
  world.documents.unusable.clear();
  await turnLater();
  expect(messages()).toEqual([]);
  edit('a', { agendaId: 'a2' });
  await turnLater();
  expect(messages()).toEqual(['moved a']);
});

test('a list that must not be read disables its events until it may be read', async () => {
  await begin('a');
  const denied = { actor: 'authorization', code: 'missing-claim', retry: 'never' } as const;
  world.documents.errors.appointments = new MirrorError('the connection lacks a scope', denied);
  edit('a', { status: 'cancelled' });
  await turnLater();
  expect((await world.open().triggers!.store.reading(place)).off).toMatchObject({ code: 'missing-claim' });
  world.documents.errors.appointments = null;
  await turnLater();
  expect(messages()).toEqual(['cancelled a']);
});

test('a message that is not accepted is sent again with its id, whatever happened to the appointment meanwhile', async () => {
  await begin('a');
  receiver.kit.faults.add({ times: 1, fault: { kind: 'lost-answer' } });
  edit('a', { status: 'cancelled' });
  await world.turn();
  edit('a', { status: 'booked' });
  await world.advance(HOUR_MS);
  await world.turn();
  await world.advance(HOUR_MS);
  const ids = receiver.taken.map(({ headers }) => headers['webhook-id']);
  expect(messages()).toContain('booked a');
  expect(messages()).toContain('cancelled a');
  expect(new Set(ids).size).toBe(2);
});

test('appointments of a forgotten patient are not reported', async () => {
  await begin();
  await world.open().tombstones.add('patient-of-a', world.now);
  put('a');
  await turnLater();
  edit('a', { status: 'cancelled' });
  await turnLater();
  expect(messages()).toEqual([]);
  expect(await world.open().triggers!.store.appointments(place)).toEqual(new Map());
});

test('what is kept is in no value of Redis in clear', async () => {
  await begin('appointment-4711');
  const connection = redis.connect();
  const keys = await connection.keys('cm:*triggers-appointments*');
  expect(keys).toHaveLength(3);
  for (const key of keys) expect(JSON.stringify(await connection.hgetall(key))).not.toMatch(/4711|patient-of/);
});

test('a state that can no longer be decrypted starts again from the current list', async () => {
  await begin('a', 'old');
  const rekeyed = () => world.open({ sealingKey: 'k2' });
  edit('a', { status: 'cancelled' });
  await world.turn(rekeyed());
  put('b');
  await world.turn(rekeyed());
  expect(messages()).toEqual(['booked b']);
});

interface Step {
  act: 'book' | 'move' | 'agenda' | 'cancel' | 'vanish' | 'confirm' | 'hide' | 'show' | 'pass';
  id: string;
}
const steps = fc.array(
  fc.record<Step>({
    act: fc.constantFrom('book', 'move', 'agenda', 'cancel', 'vanish', 'confirm', 'hide', 'show', 'pass'),
    id: fc.constantFrom('a', 'b', 'c'),
  }),
  { minLength: 4, maxLength: 14 },
);

/** Applies one change in the clinic between two fetches. */
function happen({ act, id }: Step, count: number): void {
  const { appointments, unlisted } = world.documents;
  if (act === 'book') put(id, DAY_MS + count * HOUR_MS);
  else if (act === 'vanish') remove(id);
  else if (act === 'hide') unlisted.add(id);
  else if (act === 'show') unlisted.delete(id);
  else if (act === 'pass') world.now += 9 * HOUR_MS;
  else if (appointments.has(id)) {
    if (act === 'move') edit(id, { time: booking(id, world.now + DAY_MS + count * HOUR_MS).time });
    if (act === 'agenda') edit(id, { agendaId: `a${count}` });
    if (act === 'cancel') edit(id, { status: 'cancelled' });
    if (act === 'confirm') edit(id, { status: 'confirmed' });
  }
}

/** Expected knowledge of receivers: time and agenda of each existing appointment, and appointments that were missing once. */
interface Model {
  standing: Map<string, { where: string; startAt: number; endAt: number }>;
  missed: Set<string>;
}

/** Whether the reading lacks an appointment that stands when it stood: it is not complete, and nothing is cancelled by it. */
function lacksSome({ standing }: Model): boolean {
  return [...standing].some(([id, { startAt }]) => {
    const there = world.documents.appointments.get(id);
    if (there === undefined || there.status === 'cancelled' || !world.documents.unlisted.has(id)) return false;
    return startAt === there.time.startAt && startAt >= world.now - DAY_MS;
  });
}

/** Returns the messages that a fetch should bring for one appointment, computed only from the current documents. */
function expected(model: Model, id: string, isComplete: boolean): string[] {
  const { standing, missed } = model;
  const before = standing.get(id);
  const there = world.documents.appointments.get(id);
  const edge = world.now - DAY_MS;
  const isOver = (endAt: number) => endAt <= edge;
  const isListed = there !== undefined && !world.documents.unlisted.has(id) && !isOver(there.time.endAt);
  if (!isListed && (before === undefined || isOver(before.endAt))) {
    standing.delete(id);
    return [];
  }
  if (there === undefined) {
    if (!missed.has(id) || !isComplete) {
      missed.add(id);
      return [];
    }
    missed.delete(id);
    standing.delete(id);
    return [`cancelled ${id}`];
  }
  missed.delete(id);
  if (there.status === 'cancelled') return standing.delete(id) ? [`cancelled ${id}`] : [];
  const { startAt, endAt } = there.time;
  const where = `${there.agendaId} ${startAt}`;
  standing.set(id, { where, startAt, endAt });
  if (before === undefined) return [`booked ${id}`];
  return before.where === where ? [] : [`moved ${id}`];
}

test('for all histories of the clinic: each fetch brings the changes of the model, each message with its own id', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (history) => {
      await redis.connect().flushall();
      world = worldWith();
      const model: Model = { standing: new Map(), missed: new Set() };
      await world.turn();
      const ids: unknown[] = [];
      for (const [count, step] of history.entries()) {
        receiver.taken.length = 0;
        happen(step, count);
        world.now += MINUTE_MS;
        const isComplete = !lacksSome(model);
        const wanted = ['a', 'b', 'c'].flatMap((id) => expected(model, id, isComplete));
        await world.turn();
        expect(messages().sort()).toEqual(wanted.sort());
        ids.push(...receiver.taken.map(({ headers }) => headers['webhook-id']));
      }
      expect(new Set(ids).size).toBe(ids.length);
    }),
    { numRuns: 25 },
  );
});

test('without room of the tenant in Redis, an event waits and is reported later', async () => {
  await begin('old');
  const { storage } = world.open();
  const fullBytes = 2 * (await storage.read()).limitBytes;
  await storage.add(fullBytes);
  put('a');
  await turnLater();
  expect(messages()).toEqual([]);
  const { store } = world.open().triggers!;
  expect((await store.reading({ endpoint: 'portal', event: 'appointment.booked' })).off?.code).toBe('tenant-too-large');
  await storage.add(-fullBytes);
  await turnLater();
  expect(messages()).toEqual(['booked a']);
});
