import type { Survey } from '../jobs/survey.ts';
import type { OpenTarget } from '../jobs/tenant.ts';
import type { Appointment, Invoice, Patient } from '../model/records.ts';
import { DAY_MS, type Instant } from '../model/time.ts';
import type { SourceRecord } from './diff.ts';
import type { MappingSource } from './mapping/contract.ts';

/** What a patient's contact is mapped from. */
export function patientSource(
  { crm }: OpenTarget,
  { startedAt }: Pick<Survey, 'startedAt'>,
): (patient: Patient) => MappingSource {
  const ledger = crm?.ledger ?? null;
  return (patient) => ({
    stream: 'patients',
    patient,
    derived: ledger === null ? null : ledger.of(patient.id, startedAt),
  });
}

/** What an appointment's activity is mapped from. */
export function activitySource({ directory }: Survey): (appointment: Appointment) => MappingSource {
  const { agendas, locations, treatments } = directory;
  return (appointment) => {
    const agenda = agendas.get(appointment.agendaId);
    const location = locations.get(appointment.locationId ?? agenda?.locationId ?? '');
    return {
      stream: 'appointments',
      appointment,
      agenda: agenda?.name ?? null,
      location: location?.name ?? null,
      treatment: treatments.get(appointment.treatmentId ?? '')?.name ?? null,
    };
  };
}

/** What an invoice's deal is mapped from. */
export function invoiceSource(invoice: Invoice): MappingSource {
  const { id, patientId, number, issueDate: date, currency, status, doctors } = invoice;
  const [total, paid] = [amountOf(invoice.totalAmount), amountOf(invoice.paidAmount)];
  return {
    stream: 'invoices',
    invoice: { id, patientId, number, date, total, paid, currency, doctors: [...doctors], status },
  };
}

/** A patient has no time: they are there always. */
export function describePatient({ id }: Patient): SourceRecord {
  return { id, startAt: 0, endAt: 1, isCancelled: false };
}

/** An invoice as the comparison sees it: the day of its issue. */
export function describeInvoice(invoice: Invoice): SourceRecord {
  const startAt = startOfInvoice(invoice);
  return { id: invoice.id, startAt, endAt: startAt + DAY_MS, isCancelled: invoice.status === 'Cancelled' };
}

/** A decimal of the clinic as a number: two digits after the point, far below where numbers lose cents. */
function amountOf(decimal: string | null): number | null {
  const amount = decimal === null ? Number.NaN : Number(decimal);
  return Number.isFinite(amount) ? amount : null;
}

/** By UTC: a deal's date need not be exact to the hour to be in a window. */
export function startOfInvoice({ issueDate }: Invoice): Instant {
  return issueDate === null ? 0 : Date.parse(`${issueDate}T00:00:00Z`);
}
