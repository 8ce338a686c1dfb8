import type { Appointment } from '../model/records.ts';
import {
  type LedgerEntry,
  type PlannedReminder,
  WITHDRAWALS,
  type WrongInformation,
  type WrongReason,
} from '../model/reminders.ts';
import { HOUR_MS, type Instant } from '../model/time.ts';
import { quietSpanAt } from '../reminders/due.ts';
import { type Place, placeOf } from '../reminders/places.ts';
import { cancellationExclusion, type ReminderRule, reminderExclusion } from '../reminders/rules.ts';
import { correctionOf, type ToldStand, type Truth, toldStand } from '../reminders/told.ts';
import type { OpenReminders } from './open-reminders.ts';

/** A reminder of the new time that is due within this long is its correction. Our choice. */
const SOON_MS = 4 * HOUR_MS;

/** What a cycle learned, as far as corrections go by it. */
export interface SeenByPatients {
  appointments: ReadonlyMap<string, Appointment>;
  vanished: ReadonlySet<string>;
  place: Place;
  /** Where a location has no zone of its own. */
  zone: string;
}

/** How a false message is put right: by a message that is due, or by nobody here. */
type Remedy = { due: PlannedReminder; isPlanned: boolean } | { waitsUntilAt: Instant } | { reason: WrongReason };

/** What is decided of one channel of one appointment. */
interface Decided {
  wrong: WrongInformation | null;
  /** Kept, and the only correction that may stay open. */
  due: PlannedReminder | null;
  isPlanned: boolean;
}

/**
 * Compares what patients were told with what a cycle learned: plans corrections, withdraws those that are not true any more, and notes who
 * holds wrong information. Says nothing of an appointment that the cycle did not see.
 */
export async function planCorrections(
  reminders: OpenReminders,
  seen: SeenByPatients,
  now: Instant,
): Promise<{ planned: number; withdrawn: number }> {
  const { ledger, alarms } = reminders;
  const ids = (await ledger.told(now)).filter((id) => seen.appointments.has(id) || seen.vanished.has(id));
  const noted = new Map((await ledger.wrong(now)).map((one) => [nameOf(one), one]));
  const failed = await failedOf(reminders, ids);
  const counts = { planned: 0, withdrawn: 0 };
  for (const [appointmentId, entries] of await ledger.ofAppointments(ids)) {
    const truth = truthOf(seen, appointmentId);
    for (const [channel, own] of Map.groupBy(entries, (entry) => entry.channel)) {
      const before = noted.get(nameOf({ appointmentId, channel })) ?? null;
      const stand = toldStand(own, truth, { proofs: reminders.proofs, failed });
      if (stand.is === 'sending') continue;
      const decided = decide(reminders, { own, stand, truth }, before, now);
      await note(reminders, { appointmentId, channel }, decided, before);
      const gone = own.filter(
        ({ correction, state, id }) => correction !== null && state === 'planned' && id !== decided.due?.id,
      );
      for (const { id } of gone) if (await ledger.withdraw(id, 'outdated', now)) counts.withdrawn += 1;
      await alarms.cancel(gone);
      if (decided.due === null || !decided.isPlanned) continue;
      if (await ledger.plan(decided.due, null, now)) counts.planned += 1;
      await alarms.set([{ id: decided.due.id, wakeAt: decided.due.dueAt }]);
    }
  }
  return counts;
}

/** Returns the starts that patients were told of appointments ahead, by appointment, of those that a list may settle. */
export async function toldStarts({ ledger }: OpenReminders, now: Instant): Promise<Map<string, Instant[]>> {
  const told = await ledger.ofAppointments(await ledger.told(now));
  const wrong = Map.groupBy(await ledger.wrong(now), ({ appointmentId }) => appointmentId);
  const open = [...told].filter(([id, entries]) => {
    const listed = wrong.get(id) ?? [];
    if (listed.length > 0) return listed.some(({ reason }) => reason !== 'vanished');
    // Who was told that it is cancelled waits for nothing.
    return !entries.some(({ correction, state }) => correction?.kind === 'cancelled' && state === 'sent');
  });
  return new Map(open.map(([id, entries]) => [id, entries.map(({ startAt }) => startAt)]));
}

/**
 * Looks once more, when a correction is due, whether it is one.
 * @returns what the patient was told last; `waits` while another message is being handed over; else why it is dropped
 */
export async function stillFalse(
  reminders: OpenReminders,
  entry: LedgerEntry,
  truth: Truth,
): Promise<{ told: LedgerEntry } | 'waits' | 'outdated' | 'other-patient'> {
  const entries = await reminders.ledger.ofAppointment(entry.appointmentId);
  const others = entries.filter(({ id, channel }) => id !== entry.id && channel === entry.channel);
  const failed = await failedOf(reminders, [entry.appointmentId]);
  const stand = toldStand(others, truth, { proofs: reminders.proofs, failed });
  if (stand.is === 'sending') return 'waits';
  if (stand.is !== 'false' || stand.isUnclear || keyOf(reminders, stand, truth, entry.rule) !== entry.id)
    return 'outdated';
  return stand.isSamePatient ? { told: stand.last } : 'other-patient';
}

/** Notes at once what a message came to: the next cycle looks at the whole again. */
export async function noteOutcome(
  { ledger }: OpenReminders,
  { appointmentId, channel, correction }: LedgerEntry,
  outcome: 'sent' | WrongReason,
  now: Instant,
): Promise<void> {
  if (outcome === 'sent') return ledger.clearWrong({ appointmentId, channel });
  if (correction === null || WITHDRAWALS.some((reason) => reason === outcome)) return;
  const noted = (await ledger.wrong(now)).find((one) => nameOf(one) === nameOf({ appointmentId, channel }));
  if (noted !== undefined) await ledger.noteWrong({ ...noted, correctsAt: null, reason: outcome });
}

type False = Extract<ToldStand, { is: 'false' }>;

function decide(
  reminders: OpenReminders,
  { own, stand, truth }: { own: readonly LedgerEntry[]; stand: ToldStand; truth: Truth | null },
  before: WrongInformation | null,
  now: Instant,
): Decided {
  const nothing = { wrong: null, due: null, isPlanned: false };
  if (stand.is !== 'false') return nothing;
  const { last, kind } = stand;
  const untilAt = kind === 'cancelled' || truth === null ? last.startAt : truth.appointment.time.startAt;
  if (untilAt <= now) return nothing;
  const remedy = remedyFor(reminders, { own, stand, truth }, now);
  const due = 'due' in remedy ? remedy.due : null;
  const wrong: WrongInformation = {
    appointmentId: last.appointmentId,
    channel: last.channel,
    sinceAt: before?.sinceAt ?? now,
    correctsAt: due?.dueAt ?? ('waitsUntilAt' in remedy ? remedy.waitsUntilAt : null),
    reason: 'reason' in remedy ? remedy.reason : null,
    untilAt,
  };
  return { wrong, due, isPlanned: 'due' in remedy && remedy.isPlanned };
}

function remedyFor(
  reminders: OpenReminders,
  { own, stand, truth }: { own: readonly LedgerEntry[]; stand: False; truth: Truth | null },
  now: Instant,
): Remedy {
  const { last, kind, isUnclear, isSamePatient } = stand;
  if (truth === null) return { reason: 'vanished' };
  if (!isSamePatient) return { reason: 'other-patient' };
  if (isUnclear) return { reason: 'unclear' };
  const { startAt, zone } = statedBy(stand, truth);
  const dueAt = quietSpanAt(now, reminders.rules.quiet, zone)?.toAt ?? now;
  const reminder = kind === 'moved' ? reminderSoon(own, last, truth, { now, dueAt }) : undefined;
  if (reminder !== undefined) return { waitsUntilAt: reminder.dueAt };
  const rule = ruleFor(reminders, last, kind, truth.appointment);
  if (rule === undefined) return { reason: 'rule-none' };
  if (!rule.corrections[kind === 'cancelled' ? 'cancelled' : 'moved']) return { reason: 'corrections-off' };
  const id = keyOf(reminders, stand, truth, rule.id);
  const known = own.find((entry) => entry.id === id);
  if (known?.state === 'planned') return { due: known, isPlanned: false };
  if (known?.state === 'unknown') return { reason: 'unclear' };
  if (known?.state === 'dropped' && !WITHDRAWALS.some((one) => one === known.reason)) {
    return { reason: known.reason ?? 'refused' };
  }
  if (dueAt >= startAt) return { reason: 'quiet-hours' };
  const key = { appointmentId: last.appointmentId, startAt, rule: rule.id, channel: last.channel };
  return {
    due: { ...key, correction: correctionOf(stand, truth, reminders.proofs), id, dueAt, zone },
    isPlanned: true,
  };
}

/** The start that a correction speaks of: of a cancelled appointment the one that was told. */
function statedBy({ kind, last }: False, { appointment, zone }: Truth): { startAt: Instant; zone: string } {
  return kind === 'cancelled' ? last : { startAt: appointment.time.startAt, zone };
}

/** Name of the one correction that says this fact. */
function keyOf({ name, proofs }: OpenReminders, stand: False, truth: Truth, rule: string): string {
  const { appointmentId, channel } = stand.last;
  const { startAt } = statedBy(stand, truth);
  return name({ appointmentId, startAt, rule, channel, correction: correctionOf(stand, truth, proofs) });
}

/** A reminder of the time that is true now, due in time before what the patient believes, or no later than a correction. */
function reminderSoon(
  own: readonly LedgerEntry[],
  last: LedgerEntry,
  { appointment }: Truth,
  { now, dueAt: correctionDueAt }: { now: Instant; dueAt: Instant },
): LedgerEntry | undefined {
  const latestAt = Math.max(correctionDueAt, Math.min(now + SOON_MS, last.startAt - HOUR_MS));
  return own.find(
    ({ state, correction, startAt, dueAt }) =>
      state === 'planned' && correction === null && startAt === appointment.time.startAt && dueAt <= latestAt,
  );
}

/** The rule that governs the correction: the one of the last message, else another one for the same channel that covers the appointment. */
function ruleFor(
  { rules: { rules }, channels }: OpenReminders,
  { rule, channel }: LedgerEntry,
  kind: False['kind'],
  appointment: Appointment,
): ReminderRule | undefined {
  if (!channels.has(channel)) return undefined;
  const exclusion = kind === 'cancelled' ? cancellationExclusion : reminderExclusion;
  const own = [...rules.values()].sort((one, other) => Number(other.id === rule) - Number(one.id === rule));
  return own.find((each) => each.channels.includes(channel) && exclusion(appointment, each) === null);
}

function truthOf({ appointments, place, zone }: SeenByPatients, id: string): Truth | null {
  const appointment = appointments.get(id);
  if (appointment === undefined) return null;
  const location = placeOf(appointment, place);
  return { appointment, zone: location?.zone ?? zone, address: location?.address ?? null };
}

async function note(
  { ledger }: OpenReminders,
  of: Pick<WrongInformation, 'appointmentId' | 'channel'>,
  { wrong }: Decided,
  before: WrongInformation | null,
): Promise<void> {
  if (wrong === null) return before === null ? undefined : ledger.clearWrong(of);
  await ledger.keepTold(wrong.appointmentId, wrong.untilAt);
  if (JSON.stringify(wrong) !== JSON.stringify(before)) await ledger.noteWrong(wrong);
}

/** What the other side reported as not delivered, of the messages of these appointments. */
async function failedOf(
  { ledger }: OpenReminders,
  appointmentIds: readonly string[],
): Promise<(entry: LedgerEntry) => boolean> {
  const entries = [...(await ledger.ofAppointments(appointmentIds)).values()].flat();
  const reports = await ledger.reports(entries.flatMap(({ reference }) => reference ?? []));
  return ({ reference }) => reference !== null && reports.get(reference)?.state === 'failed';
}

function nameOf({ appointmentId, channel }: Pick<WrongInformation, 'appointmentId' | 'channel'>): string {
  return JSON.stringify([appointmentId, channel]);
}
