import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { dumpRedis } from '../../e2e/support/dump-redis.ts';
import { useRedis } from '../../support/redis.ts';
import { book, createReminderWorld, patientOf, type ReminderWorld } from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });

const CANCELLED = { status: 'cancelled' } as const;
const REMINDER = 'Promemoria: appuntamento mercoledì 17 giugno alle 10:00, Studio Rossi.';
const MOVED =
  'Appuntamento spostato: non mercoledì 17 giugno alle 10:00 ma mercoledì 17 giugno alle 13:00, Studio Rossi.';
const CANCELLATION = 'Appuntamento di mercoledì 17 giugno alle 10:00 annullato, Studio Rossi.';

/** An appointment at 10:00 of the 17th, told at 10:00 of the 16th; it is 11:00. */
async function told(
  file: object = {},
  others: (world: ReminderWorld) => void = () => {},
  channel: Parameters<typeof createReminderWorld>[1] = {},
): Promise<ReminderWorld> {
  const world = createReminderWorld(redis.connect(), { file, ...channel });
  book(world, 'one', 48);
  others(world);
  await world.cycle();
  await world.advance(24 * HOUR_MS);
  await cycles(world, 60, 30);
  expect(texts(world)).toEqual([REMINDER]);
  return world;
}

async function cycles(world: ReminderWorld, minutes: number, every = 5): Promise<void> {
  for (let passed = 0; passed < minutes; passed += every) {
    await world.cycle();
    await world.advance(every * MINUTE_MS);
  }
}

const texts = (world: ReminderWorld) => world.gateway.delivered.map(({ content }) => content.text);
const wrong = async (world: ReminderWorld) =>
  ((await world.tenant.reminders?.ledger.wrong(world.now)) ?? []).map(({ reason }) => reason);

describe('a cancelled appointment and a new one of the patient are one move', () => {
  test.each<[string, (world: ReminderWorld) => Promise<void>]>([
    [
      'found together',
      async (world) => {
        book(world, 'one', 48, CANCELLED);
        book(world, 'two', 51);
      },
    ],
    [
      'if the new one is found five minutes later',
      async (world) => {
        book(world, 'one', 48, CANCELLED);
        await cycles(world, 5);
        book(world, 'two', 51);
      },
    ],
    [
      'if the new one is found first',
      async (world) => {
        book(world, 'two', 51);
        await cycles(world, 5);
        book(world, 'one', 48, CANCELLED);
      },
    ],
    ...[true, false].map((isNewFirst): [string, (world: ReminderWorld) => Promise<void>] => [
      `if one is found an hour later and the clinic changed both within minutes, ${isNewFirst ? 'the new one' : 'the cancelled one'} first`,
      async (world) => {
        const times = [{ updatedAt: world.now }, { updatedAt: world.now + 5 * MINUTE_MS }];
        const changes = [
          (own: object) => void book(world, 'two', 51, own),
          (own: object) => void book(world, 'one', 48, { ...CANCELLED, ...own }),
        ];
        const [first, second] = isNewFirst ? changes : changes.toReversed();
        first?.(times[0] ?? {});
        await world.cycle();
        second?.(times[1] ?? {});
        await world.advance(isNewFirst ? HOUR_MS : 9 * MINUTE_MS);
      },
    ]),
    ...['found together', 'found five minutes later'].map(
      (found): [string, (world: ReminderWorld) => Promise<void>] => [
        `if the first is deleted, and its record is readable; ${found}`,
        async (world) => {
          const { appointments, readAppointment } = world.clinic;
          const one = appointments.get('one');
          appointments.delete('one');
          world.clinic.readAppointment = async (id, signal) =>
            id === 'one' && one !== undefined ? { absent: true, deleted: one } : readAppointment(id, signal);
          if (found !== 'found together') await cycles(world, 6, 2);
          book(world, 'two', 51);
        },
      ],
    ),
    [
      'if the first is deleted',
      async (world) => {
        world.clinic.appointments.delete('one');
        book(world, 'two', 51);
      },
    ],
    [
      'if the treatment is equal, but not the agenda',
      async (world) => {
        book(world, 'one', 48, { ...CANCELLED, treatmentId: 't1' });
        book(world, 'two', 51, { agendaId: 'other', treatmentId: 't1' });
      },
    ],
  ])('%s', async (_, happens) => {
    const world = await told();
    await happens(world);
    await cycles(world, 15);
    expect(texts(world)).toEqual([REMINDER, MOVED]);
    expect(await wrong(world)).toEqual([]);
    await cycles(world, 6 * 60, 60);
    expect(texts(world), 'no reminder of the new time besides').toEqual([REMINDER, MOVED]);
    expect(await wrong(world)).toEqual([]);
  });

  test.each<[string, string, boolean?, number?]>([
    ['of the cancelled one stays', 'p1'],
    ['of the cancelled one changes too', 'p2'],
    ['of the cancelled one changes too, and it is deleted', 'p2', true],
    ['of the deleted one stays, and the clinic is read once an hour', 'p1', true, 60],
  ])('after a merge of the patient; the patient %s', async (_, patientId, isDeleted = false, every = 5) => {
    const world = await told();
    world.clinic.patientList.splice(0, 1, patientOf('p2'));
    const one = book(world, 'one', 48, { ...CANCELLED, patientId });
    if (isDeleted) {
      const { readAppointment } = world.clinic;
      world.clinic.appointments.delete('one');
      world.clinic.readAppointment = async (id, signal) =>
        id === 'one' ? { absent: true, deleted: one } : readAppointment(id, signal);
    }
    book(world, 'two', 51, { patientId: 'p2', updatedAt: world.now });
    await cycles(world, 3 * every, every);
    expect(texts(world)).toEqual([REMINDER, MOVED]);
    expect(await wrong(world)).toEqual([]);
  });

  test('after a merge of the patient of a webhook', async () => {
    const world = await told({}, undefined, { channel: { needs: 'nothing' } });
    world.clinic.patientList.splice(0, 1, patientOf('p2'));
    const { readPatient } = world.clinic;
    world.clinic.readPatient = async (id, signal) =>
      id === 'p1' ? { absent: true, mergedInto: 'p2' } : await readPatient(id, signal);
    book(world, 'one', 48, CANCELLED);
    book(world, 'two', 51, { patientId: 'p2', updatedAt: world.now });
    await cycles(world, 15, 5);
    expect(texts(world)).toEqual([REMINDER, MOVED]);
    expect(await wrong(world)).toEqual([]);
  });

  test('and a later move or cancellation of the new one is told', async () => {
    const world = await told();
    book(world, 'one', 48, CANCELLED);
    book(world, 'two', 51);
    await cycles(world, 15);
    book(world, 'two', 51, CANCELLED);
    book(world, 'three', 53);
    await cycles(world, 15);
    book(world, 'three', 53, CANCELLED);
    // The third correction of an hour waits until the facts stand still.
    await cycles(world, 25);
    expect(texts(world).slice(2)).toEqual([
      MOVED.replace('alle 13:00', 'alle 15:00').replace('alle 10:00', 'alle 13:00'),
      CANCELLATION.replace('10:00', '15:00'),
    ]);
    expect(await wrong(world)).toEqual([]);
  });

  test('and each new one replaces one: same treatment first, then the nearest in time', async () => {
    const world = createReminderWorld(redis.connect());
    book(world, 'one', 48, { treatmentId: 't1' });
    book(world, 'two', 49, { treatmentId: 't2' });
    await world.cycle();
    await world.advance(25 * HOUR_MS);
    await cycles(world, 10);
    book(world, 'one', 48, { ...CANCELLED, treatmentId: 't1' });
    book(world, 'two', 49, { ...CANCELLED, treatmentId: 't2' });
    book(world, 'near', 50, { treatmentId: 't2' });
    book(world, 'far', 54, { treatmentId: 't1' });
    await cycles(world, 15);
    expect(texts(world).slice(2).sort()).toEqual([
      MOVED.replace('13:00', '16:00'),
      MOVED.replace('13:00', '12:00').replace('10:00', '11:00'),
    ]);
  });

  test('and Redis keeps no name, number or id of the patient', async () => {
    const world = await told();
    book(world, 'one', 48, CANCELLED);
    book(world, 'two', 51);
    await cycles(world, 15);
    const kept = JSON.stringify([...(await dumpRedis(redis.connect()))]);
    expect(kept).toContain('reminders-known');
    for (const word of ['Anna', 'Verdi', '3331234567', '"p1"']) expect(kept).not.toContain(word);
  });
});

describe('a cancellation is told as such', () => {
  test.each<[string, (world: ReminderWorld) => void, Parameters<typeof told>[1]]>([
    ['without a new appointment', () => {}, undefined],
    ['if the other appointment is older', () => {}, (world) => void book(world, 'two', 80)],
    ['if the new one is of another patient', (world) => void book(world, 'two', 51, { patientId: 'p2' }), undefined],
    [
      'if the new one is of a child with the same number',
      (world) => {
        world.clinic.patientList.push(patientOf('p3'));
        book(world, 'two', 51, { patientId: 'p3', updatedAt: world.now });
      },
      undefined,
    ],
    [
      'if the new one has another agenda and another treatment',
      (world) => void book(world, 'two', 51, { agendaId: 'other', treatmentId: 't2' }),
      undefined,
    ],
  ])('%s', async (_, happens, others) => {
    const world = await told({}, others);
    world.clinic.patientList.push(patientOf('p2', { mobilePhone: '+39 333 7654321' }));
    book(world, 'one', 48, CANCELLED);
    happens(world);
    await cycles(world, 5);
    expect(texts(world)).toEqual([REMINDER]);
    await cycles(world, 10);
    expect(texts(world)).toEqual([REMINDER, CANCELLATION]);
    expect(await wrong(world)).toEqual([]);
  });

  test('if the new one is found later than the setting says', async () => {
    const world = await told();
    book(world, 'one', 48, { ...CANCELLED, updatedAt: world.now });
    await cycles(world, 20);
    book(world, 'two', 51, { updatedAt: world.now });
    await cycles(world, 20);
    expect(texts(world)).toEqual([REMINDER, CANCELLATION]);
  });

  test.each([
    ['less than two hours before the appointment', {}, 22 * HOUR_MS],
    ['with a setting of 0', { rescheduleWithinMinutes: 0 }, 0],
  ])('at once %s', async (_, file, passes) => {
    const world = await told(file);
    await world.advance(passes);
    book(world, 'one', 48, CANCELLED);
    await cycles(world, 5);
    expect(texts(world)).toEqual([REMINDER, CANCELLATION]);
  });

  test('of a deleted appointment, the list of patients to call has it after the wait', async () => {
    const world = await told();
    world.clinic.appointments.delete('one');
    await cycles(world, 5);
    expect(await wrong(world)).not.toContain('vanished');
    await cycles(world, 30);
    expect(await wrong(world)).toEqual(['vanished']);
  });
});
