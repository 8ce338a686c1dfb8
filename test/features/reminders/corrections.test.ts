import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { reminderKeys } from '../../../src/features/reminders/keys.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { dumpRedis } from '../../e2e/support/dump-redis.ts';
import { useRedis } from '../../support/redis.ts';
import { book, createReminderWorld, patientOf, type ReminderWorld } from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });

/** A cancellation waits ten minutes for a new appointment. */
const REBOOKING_MS = 11 * MINUTE_MS;

/** An appointment on the 17th at 10:00 in Rome whose reminder came on the 16th at 10:00. It is that moment. */
async function told(options: Parameters<typeof createReminderWorld>[1] = {}): Promise<ReminderWorld> {
  const world = createReminderWorld(redis.connect(), options);
  book(world, 'one', 48);
  await world.cycle();
  await world.advance(24 * HOUR_MS);
  expect(world.gateway.delivered).toHaveLength(1);
  return world;
}

/** The clinic changes the appointment, a cycle learns of it, and time passes. */
async function change(
  world: ReminderWorld,
  inHours: number,
  own: Parameters<typeof book>[3] = {},
  passes = MINUTE_MS,
): Promise<void> {
  book(world, 'one', inHours, { updatedAt: world.now, ...own });
  await world.cycle();
  await world.advance(passes);
}

const texts = (world: ReminderWorld) => world.gateway.delivered.map(({ content }) => content.text);
const wrong = async (world: ReminderWorld) => (await world.tenant.reminders?.ledger.wrong(world.now)) ?? [];
const reasons = async (world: ReminderWorld) => (await wrong(world)).map(({ reason }) => reason);
const off = (corrections: object) => ({
  file: { rules: { 'day-before': { before: 'P1D', channels: ['text'], corrections } } },
});

const REMINDER = 'Promemoria: appuntamento mercoledì 17 giugno alle 10:00, Studio Rossi.';
const MOVED_TO_9 =
  'Appuntamento spostato: non mercoledì 17 giugno alle 10:00 ma mercoledì 17 giugno alle 09:00, Studio Rossi.';
const MOVED_TO_13 = MOVED_TO_9.replace('alle 09:00', 'alle 13:00');
const CANCELLED = 'Appuntamento di mercoledì 17 giugno alle 10:00 annullato, Studio Rossi.';

describe('a patient who was reminded receives', () => {
  test('the move by a reminder, and the move back by a correction', async () => {
    const world = await told();
    await change(world, 50, {}, 3 * HOUR_MS);
    expect(texts(world)).toEqual([REMINDER, 'Promemoria: appuntamento mercoledì 17 giugno alle 12:00, Studio Rossi.']);
    await change(world, 48);
    expect(texts(world).slice(2)).toEqual([
      'Appuntamento spostato: non mercoledì 17 giugno alle 12:00 ma mercoledì 17 giugno alle 10:00, Studio Rossi.',
    ]);
    expect(await wrong(world)).toEqual([]);
  });

  test('a move inside the lead time', async () => {
    const world = await told();
    await change(world, 47);
    expect(texts(world)).toEqual([REMINDER, MOVED_TO_9]);
    expect(world.gateway.delivered[1]?.correction).toBe('moved');
    expect(await wrong(world)).toEqual([]);
  });

  test('after a move of unknown delivery, the cancellation of each time that the patient may expect', async () => {
    const world = await told();
    world.gateway.answers.push({ result: 'unknown', code: 'no-answer' });
    await change(world, 47);
    await change(world, 47, { status: 'cancelled' }, REBOOKING_MS);
    expect(texts(world).slice(1)).toEqual([CANCELLED.replace('alle 10:00', 'alle 09:00')]);
    // The third correction within an hour waits until the visit was unchanged for ten minutes.
    await change(world, 47, { status: 'cancelled' }, 2 * REBOOKING_MS);
    expect(texts(world).slice(2)).toEqual([CANCELLED]);
    await world.cycle();
    expect(await wrong(world)).toEqual([]);
  });

  test('a move to a later time, also when the change is read after the time in the message', async () => {
    const world = await told();
    await world.advance(24.5 * HOUR_MS);
    await change(world, 51, { updatedAt: world.now - HOUR_MS });
    expect(texts(world).slice(1)).toEqual([MOVED_TO_13]);
    expect(await wrong(world)).toEqual([]);
  });

  test('no message for another visit, to which it was postponed after the time in the message', async () => {
    const world = await told();
    await world.advance(24.5 * HOUR_MS);
    await change(world, 51, { updatedAt: world.now - 10 * MINUTE_MS });
    expect(texts(world)).toEqual([REMINDER]);
    expect(await wrong(world)).toEqual([]);
  });

  test('no message for a later time that is read after the time in the message, if the clinic gives no time of change', async () => {
    const world = await told();
    await world.advance(24.5 * HOUR_MS);
    await change(world, 51, { updatedAt: null });
    expect(texts(world)).toEqual([REMINDER]);
    expect(await wrong(world)).toEqual([]);
  });

  test.each([null, 'after the start in the message'])(
    'a move, when a cycle read the change before the time in the message and could not send it by then; changed: %s',
    async (changed) => {
      const world = await told();
      // The gateway can't be reached from 09:50 on.
      await world.advance(23 * HOUR_MS + 50 * MINUTE_MS);
      world.gateway.answers.push({ result: 'later', code: 'busy', retryAfterMs: HOUR_MS });
      await change(world, 51, { updatedAt: changed === null ? null : world.now }, 20 * MINUTE_MS);
      expect(texts(world)).toEqual([REMINDER]);
      await change(world, 51, { updatedAt: changed === null ? null : world.now }, HOUR_MS);
      expect(texts(world)).toEqual([REMINDER, MOVED_TO_13]);
      expect(await wrong(world)).toEqual([]);
    },
  );

  test('the cancellation, and that the appointment takes place after all', async () => {
    const world = await told();
    await change(world, 48, { status: 'cancelled' }, REBOOKING_MS);
    expect(texts(world)).toEqual([REMINDER, CANCELLED]);
    expect(world.gateway.delivered[1]?.content).toMatchObject({ link: null, calendarEntry: null });
    await change(world, 48);
    expect(texts(world)).toEqual([REMINDER, CANCELLED, REMINDER]);
    expect(await wrong(world)).toEqual([]);
  });

  test('the new location, if the message named the location', async () => {
    const texts = { it: { text: '{date} {time} {address}' } };
    const rules = { 'day-before': { before: 'P1D', channels: ['text'], texts } };
    const world = createReminderWorld(redis.connect(), { file: { rules } });
    world.clinic.locationList.push({ id: 'l1', name: 'Uno', address: 'Via Milano 1', zone: null });
    book(world, 'one', 48, { locationId: 'l1' });
    await world.cycle();
    await world.advance(24 * HOUR_MS);
    expect(await wrong(world)).toEqual([]);
    world.clinic.locationList.push({ id: 'l2', name: 'Due', address: 'Via Roma 2', zone: null });
    await change(world, 48, { agendaId: 'a2', locationId: 'l2' });
    expect(world.gateway.delivered.map(({ content }) => content.text)).toEqual([
      '17/06/2026 10:00 Via Milano 1',
      '17/06/2026 10:00 Via Roma 2',
    ]);
    expect(await wrong(world)).toEqual([]);
  });

  test.each(['via  milano 1', 'Via Milano, 1', 'VÍA MILANO 1.'])(
    'no message for a location that only has another spelling: %s',
    async (written) => {
      const texts = { it: { text: '{date} {time} {address}' } };
      const world = createReminderWorld(redis.connect(), {
        file: { rules: { 'day-before': { before: 'P1D', channels: ['text'], texts } } },
      });
      const location = { id: 'l1', name: 'Uno', address: 'Via Milano 1', zone: null };
      world.clinic.locationList.push(location);
      book(world, 'one', 48, { locationId: 'l1' });
      await world.cycle();
      await world.advance(24 * HOUR_MS);
      world.clinic.locationList.splice(0, 1, { ...location, address: written });
      await change(world, 48, { locationId: 'l1' });
      expect(world.gateway.delivered).toHaveLength(1);
      expect(await wrong(world)).toEqual([]);
    },
  );

  test('no message for another agenda that the message did not name', async () => {
    const world = await told();
    await change(world, 48, { agendaId: 'elsewhere' });
    expect(texts(world)).toEqual([REMINDER]);
    expect(await wrong(world)).toEqual([]);
  });

  test('each move once, however often the appointment is moved there and back', async () => {
    const world = await told();
    for (const inHours of [47, 48, 47]) await change(world, inHours, {}, REBOOKING_MS);
    expect(texts(world)).toHaveLength(4);
    expect(await wrong(world)).toEqual([]);
    await world.cycle();
    expect(texts(world), 'nothing is sent twice').toHaveLength(4);
  });

  test('a correction when the night is over; until then the correction is shown as due', async () => {
    const world = await told();
    // At 22:00 the appointment is moved to 09:00.
    await world.advance(12 * HOUR_MS);
    await change(world, 47);
    expect(texts(world)).toEqual([REMINDER]);
    expect(await wrong(world)).toMatchObject([{ appointmentId: 'one', reason: null, correctsAt: NOW + 46 * HOUR_MS }]);
    await world.advance(10 * HOUR_MS);
    expect(texts(world)).toEqual([REMINDER, MOVED_TO_9]);
    expect(await wrong(world)).toEqual([]);
  });

  test('no message when it is moved back before the correction is due', async () => {
    const world = await told();
    await world.advance(12 * HOUR_MS);
    await change(world, 47);
    await change(world, 48);
    await world.advance(12 * HOUR_MS);
    expect(texts(world)).toEqual([REMINDER]);
    expect(await wrong(world)).toEqual([]);
  });

  test('no message when it is moved back after the last cycle before the correction is due', async () => {
    const world = await told();
    await world.advance(12 * HOUR_MS);
    await change(world, 47);
    book(world, 'one', 48);
    await world.advance(12 * HOUR_MS);
    expect(texts(world)).toEqual([REMINDER]);
  });

  test('a message only for the moved one of two appointments', async () => {
    const world = createReminderWorld(redis.connect());
    book(world, 'one', 48);
    book(world, 'two', 49);
    await world.cycle();
    await world.advance(25 * HOUR_MS);
    await change(world, 47);
    expect(texts(world).slice(2)).toEqual([MOVED_TO_9]);
    // The first takes the time that the second had, and the second is cancelled.
    book(world, 'two', 49, { status: 'cancelled', updatedAt: world.now });
    await change(world, 49, {}, 2 * REBOOKING_MS);
    expect(texts(world).slice(3).sort()).toEqual([
      'Appuntamento di mercoledì 17 giugno alle 11:00 annullato, Studio Rossi.',
      'Appuntamento spostato: non mercoledì 17 giugno alle 09:00 ma mercoledì 17 giugno alle 11:00, Studio Rossi.',
    ]);
    expect(await wrong(world)).toEqual([]);
  });
});

describe('wrong information that no message corrects is shown', () => {
  const moved = (world: ReminderWorld) => change(world, 47);
  const cancelled = (world: ReminderWorld) => change(world, 48, { status: 'cancelled' });
  test.each<[string, string, Parameters<typeof told>[0], (world: ReminderWorld) => Promise<void>]>([
    ['the rule corrects no moves', 'corrections-off', off({ moved: false }), moved],
    ['the rule announces no cancellations', 'corrections-off', off({ cancelled: false }), cancelled],
    [
      'no rule covers it',
      'rule-none',
      { file: { rules: { 'day-before': { before: 'P1D', channels: ['text'], agendas: ['a1'] } } } },
      (world) => change(world, 47, { agendaId: 'other' }),
    ],
    [
      'the patient opted out',
      'opted-out',
      {},
      async (world) => {
        const { optOuts } = world.tenant.reminders ?? {};
        await optOuts?.add(optOuts.hashOf('phone', '+393331234567'), { source: 'reply', at: world.now });
        await moved(world);
      },
    ],
    [
      'the patient can no longer be reached',
      'no-address',
      {},
      async (world) => {
        world.clinic.patientList.splice(0, 1, patientOf('p1', { mobilePhone: null }));
        await moved(world);
      },
    ],
    ['it is another patient’s now', 'other-patient', {}, (world) => change(world, 47, { patientId: 'p2' })],
    [
      'the channel is closed',
      'channel-gone',
      {},
      async (world) => {
        await world.tenant.reminders?.ledger.closeChannel('text', { code: 'gone', at: world.now });
        await moved(world);
      },
    ],
    [
      'it is night until it begins',
      'quiet-hours',
      {},
      async (world) => {
        await world.advance(12 * HOUR_MS);
        await change(world, 45);
      },
    ],
    [
      'whether the correction came is not known',
      'unclear',
      {},
      async (world) => {
        world.gateway.answers.push({ result: 'unknown', code: 'no-answer' });
        await moved(world);
      },
    ],
    [
      'the appointment does not exist in the clinic any more',
      'vanished',
      {},
      async (world) => {
        world.clinic.appointments.delete('one');
        for (let cycles = 0; cycles < 4; cycles += 1) await world.cycle();
        await world.advance(REBOOKING_MS);
      },
    ],
  ])('%s', async (_, reason, options, happens) => {
    const world = await told(options);
    const before = world.gateway.delivered.length;
    await happens(world);
    await world.cycle();
    expect(await reasons(world)).toEqual([reason]);
    expect(world.gateway.delivered).toHaveLength(before);
    // Wrong information ends with the appointment.
    await world.advance(25 * HOUR_MS);
    await world.cycle();
    expect(await wrong(world)).toEqual([]);
  });

  test('not when the patient cancelled it by the link', async () => {
    const world = await told();
    const [entry] = await world.entries();
    await redis
      .connect()
      .hset(reminderKeys.reminder('studio-rossi', entry?.id ?? ''), { answer: 'cancelled', answeredAt: world.now });
    await cancelled(world);
    expect(texts(world)).toEqual([REMINDER]);
    expect(await wrong(world)).toEqual([]);
  });
});

test('a correction whose worker died while it handed it over is not sent again', async () => {
  const world = await told();
  world.gateway.answers.push('accept-and-die');
  await change(world, 47);
  for (let cycles = 0; cycles < 3; cycles += 1) {
    await world.cycle();
    await world.advance(HOUR_MS);
  }
  expect(world.gateway.calls).toHaveLength(2);
  expect(await reasons(world)).toEqual(['unclear']);
});

test('Redis keeps sent messages without name, number, address or id of the patient', async () => {
  const world = await told();
  await change(world, 47);
  await change(world, 48, { status: 'cancelled', patientId: 'p1' });
  const kept = JSON.stringify([...(await dumpRedis(redis.connect()))]);
  expect(kept).toContain('reminders-told');
  for (const word of ['Anna', 'Verdi', 'anna@', '3331234567', 'Appuntamento', '"p1"']) expect(kept).not.toContain(word);
});

describe('who was told is a number, not a record of the clinic:', () => {
  /** The clinic merges the patient into another record. */
  const merge = (world: ReminderWorld, own: Parameters<typeof patientOf>[1] = {}) =>
    void world.clinic.patientList.splice(0, 1, patientOf('p2', own));

  test('a merged patient raises no alarm, and receives the correction after a move', async () => {
    const world = await told();
    merge(world);
    await change(world, 48, { patientId: 'p2' });
    expect(await wrong(world)).toEqual([]);
    expect(texts(world)).toEqual([REMINDER]);
    await change(world, 47, { patientId: 'p2' });
    expect(await wrong(world)).toEqual([]);
    expect(texts(world)).toEqual([REMINDER, MOVED_TO_9]);
  });

  test('a merge and a move in one cycle are one correction', async () => {
    const world = await told();
    merge(world);
    await change(world, 47, { patientId: 'p2' });
    expect(texts(world)).toEqual([REMINDER, MOVED_TO_9]);
    expect(await wrong(world)).toEqual([]);
  });

  describe('a webhook names no number, so', () => {
    const hook = { channel: { needs: 'nothing' } } as const;

    /** The clinic names the remaining patient under each merged id. */
    const mergeInto = (world: ReminderWorld, merges: Record<string, string>) => {
      merge(world, { id: Object.values(merges).at(-1)! });
      const { readPatient } = world.clinic;
      world.clinic.readPatient = async (id, signal) =>
        merges[id] === undefined ? await readPatient(id, signal) : { absent: true, mergedInto: merges[id] };
    };

    test.each([
      ['once', { p1: 'p2' }],
      ['twice', { p1: 'p3', p3: 'p2' }],
    ])('a patient whom the clinic reports as merged %s receives the correction', async (_, merges) => {
      const world = await told(hook);
      mergeInto(world, merges);
      await change(world, 48, { patientId: 'p2' });
      expect(await wrong(world)).toEqual([]);
      await change(world, 47, { patientId: 'p2' });
      expect(await wrong(world)).toEqual([]);
      expect(texts(world)).toEqual([REMINDER, MOVED_TO_9]);
    });

    test('a second merge after the first was seen is followed too', async () => {
      const world = await told(hook);
      mergeInto(world, { p1: 'p2' });
      await change(world, 48, { patientId: 'p2' });
      mergeInto(world, { p2: 'p3' });
      world.clinic.patientList.splice(0, 1, patientOf('p3'));
      await change(world, 47, { patientId: 'p3' });
      expect(await wrong(world)).toEqual([]);
      expect(texts(world)).toEqual([REMINDER, MOVED_TO_9]);
    });

    test.each([
      ['reports no merge', async () => ({ absent: true as const })],
      [
        'shows no patients',
        () => Promise.reject(new MirrorError('no', { actor: 'authorization', code: 'forbidden', retry: 'never' })),
      ],
    ])('a clinic that %s leaves the alarm', async (_, answer) => {
      const world = await told(hook);
      merge(world);
      const { readPatient } = world.clinic;
      world.clinic.readPatient = async (id, signal) => (id === 'p1' ? await answer() : await readPatient(id, signal));
      await change(world, 47, { patientId: 'p2' });
      expect(await reasons(world)).toEqual(['other-patient']);
      expect(texts(world)).toEqual([REMINDER]);
    });

    test('Redis keeps the id of the patient only encrypted', async () => {
      await told(hook);
      const kept = JSON.stringify([...(await dumpRedis(redis.connect()))]);
      expect(kept).toContain('sealedPatient');
      expect(kept).not.toContain('"p1"');
    });
  });

  test('nothing is decided while the clinic does not answer for the other patient', async () => {
    const world = await told();
    world.clinic.patientList.splice(0);
    const { readPatient } = world.clinic;
    world.clinic.readPatient = () => Promise.reject(new Error('the clinic does not answer'));
    await change(world, 47, { patientId: 'p2' });
    expect(await wrong(world)).toEqual([]);
    world.clinic.readPatient = readPatient;
    world.clinic.patientList.push(patientOf('p2'));
    await change(world, 47, { patientId: 'p2' });
    expect(texts(world)).toEqual([REMINDER, MOVED_TO_9]);
  });

  test('another number is another recipient', async () => {
    const world = await told();
    merge(world, { mobilePhone: '+39 333 7654321' });
    await change(world, 47, { patientId: 'p2' });
    expect(await reasons(world)).toEqual(['other-patient']);
    expect(texts(world)).toEqual([REMINDER]);
  });

  test('an inactive patient whose visit is cancelled raises no alarm', async () => {
    const world = await told();
    world.clinic.patientList.splice(0, 1, patientOf('p1', { isActive: false }));
    await change(world, 48, { status: 'cancelled' }, REBOOKING_MS);
    expect(texts(world)).toEqual([REMINDER]);
    expect(await wrong(world)).toEqual([]);
    await world.cycle();
    expect(await wrong(world)).toEqual([]);
  });

  test('an inactive patient whose visit was only moved is listed', async () => {
    const world = await told();
    world.clinic.patientList.splice(0, 1, patientOf('p1', { isActive: false }));
    await change(world, 47);
    expect(await reasons(world)).toEqual(['patient-gone']);
  });
});
