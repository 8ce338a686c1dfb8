import type { Patient } from '../model/records.ts';
import type { TargetState } from '../sync/diff.ts';
import type { Confirmation } from './absence.ts';
import type { StreamReading } from './stream-memory.ts';
import type { Survey } from './survey.ts';
import type { OpenTarget } from './tenant.ts';

/** What a cycle knows, as far as it tells who is gone. */
interface Known {
  survey: Survey;
  confirmations: { patients: Confirmation<Patient> };
  states: ReadonlyMap<OpenTarget, TargetState>;
}

/** By reading of the list of patients and target of contacts: who was found to be gone, for as long as that reading is used. */
const found = new WeakMap<StreamReading<Patient>, Map<string, Set<string>>>();

/**
 * Tells for an activity or a deal whether its patient is gone. So is one who was read alone and is there no more; and, later, one whom a
 * list of this cycle does not show, and whose contact was removed, while the activity is still there: its
 * removal waits, or could not be planned when that of the contact was.
 * @param target that of activities or deals
 * @param contacts that of their contacts
 * @returns a question about a patient whom neither the list nor a reading alone shows, and a record of theirs
 */
export function gonePatients(
  target: OpenTarget,
  contacts: OpenTarget,
  { survey, confirmations, states }: Known,
): (patientId: string, recordId: string) => boolean {
  const reading = survey.streams.patients;
  const { vanished } = confirmations.patients;
  if (reading === null) return (patientId) => vanished.has(patientId);
  const gone = foundBy(reading, contacts.id);
  const isTelling = reading.snapshot.completeness === 'complete' && reading.readAt >= survey.begunAt;
  const unusable = new Set(reading.snapshot.setAside.map(({ recordId }) => recordId));
  const [its, theirs] = [states.get(target), states.get(contacts)];
  const isOrphan = (patientId: string, recordId: string) => {
    if (!isTelling || theirs === undefined || unusable.has(patientId) || its?.links.has(recordId) !== true)
      return false;
    const pending = theirs.pending.get(patientId);
    return pending === undefined ? !theirs.links.has(patientId) : pending.want === 'absent';
  };
  return (patientId, recordId) => {
    if (vanished.has(patientId) || isOrphan(patientId, recordId)) gone.add(patientId);
    return gone.has(patientId);
  };
}

function foundBy(reading: StreamReading<Patient>, contacts: string): Set<string> {
  const byTarget = found.get(reading) ?? new Map<string, Set<string>>();
  found.set(reading, byTarget);
  const known = byTarget.get(contacts) ?? new Set<string>();
  byTarget.set(contacts, known);
  return known;
}
