import type { Appointment } from '../../core/model/records.ts';
import type { LedgerEntry } from '../../core/model/reminders.ts';
import type { Lookup } from '../../core/model/snapshots.ts';
import { type Instant, SECOND_MS } from '../../core/model/time.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import type { SeenByPatients } from './corrections.ts';
import type { OpenReminders } from './ports.ts';

/** Appointments read in one cycle, and the time for all of them. Project choice: a desk deletes few at once; others follow in later cycles. */
const MOST_READ = 10;
const READING_MS = 30 * SECOND_MS;

/** Returns a deleted appointment whose record is readable as cancelled; other answers unchanged. */
export function deletedAsCancelled(answer: Lookup<Appointment>): Lookup<Appointment> {
  return 'absent' in answer && answer.deleted !== undefined
    ? { found: { ...answer.deleted, status: 'cancelled' } }
    : answer;
}

/**
 * Reads deleted appointments that patients were told of. A record that the clinic marks as deleted still names its patient, so the patient
 * receives the cancellation. Without a readable record the patient is listed.
 * @returns what the cycle saw, without deleted appointments that were not read: they are compared later
 */
export async function withDeleted(
  tenant: { reminders: OpenReminders; readAppointment: ClinicSource['readAppointment'] },
  seen: SeenByPatients,
  now: Instant,
): Promise<SeenByPatients> {
  const { ledger } = tenant.reminders;
  const notified = (await ledger.notifiedSince(now)).filter((id) => seen.vanished.has(id));
  if (notified.length === 0) return seen;
  const listed = new Set(
    (await ledger.wrong(now)).flatMap((one) => (one.reason === 'vanished' ? one.appointmentId : [])),
  );
  const entries = await ledger.ofAppointments(notified);
  const appointments = new Map(seen.appointments);
  const vanished = new Set(seen.vanished);
  const signal = AbortSignal.timeout(READING_MS);
  const isPlanned = (id: string) => Number(entries.get(id)?.some(isWaitingCancellation) === true);
  const unlisted = notified.filter((id) => !listed.has(id)).sort((one, other) => isPlanned(one) - isPlanned(other));
  for (const [index, id] of unlisted.entries()) {
    const answer = index >= MOST_READ ? null : await tenant.readAppointment(id, signal).catch(() => null);
    const found = answer === null ? null : deletedAsCancelled(answer);
    if (found === null || 'found' in found) vanished.delete(id);
    if (found !== null && 'found' in found && found.found.status === 'cancelled') appointments.set(id, found.found);
  }
  return { ...seen, appointments, vanished };
}

/** A waiting cancellation is compared again, because a new appointment may replace the deleted one. */
function isWaitingCancellation({ correction, state }: LedgerEntry): boolean {
  return correction?.kind === 'cancelled' && (state === 'planned' || state === 'sending');
}
