import { message } from '../../messages/message.ts';
import type { MirrorError } from '../../model/errors.ts';
import { SECOND_MS } from '../../model/time.ts';
import { clinicError } from '../http/errors.ts';
import type { BookedAppointment } from '../read/appointment-rows.ts';
import type { ListPage } from '../read/lists.ts';
import { listCalls, widened } from '../read/reading.ts';
import type { ClinicRecord } from '../read/reading-calls.ts';
import type { Zone } from '../read/timestamps.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import type { Duplicate } from './resource-calls.ts';

/**
 * What is natural to a record, so that one whose create lost its answer is found again. A record that is the same in all of it
 * and stood there before is taken for the new one: the clinic would otherwise have it twice.
 */

type Patient = ClinicRecord<'patients'>;
type Episode = ClinicRecord<'episodes'>;
type Report = ClinicRecord<'medicalReports'>;

/** A patient by our own id, else by tax code, else by name and date of birth. The list is read to its end in the worst case. */
export function patientDuplicate(values: Partial<Patient>): Duplicate<Patient> | null {
  const { externalId, taxCode, firstName, lastName, birthDate } = values;
  if (isPresent(externalId)) return { parameters: [], isSame: (other) => other.externalId === externalId };
  if (isPresent(taxCode)) return { parameters: [], isSame: (other) => sameText(other.taxCode, taxCode) };
  if (!isPresent(firstName) || !isPresent(lastName) || !isPresent(birthDate)) return null;
  return {
    parameters: [],
    isSame: (other) =>
      sameText(other.firstName, firstName) && sameText(other.lastName, lastName) && other.birthDate === birthDate,
  };
}

/** An appointment by agenda, patient and start. */
export function appointmentDuplicate(profile: ClinicProfile, zone: Zone, zones: () => Iterable<string>) {
  return (values: Partial<BookedAppointment>): Duplicate<BookedAppointment> | null => {
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
export function episodeDuplicate(values: Partial<Episode>): Duplicate<Episode> | null {
  const { patientId, appointmentId, openedAt, title = null } = values;
  if (!isPresent(patientId)) return null;
  if (isPresent(appointmentId)) {
    return {
      parameters: [],
      isSame: (other) => other.patientId === patientId && other.appointmentId === appointmentId,
    };
  }
  if (!isPresent(openedAt)) return null;
  return {
    parameters: [],
    isSame: (other) =>
      other.patientId === patientId && other.title === title && sameSecond(other.openedAt ?? 0, openedAt),
  };
}

/** A report by patient, date, title and the size of its file. */
export function reportDuplicate(values: Partial<Report>, sizeBytes: number): Duplicate<Report> | null {
  const { patientId, reportDate, title } = values;
  if (!isPresent(patientId) || !isPresent(reportDate) || !isPresent(title)) return null;
  return {
    parameters: [],
    isSame: (other) =>
      other.patientId === patientId &&
      other.reportDate === reportDate &&
      other.title === title &&
      (other.fileSizeBytes ?? sizeBytes) === sizeBytes,
  };
}

function isPresent<Value>(value: Value | null | undefined): value is Value {
  return value !== null && value !== undefined;
}

function sameText(one: string | null, other: string): boolean {
  return one?.trim().toUpperCase() === other.trim().toUpperCase();
}

/** Times are written in whole seconds. */
function sameSecond(one: number, other: number): boolean {
  return Math.floor(one / SECOND_MS) === Math.floor(other / SECOND_MS);
}

type Invoice = ClinicRecord<'invoices'>;
type Section = ClinicRecord<'sections'>;

/**
 * Finds the invoice that a create without a clear answer has made: one of the same section, patient, date and lines, with one of
 * the numbers that the section has given out since.
 * @param before the section before the create; its `lastNumber` must be told
 * @returns null when none was made
 * @throws MirrorError `remote`, code `fate-unknown`, ambiguous, when an invoice is the same and its number does not tell
 */
export async function invoiceDuplicate(
  values: Partial<Invoice>,
  before: Section,
  now: { section(): Promise<Section | null>; invoices(): AsyncIterable<ListPage<Invoice>> },
): Promise<Invoice | null> {
  const first = before.lastNumber;
  const last = (await now.section())?.lastNumber ?? null;
  if (first === null || last === null) throw fateUnknown();
  if (first === last) return null;
  let isDoubtful = false;
  for await (const { records } of now.invoices()) {
    for (const record of records.filter((each) => isSame(each, values))) {
      const numbers = numbersIn(record.number);
      if (numbers.some((number) => number > first && number <= last)) return record;
      isDoubtful ||= numbers.length === 0;
    }
  }
  if (isDoubtful) throw fateUnknown();
  return null;
}

function isSame(invoice: Invoice, values: Partial<Invoice>): boolean {
  const items = values.items ?? [];
  const sameLine = (index: number) => {
    const [one, other] = [invoice.items[index], items[index]];
    return (
      one?.description === other?.description &&
      sameDecimal(one?.quantity ?? null, other?.quantity ?? null) &&
      sameDecimal(one?.unitPrice ?? null, other?.unitPrice ?? null)
    );
  };
  return (
    invoice.sectionId === values.sectionId &&
    invoice.patientId === (values.patientId ?? null) &&
    invoice.issueDate === (values.issueDate ?? null) &&
    invoice.items.length === items.length &&
    items.every((_, index) => sameLine(index))
  );
}

/** Every whole number in an invoice's number: `12/A`, `2026-000012`. */
function numbersIn(number: string | null): number[] {
  return (number?.match(/\d+/g) ?? []).map(Number);
}

function fateUnknown(): MirrorError {
  return clinicError('fate-unknown', message('clinic.fate-unknown'));
}

/** Whether two decimal texts are the same number, such as `80.5` and `80.50`. */
export function sameDecimal(one: string | null, other: string | null): boolean {
  return plain(one) === plain(other);
}

function plain(decimal: string | null): string | null {
  if (decimal === null) return null;
  const [, sign = '', whole = '', fraction = ''] = /^([+-]?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(decimal) ?? [];
  const digits = fraction === '' ? whole : `${whole}.${fraction}`;
  return sign === '-' && /[1-9]/.test(digits) ? `-${digits}` : digits;
}
