import { addDays, isDate, type Zone } from '../data/zone.ts';
import { numberedPaging } from '../routes/query.ts';
import type { ClinicError } from '../rules/errors.ts';
import type { Dialect, ErrorAnswer } from './dialect.ts';
import { documented } from './documented.ts';
import { isObject, isTimeName, mapMembers, withOffset, withoutOffset } from './fields.ts';
import { asDocumentedWord, statusOfFlags, toFlags, toWord, WORDS_OF_STATUSES } from './pages-words.ts';

/** Numbers that go over the wire as texts; those of money with two decimals. */
const MONEY = [
  ...['amount', 'price', 'unitPrice', 'discount', 'netAmount', 'vatAmount', 'totalAmount', 'stampDuty'],
  ...['withholdingTax', 'paidAmount', 'reimbursedAmount'],
];
const DECIMALS = new Set([...MONEY, 'quantity', 'vatRate', 'share', 'durationMinutes']);
const MONEY_NAMES = new Set(MONEY);
const ENUMERATIONS = new Set(['status', 'type', 'documentType', 'source', 'gender']);

/** Names that are not the documented ones in snake_case. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  start: 'starts_at',
  end: 'ends_at',
  Items: 'items',
  LinkedPractices: 'linked_practices',
};
const DOCUMENTED_NAMES = new Map(Object.entries(OTHER_NAMES).map(([name, other]) => [other, name]));
const PARAMETERS: Readonly<Record<string, string>> = { date_start: 'from', date_end: 'to', agenda_ids: 'agendaId' };

/** Numbered pages with a total, snake_case, decimals as strings, local times, lower-case statuses with separate flags. */
export function pages(zone: Zone): Dialect {
  return {
    ...documented(),
    name: 'pages',
    upload: { multipart: true, base64: false, filePart: 'document', metadata: 'fields' },
    query: (query, resource) => asDocumentedQuery(query, resource, zone),
    paging: numberedPaging,
    list: ({ data, offset, limit, total }) => ({
      results: data,
      page: offset / limit + 1,
      page_size: limit,
      total: String(total),
    }),
    record: (value, resource) => {
      const flagged = resource === 'appointments' && isObject(value) ? toFlags(inclusiveEnd(value, -1)) : value;
      return mapMembers(flagged, (name, inner) => [snakeCase(name), wireValue(name, inner)]);
    },
    body: (value, resource) => {
      const read = mapMembers(value, (name, inner) => {
        const documentedName = camelCase(name);
        return [documentedName, documentedValue(documentedName, inner, zone)];
      });
      return resource === 'appointments' && isObject(read) ? inclusiveEnd(statusOfFlags(read), 1) : read;
    },
    error: errorAnswer,
  };
}

function snakeCase(name: string): string {
  return OTHER_NAMES[name] ?? name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function camelCase(name: string): string {
  return DOCUMENTED_NAMES.get(name) ?? name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function wireValue(name: string, value: unknown): unknown {
  if (typeof value === 'number' && DECIMALS.has(name)) {
    return MONEY_NAMES.has(name) ? value.toFixed(2) : String(value);
  }
  if (name === 'start' || name === 'end') return withoutOffset(value);
  if (isTimeName(name)) return withoutOffset(value, ' ');
  return ENUMERATIONS.has(name) && typeof value === 'string' ? toWord(value) : value;
}

function documentedValue(name: string, value: unknown, zone: Zone): unknown {
  if (typeof value !== 'string') return value;
  if (DECIMALS.has(name)) return /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
  if (isTimeName(name)) return withOffset(value, zone);
  return ENUMERATIONS.has(name) ? asDocumentedWord(value) : value;
}

/** The end of a whole-day entry is its last day on the wire, and the day after in the documented format. */
function inclusiveEnd(value: Record<string, unknown>, days: 1 | -1): Record<string, unknown> {
  const { allDay, end } = value;
  return allDay === true && typeof end === 'string' && isDate(end) ? { ...value, end: addDays(end, days) } : value;
}

/** `date_end` is a day that belongs to the answer; lists of values are one text with commas. */
function asDocumentedQuery(query: URLSearchParams, resource: string, zone: Zone): URLSearchParams {
  const read = new URLSearchParams();
  for (const [name, value] of query) {
    const documentedName = PARAMETERS[name] ?? camelCase(name);
    for (const one of documentedValues(name, value)) read.append(documentedName, one);
  }
  return read;

  function documentedValues(name: string, value: string): string[] {
    if (name === 'date_end' && isDate(value)) return [addDays(value, 1)];
    if (name === 'agenda_ids') return value.split(',');
    if (name === 'status') return value.split(',').map((word) => statusOf(word, resource));
    return [String(withOffset(value, zone))];
  }
}

function statusOf(word: string, resource: string): string {
  return (resource === 'appointments' ? WORDS_OF_STATUSES.get(word) : undefined) ?? asDocumentedWord(word);
}

function errorAnswer({ code, message, details = [], headers }: ClinicError): ErrorAnswer {
  const fields = details.map(({ field, message: text }) => ({
    field: field.split('.').map(snakeCase).join('.'),
    message: text,
  }));
  return {
    body: { error: { code }, error_description: message, ...(fields.length > 0 ? { fields } : {}) },
    contentType: 'application/json',
    headers,
  };
}
