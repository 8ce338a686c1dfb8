import type { Hold } from '../../model/plan.ts';
import type { HeldReason, LedgerEntry, WrongInformation } from '../../model/reminders.ts';
import { REMINDERS } from '../../model/reminders.ts';
import { HOUR_MS, type Instant } from '../../model/time.ts';
import type { ReminderFile } from '../../settings/reminder-schema.ts';
import { exceeds } from '../../sync/guard.ts';

/** Corrections that begin within this time are weighed together: a slow change across cycles is as wrong as one at once. */
const WINDOW_MS = HOUR_MS;

/** A message that would tell a patient that something has changed. */
export interface CalledFor {
  appointmentId: string;
  /** Name of the correction; the same for a reminder of the new time that takes its place. */
  fact: string;
  /** When its correction was planned; null when it is not planned yet. */
  plannedAt: Instant | null;
  before: WrongInformation | null;
}

/** What the guard weighs. */
export interface CorrectionInput {
  calls: readonly CalledFor[];
  /** Everything of the appointments that patients were told of, compared or not. */
  entries: readonly LedgerEntry[];
  /** Appointments of the open hold that the cycle did not compare. */
  unseen: readonly string[];
  holds: readonly Hold[];
  /** How many appointments ahead patients were told of. */
  sentCount: number;
  limit: ReminderFile['correctionGuard'];
  now: Instant;
}

/** What has been decided of a correction: `free` when it was planned before the window. */
type CorrectionState = 'approved' | 'refused' | 'waiting' | 'free' | 'undecided';

/**
 * Weighs the corrections of one cycle, with those of the last hour and those that wait, also of appointments that the cycle did not see. Above both
 * limits all undecided ones wait, since part of a wrong change is as wrong. A decision is about what a correction says: when the appointment changes again, the correction is weighed again.
 * @returns why a correction is kept back; null when it is not
 */
export function weighCorrections(input: CorrectionInput): (call: CalledFor) => HeldReason | null {
  const { calls, entries, unseen, sentCount, limit, now } = input;
  const holds = input.holds.filter(({ target, kind }) => target === REMINDERS && kind === 'corrections');
  const waiting = recordsIn(holds.filter(({ state }) => state === 'open'));
  const approved = recordsIn(holds.filter(({ state }) => state === 'approved'));
  const states = new Map(calls.map((call) => [call, correctionStateOf(call, { holds, waiting, now })]));
  const begun = entries.filter(
    ({ appointmentId, correction, plannedAt }) =>
      correction !== null && plannedAt > now - WINDOW_MS && !approved.has(appointmentId),
  );
  const unsure = calls.filter((call) => ['waiting', 'undecided'].includes(states.get(call) ?? ''));
  const together = new Set([...[...begun, ...unsure].map(({ appointmentId }) => appointmentId), ...unseen]);
  const isTooMuch = exceeds(together.size, sentCount, limit);
  return (call) => {
    const correctionState = states.get(call);
    if (correctionState === 'refused') return 'corrections-refused';
    return correctionState === 'waiting' || (correctionState === 'undecided' && isTooMuch) ? 'corrections-held' : null;
  };
}

function correctionStateOf(
  { appointmentId, fact, plannedAt, before }: CalledFor,
  { holds, waiting, now }: { holds: readonly Hold[]; waiting: ReadonlySet<string>; now: Instant },
): CorrectionState {
  const isSame = before?.held?.fact === fact;
  if (isSame && before?.reason === 'corrections-refused') return 'refused';
  if (isSame && before?.reason !== 'corrections-held') return 'approved';
  if (waiting.has(appointmentId)) return 'waiting';
  const heldAt = isSame ? (before?.held?.at ?? now) : now;
  const [decision] = holds
    .filter(({ state, decidedAt, recordIds }) => {
      return isSame && state !== 'open' && (decidedAt ?? 0) >= heldAt && recordIds.includes(appointmentId);
    })
    .sort((one, other) => (other.decidedAt ?? 0) - (one.decidedAt ?? 0));
  if (decision !== undefined) return decision.state === 'approved' ? 'approved' : 'refused';
  return plannedAt !== null && plannedAt <= now - WINDOW_MS ? 'free' : 'undecided';
}

function recordsIn(holds: readonly Hold[]): Set<string> {
  return new Set(holds.flatMap(({ recordIds }) => recordIds));
}
