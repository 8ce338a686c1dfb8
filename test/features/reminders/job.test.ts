import { describe, expect, test } from 'vitest';
import type { AppointmentStatus } from '../../../src/core/model/records.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../../src/core/model/time.ts';
import type { Delivery } from '../../../src/features/reminders/channels/channel.ts';
import { remind } from '../../../src/features/reminders/job.ts';
import { reminderKeys } from '../../../src/features/reminders/keys.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { dumpRedis } from '../../e2e/support/dump-redis.ts';
import { useRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { book, createReminderWorld, patientOf, type ReminderWorld } from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });

const PROOFS = { patientProof: 'p', locationProof: null };

/** An appointment on the 17th at 10:00 in Rome, whose reminder is due on the 16th at 10:00: in 24 hours. */
async function booked(options: Parameters<typeof createReminderWorld>[1] = {}): Promise<ReminderWorld> {
  const world = createReminderWorld(redis.connect(), options);
  book(world, 'one', 48);
  await world.cycle();
  return world;
}

describe('a reminder', () => {
  test('comes once, when it is due, in the words of the patient', async () => {
    const world = await booked();
    await world.advance(24 * HOUR_MS - 1);
    expect(world.gateway.calls).toEqual([]);
    await world.advance(1);
    for (let cycles = 0; cycles < 3; cycles += 1) await world.cycle();
    await world.advance(3 * DAY_MS);
    expect(world.gateway.delivered).toHaveLength(1);
    const [{ recipient, content, appointment } = {}] = world.gateway.delivered;
    expect(recipient).toEqual({ patientId: 'p1', email: 'anna@example.org', phone: '+393331234567' });
    expect(content?.text).toBe('Promemoria: appuntamento mercoledì 17 giugno alle 10:00, Studio Rossi.');
    expect(appointment?.startAt).toBe(NOW + 48 * HOUR_MS);
    expect(await world.fate()).toBe('sent');
    expect(world.lags).toEqual([0]);
  });
});

test('a reminder of a merged patient goes to the remaining patient', async () => {
  const world = await booked();
  const { readPatient } = world.clinic;
  world.clinic.readPatient = async (id, signal) =>
    id === 'p1' ? { absent: true, mergedInto: 'p2' } : await readPatient(id, signal);
  world.clinic.patientList.push(patientOf('p2', { mobilePhone: '333 765 4321' }));
  await world.advance(24 * HOUR_MS);
  expect(await world.fate()).toBe('sent');
  expect(world.gateway.delivered.map(({ recipient }) => recipient.phone)).toEqual(['+393337654321']);
});

describe('at the moment of sending', () => {
  test('an address that the channel cannot use is named as the address of the clinic, not as a refusal', async () => {
    const world = await booked();
    world.gateway.answers.push({ result: 'refused', code: 'address-invalid', optedOut: false, channelGone: false });
    await world.advance(DAY_MS);
    expect(await world.fate()).toBe('dropped address-invalid');
  });

  test('one recipient who answers "later" for ever is tried with growing pauses, and no other work waits', async () => {
    const world = await booked();
    const later: Delivery = { result: 'later', code: 'smtp-busy', retryAfterMs: null };
    world.gateway.answers.push(...Array.from({ length: 30 }, () => later));
    const tries: number[] = [];
    world.gateway.onSend = () => void tries.push(world.now);
    await world.advance(2 * DAY_MS);
    const pauses = tries.slice(1).map((at, index) => (at - (tries[index] ?? 0)) / SECOND_MS);
    expect(pauses.slice(0, 5)).toEqual([30, 60, 120, 240, 480]);
    expect(Math.max(...pauses)).toBe(15 * 60);
    expect(await world.fate()).toBe('dropped channel-failed');
    expect(await world.outages.list()).toEqual([]);
  });

  const statuses: AppointmentStatus[] = ['arrived', 'in_progress', 'completed', 'no_show'];
  test.each<[string, (world: ReminderWorld) => unknown, string]>([
    ['cancelled', (world) => book(world, 'one', 48, { status: 'cancelled' }), 'dropped cancelled'],
    ['moved', (world) => book(world, 'one', 47), 'dropped moved'],
    ['gone', (world) => world.clinic.appointments.delete('one'), 'dropped vanished'],
    ['unreadable', (world) => world.clinic.unusable.add('one'), 'dropped unusable'],
    ...statuses.map((status): [string, (world: ReminderWorld) => unknown, string] => [
      status,
      (world) => book(world, 'one', 48, { status }),
      'dropped arrived',
    ]),
    ['without a patient', (world) => book(world, 'one', 48, { patientId: null }), 'dropped excluded'],
    ['of a deleted patient', (world) => world.clinic.patientList.splice(0), 'dropped patient-gone'],
    ['of an inactive patient', (world) => withPatient(world, { isActive: false }), 'dropped patient-gone'],
    ['of a patient without a telephone', (world) => withPatient(world, { mobilePhone: null }), 'dropped no-address'],
    [
      'of one with a number for voice',
      (world) => withPatient(world, { mobilePhone: '02 1234 5678' }),
      'dropped no-address',
    ],
  ])('no reminder is sent for an appointment that is %s', async (_, change, fate) => {
    const world = await booked();
    change(world);
    await world.advance(2 * DAY_MS);
    expect(world.gateway.calls).toEqual([]);
    expect(await world.fate()).toBe(fate);
  });

  test('the number for text messages is used; if there is none, the other one if it can receive them', async () => {
    const world = await booked();
    withPatient(world, { mobilePhone: 'none', phone: '+39 347 765 4321' });
    await world.advance(2 * DAY_MS);
    expect(world.gateway.delivered[0]?.recipient.phone).toBe('+393477654321');
  });

  test('an opt-out applies from that moment, however the number is written', async () => {
    const world = await booked();
    await world.advance(DAY_MS - 1);
    const { optOuts } = openOf(world);
    await optOuts.add(optOuts.hashOf('phone', '+39 333 1234567'), { source: 'reply', at: world.now });
    await world.advance(DAY_MS);
    expect(world.gateway.calls).toEqual([]);
    expect(await world.fate()).toBe('dropped opted-out');
  });

  test.each([
    [{}, 'dropped no-consent'],
    [{ reminders: false }, 'dropped no-consent'],
    [{ reminders: true }, 'sent'],
  ])('a channel that requires consent, given %j: %s', async (consents, fate) => {
    const world = await booked({ channel: { consent: 'reminders' } });
    withPatient(world, { consents });
    await world.advance(2 * DAY_MS);
    expect(await world.fate()).toBe(fate);
  });

  test('a clinic that comes back within the hour delays the reminder', async () => {
    const world = await booked();
    world.clinic.lookupsFail = true;
    await world.advance(DAY_MS + 30 * MINUTE_MS);
    world.clinic.lookupsFail = false;
    await world.advance(MINUTE_MS);
    expect(await world.fate()).toBe('sent');
    expect(world.lags[0]).toBeGreaterThanOrEqual(30 * MINUTE_MS);
  });

  test('a clinic that stays away for longer drops it', async () => {
    const world = await booked();
    world.clinic.lookupsFail = true;
    await world.advance(3 * DAY_MS);
    expect(world.gateway.calls).toEqual([]);
    expect(await world.fate()).toBe('dropped source-unreachable');
    expect((await world.entries())[0]?.lastCode).toBe('server-error');
  });
});

function openOf(world: ReminderWorld) {
  const { reminders } = world.tenant;
  if (reminders === null) throw new Error('no reminders');
  return reminders;
}

function withPatient(world: ReminderWorld, own: Parameters<typeof patientOf>[1]): void {
  world.clinic.patientList.splice(0, 1, patientOf('p1', own));
}

describe('after a time away', () => {
  /** Alarms don't ring while the process is down. */
  async function away(world: ReminderWorld, durationMs: number): Promise<void> {
    const kept = [...world.alarms.wakes];
    world.alarms.wakes.clear();
    await world.advance(durationMs);
    for (const [name, wake] of kept) world.alarms.wakes.set(name, wake);
    await world.advance(0);
  }

  test('a reminder within its grace is sent late', async () => {
    const world = await booked();
    await away(world, DAY_MS + 2 * HOUR_MS);
    expect(await world.fate()).toBe('sent');
    expect(world.lags).toEqual([2 * HOUR_MS]);
  });

  test('one older than its grace is dropped', async () => {
    const world = await booked();
    await away(world, DAY_MS + 2 * HOUR_MS + 1);
    expect(await world.fate()).toBe('dropped too-late');
    expect(world.gateway.calls).toEqual([]);
  });

  test('one that would come at night waits for the morning, if its grace lasts', async () => {
    // Due at 18:00 in Rome; back at 22:00.
    const file = (graceMinutes: number) => ({
      rules: { evening: { at: { daysBefore: 1, time: '18:00' }, channels: ['text'], graceMinutes } },
    });
    const patient = await booked({ file: file(24 * 60) });
    await away(patient, DAY_MS + 12 * HOUR_MS);
    expect(patient.gateway.calls).toEqual([]);
    await patient.advance(10 * HOUR_MS - 1);
    expect(patient.gateway.calls).toEqual([]);
    await patient.advance(1);
    expect(await patient.fate()).toBe('sent');
  });

  test('one whose grace ends in the night is dropped', async () => {
    const world = await booked({
      file: { rules: { evening: { at: { daysBefore: 1, time: '18:00' }, channels: ['text'], graceMinutes: 300 } } },
    });
    await away(world, DAY_MS + 12 * HOUR_MS);
    expect(await world.fate()).toBe('dropped quiet-hours');
  });

  test('an emptied Redis loses no reminder that is still to come', async () => {
    const world = await booked();
    await redis.connect().flushall();
    world.alarms.wakes.clear();
    await world.advance(23 * HOUR_MS + 30 * MINUTE_MS);
    await world.cycle();
    await world.advance(2 * DAY_MS);
    expect(world.gateway.delivered).toHaveLength(1);
  });

  test('an emptied Redis has no reminder sent a second time', async () => {
    const world = await booked();
    await world.advance(DAY_MS + MINUTE_MS);
    expect(await world.fate()).toBe('sent');
    await redis.connect().flushall();
    await world.cycle();
    await world.advance(2 * DAY_MS);
    expect(world.gateway.delivered).toHaveLength(1);
    expect(await world.fate()).toBe('dropped missed');
  });
});

describe('an answer of the vendor', () => {
  const opened = (deduplicates = false) => booked({ deduplicates });
  const end = 30 * HOUR_MS;

  test('later: it is retried, not sooner than requested', async () => {
    const world = await opened();
    world.gateway.answers.push({ result: 'later', code: 'throttled', retryAfterMs: 10 * MINUTE_MS });
    await world.advance(end);
    expect(await world.fate()).toBe('sent');
    expect(world.lags).toEqual([10 * MINUTE_MS]);
  });

  test('later until the grace is over: dropped, with its code', async () => {
    const world = await opened();
    for (let tries = 0; tries < 100; tries += 1) {
      world.gateway.answers.push({ result: 'later', code: 'throttled', retryAfterMs: null });
    }
    await world.advance(end);
    expect(await world.fate()).toBe('dropped channel-failed');
    expect(world.gateway.calls.length).toBeLessThan(20);
    expect((await world.entries())[0]?.lastCode).toBe('throttled');
  });

  test.each([
    ['unknown', { result: 'unknown' as const, code: 'no-answer' }, 1],
    ['an error after it was taken', 'accept-and-die' as const, 1],
    ['an error before it was taken', 'die' as const, 0],
  ])('%s: never a second time where a repetition would be another message', async (_, answer, got) => {
    const world = await opened();
    world.gateway.answers.push(answer);
    await world.advance(end);
    for (let cycles = 0; cycles < 3; cycles += 1) await world.cycle();
    await world.advance(end);
    expect(world.gateway.calls).toHaveLength(1);
    expect(world.gateway.delivered.length).toBe(typeof answer === 'string' ? got : 0);
    expect(await world.fate()).toBe('unknown');
  });

  test('unclear answers are retried with the same id if the vendor knows the id', async () => {
    const world = await opened(true);
    world.gateway.answers.push('accept-and-die', 'die', { result: 'unknown', code: 'no-answer' });
    await world.advance(end);
    expect(new Set(world.gateway.calls).size).toBe(1);
    expect(world.gateway.calls).toHaveLength(4);
    expect(world.gateway.delivered).toHaveLength(1);
    expect(await world.fate()).toBe('sent');
  });

  test('one that may have been sent and is cancelled meanwhile stays unknown, not dropped', async () => {
    const world = await opened(true);
    world.gateway.answers.push('accept-and-die');
    world.gateway.onSend = () => void book(world, 'one', 48, { status: 'cancelled' });
    await world.advance(end);
    expect(await world.fate()).toBe('unknown');
  });

  test('opted out: remembered for the next ones', async () => {
    const world = createReminderWorld(redis.connect());
    book(world, 'one', 48);
    book(world, 'two', 49);
    await world.cycle();
    world.gateway.answers.push({ result: 'refused', code: 'stop', optedOut: true, channelGone: false });
    await world.advance(end);
    expect(world.gateway.calls).toHaveLength(1);
    expect(await world.fate('one')).toBe('dropped opted-out');
    expect(await world.fate('two')).toBe('dropped opted-out');
  });

  test('gone permanently: it receives nothing more', async () => {
    const world = createReminderWorld(redis.connect());
    book(world, 'one', 48);
    book(world, 'two', 49);
    await world.cycle();
    world.gateway.answers.push({ result: 'refused', code: 'gone', optedOut: false, channelGone: true });
    await world.advance(end);
    expect(world.gateway.calls).toHaveLength(1);
    expect(await world.fate('two')).toBe('dropped channel-gone');
  });
});

test('no more than the limit begin in an hour; the rest waits, then is dropped', async () => {
  const world = createReminderWorld(redis.connect(), { file: { maxPerHour: 10 } });
  for (let index = 0; index < 50; index += 1) book(world, `${index}`, 48);
  await world.cycle();
  await world.advance(DAY_MS);
  expect(world.gateway.delivered).toHaveLength(10);
  await world.advance(6 * HOUR_MS);
  expect(world.gateway.delivered).toHaveLength(30);
  const dropped = (await world.entries()).filter(({ reason }) => reason === 'hourly-limit');
  expect(dropped).toHaveLength(20);
});

test('two workers at one reminder hand it over once', async () => {
  const world = await booked();
  const [entry] = await world.entries();
  world.now += DAY_MS;
  const signals = { stop: NEVER, abort: NEVER };
  await Promise.all([1, 2, 3].map(() => remind(world.tenant, entry?.id ?? '', signals)));
  expect(world.gateway.delivered).toHaveLength(1);
  await world.advance(HOUR_MS);
  expect(world.gateway.delivered).toHaveLength(1);
});

test('an older Redis between the intent and its confirmation causes no second message', async () => {
  const connection = redis.connect();
  let losses = 1;
  const world = await booked({
    epoch: {
      async confirm() {
        const [reminder] = await world.entries();
        if (losses-- <= 0 || reminder === undefined) return 0;
        await connection.hset(reminderKeys.reminder(world.tenant.id, reminder.id), 'state', 'planned');
        await connection.del(reminderKeys.reminderClaim(world.tenant.id, reminder.id));
        world.alarms.wakes.set(reminder.id, { id: reminder.id, wakeAt: world.now + MINUTE_MS });
        return 0;
      },
    },
  });
  await world.advance(25 * HOUR_MS);
  expect(world.gateway.delivered).toHaveLength(1);
  expect(await world.fate()).toBe('sent');
});

test('a reminder that is cancelled between its last check and its intent is not sent', async () => {
  const world = await booked();
  const { ledger } = world.tenant.reminders ?? {};
  const [entry] = await world.entries();
  const claim = await ledger?.claim(entry?.id ?? '');
  if (claim == null || !('token' in claim)) throw new Error('no claim');
  await ledger?.withdraw(claim.entry.id, 'cancelled', world.now);
  expect(
    await ledger?.intend([{ claim, ...PROOFS }], {
      ...{ now: world.now, maxPerHour: 10, isLimited: false, mayRepeat: false, recipient: null },
    }),
  ).toBe('lost');
});

test('an opt-out that comes between the last look and the intent is heeded', async () => {
  const world = await booked();
  const { ledger, optOuts } = openOf(world);
  const [entry] = await world.entries();
  const claim = await ledger.claim(entry?.id ?? '');
  if (claim == null || !('token' in claim)) throw new Error('no claim');
  const recipient = optOuts.hashOf('phone', '+393331234567');
  await optOuts.add(recipient, { source: 'reply', at: world.now });
  const intent = { now: world.now, maxPerHour: 10, isLimited: false, mayRepeat: true, recipient };
  expect(await ledger.intend([{ claim, ...PROOFS }], intent)).toBe('opted-out');
  expect((await ledger.read(claim.entry.id))?.state).toBe('planned');
});

test('Redis keeps no name, number or address of a patient', async () => {
  const world = await booked();
  const { optOuts } = openOf(world);
  await optOuts.add(optOuts.hashOf('email', 'anna@example.org'), { source: 'reply', at: world.now });
  await world.advance(2 * DAY_MS);
  const kept = JSON.stringify([...(await dumpRedis(redis.connect()))]);
  expect(kept).toContain('day-before');
  for (const word of ['Anna', 'Verdi', 'anna@', '3331234567', 'Promemoria']) expect(kept).not.toContain(word);
});
