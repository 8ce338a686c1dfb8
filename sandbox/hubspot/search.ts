import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { type Context, readBody, typeIn } from './call.ts';
import { invalidInput } from './errors.ts';
import { toResource } from './resource.ts';

/** Limits of a search (developers.hubspot.com, search the CRM). */
const MAX_PAGE = 200;
const MAX_GROUPS = 5;
const MAX_FILTERS = 6;
const MAX_FILTERS_IN_ALL = 18;
const MAX_QUERY = 3000;
const MAX_BODY = 3000;

const filterSchema = z.strictObject({
  propertyName: z.string(),
  operator: z.enum([
    'EQ',
    'NEQ',
    'LT',
    'LTE',
    'GT',
    'GTE',
    'BETWEEN',
    'IN',
    'NOT_IN',
    'HAS_PROPERTY',
    'NOT_HAS_PROPERTY',
    'CONTAINS_TOKEN',
    'NOT_CONTAINS_TOKEN',
  ]),
  value: z.string().optional(),
  highValue: z.string().optional(),
  values: z.array(z.string()).optional(),
});
type Filter = z.infer<typeof filterSchema>;

const searchSchema = z.strictObject({
  filterGroups: z
    .array(z.strictObject({ filters: z.array(filterSchema).max(MAX_FILTERS) }))
    .max(MAX_GROUPS)
    .default([]),
  query: z.string().max(MAX_QUERY).optional(),
  sorts: z
    .array(
      z.strictObject({ propertyName: z.string(), direction: z.enum(['ASCENDING', 'DESCENDING']).default('ASCENDING') }),
    )
    .max(1)
    .default([]),
  properties: z.array(z.string()).default([]),
  limit: z.int().min(1).max(MAX_PAGE).default(10),
  after: z
    .string()
    .regex(/^\d{0,9}$/)
    .default(''),
});

/** `POST /{object}/search`: sees writes after the search lag, and returns at most `searchDepth` results of one query. */
export function search(context: Context): ApiAnswer {
  const { world, caller } = context;
  const type = typeIn(context);
  const { filterGroups, query, sorts, properties, limit, after } = readBody(context, searchSchema);
  if (filterGroups.flatMap(({ filters }) => filters).length > MAX_FILTERS_IN_ALL) {
    throw invalidInput(`There may be at most ${MAX_FILTERS_IN_ALL} filters.`);
  }
  if (context.body.length > MAX_BODY) {
    throw invalidInput(`The body of a search may have ${MAX_BODY} characters.`);
  }
  const unknown = filterGroups
    .flatMap(({ filters }) => filters)
    .find(({ propertyName }) => world.properties.find(type.name, propertyName) === undefined);
  if (unknown) {
    throw invalidInput('There was a problem with the request.', { context: { propertyName: [unknown.propertyName] } });
  }
  const from = Number(after);
  if (from + limit > world.settings.searchDepth) {
    throw invalidInput(`Paging through search results ends at ${world.settings.searchDepth}.`);
  }
  const view = {
    world,
    type,
    reader: caller.scopes,
    properties: properties.length === 0 ? 'default' : properties,
  } as const;
  const found = world
    .searchable(type.name)
    .map((record) => ({ record, values: toResource(record, { ...view, properties: 'all' }).properties }))
    .filter(({ values }) => filterGroups.length === 0 || filterGroups.some(({ filters }) => fitsAll(filters, values)))
    .filter(({ values }) => query === undefined || contains(values, query));
  const [sort] = sorts;
  if (sort) {
    const sign = sort.direction === 'ASCENDING' ? 1 : -1;
    found.sort((a, b) => sign * compare(a.values[sort.propertyName] ?? '', b.values[sort.propertyName] ?? ''));
  }
  const results = found.slice(from, from + limit).map(({ record }) => toResource(record, view));
  const next = from + limit;
  const paging = next < found.length ? { paging: { next: { after: String(next) } } } : {};
  return { status: 200, body: { total: found.length, results, ...paging } };
}

type Told = Record<string, string | null>;

function fitsAll(filters: readonly Filter[], values: Told): boolean {
  return filters.every((filter) => fits(filter, values[filter.propertyName] ?? undefined));
}

function fits(filter: Filter, stored: string | undefined): boolean {
  const { operator, value = '', highValue = '', values = [] } = filter;
  const has = stored !== undefined;
  const text = (stored ?? '').toLowerCase();
  switch (operator) {
    case 'EQ':
      return has && text === value.toLowerCase();
    case 'NEQ':
      return has && text !== value.toLowerCase();
    case 'IN':
      // The stored string is compared in lower case, the values of the list unchanged.
      return has && values.includes(text);
    case 'NOT_IN':
      return has && !values.some((each) => each.toLowerCase() === text);
    case 'HAS_PROPERTY':
      return has;
    case 'NOT_HAS_PROPERTY':
      return !has;
    case 'CONTAINS_TOKEN':
      return has && text.includes(value.replaceAll('*', '').toLowerCase());
    case 'NOT_CONTAINS_TOKEN':
      return !text.includes(value.replaceAll('*', '').toLowerCase());
    default:
      return has && isWithin(operator, stored, value, highValue);
  }
}

function isWithin(operator: string, stored: string, value: string, highValue: string): boolean {
  const order = compare(stored, value);
  const bounds: Record<string, boolean> = {
    LT: order < 0,
    LTE: order <= 0,
    GT: order > 0,
    GTE: order >= 0,
    BETWEEN: order >= 0 && compare(stored, highValue) <= 0,
  };
  return bounds[operator] ?? false;
}

/** Compares numbers and instants by size, all other values as strings. */
function compare(a: string, b: string): number {
  const [first, second] = [sizeOf(a), sizeOf(b)];
  return Number.isNaN(first) || Number.isNaN(second) ? a.localeCompare(b) : first - second;
}

function sizeOf(value: string): number {
  return /^-?\d+(\.\d+)?$/.test(value)
    ? Number(value)
    : /^\d{4}-\d{2}-\d{2}/.test(value)
      ? Date.parse(value)
      : Number.NaN;
}

/** Decides whether an identifying property of a record contains the free text of a query. */
function contains(values: Told, query: string): boolean {
  const searched = [
    'firstname',
    'lastname',
    'email',
    'phone',
    'hs_additional_emails',
    'mobilephone',
    'company',
    'name',
  ];
  const further = ['domain', 'dealname', 'hs_meeting_title'];
  const text = [...searched, ...further]
    .map((name) => values[name] ?? '')
    .join('\n')
    .toLowerCase();
  return text.includes(query.toLowerCase());
}
