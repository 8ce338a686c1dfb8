import type { Hold } from '../../core/model/plan.ts';
import type { HeldReason, LedgerEntry, WrongInformation } from '../../core/model/reminders.ts';
import { REMINDERS } from '../../core/model/reminders.ts';
import { HOUR_MS, type Instant } from '../../core/model/time.ts';
import { exceeds } from '../../engine/guard.ts';
import type { ReminderFile } from '../../settings/reminder-schema.ts';
import { visitOf } from './told.ts';

/** Corrections in this window are counted together, because a slow mass change is as dangerous as a fast mass change. */
const WINDOW_MS = HOUR_MS;

/** A message that would report a change to a patient. */
export interface CalledFor {
  appointmentId: string;
  /** Name of the correction, shared with a reminder of the new time that replaces the correction. */
  fact: string;
  /** Planning time of the correction; null before planning. */
  plannedAt: Instant | null;
  before: WrongInformation | null;
}

/** Input of the guard. */
export interface CorrectionInput {
  calls: readonly CalledFor[];
  /** All messages of appointments that patients were notified of, compared or not. */
  entries: readonly LedgerEntry[];
  /** Appointments of the open hold that the cycle did not compare. */
  unseen: readonly string[];
  holds: readonly Hold[];
  /** Number of future appointments that patients were notified of. */
  sentCount: number;
  limit: ReminderFile['correctionGuard'];
  now: Instant;
}

/** Decision on a correction; `free` means planned before the window. */
type CorrectionState = 'approved' | 'refused' | 'waiting' | 'free' | 'undecided';

/**
 * Counts the corrections of a cycle, of the last hour, and waiting corrections, including appointments that the cycle did not see. Above
 * both limits, all undecided corrections are held, because a part of a wrong change is equally wrong. A decision applies to the content of
 * a correction: after a further change, the correction is counted again.
 * @returns the hold reason of a correction, or null
 */
export function weighCorrections(input: CorrectionInput): (call: CalledFor) => HeldReason | null {
  const { calls, entries, unseen, sentCount, limit, now } = input;
  const holds = input.holds.filter(({ target, kind }) => target === REMINDERS && kind === 'corrections');
  const waiting = recordsIn(holds.filter(({ state }) => state === 'open'));
  const approved = recordsIn(holds.filter(({ state }) => state === 'approved'));
  const states = new Map(calls.map((call) => [call, correctionStateOf(call, { holds, waiting, now })]));
  const begun = entries.filter(
    (entry) => entry.correction !== null && entry.plannedAt > now - WINDOW_MS && !approved.has(visitOf(entry)),
  );
  const unsure = calls.filter((call) => ['waiting', 'undecided'].includes(states.get(call) ?? ''));
  const together = new Set([...begun.map(visitOf), ...unsure.map(({ appointmentId }) => appointmentId), ...unseen]);
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
