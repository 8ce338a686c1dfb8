import { describe, expect, test } from 'vitest';
import { judge, reminderName } from '../../bench/reminders/judge.ts';
import { allowedFor, instantOf, localText } from '../../bench/reminders/local-time.ts';
import { owed } from '../../bench/reminders/missed.ts';
import { linesOf } from '../../bench/reminders/receivers.ts';
import { judgeTold } from '../../bench/reminders/told.ts';
import type { Happening, ReceivedMessage, TrueAppointment, TruePatient } from '../../bench/reminders/world-plan.ts';

const ROME = 'Europe/Rome';
const rome = (date: string, time: string) => instantOf(date, time, ROME);
const START = rome('2026-03-31', '10:00');
const EVE = rome('2026-03-30', '18:00');
const LONG_BEFORE = rome('2026-03-01', '12:00');
const PATIENT: TruePatient = {
  id: 'p1',
  tenant: 'studio-rossi',
  phone: '+393331234567',
  email: 'anna@example.org',
  language: 'it',
  agreed: true,
  isActive: true,
};
const APPOINTMENT: TrueAppointment = {
  id: 'one',
  agendaId: 'milan',
  patientId: 'p1',
  startAt: START,
  status: 'booked',
  updatedAt: LONG_BEFORE,
};

const patient = (own: Partial<TruePatient> = {}, at = LONG_BEFORE): Happening => ({
  at,
  kind: 'patient',
  id: 'p1',
  now: { ...PATIENT, ...own },
});
const appointment = (own: Partial<TrueAppointment> = {}, at = LONG_BEFORE): Happening => ({
  at,
  kind: 'appointment',
  id: 'one',
  now: { ...APPOINTMENT, ...own },
});
const message = (at: number, own: Partial<ReceivedMessage> = {}): Happening => ({
  at,
  kind: 'message',
  message: {
    channel: 'text',
    rule: 'eve',
    correction: null,
    to: '+393331234567',
    told: localText(START, ROME),
    messageId: `${at}`,
    ...own,
  },
});
const MOVED = rome('2026-04-01', '10:00');

test.each<[string, Happening[], object]>([
  ['one that may come', [message(EVE)], {}],
  [
    'one for an appointment that was cancelled',
    [appointment({ status: 'cancelled' }, EVE - 1), message(EVE)],
    { cancelled: 1 },
  ],
  ['one with the time before a move', [appointment({ startAt: MOVED }, EVE - 1), message(EVE)], { 'nothing-then': 1 }],
  [
    'one for an appointment that is gone',
    [{ at: EVE, kind: 'appointment', id: 'one', now: null }, message(EVE)],
    { 'nothing-then': 1 },
  ],
  ['one after the arrival of the patient', [appointment({ status: 'arrived' }, EVE), message(EVE)], { arrived: 1 }],
  ['one after an opt-out', [{ at: EVE, kind: 'opt-out', address: '+393331234567' }, message(EVE)], { 'opted-out': 1 }],
  [
    'one by mail after an opt-out by phone',
    [{ at: EVE, kind: 'opt-out', address: '+393331234567' }, message(EVE, { channel: 'mail', to: 'anna@example.org' })],
    {},
  ],
  ['one after consent was withdrawn', [patient({ agreed: false }, EVE), message(EVE)], { 'no-consent': 1 }],
  ['one at night', [message(rome('2026-03-30', '21:00'))], { night: 1 }],
  [
    'one in the last minute of the evening, late by more than the grace',
    [message(rome('2026-03-30', '20:59'))],
    { late: 1 },
  ],
  ['one at the end of the grace', [message(rome('2026-03-30', '20:00'))], {}],
  ['one before its time', [message(EVE - 1)], { early: 1 }],
  ['one after the appointment began', [message(START)], { begun: 1 }],
  [
    'one by a rule that does not hold for the agenda',
    [message(START - 7_200_000, { rule: 'same-time', channel: 'hook', to: 'p1' })],
    { rule: 1 },
  ],
  ['one to a patient who is no longer one', [patient({ isActive: false }, EVE), message(EVE)], { 'patient-gone': 1 }],
])('%s', (_, happenings, expected) => {
  expect(judge([patient(), appointment(), ...happenings]).wrong).toEqual(expected);
});

test('one for an appointment that was booked less than an hour before it', () => {
  const booked = (at: number) => judge([patient(), appointment({}, at), message(EVE)]).wrong;
  expect(booked(EVE - 3_600_000)).toEqual({});
  expect(booked(EVE - 3_599_999)).toEqual({ 'booked-late': 1 });
});

test('a second message is double, a webhook repeated under its id is not', () => {
  expect(judge([patient(), appointment(), message(EVE), message(EVE + 1)]).double).toBe(1);
  const hook = { channel: 'hook', rule: 'same-time', to: 'p1' } as const;
  const at = rome('2026-03-30', '10:00');
  const there = [patient(), appointment({ agendaId: 'rome' })];
  const same = judge([
    ...there,
    message(at, { ...hook, messageId: 'a' }),
    message(at + 1, { ...hook, messageId: 'a' }),
  ]);
  expect(same).toMatchObject({ double: 0, repeated: 1, wrong: {} });
  const other = judge([
    ...there,
    message(at, { ...hook, messageId: 'a' }),
    message(at + 1, { ...hook, messageId: 'b' }),
  ]);
  expect(other).toMatchObject({ double: 1, repeated: 0 });
});

test('a reminder after a cancellation that was taken back is received as the reminder that it is', () => {
  const HOUR_MS = 3_600_000;
  const { received, wrong } = judge([
    ...[patient(), appointment(), message(EVE)],
    ...[appointment({ status: 'cancelled' }, EVE + 1), message(EVE + 2, { correction: 'cancelled' })],
    ...[appointment({}, EVE + 3), message(START - 2 * HOUR_MS, { rule: 'shortly' })],
  ]);
  expect(wrong).toEqual({});
  expect([...received]).toEqual(['eve', 'shortly'].map((rule) => reminderName('one', START, rule, 'text')));
});

test('times calculated by hand, through clock changes, nights and short leads', () => {
  const allowed = (when: Parameters<typeof allowedFor>[0]['when'], date: string, time: string, zone = ROME) => {
    const span = allowedFor({ when }, instantOf(date, time, zone), zone);
    return span === null ? null : [localText(span.fromAt, zone), localText(span.untilAt, zone)];
  };
  // The clocks went forward in the night before: the same local time, 23 hours before.
  expect(allowed('same-time-the-day-before', '2026-03-29', '10:00')).toEqual(['28/03/2026 10:00', '28/03/2026 12:00']);
  expect(allowed('two-hours-before', '2026-10-25', '12:00')).toEqual(['25/10/2026 10:00', '25/10/2026 11:00']);
  expect(allowed('two-hours-before', '2026-03-31', '09:30')).toEqual(['31/03/2026 08:00', '31/03/2026 08:30']);
  expect(allowed('two-hours-before', '2026-03-31', '08:30')).toEqual(['30/03/2026 20:30', '30/03/2026 22:30']);
  expect(allowed('same-time-the-day-before', '2026-03-31', '21:30')).toEqual(['31/03/2026 08:00', '31/03/2026 10:00']);
  expect(allowed('eve-at-six', '2026-04-05', '09:00', 'Australia/Sydney')).toEqual([
    '04/04/2026 18:00',
    '04/04/2026 20:00',
  ]);
});

test('what was promised and stood all along is owed, and nothing else', () => {
  const circumstances = { down: [], away: [], readings: new Map([['studio-rossi', [rome('2026-03-29', '12:00')]]]) };
  const names = (history: Happening[], own: Partial<typeof circumstances> = {}) =>
    [...owed(history, { ...circumstances, ...own })].map((name) => name.split(' ').slice(2).join(' '));
  const base = [patient(), appointment()];
  expect(names(base)).toEqual(['eve text', 'eve mail', 'shortly text']);
  expect(names([...base, appointment({ status: 'cancelled' }, EVE - 1)])).toEqual([]);
  expect(names([...base, appointment({ status: 'confirmed' }, EVE - 1)])).toHaveLength(3);
  expect(names([...base, patient({ agreed: false }, EVE - 1)])).toEqual(['eve mail']);
  expect(names([...base, { at: EVE, kind: 'opt-out', address: 'anna@example.org' }])).toEqual([
    'eve text',
    'shortly text',
  ]);
  const optOuts = [EVE, EVE + 86_400_000].map((at): Happening => ({ at, kind: 'opt-out', address: '+393331234567' }));
  expect(names([...base, ...optOuts])).toEqual(['eve mail']);
  expect(names(base, { readings: new Map() })).toEqual([]);
  // Away until the grace has nearly passed, and for a shorter while.
  const outage = (untilTime: string) => ({
    down: [{ fromAt: EVE - 1, toAt: rome('2026-03-30', untilTime) }] as never[],
  });
  expect(names(base, outage('19:50'))).toEqual(['shortly text']);
  expect(names(base, outage('19:00'))).toHaveLength(3);
});

const MINUTE_MS = 60_000;
const AT_NINE = rome('2026-03-31', '09:00');
const other = (own: Partial<TrueAppointment> = {}, at = EVE + 5): Happening => ({
  at,
  kind: 'appointment',
  id: 'two',
  now: { ...APPOINTMENT, id: 'two', startAt: AT_NINE, replaces: 'one', updatedAt: at, ...own },
});
const gone = (at: number): Happening => ({ at, kind: 'appointment', id: 'one', now: null });
const moved = (at: number, to: number, own: Partial<ReceivedMessage> = {}) =>
  message(at, { correction: 'moved', told: localText(to, ROME), ...own });
const listings = (at: number, listed: string[] = []): Happening[] =>
  [at, at + 1].map((each) => ({ at: each, kind: 'listing', tenant: 'studio-rossi', listed, strangers: listed }));

describe('a visit that got another id', () => {
  const base = [patient(), appointment(), message(EVE)];

  test.each<[string, Happening[], object]>([
    [
      'is told by one correction',
      [appointment({ status: 'cancelled' }, EVE + 1), other(), moved(EVE + 9, AT_NINE)],
      {},
    ],
    ['is told by one correction after it was deleted', [gone(EVE + 1), other(), moved(EVE + 9, AT_NINE)], {}],
    ['and is booked before the old one is deleted', [other(), gone(EVE + 6), moved(EVE + 9, AT_NINE)], {}],
    ['is untold', [gone(EVE + 1), other()], { false: ['one text'] }],
    [
      'is told by its reminder only',
      [gone(EVE + 1), other(), moved(EVE + 9, AT_NINE, { correction: null })],
      { false: ['one text'] },
    ],
    ['is shown to the desk', [gone(EVE + 1), other(), ...listings(EVE + 7, ['two text'])], { strangers: 1 }],
    ['has the same time', [gone(EVE + 1), other({ startAt: START })], {}],
    [
      'is then cancelled',
      [gone(EVE + 1), other(), other({ status: 'cancelled' }, EVE + 6), message(EVE + 9, { correction: 'cancelled' })],
      {},
    ],
  ])('%s', (_, happenings, expected) => {
    const shown = happenings.at(-1)?.kind === 'listing' ? [] : listings(EVE + 20);
    expect(judgeTold([...base, ...happenings, ...shown])).toMatchObject({ false: [], strangers: 0, ...expected });
  });

  test('and whose cancellation came although it stood under another id is split', () => {
    const cancelled = [appointment({ status: 'cancelled' }, EVE + 1), other()];
    const judged = judge([
      ...base,
      ...cancelled,
      message(EVE + 9, { correction: 'cancelled' }),
      moved(EVE + 10, AT_NINE),
    ]);
    expect(judged).toMatchObject({ split: 1, wrong: {}, double: 0 });
  });
});

test('the reminder of the new time is the correction after a cancellation that could not wait', () => {
  const shortlyBefore = [patient(), appointment(), message(EVE), appointment({ status: 'cancelled' }, EVE + 1)];
  const cancelled = message(EVE + 2, { correction: 'cancelled' });
  const next = other({ startAt: MOVED });
  const told = message(EVE + 6, { told: localText(MOVED, ROME) });
  expect(judge([...shortlyBefore, cancelled, next, told]).wrong).toEqual({});
  expect(judge([...shortlyBefore, next, told]).wrong).toEqual({ early: 1 });
});

test('after a merge, messages to the number are about the visits of the remaining patient', () => {
  const merged: Happening[] = [
    { at: EVE - 3, kind: 'patient', id: 'p2', now: { ...PATIENT, id: 'p2' } },
    patient({ mergedInto: 'p2' }, EVE - 3),
    appointment({ patientId: 'p2' }, EVE - 2),
  ];
  expect(judge([patient(), appointment(), ...merged, message(EVE)]).wrong).toEqual({});
  const left = merged.slice(0, 2);
  expect(judge([patient(), appointment(), ...left, message(EVE)]).wrong).toEqual({});
  expect(judge([patient(), appointment(), ...left, patient({ id: 'p2', agreed: false }), message(EVE)]).wrong).toEqual({
    'no-consent': 1,
  });
});

test('a third correction in an hour is one too many while the visit moves, and a fourth always', () => {
  const starts = [1, 2, 3, 4].map((hours) => START + hours * 60 * MINUTE_MS);
  const floodedAfter = (stillMs: number, count: number) => {
    const happenings = starts.slice(0, count).flatMap((startAt, index) => {
      const at = EVE + index * 12 * MINUTE_MS;
      return [appointment({ startAt }, at), moved(at + (index < 2 ? 1 : stillMs), startAt, { messageId: `${index}` })];
    });
    return judge([patient(), appointment(), message(EVE - 1), ...happenings]).flooded;
  };
  expect([floodedAfter(1, 2), floodedAfter(1, 3), floodedAfter(10 * MINUTE_MS, 3)]).toEqual([0, 1, 0]);
  expect(floodedAfter(10 * MINUTE_MS, 4)).toBe(1);
});

test('a correction tells the time of the reminders in the next hours, and not of later ones', () => {
  const at = (time: string) => [...judge([patient(), appointment(), moved(rome('2026-03-30', time), START)]).corrected];
  expect(at('15:00')).toEqual([reminderName('one', START, 'eve', 'text')]);
  expect(at('13:59')).toEqual([]);
});

test.each<[string, object[]]>([
  ['eve 31/03/2026 10:00', [{ rule: 'eve', correction: null, told: '31/03/2026 10:00' }]],
  ['eve+moved 31/03/2026 10:00', [{ rule: 'eve', correction: 'moved', told: '31/03/2026 10:00' }]],
  ...['10:00, 10:30 and 11:00', '10:00, 10:30 e 11:00'].map((times): [string, object[]] => [
    `eve 31/03/2026 ${times}`,
    ['10:00', '10:30', '11:00'].map((time) => ({ rule: 'eve', correction: null, told: `31/03/2026 ${time}` })),
  ]),
  ...[
    'Appointments changed, Studio Rossi: Tue 31/03 10:00 moved to Wed 01/04 09:00; Tue 31/03 10:30 cancelled; Tue 31/03 11:00.',
    'Appuntamenti cambiati, Studio Rossi: mar 31/03 10:00 spostato a mer 01/04 09:00; mar 31/03 10:30 annullato; mar 31/03 11:00.',
  ].map((body): [string, object[]] => [
    body,
    [
      { rule: '', correction: 'moved', told: '01/04/2026 09:00' },
      { rule: '', correction: 'cancelled', told: '31/03/2026 10:30' },
      { rule: '', correction: 'again', told: '31/03/2026 11:00' },
    ],
  ]),
])('the times in "%s"', (body, expected) => {
  expect(linesOf(body, 2026)).toEqual(expected);
});
