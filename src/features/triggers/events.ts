import type { Appointment, Invoice } from '../../core/model/records.ts';
import type { Instant } from '../../core/model/time.ts';
import type { Report, TriggerEvent } from '../../core/model/triggers.ts';

/** Ids of a document or appointment, with the names in the message. */
export interface Subject {
  recordId: string;
  patientId: string | null;
  ids: Readonly<Record<string, string | null>>;
  /** Whether the document is in a state that causes a message. */
  sends: boolean;
}

/** Statuses of readable reports. A report without a status is treated as final, because its PDF exists. */
const READABLE: readonly (string | null)[] = ['Final', 'Signed', null];
/** Statuses of issued bills. */
const ISSUED_STATUSES: readonly (string | null)[] = ['Issued', 'PartiallyPaid', 'Paid'];
/** A credit note reverses a bill, so a receiver would book the amount with the wrong sign. */
const NOT_ISSUED = 'CreditNote';

/** A report causes a message if final or signed, with a PDF. Drafts, replaced reports and unknown statuses cause no message. */
export function reportSubject({ id, patientId, episodeId, status, fileSizeBytes }: Report): Subject {
  const isReportable = READABLE.includes(status) && fileSizeBytes !== 0;
  return { recordId: id, patientId, ids: { reportId: id, patientId, episodeId }, sends: isReportable };
}

/** An invoice or receipt causes a message if issued, paid or not. Drafts, cancelled bills and credit notes cause no message. */
export function invoiceSubject({ id, patientId, status, documentType }: Invoice): Subject {
  const isReportable = ISSUED_STATUSES.includes(status) && documentType !== NOT_ISSUED;
  return { recordId: id, patientId, ids: { invoiceId: id, patientId }, sends: isReportable };
}

/** A found change always causes a message, even after a later change. Otherwise a short change would be lost. */
export function appointmentSubject({
  id,
  patientId,
  agendaId,
}: Pick<Appointment, 'id' | 'patientId' | 'agendaId'>): Subject {
  return { recordId: id, patientId, ids: { appointmentId: id, patientId, agendaId }, sends: true };
}

/** Only the id of a deleted appointment is known. */
export function goneSubject(id: string): Subject {
  return { recordId: id, patientId: null, ids: { appointmentId: id, patientId: null, agendaId: null }, sends: true };
}

/**
 * Returns the body of a message (Standard Webhooks 1.0, "Payload structure"): only ids, constant for each attempt.
 * @param foundAt event time
 */
export function messageOf(tenant: string, event: TriggerEvent, { ids }: Subject, foundAt: Instant): string {
  return JSON.stringify({ type: event, timestamp: new Date(foundAt).toISOString(), data: { tenant, ...ids } });
}
