import type { Confirmation } from '../jobs/absence.ts';
import type { Survey } from '../jobs/survey.ts';
import type { OpenTarget } from '../jobs/tenant.ts';
import type { Patient } from '../model/records.ts';
import type { TargetState } from './diff.ts';

/** What a cycle knows, as far as it tells who is gone. */
interface Known {
  survey: Survey;
  confirmations: { patients: Confirmation<Patient> };
  states: ReadonlyMap<OpenTarget, TargetState>;
}

/**
 * Tells for an activity or a deal whether its patient is gone. So is one who was read alone and is there no more; and, later, one whom a
 * list that is planned by for the first time does not show, and whose contact was removed, while the activity is still there: its
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
  const gone = reading.gone.get(contacts.id) ?? new Set<string>();
  reading.gone.set(contacts.id, gone);
  const isNew = reading.readAt > (survey.streams.plannedBy.patients ?? -Infinity);
  const isTelling = isNew && reading.snapshot.completeness === 'complete';
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
