import type { Zone } from '../data/zone.ts';
import { listPaging, type PageSizes } from '../routes/query.ts';
import type { ClinicError } from '../rules/errors.ts';
import type { Dialect, ErrorAnswer } from './dialect.ts';
import { documented } from './documented.ts';
import { isObject, isTimeName, mapMembers } from './fields.ts';

/** Default and largest page size in rows. */
const PAGE: PageSizes = { usual: 25, largest: 100 };
const NAMES = { position: 'after', size: 'per_page' };

/** What a state's number stands for; no answer says it. */
const STATES: ReadonlyMap<string, number> = new Map([
  ['Booked', 0],
  ['Confirmed', 10],
  ['CheckedIn', 20],
  ['InProgress', 30],
  ['Completed', 40],
  ['Cancelled', 90],
  ['NoShow', 91],
]);
const STATUSES: ReadonlyMap<number, string> = new Map([...STATES].map(([status, state]) => [state, status]));

/** Members whose names are not the documented ones, in appointments and slots. */
const OTHER_NAMES: Readonly<Record<string, string>> = { start: 'starts', end: 'ends', allDay: 'wholeDay' };
const DOCUMENTED_NAMES = new Map(Object.entries(OTHER_NAMES).map(([name, other]) => [other, name]));
const PARAMETERS: Readonly<Record<string, string>> = {
  starts_from: 'from',
  starts_to: 'to',
  calendar: 'agendaId',
  state: 'status',
};
const DOCUMENTED_PARAMETERS = new Set(Object.values(PARAMETERS));
/** Lists that accept these parameters. */
const WINDOWED = new Set(['appointments', 'availabilities']);
/**
 * Members that wrap a list (LISTS; an empty path means the bare list, the default is `entries`) or a single record (RECORDS; the default is
 * the bare record).
 */
const LISTS: Readonly<Record<string, readonly string[]>> = {
  appointments: ['bookings'],
  patients: [],
  invoices: ['result', 'list'],
};
const RECORDS: Readonly<Record<string, string>> = { appointments: 'booking', patients: 'person' };

/** Stands for what is no time here: the routes refuse it. */
const NO_TIME = 'no Unix seconds';

/** States as numbers, times as whole Unix seconds, pages by `Link` headers, an envelope for each resource, windows by start. */
export function numbers(zone: Zone): Dialect {
  return {
    ...documented(),
    name: 'numbers',
    upload: { multipart: true, base64: false, filePart: 'file', metadata: 'part' },
    listsByStart: true,
    links: NAMES,
    query: (query, resource) => asDocumentedQuery(query, WINDOWED.has(resource), zone),
    paging: (query) => listPaging(query, NAMES, PAGE),
    list: ({ data }, resource) =>
      (LISTS[resource] ?? ['entries']).reduceRight<unknown>((inner, name) => ({ [name]: inner }), data),
    record: (value, resource) => {
      const named = resource === 'appointments' && isObject(value) ? toBooking(value) : value;
      return mapMembers(named, (name, inner) => [
        OTHER_NAMES[name] ?? name,
        isTimeName(name) ? toSeconds(inner, zone) : inner,
      ]);
    },
    single: (value, resource) => {
      const name = RECORDS[resource];
      return name === undefined || !isObject(value) ? value : { [name]: value };
    },
    body: (value, resource) => {
      const read = mapMembers(value, (name, inner) => {
        const documentedName = DOCUMENTED_NAMES.get(name) ?? name;
        return [documentedName, isTimeName(documentedName) ? fromSeconds(inner, zone) : inner];
      });
      return resource === 'appointments' && isObject(read) ? fromBooking(read, zone) : read;
    },
    error: errorAnswer,
  };
}

/** Writes the state as a number and agenda and patient as objects, and omits other members that repeat the state. */
function toBooking(appointment: Record<string, unknown>): Record<string, unknown> {
  const { status, agendaId, patientId, patient, durationMinutes, confirmedAt, checkedInAt, cancelledAt, ...rest } =
    appointment;
  const person = patientId === null || patientId === undefined ? null : { id: patientId };
  return {
    ...rest,
    state: STATES.get(String(status)) ?? status,
    calendar: { id: agendaId },
    patient: isObject(patient) ? patient : person,
  };
}

function fromBooking(body: Record<string, unknown>, zone: Zone): Record<string, unknown> {
  const { state, calendar, patient, ...rest } = body;
  const day = (value: unknown) => (typeof value === 'string' ? zone.formatDate(Date.parse(value)) : value);
  return {
    ...rest,
    ...(typeof state === 'number' ? { status: STATUSES.get(state) ?? String(state) } : {}),
    ...(isObject(calendar) ? { agendaId: calendar.id } : {}),
    ...(isObject(patient) ? { patientId: patient.id } : {}),
    ...(rest.allDay === true ? { start: day(rest.start), end: day(rest.end) } : {}),
  };
}

/** Whole seconds since 1970 of an instant, or of a date's first instant. */
function toSeconds(value: unknown, zone: Zone): unknown {
  if (typeof value !== 'string') return value;
  const at = value.length === 10 ? zone.startOfDay(value) : Date.parse(value);
  return Number.isNaN(at) ? value : Math.floor(at / 1000);
}

/** A text is no time here. */
function fromSeconds(value: unknown, zone: Zone): unknown {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return zone.formatInstant(value * 1000);
  return typeof value === 'string' ? NO_TIME : value;
}

/** Windows are whole seconds: a fraction or a text is refused. Where names are others the documented ones say nothing. */
function asDocumentedQuery(query: URLSearchParams, isWindowed: boolean, zone: Zone): URLSearchParams {
  const read = new URLSearchParams();
  for (const [name, value] of query) {
    if (isWindowed && DOCUMENTED_PARAMETERS.has(name)) continue;
    read.append(PARAMETERS[name] ?? name, documentedValue(name, value));
  }
  return read;

  function documentedValue(name: string, value: string): string {
    if (name === 'state') return STATUSES.get(Number(value)) ?? value;
    if (name !== 'starts_from' && name !== 'starts_to') return value;
    return /^\d{1,10}$/.test(value) ? zone.formatInstant(Number(value) * 1000) : NO_TIME;
  }
}

/** Errors name the fields as this dialect does. */
function errorAnswer({ code, message, details, headers }: ClinicError): ErrorAnswer {
  const parameters = new Map(Object.entries(PARAMETERS).map(([name, documentedName]) => [documentedName, name]));
  const fields = details?.map(({ field, message: text }) => ({ field: parameters.get(field) ?? field, text }));
  return {
    body: { fault: { code, text: message, ...(fields === undefined ? {} : { fields }) } },
    contentType: 'application/json',
    headers,
  };
}
