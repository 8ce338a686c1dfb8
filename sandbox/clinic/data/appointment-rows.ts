import { integer, integerOrNull, type Row, type SQLInputValue, text, textOrNull } from './database.ts';
import { type Appointment, isAppointmentStatus, type Payment } from './records.ts';

/** The table's columns in order, each with the value it takes from an appointment. */
const COLUMNS: ReadonlyArray<[name: string, value: (appointment: Appointment) => SQLInputValue]> = [
  ['id', (it) => it.id],
  ['tenant_id', (it) => it.tenantId],
  ['agenda_id', (it) => it.agendaId],
  ['patient_id', (it) => it.patientId],
  ['treatment_id', (it) => it.treatmentId],
  ['start_at', (it) => it.startAt],
  ['end_at', (it) => it.endAt],
  ['all_day', (it) => (it.allDay ? 1 : 0)],
  ['status', (it) => it.status],
  ['status_reason', (it) => it.statusReason],
  ['confirmed_at', (it) => it.confirmedAt],
  ['checked_in_at', (it) => it.checkedInAt],
  ['cancelled_at', (it) => it.cancelledAt],
  ['payment', (it) => (it.payment === null ? null : JSON.stringify(it.payment))],
  ['notes', (it) => it.notes],
  ['source', (it) => it.source],
  ['external_id', (it) => it.externalId],
  ['created_at', (it) => it.createdAt],
  ['updated_at', (it) => it.updatedAt],
  ['deleted_at', (it) => it.deletedAt],
];

/** Inserts or replaces a whole row; its parameters come from `appointmentValues`. */
export const SAVE_APPOINTMENT = `INSERT OR REPLACE INTO appointments (${COLUMNS.map(([name]) => name).join(', ')})
  VALUES (${COLUMNS.map(() => '?').join(', ')})`;

/** An appointment as the parameters of SAVE_APPOINTMENT. */
export function appointmentValues(appointment: Appointment): SQLInputValue[] {
  return COLUMNS.map(([, value]) => value(appointment));
}

/** An appointment out of a row that holds all columns. */
export function toAppointment(row: Row): Appointment {
  const payment = textOrNull(row, 'payment');
  const paymentOrNull: Payment | null = payment === null ? null : JSON.parse(payment);
  return {
    id: text(row, 'id'),
    tenantId: text(row, 'tenant_id'),
    agendaId: text(row, 'agenda_id'),
    patientId: textOrNull(row, 'patient_id'),
    treatmentId: textOrNull(row, 'treatment_id'),
    startAt: integer(row, 'start_at'),
    endAt: integer(row, 'end_at'),
    allDay: integer(row, 'all_day') === 1,
    status: toStatus(text(row, 'status')),
    statusReason: textOrNull(row, 'status_reason'),
    confirmedAt: integerOrNull(row, 'confirmed_at'),
    checkedInAt: integerOrNull(row, 'checked_in_at'),
    cancelledAt: integerOrNull(row, 'cancelled_at'),
    payment: paymentOrNull,
    notes: textOrNull(row, 'notes'),
    source: toSource(text(row, 'source')),
    externalId: textOrNull(row, 'external_id'),
    createdAt: integer(row, 'created_at'),
    updatedAt: integer(row, 'updated_at'),
    deletedAt: integerOrNull(row, 'deleted_at'),
  };
}

function toStatus(value: string): Appointment['status'] {
  if (!isAppointmentStatus(value)) throw new TypeError('a row holds an unknown status');
  return value;
}

function toSource(value: string): Appointment['source'] {
  return value === 'Online' || value === 'Api' ? value : 'FrontDesk';
}
