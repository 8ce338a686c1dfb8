import type { Confirmations } from './absence.ts';
import type { Contacts } from './contacts.ts';
import type { ClinicShown } from './cycle-input.ts';
import type { GivenState } from './diff.ts';
import { tombstonesIn, unusableIn } from './followed.ts';

/** What a cycle knows, as far as it tells who is gone. */
interface Known {
  clinicReading: Pick<ClinicShown, 'streams'>;
  confirmations: Pick<Confirmations, 'patients'>;
}

/**
 * Tells for an activity or a deal whether its patient is gone. So is one who was read alone and is there no more; and, later, one whom a
 * list that is planned by for the first time does not show, and whose contact was removed, while the activity is still there: its
 * removal waits, or could not be planned when that of the contact was.
 * @param state that of the target of activities or deals
 * @param contacts those of their patients; whoever is found to be gone comes to their `gone`
 * @returns a question about a patient whom neither the list nor a reading alone shows, and a record of theirs
 */
export function gonePatients(
  { links }: GivenState,
  { state: theirs, isOpen, gone }: Contacts,
  { clinicReading, confirmations }: Known,
): (patientId: string, recordId: string) => boolean {
  const reading = clinicReading.streams.patients;
  const { vanished } = confirmations.patients;
  if (reading === null) return (patientId) => vanished.has(patientId);
  const isNew = reading.readAt > (clinicReading.streams.plannedBy.patients ?? -Infinity);
  const isTelling = isOpen && isNew && reading.snapshot.completeness === 'complete';
  const unusable = unusableIn(reading.snapshot);
  const deleted = new Set(tombstonesIn(reading.snapshot));
  const isOrphan = (patientId: string, recordId: string) => {
    if (!isTelling || unusable.has(patientId) || !links.has(recordId)) return false;
    const pending = theirs.pending.get(patientId);
    return pending === undefined ? !theirs.links.has(patientId) : pending.want === 'absent';
  };
  return (patientId, recordId) => {
    if (vanished.has(patientId) || deleted.has(patientId) || isOrphan(patientId, recordId)) gone.add(patientId);
    return gone.has(patientId);
  };
}
