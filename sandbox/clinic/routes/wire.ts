import { agendaOf } from '../data/clinic-data.ts';
import type { Appointment, Patient, PatientSummary } from '../data/records.ts';
import type { ApiContext } from './context.ts';

/** Appointments as the API shows them, with their patients looked up at once. */
export function appointmentsToWire(context: ApiContext, tenantId: string, rows: Appointment[]): object[] {
  const patientIds = context.wire.embedPatient ? rows.map((row) => row.patientId).filter((id) => id !== null) : [];
  const patients = context.data.patients.summaries(tenantId, patientIds);
  return rows.map((row) => appointmentToWire(context, row, patients));
}

function appointmentToWire(
  { data, wire }: ApiContext,
  appointment: Appointment,
  patients: ReadonlyMap<string, PatientSummary>,
): object {
  const { zone } = data;
  const agenda = agendaOf(data, appointment.tenantId, appointment.agendaId);
  const patient = patients.get(appointment.patientId ?? '') ?? null;
  const format = appointment.allDay ? zone.formatDate : zone.formatInstant;
  const time = (epochMs: number) => (data.waiting.has(appointment.id) ? null : format(epochMs));

  function instant(epochMs: number | null): string | null {
    return epochMs === null ? null : zone.formatInstant(epochMs);
  }

  return {
    id: appointment.id,
    agendaId: appointment.agendaId,
    locationId: agenda?.locationId ?? null,
    patientId: appointment.patientId,
    ...(wire.embedPatient ? { patient } : {}),
    doctorId: agenda?.doctor?.id ?? null,
    treatmentId: appointment.treatmentId,
    priceListId: null,
    start: time(appointment.startAt),
    end: time(appointment.endAt),
    allDay: appointment.allDay,
    durationMinutes: (appointment.endAt - appointment.startAt) / 60_000,
    status: appointment.status,
    statusReason: appointment.statusReason,
    confirmedAt: instant(appointment.confirmedAt),
    checkedInAt: instant(appointment.checkedInAt),
    cancelledAt: instant(appointment.cancelledAt),
    payment:
      appointment.payment === null ? null : { ...appointment.payment, paidAt: instant(appointment.payment.paidAt) },
    isPaid: appointment.payment !== null,
    notes: appointment.notes,
    source: appointment.source,
    externalId: appointment.externalId,
    episodeId: null,
    ...(wire.timestamps ? changeTimes(zone.formatInstant, appointment) : {}),
  };
}

/** A patient as the API shows it. */
export function patientToWire({ data, wire }: ApiContext, patient: Patient): object {
  const { id, firstName, lastName, phone, email, details } = patient;
  const times = wire.timestamps ? changeTimes(data.zone.formatInstant, patient) : {};
  return { id, firstName, lastName, phone, email, ...details, ...times };
}

function changeTimes(
  format: (epochMs: number) => string,
  { createdAt, updatedAt }: { createdAt: number; updatedAt: number },
): object {
  return { createdAt: format(createdAt), updatedAt: format(updatedAt) };
}
