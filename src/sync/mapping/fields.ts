import { remembered } from '../../model/cache.ts';
import { firstTelephone } from '../../model/telephones.ts';
import { type Instant, MINUTE_MS, toZonedIso } from '../../model/time.ts';
import {
  CONSENT_PREFIX,
  type CrmStream,
  type CrmTransform,
  consentOf,
  type SourceKind,
} from '../../settings/crm-schema.ts';
import type { InvoiceFacts, MappingSource } from './contract.ts';
import { cleanLine, cleanLines, titleCase } from './text.ts';

/** A field's value: texts, dates as `YYYY-MM-DD`, instants as epoch milliseconds, numbers, flags; null is empty. */
export type FieldValue = string | number | boolean | null;

/** What the reading of fields goes by. */
export interface FieldRules {
  /** The clinic's zone, an IANA name: where days begin. */
  zone: string;
  /** A telephone number in E.164; null for what is none. */
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

/** Paths of the fields that can be read, without consents. */
export function fieldPaths(stream: CrmStream): string[] {
  return Object.keys(READERS[stream]);
}

/** Refusal of a path that is no source of a stream. */
export function noSuchField(stream: CrmStream): TypeError {
  return new TypeError(`${stream} have no field of this name`);
}

/**
 * How a field is read from records of a stream, cleaned and normalised.
 * @throws TypeError for a path that is no source, which the checks of the configuration refuse
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

/** Paths of the consents that a record tells of. */
export function consentPaths(source: MappingSource): string[] {
  return source.stream === 'patients' ? Object.keys(source.patient.consents).map((name) => CONSENT_PREFIX + name) : [];
}

/** The day of an instant in a zone, `YYYY-MM-DD`. */
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

/** What is no valid number stays as it is written: somebody may still read it. */
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

/** Amounts have two decimals at most; a difference of binary fractions has more. */
function difference(whole: number | null, part: number | null): number | null {
  return whole === null || part === null ? null : Math.round((whole - part) * 100) / 100;
}

/** A credit note's amounts are negative: it is settled when no less than its total was paid back. */
function isPaid({ total, paid }: InvoiceFacts): boolean | null {
  const remaining = difference(total, paid);
  if (remaining === null || total === null) return null;
  return total < 0 ? remaining >= 0 : remaining <= 0;
}

type Transform = (value: string | number, rules: FieldRules) => FieldValue;

/** What each does to a value that is there; that its kind fits is checked with the configuration. */
const TRANSFORMS: Readonly<Record<CrmTransform, Transform>> = {
  e164: (value, { phone }) => phone(String(value)),
  lower: (value) => String(value).toLowerCase(),
  upper: (value) => String(value).toUpperCase(),
  'title-case': (value) => titleCase(String(value)),
  date: dateOf,
  year: (value, rules) => Number(dateOf(value, rules).split('-', 1)[0]),
  'first-line': (value) => String(value).split('\n', 1)[0] ?? null,
};

/** A value after its transforms, and whether a text was given up because it is no telephone number. */
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

/** An instant is a number here, a date a text. */
function dateOf(value: string | number, { zone }: FieldRules): string {
  return typeof value === 'number' ? localDate(zone, value) : value;
}

/** An instant in the form that CRMs get, ISO 8601 in UTC with milliseconds; other kinds stay as they are. */
export function asProperty(value: FieldValue, kind: SourceKind): FieldValue {
  return kind === 'instant' && typeof value === 'number' ? new Date(value).toISOString() : value;
}

/**
 * The number of a telephone field in E.164 (`+390612345678`): the first mobile one of several, else the first.
 * @param region ISO 3166 country of numbers without an international prefix
 * @returns null where there is none, or one with an extension alone, which E.164 would lose
 */
export function toE164(written: string, region: string): string | null {
  return firstTelephone(written, region)?.number ?? null;
}

/** Numbers that are remembered; those of 50,000 patients, who may have two each, come again with every cycle. Some 15 MB. */
const REMEMBERED = 120_000;

/** {@link toE164} for one region, remembering what it was asked: reading a number takes a fifth of a millisecond. */
export function phoneReader(region: string): (written: string) => string | null {
  return remembered(REMEMBERED, (written) => toE164(written, region));
}
