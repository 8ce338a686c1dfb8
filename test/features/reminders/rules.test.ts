import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Appointment } from '../../../src/core/model/records.ts';
import type { ReminderKey } from '../../../src/core/model/reminders.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { nominalDueAt } from '../../../src/features/reminders/due.ts';
import {
  compileRules,
  lateness,
  longestAheadMs,
  reminderExclusion,
  remindersFor,
} from '../../../src/features/reminders/rules.ts';
import { reminderSchema } from '../../../src/settings/reminder-schema.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';

const ROME = 'Europe/Rome';
/** A Tuesday, half past ten in Rome. */
const START = Date.parse('2026-06-16T10:30:00+02:00');
const nameOf = ({ appointmentId, startAt, rule, channel }: ReminderKey) =>
  [appointmentId, startAt, rule, channel].join('/');

type RuleFile = Record<string, unknown>;

function rulesOf(rules: Record<string, RuleFile>, file: object = {}) {
  const channels = { text: { kind: 'sms' }, mail: { kind: 'email' } };
  return compileRules(reminderSchema.parse({ channels, rules, ...file }));
}

function visit(changes: Partial<Appointment> = {}): Appointment {
  return appointmentOf('4711', { time: { kind: 'timed', startAt: START, endAt: START + HOUR_MS }, ...changes });
}

/** Returns the decision of one rule for an appointment: when its reminder is due in Rome, or why it has none. */
function decided(rule: RuleFile, appointment = visit(), file: object = {}) {
  const [decision] = remindersFor(appointment, rulesOf({ one: { channels: ['text'], ...rule } }, file), ROME, nameOf);
  if (decision === undefined) throw new Error('a rule with one channel says one thing');
  return 'excluded' in decision ? decision.excluded : new Date(decision.reminder.dueAt).toISOString();
}

describe('a rule', () => {
  test('gives one reminder for each of its channels, known by appointment, start, rule and channel', () => {
    const decisions = remindersFor(
      visit(),
      rulesOf({ one: { before: 'P1D', channels: ['text', 'mail'] } }),
      ROME,
      nameOf,
    );
    const dueAt = START - DAY_MS;
    const key = { appointmentId: '4711', startAt: START, rule: 'one' };
    expect(decisions).toEqual(
      ['text', 'mail'].map((channel) => ({
        rule: 'one',
        channel,
        reminder: { ...key, channel, id: `4711/${START}/one/${channel}`, dueAt, zone: ROME },
      })),
    );
  });

  test('that leaves an appointment out gives the reason for each of its channels, and other rules continue', () => {
    const rules = rulesOf({
      never: { before: 'P1D', channels: ['text', 'mail'], agendas: ['a2'] },
      always: { before: 'PT2H', channels: ['text'] },
    });
    expect(remindersFor(visit(), rules, ROME, nameOf)).toMatchObject([
      { rule: 'never', channel: 'text', excluded: 'agenda' },
      { rule: 'never', channel: 'mail', excluded: 'agenda' },
      { rule: 'always', channel: 'text', reminder: { dueAt: START - 2 * HOUR_MS } },
    ]);
  });

  test.each([
    ['a day before', { before: 'P1D' }, '2026-06-15T08:30:00.000Z'],
    ['hours and minutes before', { before: 'PT1H30M' }, '2026-06-16T07:00:00.000Z'],
    ['at a local time of an earlier day', { at: { daysBefore: 2, time: '18:15' } }, '2026-06-14T16:15:00.000Z'],
    ['at a local time of the same day', { at: { daysBefore: 0, time: '08:05' } }, '2026-06-16T06:05:00.000Z'],
    ['too near the start', { before: 'PT30M' }, 'too-close'],
    ['in the quiet hours', { at: { daysBefore: 0, time: '07:00' } }, '2026-06-16T06:00:00.000Z'],
  ])('says when: %s', (_, rule, due) => {
    expect(decided(rule, visit(), { minimumLeadMinutes: 60, quietHours: { from: '21:00', to: '08:00' } })).toBe(due);
  });

  test('has its own minimum lead and grace; the default is that of the file', () => {
    const file = { minimumLeadMinutes: 90, graceMinutes: 45 };
    const { rules } = rulesOf(
      {
        own: { before: 'P1D', channels: ['text'], minimumLeadMinutes: 0, graceMinutes: 5 },
        shared: { before: 'P1D', channels: ['text'] },
      },
      file,
    );
    expect(rules.get('own')).toMatchObject({ minimumLeadMs: 0, graceMs: 5 * MINUTE_MS });
    expect(rules.get('shared')).toMatchObject({ minimumLeadMs: 90 * MINUTE_MS, graceMs: 45 * MINUTE_MS });
    expect(decided({ before: 'PT1H' }, visit(), file)).toBe('too-close');
    expect(decided({ before: 'PT1H', minimumLeadMinutes: 60 }, visit(), file)).toBe('2026-06-16T07:30:00.000Z');
  });

  test('is either so long before the start, or at a local time', () => {
    const { rules } = rulesOf({
      before: { before: 'P1DT2H', channels: ['text'] },
      at: { at: { daysBefore: 2, time: '18:15' }, channels: ['text'] },
    });
    expect(rules.get('before')?.when).toEqual({ kind: 'before', days: 1, minutes: 120 });
    expect(rules.get('at')?.when).toEqual({ kind: 'at', daysBefore: 2, minuteOfDay: 18 * 60 + 15 });
  });

  test('keeps the night of the file', () => {
    expect(
      rulesOf({ one: { before: 'P1D', channels: ['text'] } }, { quietHours: { from: '20:30', to: '07:15' } }).quiet,
    ).toEqual({ fromMinute: 20 * 60 + 30, toMinute: 7 * 60 + 15 });
  });
});

describe('an appointment', () => {
  const wholeDay = { kind: 'all-day', startDate: '2026-06-16', endDate: '2026-06-17', startAt: START, endAt: START };
  const excluded = (rule: RuleFile, changes: Partial<Appointment> = {}) => {
    const compiled = rulesOf({ one: { before: 'P1D', channels: ['text'], ...rule } }).rules.get('one');
    if (compiled === undefined) throw new Error('no rule');
    return reminderExclusion(visit(changes), compiled);
  };

  test('is reminded of where no rule narrows it down', () => {
    expect(excluded({})).toBeNull();
    expect(excluded({}, { treatmentId: 't1', agendaId: 'any' })).toBeNull();
  });

  test('without a patient has no recipient', () => {
    expect(excluded({}, { patientId: null })).toBe('no-patient');
  });

  test('of a whole day has no time to be reminded of', () => {
    expect(excluded({}, { time: wholeDay as Appointment['time'] })).toBe('all-day');
  });

  test.each([
    [{ agendas: ['a1', 'a3'] }, { agendaId: 'a1' }, null],
    [{ agendas: ['a1', 'a3'] }, { agendaId: 'a2' }, 'agenda'],
    [{ agendas: ['a1', 'a3'] }, { agendaId: 'a2', agendaIds: ['a2', 'a3'] }, null],
    [{ agendas: ['a1', 'a3'] }, { agendaId: 'a2', agendaIds: ['a2', 'a3'], cut: ['agendaId' as const] }, 'agenda'],
    [{ treatments: ['t1'] }, { treatmentId: 't1' }, null],
    [{ treatments: ['t1'] }, { treatmentId: 't2' }, 'treatment'],
    [{ treatments: ['t1'] }, { treatmentId: null }, 'treatment'],
    [{ statuses: ['confirmed'] }, { status: 'confirmed' as const }, null],
    [{ statuses: ['confirmed'] }, { status: 'booked' as const }, 'status'],
    [{}, { status: 'cancelled' as const }, 'status'],
  ])('under %o is decided by what it is: %o', (rule, changes, exclusion) => {
    expect(excluded(rule, changes)).toBe(exclusion);
  });
});

describe('a reminder that was never planned', () => {
  const LEAD_MS = 2 * HOUR_MS;
  const DUE = NOW;
  const told = (now: number, updatedAt: number | null) =>
    lateness({ dueAt: DUE }, { now, updatedAt, minimumLeadMs: LEAD_MS });

  test('is planned while it is due later than the minimum lead, whenever the appointment was booked', () => {
    for (const updatedAt of [null, DUE - DAY_MS, DUE - 3 * HOUR_MS])
      expect(told(DUE - 3 * HOUR_MS, updatedAt)).toBeNull();
    expect(told(DUE - LEAD_MS, null)).toBeNull();
  });

  test('is planned within the minimum lead when the appointment stood before it', () => {
    expect(told(DUE - HOUR_MS, DUE - LEAD_MS)).toBeNull();
    expect(told(DUE - HOUR_MS, DUE - LEAD_MS + 1)).toBe('booked-late');
    expect(told(DUE - LEAD_MS + 1, null)).toBe('booked-late');
  });

  test('is never sent once it was due: it may have been sent before', () => {
    expect(told(DUE, DUE - LEAD_MS)).toBe('missed');
    expect(told(DUE + DAY_MS, DUE - DAY_MS)).toBe('missed');
    expect(told(DUE, DUE - LEAD_MS + 1)).toBe('booked-late');
    expect(told(DUE, null)).toBe('booked-late');
  });
});

describe('how far ahead reminders can be due', () => {
  test('is the furthest of the rules, and a day more for the night', () => {
    const ahead = (...rules: RuleFile[]) =>
      longestAheadMs(
        rulesOf(Object.fromEntries(rules.map((rule, index) => [`r${index}`, { channels: ['text'], ...rule }]))),
      ) / DAY_MS;
    expect(ahead({ before: 'P2D' })).toBe(3);
    expect(ahead({ before: 'PT2H' })).toBe(2);
    expect(ahead({ before: 'P1DT25H' })).toBe(4);
    expect(ahead({ at: { daysBefore: 3, time: '08:00' } })).toBe(5);
    expect(ahead({ before: 'PT2H' }, { at: { daysBefore: 1, time: '18:00' } }, { before: 'P1D' })).toBe(3);
    expect(longestAheadMs({ rules: new Map(), quiet: { fromMinute: 0, toMinute: 0 } })).toBe(0);
  });

  test('covers every rule, wherever the clocks change', () => {
    const offsets = fc.record({ days: fc.nat(20), hours: fc.nat(60), minutes: fc.integer({ min: 1, max: 59 }) });
    const written = fc.oneof(
      offsets.map(({ days, hours, minutes }) => ({ before: `P${days}DT${hours}H${minutes}M` })),
      fc
        .record({ daysBefore: fc.nat(60), hour: fc.integer({ min: 10, max: 23 }) })
        .map(({ daysBefore, hour }) => ({ at: { daysBefore, time: `${hour}:00` } })),
    );
    const zones = fc.constantFrom(ROME, 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Apia', 'UTC');
    const starts = fc.nat(2 * 366 * 1_440).map((minute) => Date.UTC(2025, 11, 1) + minute * MINUTE_MS);
    fc.assert(
      fc.property(written, zones, starts, (rule, zone, startAt) => {
        const compiled = rulesOf({ one: { channels: ['text'], ...rule } });
        const when = compiled.rules.get('one')?.when;
        if (when === undefined) throw new Error('no rule');
        expect(startAt - nominalDueAt(when, startAt, zone)).toBeLessThanOrEqual(longestAheadMs(compiled));
      }),
    );
  });
});
