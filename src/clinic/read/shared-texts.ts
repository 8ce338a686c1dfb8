import type { Appointment, AppointmentPatient } from '../../model/records.ts';
import type { Mapped } from '../http/rows.ts';

/**
 * Lets the records of one reading share what they repeat: rows name the same agendas, places, treatments, patients and statuses over and
 * over, and parsing makes each of these texts anew. What they share makes up most of a record.
 * @returns gives the record that it is given, which nobody else may hold yet
 */
export function sharedTexts(): (mapped: Mapped<Appointment>) => Mapped<Appointment> {
  const texts = new Map<string, string>();
  const patients = new Map<string, AppointmentPatient>();
  const textOf = <Text extends string | null>(text: Text): Text => {
    if (text === null) return text;
    const known = texts.get(text);
    if (known !== undefined) return known as typeof text;
    texts.set(text, text);
    return text;
  };
  const patientOf = (patient: AppointmentPatient): AppointmentPatient => {
    const known = patients.get(patient.id);
    if (known?.firstName === patient.firstName && known.lastName === patient.lastName) return known;
    patients.set(patient.id, patient);
    return patient;
  };
  return (mapped) => {
    if ('setAside' in mapped) return mapped;
    const { record } = mapped;
    record.agendaId = textOf(record.agendaId);
    record.locationId = textOf(record.locationId);
    record.treatmentId = textOf(record.treatmentId);
    record.rawStatus = textOf(record.rawStatus);
    record.patient &&= patientOf(record.patient);
    record.patientId = record.patient?.id === record.patientId ? record.patient.id : textOf(record.patientId);
    return mapped;
  };
}
