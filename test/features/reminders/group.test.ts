import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { remind } from '../../../src/features/reminders/job.ts';
import { useRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { book, createReminderWorld, patientOf, type ReminderWorld } from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });

const GROUPED = { rules: { 'day-before': { before: 'P1D', channels: ['text'], group: 'recipient' } } };
const SMS = { channels: { text: { kind: 'sms' } }, rules: { 'day-before': { before: 'P1D', channels: ['text'] } } };
const LIST = 'Promemoria: appuntamenti mercoledì 17 giugno alle 10:00, 10:30 e 11:00, Studio Rossi.';

const texts = (world: ReminderWorld) => world.gateway.delivered.map(({ content }) => content.text);
const wrong = async (world: ReminderWorld) => (await world.tenant.reminders?.ledger.wrong(world.now)) ?? [];

/** Visits at 10:00, 10:30 and 11:00 of the 17th. */
function world(own: Partial<Record<string, string>> = {}, file: object = GROUPED): ReminderWorld {
  const made = createReminderWorld(redis.connect(), { file });
  made.clinic.patientList.push(patientOf('p2', { firstName: 'Luca' }), patientOf('p3'));
  for (const [index, id] of ['one', 'two', 'three'].entries()) {
    book(made, id, 48 + index / 2, { patientId: own[id] ?? 'p1' });
  }
  return made;
}

describe('one message lists', () => {
  test.each<[string, Partial<Record<string, string>>, object]>([
    ['three visits of one patient on one morning', {}, GROUPED],
    ['the visits of children with one number', { two: 'p2', three: 'p3' }, GROUPED],
    ['the visits of a text message channel by default', { two: 'p2' }, SMS],
  ])('%s', async (_, own, file) => {
    const made = world(own, file);
    await made.cycle();
    await made.advance(26 * HOUR_MS);
    expect(texts(made)).toEqual([LIST]);
    for (const id of ['one', 'two', 'three']) expect(await made.fate(id)).toBe('sent');
    await made.cycle();
    expect(await wrong(made)).toEqual([]);
  });

  test('visits that are due at the same moment, whichever worker is first', async () => {
    const file = { rules: { eve: { at: { daysBefore: 1, time: '18:00' }, channels: ['text'], group: 'recipient' } } };
    const made = world({ two: 'p2' }, file);
    await made.cycle();
    await made.advance(32 * HOUR_MS - 1);
    made.now += 1;
    const ids = [...made.alarms.wakes.values()].map(({ id }) => id);
    made.alarms.wakes.clear();
    await Promise.all(ids.map((id) => remind(made.open(), id, { stop: NEVER, abort: NEVER })));
    await made.advance(5 * MINUTE_MS);
    expect(texts(made)).toEqual([LIST]);
  });

  test('the corrections of several visits', async () => {
    const made = world({ two: 'p2' });
    await made.cycle();
    await made.advance(25 * HOUR_MS);
    book(made, 'one', 48, { status: 'cancelled' });
    await made.cycle();
    await made.advance(10 * MINUTE_MS - 1);
    book(made, 'two', 47, { patientId: 'p2', updatedAt: made.now });
    book(made, 'three', 49.5, { updatedAt: made.now });
    await made.cycle();
    await made.advance(HOUR_MS);
    const [, ...corrections] = texts(made);
    expect(corrections.length).toBeLessThanOrEqual(2);
    expect(corrections.join(' ')).toContain('mer 17/06 10:30 spostato a mer 17/06 09:00');
    expect(corrections.join(' ')).toContain('mer 17/06 11:00 spostato a mer 17/06 11:30');
    expect(await wrong(made)).toEqual([]);
  });
});

describe('a message of its own has', () => {
  test.each<[string, (made: ReminderWorld) => void, object]>([
    [
      'another number',
      ({ clinic }) => void clinic.patientList.splice(1, 1, patientOf('p2', { mobilePhone: '+39 333 7654321' })),
      GROUPED,
    ],
    [
      'another language',
      ({ clinic }) => void clinic.patientList.splice(1, 1, patientOf('p2', { language: 'en' })),
      GROUPED,
    ],
    ['another day', (made) => void book(made, 'two', 72, { patientId: 'p2' }), GROUPED],
    [
      'a rule that says so',
      () => {},
      { rules: { 'day-before': { before: 'P1D', channels: ['text'], group: 'none' } } },
    ],
    ['a channel other than text messages by default', () => {}, {}],
  ])('%s', async (_, happens, file) => {
    const made = world({ two: 'p2' }, file);
    made.clinic.appointments.delete('three');
    happens(made);
    await made.cycle();
    await made.advance(3 * 24 * HOUR_MS);
    expect(made.gateway.delivered.map(({ appointment }) => appointment.id)).toEqual(['one', 'two']);
    for (const text of texts(made)) expect(text).not.toContain('10:00 ');
  });
});

test.each<[number, string[]]>([
  [80, ['10:00 e 10:30', '11:00']],
  [73, ['10:00', '10:30', '11:00']],
])('a channel that takes at most %d characters gets as many messages as it needs', async (longestText, times) => {
  const made = world({ two: 'p2' });
  made.gateway.longestText = longestText;
  await made.cycle();
  await made.advance(26 * HOUR_MS);
  expect(texts(made)).toHaveLength(times.length);
  for (const [index, time] of times.entries()) expect(texts(made)[index]).toContain(`alle ${time}, Studio Rossi.`);
  for (const id of ['one', 'two', 'three']) expect(await made.fate(id)).toBe('sent');
});

test('the list leaves out a visit that was cancelled after the last cycle', async () => {
  const made = world();
  await made.cycle();
  book(made, 'two', 48.5, { status: 'cancelled' });
  await made.advance(26 * HOUR_MS);
  expect(texts(made)).toEqual(['Promemoria: appuntamenti mercoledì 17 giugno alle 10:00 e 11:00, Studio Rossi.']);
  expect(await made.fate('two')).toBe('dropped cancelled');
});

describe('one recipient gets at most two corrections an hour,', () => {
  /** The visit is moved at once in five cycles. */
  async function movedFiveTimes(file: object = {}): Promise<ReminderWorld> {
    const made = createReminderWorld(redis.connect(), { file });
    book(made, 'one', 48);
    made.clinic.patientList.push(patientOf('p9', { mobilePhone: '+39 333 7654321' }));
    book(made, 'nine', 48.5, { patientId: 'p9' });
    await made.cycle();
    await made.advance(24 * HOUR_MS);
    for (const inHours of [47, 46.5, 46, 45.5, 45]) {
      book(made, 'one', inHours, { updatedAt: made.now });
      await made.cycle();
      await made.advance(12_000);
    }
    return made;
  }

  test('and one when the time has stood still for ten minutes', async () => {
    const made = await movedFiveTimes();
    expect(texts(made)).toHaveLength(3);
    await made.advance(9 * MINUTE_MS);
    expect(texts(made)).toHaveLength(3);
    await made.advance(2 * MINUTE_MS);
    expect(texts(made)).toHaveLength(4);
    expect(texts(made).at(-1)).toContain('ma mercoledì 17 giugno alle 07:00');
    await made.cycle();
    expect(await wrong(made)).toEqual([]);
  });

  test('and does not use the hourly limit of the other patients', async () => {
    const made = await movedFiveTimes({ maxPerHour: 5 });
    await made.advance(HOUR_MS / 2);
    expect(await made.fate('nine')).toBe('sent');
  });
});
