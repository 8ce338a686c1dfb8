import { SECOND_MS } from '../../model/time.ts';
import type { BookedAppointment } from '../read/appointment-rows.ts';
import type { ClinicRecord } from '../read/reading-calls.ts';
import { listCalls, widened } from '../read/windows.ts';
import type { Zone } from '../read/zone.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import type { Twin } from './resource-calls.ts';

/**
 * What is natural to a record, so that one whose create lost its answer is found again. A record that is the same in all of it
 * and stood there before is taken for the new one: the clinic would otherwise have it twice.
 */

type Patient = ClinicRecord<'patients'>;
type Episode = ClinicRecord<'episodes'>;
type Report = ClinicRecord<'medicalReports'>;

/** A patient by our own id, else by tax code, else by name and date of birth. The list is read to its end in the worst case. */
export function patientTwin(values: Partial<Patient>): Twin<Patient> | null {
  const { externalId, taxCode, firstName, lastName, birthDate } = values;
  if (told(externalId)) return { parameters: [], isSame: (other) => other.externalId === externalId };
  if (told(taxCode)) return { parameters: [], isSame: (other) => sameText(other.taxCode, taxCode) };
  if (!told(firstName) || !told(lastName) || !told(birthDate)) return null;
  return {
    parameters: [],
    isSame: (other) =>
      sameText(other.firstName, firstName) && sameText(other.lastName, lastName) && other.birthDate === birthDate,
  };
}

/** An appointment by agenda, patient and start. */
export function appointmentTwin(profile: ClinicProfile, zone: Zone, zones: () => Iterable<string>) {
  return (values: Partial<BookedAppointment>): Twin<BookedAppointment> | null => {
    const { agendaId, start, patientId = null } = values;
    if (agendaId === undefined || start === undefined) return null;
    const { format } = profile.appointments.window;
    const window = widened({ fromAt: start, toAt: start + SECOND_MS }, format, zone, zones());
    const [parameters = []] = listCalls(profile.appointments, zone, window, [agendaId]);
    return {
      parameters,
      isSame: (other) =>
        other.agendaId === agendaId &&
        other.patientId === patientId &&
        other.status !== 'cancelled' &&
        sameSecond(other.start, start),
    };
  };
}

/** An episode by patient and appointment, else by patient, title and the time of its opening. */
export function episodeTwin(values: Partial<Episode>): Twin<Episode> | null {
  const { patientId, appointmentId, openedAt, title = null } = values;
  if (!told(patientId)) return null;
  if (told(appointmentId)) {
    return {
      parameters: [],
      isSame: (other) => other.patientId === patientId && other.appointmentId === appointmentId,
    };
  }
  if (!told(openedAt)) return null;
  return {
    parameters: [],
    isSame: (other) =>
      other.patientId === patientId && other.title === title && sameSecond(other.openedAt ?? 0, openedAt),
  };
}

/** A report by patient, date, title and the size of its file. */
export function reportTwin(values: Partial<Report>, sizeBytes: number): Twin<Report> | null {
  const { patientId, reportDate, title } = values;
  if (!told(patientId) || !told(reportDate) || !told(title)) return null;
  return {
    parameters: [],
    isSame: (other) =>
      other.patientId === patientId &&
      other.reportDate === reportDate &&
      other.title === title &&
      (other.fileSizeBytes ?? sizeBytes) === sizeBytes,
  };
}

function told<Value>(value: Value | null | undefined): value is Value {
  return value !== null && value !== undefined;
}

function sameText(one: string | null, other: string): boolean {
  return one?.trim().toUpperCase() === other.trim().toUpperCase();
}

/** Times are written in whole seconds. */
function sameSecond(one: number, other: number): boolean {
  return Math.floor(one / SECOND_MS) === Math.floor(other / SECOND_MS);
}
