import { type Appointment, belongsTo, type Patient } from '../../core/model/records.ts';
import type { DropReason, LedgerEntry, PlannedReminder, ReminderKey, Withdrawal } from '../../core/model/reminders.ts';
import type { Lookup } from '../../core/model/snapshots.ts';
import { DAY_MS, type Instant, MINUTE_MS } from '../../core/model/time.ts';
import { minuteOfDay, type ReminderFile, type ReminderRuleFile } from '../../settings/reminder-schema.ts';
import { dueAtOf, type QuietHours, quietSpanAt, type When } from './due.ts';

/** A compiled rule of a tenant. */
export interface ReminderRule {
  id: string;
  when: When;
  channels: readonly string[];
  agendas: 'all' | readonly string[];
  treatments: 'all' | readonly string[];
  statuses: readonly string[];
  minimumLeadMs: number;
  graceMs: number;
  texts: ReminderRuleFile['texts'];
  /** Channels in which one message lists several visits of a recipient. */
  grouped: readonly string[];
  corrections: ReminderRuleFile['corrections'];
}

/** Compiled reminder configuration. */
export interface ReminderRules {
  rules: ReadonlyMap<string, ReminderRule>;
  quiet: QuietHours;
}

/** Reason against a reminder for an appointment. */
type ReminderExclusion =
  | 'no-patient'
  | 'several-patients'
  | 'all-day'
  | 'agenda'
  | 'treatment'
  | 'status'
  | 'too-close'
  | 'quiet-hours';

/** Decision of a rule on an appointment, for one channel. */
export type ReminderDecision = { rule: string; channel: string } & (
  | { reminder: PlannedReminder }
  | { excluded: ReminderExclusion }
);

/** Returns the permanent, unguessable name of a reminder. */
export type NameReminder = (key: ReminderKey) => string;

/** Compiles the rules of a tenant file. */
export function compileRules(file: ReminderFile): ReminderRules {
  const { from, to } = file.quietHours;
  const rules = [...file.rules].map(([id, rule]): [string, ReminderRule] => [
    id,
    {
      id,
      when: whenOf(rule),
      channels: rule.channels,
      agendas: rule.agendas,
      treatments: rule.treatments,
      statuses: rule.statuses,
      minimumLeadMs: (rule.minimumLeadMinutes ?? file.minimumLeadMinutes) * MINUTE_MS,
      graceMs: (rule.graceMinutes ?? file.graceMinutes) * MINUTE_MS,
      texts: rule.texts,
      grouped: groupedOf(rule, file),
      corrections: rule.corrections,
    },
  ]);
  return { rules: new Map(rules), quiet: { fromMinute: minuteOfDay(from), toMinute: minuteOfDay(to) } };
}

function groupedOf({ group, channels }: ReminderRuleFile, file: ReminderFile): readonly string[] {
  if (group !== undefined) return group === 'recipient' ? channels : [];
  return channels.filter((channel) => file.channels.get(channel)?.kind === 'sms');
}

function whenOf({ before, at }: ReminderRuleFile): When {
  if (before !== undefined) return { kind: 'before', ...before };
  // The schema requires one of the two.
  return { kind: 'at', daysBefore: at?.daysBefore ?? 0, minuteOfDay: minuteOfDay(at?.time ?? '00:00') };
}

/** Returns the decisions for an appointment, one per rule and channel. @param zone the patient's */
export function remindersFor(
  appointment: Appointment,
  { rules, quiet }: ReminderRules,
  zone: string,
  name: NameReminder,
): ReminderDecision[] {
  return [...rules.values()].flatMap((rule) => {
    const excluded = reminderExclusion(appointment, rule);
    const { startAt } = appointment.time;
    const due = excluded
      ? { excluded }
      : dueAtOf(rule.when, startAt, { zone, quiet, minimumLeadMs: rule.minimumLeadMs });
    return rule.channels.map((channel): ReminderDecision => {
      if ('excluded' in due) return { rule: rule.id, channel, excluded: due.excluded };
      const key = { appointmentId: appointment.id, startAt, rule: rule.id, channel };
      return { rule: rule.id, channel, reminder: { ...key, id: name(key), dueAt: due.dueAt, zone } };
    });
  });
}

/** Returns the reason why a rule excludes an appointment, except its time, or null. */
export function reminderExclusion(appointment: Appointment, rule: ReminderRule): ReminderExclusion | null {
  if (appointment.patientId === null) return 'no-patient';
  if (appointment.patientIds !== undefined) return 'several-patients';
  if (appointment.time.kind === 'all-day') return 'all-day';
  if (belongsTo(appointment, rule.agendas) !== true) return 'agenda';
  if (rule.treatments !== 'all' && !rule.treatments.includes(appointment.treatmentId ?? '')) return 'treatment';
  return rule.statuses.includes(appointment.status) ? null : 'status';
}

/** Returns the reason against a cancellation notice. The rule's statuses do not apply. */
export function cancellationExclusion(appointment: Appointment, rule: ReminderRule): ReminderExclusion | null {
  const excluded = reminderExclusion(appointment, rule);
  return excluded === 'status' ? null : excluded;
}

/**
 * Returns the reason why an unplanned reminder is too late, or null. A reminder already due is never sent, because the reminder may have
 * been sent before the state was lost. Otherwise, the appointment must be unchanged since the minimum lead before.
 * @param updatedAt last change in the clinic, no earlier than booking and last move
 */
export function lateness(
  { dueAt }: { dueAt: Instant },
  { now, updatedAt, minimumLeadMs }: { now: Instant; updatedAt: Instant | null; minimumLeadMs: number },
): 'booked-late' | 'missed' | null {
  const wasBookedInTime = updatedAt !== null && updatedAt <= dueAt - minimumLeadMs;
  if (dueAt <= now) return wasBookedInTime ? 'missed' : 'booked-late';
  return now > dueAt - minimumLeadMs && !wasBookedInTime ? 'booked-late' : null;
}

/** Returns the longest time between a reminder and its appointment, in ms. */
export function longestAheadMs({ rules }: ReminderRules): number {
  // Adds a day for quiet hours, and for local times earlier than the appointment's time.
  const days = [...rules.values()].map(({ when }) =>
    when.kind === 'before' ? when.days + Math.ceil(when.minutes / 1_440) + 1 : when.daysBefore + 2,
  );
  return Math.max(0, ...days) * 1_440 * MINUTE_MS;
}

/** Next step of a reminder. */
export type SendDecision =
  | { do: 'send' }
  | { do: 'wait'; untilAt: Instant }
  | { do: 'drop'; reason: DropReason; code?: string };

/** Code of `patient-gone` for a patient whom the clinic keeps as inactive. */
export const PATIENT_INACTIVE = 'patient-inactive';
const SEND: SendDecision = { do: 'send' };
const drop = (reason: DropReason): SendDecision => ({ do: 'drop', reason });

/** Returns the deadline of a reminder. A correction is useful until the appointment begins, at most for a day. */
export function deadlineOf(
  { dueAt, startAt, correction }: Pick<LedgerEntry, 'dueAt' | 'startAt' | 'correction'>,
  rule: ReminderRule,
): Instant {
  if (correction !== null) return Math.min(dueAt + DAY_MS, startAt - 1);
  return Math.min(dueAt + rule.graceMs, startAt - rule.minimumLeadMs);
}

/** Decides by time: after the due time, within the grace period, outside of quiet hours. */
export function decideByTime(entry: LedgerEntry, rule: ReminderRule, quiet: QuietHours, now: Instant): SendDecision {
  if (now < entry.dueAt) return { do: 'wait', untilAt: entry.dueAt };
  const deadlineAt = deadlineOf(entry, rule);
  if (now > deadlineAt) return drop('too-late');
  const night = quietSpanAt(now, quiet, entry.zone);
  if (night === null) return SEND;
  return night.toAt <= deadlineAt ? { do: 'wait', untilAt: night.toAt } : drop('quiet-hours');
}

/** Decides by the present appointment in the clinic. */
export function decideByAppointment(entry: LedgerEntry, rule: ReminderRule, answer: Lookup<Appointment>): SendDecision {
  if ('absent' in answer) return drop('vanished');
  if ('unusable' in answer) return drop('unusable');
  const { found } = answer;
  if (entry.correction?.kind === 'cancelled') {
    if (found.status !== 'cancelled') return drop('moved');
    return cancellationExclusion(found, rule) === null ? SEND : drop('excluded');
  }
  if (found.time.startAt !== entry.startAt) return drop('moved');
  if (found.status === 'cancelled') return drop('cancelled');
  if (['arrived', 'in_progress', 'completed', 'no_show'].includes(found.status)) return drop('arrived');
  return reminderExclusion(found, rule) === null ? SEND : drop('excluded');
}

/** Decides by the patient. @param consent name of the required consent, or null */
export function decideByPatient(answer: Lookup<Patient>, consent: string | null): SendDecision {
  if ('absent' in answer) return drop('patient-gone');
  if ('found' in answer && !answer.found.isActive)
    return { do: 'drop', reason: 'patient-gone', code: PATIENT_INACTIVE };
  if ('unusable' in answer) return drop('unusable');
  return consent === null || answer.found.consents[consent] === true ? SEND : drop('no-consent');
}

/** Returns the reason why a planned reminder is unwanted. */
export function withdrawalOf(entry: Pick<LedgerEntry, 'startAt'>, appointment: Appointment): Withdrawal {
  if (appointment.status === 'cancelled') return 'cancelled';
  return appointment.time.startAt === entry.startAt ? 'excluded' : 'moved';
}
