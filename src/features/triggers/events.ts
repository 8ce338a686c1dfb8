import type { Appointment, Invoice } from '../../model/records.ts';
import type { Instant } from '../../model/time.ts';
import type { Report, TriggerEvent } from '../../model/triggers.ts';

/** A document as a message tells of it: ids alone, by the names that the message gives them. */
export interface Subject {
  recordId: string;
  patientId: string | null;
  ids: Readonly<Record<string, string | null>>;
  /** Whether it is in the state that receivers are told of. */
  sends: boolean;
}

/** Statuses of a report that somebody may read; one without a status is as good as final, since it is there with its PDF. */
const READABLE: readonly (string | null)[] = ['Final', 'Signed', null];
/** Statuses of a bill that was given out. */
const ISSUED_STATUSES: readonly (string | null)[] = ['Issued', 'PartiallyPaid', 'Paid'];
/** A credit note takes back: whoever books what is issued would book it the wrong way round. */
const NOT_ISSUED = 'CreditNote';

/** A report tells when it is final or signed and has a PDF; a draft, one that was replaced, and a word that nobody named don't. */
export function reportSubject({ id, patientId, episodeId, status, fileSizeBytes }: Report): Subject {
  const isReportable = READABLE.includes(status) && fileSizeBytes !== 0;
  return { recordId: id, patientId, ids: { reportId: id, patientId, episodeId }, sends: isReportable };
}

/** An invoice or receipt tells when it is issued, whether paid or not; drafts, cancelled ones and credit notes don't. */
export function invoiceSubject({ id, patientId, status, documentType }: Invoice): Subject {
  const isReportable = ISSUED_STATUSES.includes(status) && documentType !== NOT_ISSUED;
  return { recordId: id, patientId, ids: { invoiceId: id, patientId }, sends: isReportable };
}

/** A change of an appointment was found and is told, whatever became of it since: else one that comes and goes would be lost. */
export function appointmentSubject({
  id,
  patientId,
  agendaId,
}: Pick<Appointment, 'id' | 'patientId' | 'agendaId'>): Subject {
  return { recordId: id, patientId, ids: { appointmentId: id, patientId, agendaId }, sends: true };
}

/** Of an appointment that is gone its own id alone is known. */
export function goneSubject(id: string): Subject {
  return { recordId: id, patientId: null, ids: { appointmentId: id, patientId: null, agendaId: null }, sends: true };
}

/**
 * The body of a message (Standard Webhooks 1.0, "Payload structure"): ids alone, the same for every try.
 * @param foundAt the event's time
 */
export function messageOf(tenant: string, event: TriggerEvent, { ids }: Subject, foundAt: Instant): string {
  return JSON.stringify({ type: event, timestamp: new Date(foundAt).toISOString(), data: { tenant, ...ids } });
}
