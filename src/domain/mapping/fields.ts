import { remembered } from '../../core/model/cache.ts';
import { firstTelephone } from '../../core/model/telephones.ts';
import { type Instant, MINUTE_MS, toZonedIso } from '../../core/model/time.ts';
import { type CrmStream, type CrmTransform, consentOf, type SourceKind } from '../../settings/crm-schema.ts';
import type { InvoiceFacts, MappingSource } from './contract.ts';
import { cleanLine, cleanLines, titleCase } from './text.ts';

/** A field's value: texts, dates as `YYYY-MM-DD`, instants as epoch milliseconds, numbers, flags; null is empty. */
export type FieldValue = string | number | boolean | null;

/** Settings for reading fields. */
export interface FieldRules {
  /** The clinic's zone, an IANA name, for the start of days. */
  zone: string;
  /** Converts a telephone number to E.164; null for other text. */
  phone(written: string): string | null;
}

type SourceOf<Stream extends CrmStream> = Extract<MappingSource, { stream: Stream }>;
type Reader<Source> = (source: Source, rules: FieldRules) => FieldValue;

const PATIENTS: Readonly<Record<string, Reader<SourceOf<'patients'>>>> = {
  firstName: ({ patient }) => line(patient.firstName),
  lastName: ({ patient }) => line(patient.lastName),
  fullName: ({ patient }) => line([patient.firstName, patient.lastName].filter((name) => name !== null).join(' ')),
  email: ({ patient }) => line(patient.email),
  phone: ({ patient }, rules) => telephone(patient.phone, rules),
  mobilePhone: ({ patient }, rules) => telephone(patient.mobilePhone, rules),
  language: ({ patient }) => line(patient.language),
  isActive: ({ patient }) => patient.isActive,
  gender: ({ patient }) => line(patient.gender),
  birthDate: ({ patient }) => patient.birthDate,
  taxCode: ({ patient }) => line(patient.taxCode),
  'address.street': ({ patient }) => orNull(cleanLines(patient.address?.street ?? '')),
  'address.postalCode': ({ patient }) => line(patient.address?.postalCode),
  'address.city': ({ patient }) => line(patient.address?.city),
  'address.province': ({ patient }) => line(patient.address?.province),
  'address.country': ({ patient }) => line(patient.address?.country),
  updatedAt: ({ patient }) => patient.updatedAt,
  'derived.lastVisitAt': ({ derived }) => derived?.lastVisitAt ?? null,
  'derived.lastVisitOn': ({ derived }, { zone }) => localDate(zone, derived?.lastVisitAt),
  'derived.nextAppointmentAt': ({ derived }) => derived?.nextAppointmentAt ?? null,
  'derived.nextAppointmentOn': ({ derived }, { zone }) => localDate(zone, derived?.nextAppointmentAt),
  'derived.visits': ({ derived }) => derived?.visits ?? null,
  'derived.noShows': ({ derived }) => derived?.noShows ?? null,
  'derived.firstSeenOn': ({ derived }, { zone }) => localDate(zone, derived?.firstSeenAt),
  'derived.standing': ({ derived }) => derived?.patientStatus ?? null,
  'derived.invoiced': ({ derived }) => derived?.invoiced ?? null,
  'derived.paid': ({ derived }) => derived?.paid ?? null,
  'derived.open': ({ derived }) => difference(derived?.invoiced ?? null, derived?.paid ?? null),
};

const APPOINTMENTS: Readonly<Record<string, Reader<SourceOf<'appointments'>>>> = {
  startAt: ({ appointment }) => appointment.time.startAt,
  endAt: ({ appointment }) => appointment.time.endAt,
  date: ({ appointment: { time } }, { zone }) =>
    time.kind === 'all-day' ? time.startDate : localDate(zone, time.startAt),
  durationMinutes: ({ appointment: { time } }) => Math.round((time.endAt - time.startAt) / MINUTE_MS),
  status: ({ appointment }) => appointment.status,
  location: ({ location }) => line(location),
  agenda: ({ agenda }) => line(agenda),
  treatment: ({ treatment }) => line(treatment),
};

const INVOICES: Readonly<Record<string, Reader<SourceOf<'invoices'>>>> = {
  number: ({ invoice }) => line(invoice.number),
  date: ({ invoice }) => invoice.date,
  total: ({ invoice }) => invoice.total,
  paid: ({ invoice }) => invoice.paid,
  open: ({ invoice }) => difference(invoice.total, invoice.paid),
  currency: ({ invoice }) => line(invoice.currency),
  doctors: ({ invoice }) => line(invoice.doctors.join(', ')),
  isPaid: ({ invoice }) => isPaid(invoice),
  status: ({ invoice }) => line(invoice.status),
};

const READERS: Readonly<Record<CrmStream, Readonly<Record<string, Reader<never>>>>> = {
  patients: PATIENTS,
  appointments: APPOINTMENTS,
  invoices: INVOICES,
};

/** Returns the readable field paths, without consents. */
export function fieldPaths(stream: CrmStream): string[] {
  return Object.keys(READERS[stream]);
}

/** Returns the error for an unknown field path of a stream. */
export function noSuchField(stream: CrmStream): TypeError {
  return new TypeError(`${stream} have no field of this name`);
}

/**
 * Returns a function that reads, cleans and normalises a field from records of a stream.
 * @throws TypeError for an unknown path, which validation of the configuration refuses
 */
export function fieldReader(stream: CrmStream, path: string, rules: FieldRules): (source: MappingSource) => FieldValue {
  const consent = consentOf(stream, path);
  if (consent !== null) {
    return (source) => (source.stream === 'patients' ? consentIn(source.patient.consents, consent) : null);
  }
  const reader = Object.hasOwn(READERS[stream], path) ? READERS[stream][path] : undefined;
  if (reader === undefined) throw noSuchField(stream);
  const read = reader as Reader<MappingSource>;
  return (source) => {
    if (source.stream !== stream) throw new TypeError(`a mapping of ${stream} was given a record of ${source.stream}`);
    return finite(read(source, rules));
  };
}

/** Returns the day of an instant in a zone, `YYYY-MM-DD`. */
function localDate(zone: string, at: Instant): string;
function localDate(zone: string, at: Instant | null | undefined): string | null;
function localDate(zone: string, at: Instant | null | undefined): string | null {
  return at === null || at === undefined ? null : toZonedIso(zone, at).slice(0, 10);
}

function consentIn(consents: Readonly<Record<string, boolean>>, name: string): boolean | null {
  return Object.hasOwn(consents, name) ? (consents[name] ?? null) : null;
}

function line(text: string | null | undefined): string | null {
  return orNull(cleanLine(text ?? ''));
}

/** An invalid number is kept as written, because CRM users can still read it. */
function telephone(written: string | null, { phone }: FieldRules): string | null {
  const text = line(written);
  return text === null ? null : (phone(text) ?? text);
}

function orNull(text: string): string | null {
  return text === '' ? null : text;
}

function finite(value: FieldValue): FieldValue {
  return typeof value === 'number' && !Number.isFinite(value) ? null : value;
}

/** Rounds to two decimals, because a difference of binary fractions has more. */
function difference(whole: number | null, part: number | null): number | null {
  return whole === null || part === null ? null : Math.round((whole - part) * 100) / 100;
}

/** A credit note has negative amounts: it is paid if at least its total was refunded. */
function isPaid({ total, paid }: InvoiceFacts): boolean | null {
  const remaining = difference(total, paid);
  if (remaining === null || total === null) return null;
  return total < 0 ? remaining >= 0 : remaining <= 0;
}

type Transform = (value: string | number, rules: FieldRules) => FieldValue;

/** Transforms for values that are not empty. Validation of the configuration checks that the kind fits. */
const TRANSFORMS: Readonly<Record<CrmTransform, Transform>> = {
  e164: (value, { phone }) => phone(String(value)),
  lower: (value) => String(value).toLowerCase(),
  upper: (value) => String(value).toUpperCase(),
  'title-case': (value) => titleCase(String(value)),
  date: dateOf,
  year: (value, rules) => Number(dateOf(value, rules).split('-', 1)[0]),
  'first-line': (value) => String(value).split('\n', 1)[0] ?? null,
};

/** Returns the transformed value, and whether a text was dropped because it contains no telephone number. */
export function transformed(
  value: FieldValue,
  transforms: readonly CrmTransform[],
  rules: FieldRules,
): { value: FieldValue; isPhoneUnusable: boolean } {
  let current = value;
  for (const name of transforms) {
    if (current === null || typeof current === 'boolean') break;
    current = TRANSFORMS[name](current, rules);
    if (current === null && name === 'e164') return { value: null, isPhoneUnusable: true };
    if (typeof current === 'string') current = cleanLines(current) || null;
  }
  return { value: current, isPhoneUnusable: false };
}

/** Converts an instant (a number) or a date (a text) to a date. */
function dateOf(value: string | number, { zone }: FieldRules): string {
  return typeof value === 'number' ? localDate(zone, value) : value;
}

/** Formats an instant for CRMs: ISO 8601 in UTC with milliseconds. Other kinds are unchanged. */
export function asProperty(value: FieldValue, kind: SourceKind): FieldValue {
  return kind === 'instant' && typeof value === 'number' ? new Date(value).toISOString() : value;
}

/**
 * Returns the E.164 number of a telephone field (`+390612345678`): the first mobile number, or otherwise the first number.
 * @param region ISO 3166 country of numbers without an international prefix
 * @returns null without a number, or if the only number has an extension, which E.164 would lose
 */
export function toE164(written: string, region: string): string | null {
  return firstTelephone(written, region)?.number ?? null;
}

/** Cache size: 50,000 patients may have two numbers each, and every cycle reads them again. About 15 MB. */
const REMEMBERED = 120_000;

/** Returns {@link toE164} for one region with a cache: parsing a number takes 0.2 ms. */
export function phoneReader(region: string): (written: string) => string | null {
  return remembered(REMEMBERED, (written) => toE164(written, region));
}
