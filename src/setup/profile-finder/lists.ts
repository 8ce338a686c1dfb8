import { folded } from '../../clinic/http/rows.ts';
import { type Paging, pagingSchema } from '../../clinic/schema/paging.ts';
import type { ResourceName } from '../../clinic/schema/resources.ts';
import { ASK_CLINIC, type Comparison, type Location } from './findings.ts';
import { ENVELOPE, isByStart, PARAMETERS, plainName, WINDOWS } from './names.ts';
import type { QueryParameter, SpecifiedOperation } from './openapi.ts';
import { formOfExample, spotsOf, type TimeForm, type ValueSchema } from './values.ts';

/** Location of a list's records and paging data in an answer. */
export interface Envelope {
  /** Null: the answer is the array itself. */
  listPath: string | null;
  row: ValueSchema;
  hasMorePath: string | null;
  totalPath: string | null;
  /** A cursor or URL of the next page. */
  cursorPath: string | null;
  linkPath: string | null;
}

/** Prefixes of paging names in an envelope, such as `meta.total`. */
const OF_PAGING = /^(meta|metadata|pagination|paging|page|pageinfo|links|details)+/;

/** Finds the records in a list's answer; null for none or several candidates. */
export function envelopeOf(answer: ValueSchema, list: string): Envelope | null {
  const none = { hasMorePath: null, totalPath: null, cursorPath: null, linkPath: null };
  if (answer.type === 'array') return answer.rows && { listPath: null, row: answer.rows, ...none };
  const spots = spotsOf(answer);
  const arrays = spots.flatMap(({ path, schema: { type, rows } }) => {
    const isRow = rows !== null && (rows.type === 'object' || rows.type === null || rows.members.size > 0);
    return type === 'array' && isRow ? [{ listPath: path, row: rows }] : [];
  });
  const usual = [...ENVELOPE.lists, folded(list)];
  const rows =
    arrays.length === 1
      ? arrays[0]
      : arrays.find((one) => usual.includes(folded(one.listPath.split('.').at(-1) ?? '')));
  if (rows === undefined) return null;
  const named = spots.map(({ path, schema: { type } }) => {
    const joined = path.split('.').map(folded).join('');
    return { path, type, name: joined.replace(OF_PAGING, '') || joined };
  });
  const at = (names: readonly string[], ...types: ValueSchema['type'][]) =>
    named.find(({ name, type }) => [...types, null].includes(type) && names.includes(name))?.path ?? null;
  return {
    ...rows,
    hasMorePath: at(ENVELOPE.hasMore, 'boolean'),
    totalPath: at(ENVELOPE.totals, 'integer', 'number', 'string'),
    cursorPath: at(ENVELOPE.cursors, 'string', 'integer'),
    linkPath: at(ENVELOPE.links, 'string'),
  };
}

/** Returns the parameter with the most likely name. */
function findLikeliest(query: readonly QueryParameter[], names: readonly string[]): QueryParameter | undefined {
  return names.flatMap((usual) => query.find(({ name }) => plainName(name) === plainName(usual)) ?? [])[0];
}

/** Requested records per page unless the server limits the size. */
const USUAL_SIZE = 200;

/** Paging of a list, and open questions. */
interface PagingFound {
  /** Null: paging parameters with unknown function. */
  paging: Paging | null;
  asks: string[];
}

/** Derives the paging from parameters and envelope. */
function pagingOf(query: readonly QueryParameter[], envelope: Envelope, hasLinkHeader: boolean): PagingFound {
  const find = (kind: keyof typeof PARAMETERS) => findLikeliest(query, PARAMETERS[kind]);
  const observed = query.find(({ isCursor }) => isCursor === true);
  const [offset, page, cursor, size] = [find('offset'), find('page'), observed ?? find('cursor'), find('size')];
  const { hasMorePath, totalPath, cursorPath, linkPath } = envelope;
  const asks = size !== undefined && size.maximum === null ? [`what is the largest ${size.name}?`] : [];
  const found = (style: Paging['style'], names: object): PagingFound => {
    return { paging: pagingSchema.parse({ style, hasMorePath, totalPath, ...names }), asks };
  };
  const ends =
    hasMorePath !== null ? ['has-more', 'empty-page'] : totalPath === null ? ['empty-page'] : ['total', 'empty-page'];
  const counted = { ...sizesOf(size), ends };
  const followed = { ...sizesOf(size), sizeParameter: size?.name ?? null, ends: ['no-next'] };
  if (hasLinkHeader) return found('link-header', followed);
  if (page !== undefined && size !== undefined) {
    if (page.first === null) asks.push(`is the first page ${page.name}=0 or ${page.name}=1? (assumed: 1)`);
    const names = { pageParameter: page.name, sizeParameter: size.name, startIndex: page.first === 0 ? 0 : 1 };
    return found('page-size', { ...names, ...counted });
  }
  if (offset !== undefined && size !== undefined) {
    const startIndex = offset.first === 1 ? 1 : 0;
    return found('offset-limit', { offsetParameter: offset.name, limitParameter: size.name, startIndex, ...counted });
  }
  if (cursor !== undefined && cursorPath !== null) {
    return found('cursor', { cursorParameter: cursor.name, cursorPath, ...followed });
  }
  if (linkPath !== null) return found('next-link', { linkPath, ...followed });
  const half = [offset, page, cursor, size].flatMap((one) => one?.name ?? []);
  if (half.length > 0) {
    const ask = `how does the list page? Only its parameters ${half.join(', ')} are related to paging`;
    return { paging: null, asks: [...asks, ask] };
  }
  asks.push(
    'does the clinic return every list completely, regardless of length? Then set paging.cap to a number that no list reaches',
  );
  return found('none', {});
}

/** Returns the usual page size within the server's maximum. */
function sizesOf(size: QueryParameter | undefined): object {
  const maximum = size?.maximum;
  if (maximum == null || !Number.isInteger(maximum) || maximum < 1) return {};
  return { size: Math.min(USUAL_SIZE, maximum), cap: maximum };
}

/** A list with found records. */
export interface ListSeen {
  list: ResourceName;
  operation: SpecifiedOperation;
  envelope: Envelope;
}

/**
 * Compares the paging of lists: the most frequent form becomes the default, and other lists get their own.
 * @returns the paging parameters of each list
 */
export function comparePaging(comparison: Comparison, lists: readonly ListSeen[]): Map<ResourceName, unknown[]> {
  const { profile } = comparison;
  const found = lists.map(({ list, operation, envelope }) => {
    const next = {
      cursorPath: envelope.cursorPath ?? operation.next?.cursorPath ?? null,
      linkPath: envelope.linkPath ?? operation.next?.linkPath ?? null,
    };
    return {
      list,
      there: operation.path,
      ...pagingOf(operation.query, { ...envelope, ...next }, operation.hasLinkHeader),
    };
  });
  const recognized = found.flatMap(({ paging, ...one }) => (paging === null ? [] : [{ ...one, paging }]));
  const [usual = []] = [...Map.groupBy(recognized, ({ paging }) => JSON.stringify(paging)).values()].sort(
    (a, b) => b.length - a.length,
  );
  const wanted = usual[0] && withOwn(profile.paging, usual[0].paging);
  // A document without paging is possibly incomplete.
  const compare = (path: string[], paging: Paging | null) =>
    comparison.compare({
      area: 'paging',
      path,
      wanted: paging,
      certainty: paging?.style === 'none' ? 'likely' : 'sure',
    });
  if (wanted !== undefined) compare(['paging'], wanted);
  for (const { list, paging } of recognized) {
    const own = withOwn(profile[list].paging ?? profile.paging, paging);
    const isUsual = JSON.stringify(own) === JSON.stringify(wanted);
    if (!isUsual || profile[list].paging !== null) compare([list, 'paging'], isUsual ? null : own);
  }
  for (const one of found) {
    if (one.paging !== null && one.list !== usual[0]?.list) continue;
    const location = one.paging === null ? `${one.list}.paging` : 'paging';
    for (const ask of one.asks) comparison.add('undecided', { area: 'paging', location, there: one.there, ask });
  }
  return new Map(found.map(({ list, paging }) => [list, Object.values(paging ?? {})]));
}

/** Keeps the profile's values for facts missing in the document, while the style is equal. */
function withOwn(now: Paging, found: Paging): Paging {
  if (now.style === 'none' && found.style === 'none') return { ...found, cap: now.cap };
  if (now.style === 'none' || found.style === 'none' || now.style !== found.style) return found;
  const isAlike = now.hasMorePath === found.hasMorePath && now.totalPath === found.totalPath;
  const size = found.cap === null ? now.size : Math.min(now.size, found.cap);
  return { ...found, cap: found.cap ?? now.cap, size, ends: isAlike ? now.ends : found.ends };
}

/** A list with a window and agendas. */
type WindowList = 'appointments' | 'availabilities';

/** Lead time of a list by start, in hours; longer appointments are rare. */
export const LEAD_HOURS = 7 * 24;

/** Compares the filters for window and agendas. @param query parameters other than paging */
export function compareFilters(comparison: Comparison, list: WindowList, query: readonly QueryParameter[]): void {
  const { filters, query: fixed } = comparison.profile[list];
  const window = windowIn(query, filters);
  const agenda =
    query.find(({ name, isAgenda }) => name === filters.agenda || isAgenda === true) ??
    findLikeliest(query, PARAMETERS.agenda);
  const hiding = findLikeliest(query, PARAMETERS.includesHidden);
  comparison.compare(
    ...Object.entries({ from: window?.from, to: window?.to, agenda }).map(
      ([filter, found]): Location => ({
        area: 'filters',
        path: [list, 'filters', filter],
        wanted: found?.name ?? null,
        certainty: 'likely',
        comment: found === undefined ? 'parameter not found: clinic-mirror filters' : undefined,
      }),
    ),
    ...(window === null ? [] : windowLocations(comparison, list, window)),
    ...(agenda === undefined ? [] : [agendaLocation(comparison, list, agenda)]),
    ...(list === 'appointments' ? changesLocation(comparison, query) : []),
  );
  if (hiding?.schema.type === 'boolean' && !(hiding.name in fixed)) {
    comparison.compare({
      area: 'filters',
      path: [list, 'query'],
      wanted: { ...fixed, [hiding.name]: 'true' },
      here: '(none)',
      there: `${hiding.name}=true`,
      certainty: 'likely',
      comment: 'include cancelled records',
    });
  }
  const filled = [window?.from, window?.to, agenda].map((one) => one?.name);
  for (const { name, required, schema } of query) {
    if (!required || filled.includes(name) || name in fixed) continue;
    // A required time is an unrecognised end of a window: a fixed value in `query` would never change.
    const isTime = schema.epochUnit !== null || /^date/.test(schema.format ?? '');
    const ask = isTime
      ? `the list needs the time ${name}: which end of a window is it (${list}.filters.from or .to), and what is the other?`
      : `the list needs the parameter ${name}: put its value in ${list}.query`;
    comparison.add('undecided', { area: 'filters', location: `${list}.query`, here: '(none)', there: name, ask });
  }
}

/** The two parameters of a window. */
interface WindowFound {
  from: QueryParameter;
  to: QueryParameter;
}

/** Returns the window parameters in the profile, otherwise the most likely pair. */
function windowIn(
  query: readonly QueryParameter[],
  own: { from: string | null; to: string | null },
): WindowFound | null {
  const usable = query.filter(
    ({ schema: { type, words } }) => type !== 'boolean' && type !== 'object' && type !== 'array' && words === null,
  );
  for (const [first, last] of own.from === null || own.to === null
    ? WINDOWS
    : [[own.from, own.to] as const, ...WINDOWS]) {
    const [from, to] = [findLikeliest(usable, [first]), findLikeliest(usable, [last])];
    if (from !== undefined && to !== undefined) return { from, to };
  }
  return null;
}

function windowLocations({ profile }: Comparison, list: WindowList, { from, to }: WindowFound): Location[] {
  const { format: now, leadHours } = profile[list].window;
  const found = formatOf(from);
  const path = (key: string) => [list, 'window', key];
  const format: Location = {
    area: 'times',
    path: path('format'),
    wanted: found === 'offset' && now === 'utc' ? now : found,
    ask: `which time format does ${from.name} accept?`,
  };
  const toIncluded: Location = {
    area: 'times',
    path: path('toIncluded'),
    wanted: undefined,
    ask: ASK_CLINIC.isDayIncluded(to.name),
  };
  // Documents do not state whether a window lists overlaps or starts, but names such as `starts_from` do.
  const lead: Location = isByStart(from.name, to.name)
    ? {
        area: 'filters',
        path: path('leadHours'),
        wanted: list === 'appointments' ? Math.max(leadHours, LEAD_HOURS) : leadHours,
        there: 'by start',
        certainty: 'likely',
        ask: `is any appointment or absence longer than ${LEAD_HOURS / 24} days? Then set it to the longest, in hours`,
        comment: `${from.name} filters by start: clinic-mirror requests this much earlier`,
      }
    : {
        area: 'filters',
        path: path('leadHours'),
        wanted: undefined,
        ask: ASK_CLINIC.overlaps,
      };
  return (found ?? now) === 'date' ? [format, toIncluded, lead] : [format, lead];
}

function formatOf({ schema }: QueryParameter): TimeForm | 'date' | undefined {
  if (schema.epochUnit !== null) return `epoch-${schema.epochUnit}`;
  const example = String(schema.example ?? '');
  if (schema.format === 'date' || /^\d{4}-\d\d-\d\d$/.test(example)) return 'date';
  const form = formOfExample(example);
  if (form === 'local' || form === 'local-space') return form;
  return schema.format === 'date-time' ? 'offset' : undefined;
}

function agendaLocation({ profile }: Comparison, list: WindowList, parameter: QueryParameter): Location {
  const { name, several, schema } = parameter;
  const { maxPerCall: now } = profile[list].agendaFilter;
  if (several !== null) return { area: 'filters', path: [list, 'agendaFilter', 'style'], wanted: several };
  const isSingle = now === 1 || (schema.type !== null && !/s$/i.test(name));
  return {
    area: 'filters',
    path: [list, 'agendaFilter', 'maxPerCall'],
    wanted: isSingle ? 1 : undefined,
    certainty: 'likely',
    ask: isSingle ? null : `does ${name} take several, and how?`,
    comment: `${name} is a single value`,
  };
}

/** Proposed only on request: a filter for changes delays the detection of deletions. */
function changesLocation({ profile }: Comparison, query: readonly QueryParameter[]): Location[] {
  const { parameter: now } = profile.appointments.rereading.changedSince;
  const found = query.find(({ name }) => name === now) ?? findLikeliest(query, PARAMETERS.changedSince);
  if (found === undefined && now === null) return [];
  const location = { area: 'filters', path: ['appointments', 'rereading', 'changedSince', 'parameter'] } as const;
  if (now === null) {
    const ask = `does ${found?.name} list the changes since a time, with cancelled records and without a window?`;
    const more = `${ask} Then its name there spares reading all with each cycle`;
    return [{ ...location, wanted: undefined, there: found?.name ?? '–', ask: more }];
  }
  const comment = found === undefined ? 'parameter not found: full reads' : undefined;
  return [{ ...location, wanted: found?.name ?? null, certainty: 'likely', comment }];
}
