import type { MirrorError } from '../../core/model/errors.ts';
import { SECOND_MS } from '../../core/model/time.ts';
import { message } from '../../messages/message.ts';
import { clinicError } from '../http/errors.ts';
import type { BookedAppointment } from '../read/appointment-rows.ts';
import type { ListPage } from '../read/lists.ts';
import { listCalls, widened } from '../read/reading.ts';
import type { ClinicRecord } from '../read/reading-calls.ts';
import type { Zone } from '../read/timestamps.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import type { Duplicate } from './resource-calls.ts';

/**
 * Natural keys find a record whose create lost its answer. An older record with an equal key is taken for the new record: a second create
 * would make a duplicate.
 */

type Patient = ClinicRecord<'patients'>;
type Episode = ClinicRecord<'episodes'>;
type Report = ClinicRecord<'medicalReports'>;

/**
 * Finds a patient by external id, tax code, or name and date of birth: the first key with a value. The worst case reads the complete list.
 */
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

/** Finds an appointment by agenda, patient and start. */
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

/** Finds an episode by patient and appointment; without an appointment, by patient, title and time of opening. */
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

/** Finds a report by patient, date, title and file size. */
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
 * Finds the invoice of an ambiguous create: same section, patient, date and lines, and a number that the section assigned since.
 * @param before the section before the create, with a `lastNumber`
 * @returns null if no invoice was created
 * @throws MirrorError `remote`, code `fate-unknown`, ambiguous, for an equal invoice without a readable number
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

/** Returns every whole number in an invoice's number: `12/A`, `2026-000012`. */
function numbersIn(number: string | null): number[] {
  return (number?.match(/\d+/g) ?? []).map(Number);
}

function fateUnknown(): MirrorError {
  return clinicError('fate-unknown', message('clinic.fate-unknown'));
}

/** Returns whether two decimal texts are equal numbers, such as `80.5` and `80.50`. */
export function sameDecimal(one: string | null, other: string | null): boolean {
  return plain(one) === plain(other);
}

function plain(decimal: string | null): string | null {
  if (decimal === null) return null;
  const [, sign = '', whole = '', fraction = ''] = /^([+-]?)0*(\d+?)(?:\.(\d*?)0*)?$/.exec(decimal) ?? [];
  const digits = fraction === '' ? whole : `${whole}.${fraction}`;
  return sign === '-' && /[1-9]/.test(digits) ? `-${digits}` : digits;
}
