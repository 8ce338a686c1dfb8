import { createHash } from 'node:crypto';
import type { Appointment } from '../../core/model/records.ts';
import {
  type HeldReason,
  type LedgerEntry,
  type PlannedReminder,
  REMINDERS,
  WITHDRAWALS,
  type WrongInformation,
  type WrongReason,
} from '../../core/model/reminders.ts';
import { DAY_MS, HOUR_MS, type Instant } from '../../core/model/time.ts';
import type { HoldTable } from '../../engine/store.ts';
import { type CalledFor, weighCorrections } from './correction-guard.ts';
import { type LocationCatalogue, locationOf } from './places.ts';
import type { OpenReminders } from './ports.ts';
import { keyOf, remedyFor } from './remedies.ts';
import { failedOf, isForInactive } from './steps.ts';
import { type MessageTruth, messageTruthOf, type Truth, visitOf } from './told.ts';

/** Time after the announced start in which a read may still find an earlier move to a later time. Project choice. */
const PASSED_MS = DAY_MS;

/** Result of a cycle that corrections use. */
export interface SeenByPatients {
  appointments: ReadonlyMap<string, Appointment>;
  vanished: ReadonlySet<string>;
  locations: LocationCatalogue;
  /** Zone for locations without a zone. */
  zone: string;
}

/** Decision on one channel of one appointment. */
interface Decided {
  wrong: WrongInformation | null;
  /** The message to keep, and the only correction that may remain open. */
  due: PlannedReminder | LedgerEntry | null;
  isPlanned: boolean;
  /** Recipient of the false message; null while unknown. */
  recipient: string | null;
  /** Name of the correction if a due message reports the change, or null. */
  fact: string | null;
}

/** Comparison of one channel of one appointment. */
interface Compared {
  appointmentId: string;
  channel: string;
  own: readonly LedgerEntry[];
  before: WrongInformation | null;
  decided: Decided;
}

/**
 * Compares sent messages with the result of a cycle. Plans corrections, or holds too many corrections. Withdraws outdated corrections, and
 * stores who has wrong information. Appointments that the cycle did not see are unchanged.
 */
export async function planCorrections(
  holds: HoldTable,
  reminders: OpenReminders,
  seen: SeenByPatients,
  now: Instant,
): Promise<{ planned: number; withdrawn: number; held: number }> {
  const { ledger } = reminders;
  const announced = await ledger.notifiedSince(now);
  const recorded = await ledger.wrong(now);
  for (const one of recorded) if (isUntoldNoMore(one, seen)) await ledger.clearWrong(one);
  const wrongInformation = recorded.filter(({ isUntold }) => isUntold !== true);
  const entries = await ledger.ofAppointments(await ledger.notifiedSince(now - PASSED_MS));
  const compared = await compareAll(reminders, seen, { entries, recorded: wrongInformation }, now);
  const counts = { planned: 0, withdrawn: 0, held: 0 };
  for (const one of await withholdCorrections(
    holds,
    reminders,
    { compared, sent: announced, entries, recorded: wrongInformation },
    now,
  )) {
    await recordWrong(reminders, one, one.decided, one.before);
    const { planned, withdrawn } = await carryOut(reminders, one, now);
    counts.planned += planned;
    counts.withdrawn += withdrawn;
    if (one.decided.wrong?.reason === 'corrections-held') counts.held += 1;
  }
  return counts;
}

interface LedgerContent {
  /** Ids of future appointments. */
  sent: readonly string[];
  /** All messages of these appointments, and of appointments whose announced start has just passed. */
  entries: ReadonlyMap<string, readonly LedgerEntry[]>;
  recorded: readonly WrongInformation[];
}

async function compareAll(
  reminders: OpenReminders,
  seen: SeenByPatients,
  { entries, recorded }: Pick<LedgerContent, 'entries' | 'recorded'>,
  now: Instant,
): Promise<Compared[]> {
  const seenNow = [...entries].filter(([id]) => seen.appointments.has(id) || seen.vanished.has(id));
  const byName = new Map(recorded.map((one) => [nameOf(one), one]));
  const failed = await failedOf(
    reminders,
    seenNow.map(([id]) => id),
  );
  return seenNow.flatMap(([appointmentId, ofOne]) => {
    const truth = truthOf(seen, appointmentId);
    return [...Map.groupBy(ofOne, (entry) => entry.channel)].flatMap(([channel, own]) => {
      const before = byName.get(nameOf({ appointmentId, channel })) ?? null;
      const stand = messageTruthOf(own, truth, { proofs: reminders.proofs, failed });
      if (stand.is === 'sending') return [];
      return [{ appointmentId, channel, own, before, decided: decide(reminders, { own, stand, truth }, before, now) }];
    });
  });
}

/**
 * Holds too many corrections. The hold contains the new corrections, and its earlier corrections of appointments that were not compared.
 */
async function withholdCorrections(
  holds: HoldTable,
  { file: { correctionGuard } }: OpenReminders,
  { compared, sent, entries, recorded }: LedgerContent & { compared: readonly Compared[] },
  now: Instant,
): Promise<Compared[]> {
  const all = await holds.list();
  const calls = new Map(compared.flatMap((one) => (one.decided.fact === null ? [] : [[one, callOf(one)] as const])));
  const isCompared = new Set(compared.map(({ appointmentId }) => appointmentId));
  const open = all.find(({ target, state }) => target === REMINDERS && state === 'open');
  const unseen = recorded.filter(
    ({ appointmentId }) => open?.recordIds.includes(appointmentId) && !isCompared.has(appointmentId),
  );
  const reasonFor = weighCorrections({
    calls: [...calls.values()],
    entries: [...entries.values()].flat(),
    unseen: unseen.map(({ appointmentId }) => appointmentId),
    holds: all,
    sentCount: sent.length,
    limit: correctionGuard,
    now,
  });
  const weighed = compared.map((one) => {
    const call = calls.get(one);
    const reason = call === undefined ? null : reasonFor(call);
    return reason === null ? one : { ...one, decided: withheld(one, reason, now) };
  });
  const held = [
    ...weighed.flatMap((one) => {
      const { wrong } = one.decided;
      return wrong?.reason === 'corrections-held' ? [{ ...one, fact: wrong.held?.fact ?? null }] : [];
    }),
    ...unseen.map((one) => ({ ...one, fact: one.held?.fact ?? null })),
  ];
  if (open !== undefined || held.length > 0) {
    const expiresAt = now + correctionGuard.holdExpiresAfterHours * HOUR_MS;
    const recordIds = [...new Set(held.map(({ appointmentId }) => appointmentId))];
    // A decision applies to the content of the corrections, not to later changes.
    const said = JSON.stringify(held.map((one) => [nameOf(one), one.fact]).toSorted());
    const content = createHash('sha256').update(said).digest('base64url');
    await holds.cover(REMINDERS, 'corrections', recordIds, { linkCount: sent.length, content, now, expiresAt });
  }
  return weighed;
}

function callOf({ appointmentId, before, decided: { fact, due } }: Compared): CalledFor {
  return {
    appointmentId,
    fact: fact ?? '',
    plannedAt: due !== null && 'plannedAt' in due ? due.plannedAt : null,
    before,
  };
}

function withheld({ before, decided }: Compared, reason: HeldReason, now: Instant): Decided {
  const { wrong, fact } = decided;
  if (wrong === null || fact === null) return decided;
  const held = before?.held?.fact === fact ? before.held : { fact, at: now };
  return { wrong: { ...wrong, correctsAt: null, reason, held }, due: null, isPlanned: false, recipient: null, fact };
}

/** Withdraws outdated corrections, and plans due corrections. */
async function carryOut(
  { ledger, alarms }: OpenReminders,
  { own, decided: { due, isPlanned, recipient } }: Compared,
  now: Instant,
): Promise<{ planned: number; withdrawn: number }> {
  const counts = { planned: 0, withdrawn: 0 };
  const gone = own.filter(({ correction, state, id }) => correction !== null && state === 'planned' && id !== due?.id);
  for (const { id } of gone) if (await ledger.withdraw(id, 'outdated', now)) counts.withdrawn += 1;
  await alarms.cancel(gone);
  if (due === null || !isPlanned) return counts;
  if (await ledger.plan(due, null, now)) counts.planned += 1;
  if (recipient !== null) await ledger.storeRecipient(due.id, recipient);
  await alarms.set([{ id: due.id, wakeAt: due.dueAt }]);
  return counts;
}

/** Returns the announced starts of future appointments, by appointment, that a list can verify. */
export async function announcedStarts({ ledger }: OpenReminders, now: Instant): Promise<Map<string, Instant[]>> {
  const announced = await ledger.ofAppointments(await ledger.notifiedSince(now));
  const wrong = Map.groupBy(await ledger.wrong(now), ({ appointmentId }) => appointmentId);
  const open = [...announced].filter(([id, entries]) => {
    const listed = wrong.get(id) ?? [];
    if (listed.length > 0) return listed.some(({ reason }) => reason !== 'vanished');
    // A patient notified of the cancellation expects no appointment.
    return !entries.some(({ correction, state }) => correction?.kind === 'cancelled' && state === 'sent');
  });
  return new Map(open.map(([id, entries]) => [id, entries.map(({ startAt }) => startAt)]));
}

/**
 * Checks again whether a due correction is required.
 * @returns the last announced facts; `waits` during the delivery of a different message; or the drop reason
 */
export async function stillFalse(
  reminders: OpenReminders,
  entry: LedgerEntry,
  truth: Truth,
): Promise<{ sent: LedgerEntry } | 'waits' | 'outdated' | 'other-patient'> {
  const entries = await reminders.ledger.ofAppointment(entry.appointmentId);
  const others = entries.filter(({ id, channel }) => id !== entry.id && channel === entry.channel);
  const failed = await failedOf(reminders, [entry.appointmentId]);
  const stand = messageTruthOf(others, truth, { proofs: reminders.proofs, failed });
  if (stand.is === 'sending') return 'waits';
  if (stand.is !== 'false' || stand.isUnclear || keyOf(reminders, stand, truth, entry.rule) !== entry.id)
    return 'outdated';
  return stand.isSamePatient ? { sent: stand.last } : 'other-patient';
}

/** Returns the reason why a hold or its rejection blocks messages of an appointment, or null. */
export async function heldReasonOf(
  { ledger }: OpenReminders,
  appointmentId: string,
  now: Instant,
): Promise<HeldReason | null> {
  for (const wrong of await ledger.wrong(now)) {
    const { reason } = wrong;
    if (wrong.appointmentId === appointmentId && (reason === 'corrections-held' || reason === 'corrections-refused'))
      return reason;
  }
  return null;
}

/** Reasons without a message for which no one must call: of the clinic's rules, or the patient's wish. */
const WANTED_SILENCE = new Set<WrongReason>([
  'booked-late',
  'missed',
  'arrived',
  'rule-gone',
  'no-consent',
  'opted-out',
]);

/** Returns whether an appointment that no message told has no call left to make: cancelled, deleted, or at another time. */
function isUntoldNoMore({ isUntold, appointmentId, untilAt }: WrongInformation, seen: SeenByPatients): boolean {
  if (isUntold !== true) return false;
  const appointment = seen.appointments.get(appointmentId);
  if (appointment === undefined) return seen.vanished.has(appointmentId);
  return appointment.status === 'cancelled' || appointment.time.startAt !== untilAt;
}

/** Stores the result of a message immediately, also of a reminder that no patient received. The next cycle compares again. */
export async function recordOutcome(
  { ledger }: OpenReminders,
  { appointmentId, channel, correction, startAt }: LedgerEntry,
  outcome: 'sent' | WrongReason,
  now: Instant,
): Promise<void> {
  const all = await ledger.wrong(now);
  if (outcome === 'sent') {
    await ledger.clearWrong({ appointmentId, channel });
    // A patient who was told by one channel needs no call.
    for (const one of all)
      if (one.isUntold === true && one.appointmentId === appointmentId) await ledger.clearWrong(one);
    return;
  }
  if (WITHDRAWALS.some((reason) => reason === outcome)) return;
  if (correction === null) {
    if (WANTED_SILENCE.has(outcome) || startAt <= now) return;
    const own = await ledger.ofAppointment(appointmentId);
    // A patient who was told another time has wrong information instead.
    if (own.some(({ state }) => state === 'sent')) return;
    const times = { sinceAt: now, correctsAt: null, untilAt: startAt };
    return ledger.recordWrong({ appointmentId, channel, ...times, reason: outcome, held: null, isUntold: true });
  }
  const wrongInformation = all.find((one) => nameOf(one) === nameOf({ appointmentId, channel }));
  if (wrongInformation !== undefined)
    await ledger.recordWrong({ ...wrongInformation, correctsAt: null, reason: outcome });
}

function decide(
  reminders: OpenReminders,
  { own, stand, truth }: { own: readonly LedgerEntry[]; stand: MessageTruth; truth: Truth | null },
  before: WrongInformation | null,
  now: Instant,
): Decided {
  const nothing = { wrong: null, due: null, isPlanned: false, recipient: null, fact: null };
  if (stand.is !== 'false') return nothing;
  if (stand.kind === 'cancelled' && own.some(isForInactive)) return nothing;
  const { last, kind } = stand;
  const untilAt = kind === 'cancelled' || truth === null ? last.startAt : truth.appointment.time.startAt;
  if (untilAt <= now || isAnotherVisit(last, truth, before, now)) return nothing;
  const remedy = remedyFor(reminders, { own, stand, truth, since: before?.sinceAt ?? now }, now);
  const due = 'due' in remedy ? remedy.due : null;
  // The name is independent of the rule, because the fact is equal.
  const fact = 'reason' in remedy || truth === null ? null : keyOf(reminders, stand, truth, last.rule);
  const wrong: WrongInformation = {
    appointmentId: visitOf(last),
    channel: last.channel,
    sinceAt: before?.sinceAt ?? now,
    correctsAt: due?.dueAt ?? ('waitsUntilAt' in remedy ? remedy.waitsUntilAt : null),
    reason: 'reason' in remedy ? remedy.reason : null,
    untilAt,
    held: fact !== null && before?.held?.fact === fact ? before.held : null,
  };
  return { wrong, due, isPlanned: 'due' in remedy && remedy.isPlanned, recipient: last.recipient, fact };
}

/**
 * Returns whether the appointment was postponed after the announced start. The patient then attended or missed the visit, and knows the new
 * time. A change stored before the start is a different move. Without a change time from the clinic, the order is unknown.
 */
function isAnotherVisit(
  { startAt }: LedgerEntry,
  truth: Truth | null,
  before: WrongInformation | null,
  now: Instant,
): boolean {
  if (startAt > now || (before !== null && before.sinceAt < startAt)) return false;
  return (truth?.appointment.updatedAt ?? startAt) >= startAt;
}

function truthOf({ appointments, locations, zone }: SeenByPatients, id: string): Truth | null {
  const appointment = appointments.get(id);
  if (appointment === undefined) return null;
  const location = locationOf(appointment, locations);
  return { appointment, zone: location?.zone ?? zone, address: location?.address ?? null };
}

async function recordWrong(
  { ledger }: OpenReminders,
  of: Pick<WrongInformation, 'appointmentId' | 'channel'>,
  { wrong }: Decided,
  before: WrongInformation | null,
): Promise<void> {
  if (wrong === null) return before === null ? undefined : ledger.clearWrong(of);
  await ledger.storeNotified(wrong.appointmentId, wrong.untilAt);
  if (JSON.stringify(wrong) !== JSON.stringify(before)) await ledger.recordWrong(wrong);
}

function nameOf({ appointmentId, channel }: Pick<WrongInformation, 'appointmentId' | 'channel'>): string {
  return JSON.stringify([appointmentId, channel]);
}
