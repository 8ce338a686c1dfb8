import { folded } from '../clinic/http/rows.ts';
import { type Paging, pagingSchema } from '../clinic/schema/paging.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import type { ResourceName } from '../clinic/schema/resources.ts';
import type { Comparison } from './findings.ts';
import { ENVELOPE, PARAMETERS, type WindowName, windowNameOf } from './names.ts';
import type { QueryParameter, SpecifiedOperation } from './openapi.ts';
import { spotsOf, type ValueSchema } from './values.ts';

/** How one list answers: where its rows are and what an answer holds of the other pages. */
export interface Envelope {
  /** Null: the answer is the array itself. */
  listPath: string | null;
  row: ValueSchema;
  hasMorePath: string | null;
  totalPath: string | null;
  /** A cursor or an address of the next page. */
  cursorPath: string | null;
  linkPath: string | null;
}

/** Of paging; what is before a name in an envelope such as `meta.total`. */
const OF_PAGING = /^(meta|metadata|pagination|paging|page|pageinfo|links|details)+/;

/** Finds the rows in a list's answer; null when it holds none, or several and nothing tells which. */
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
    linkPath: at(ENVELOPE.links, 'string') ?? at(['href'], 'string'),
  };
}

/** The parameter with the likeliest of the names. */
function findLikeliest(query: readonly QueryParameter[], names: readonly string[]): QueryParameter | undefined {
  // `$top` (OData) and `page[size]` (JSON:API) as `top` and `pagesize`.
  const plain = (name: string) => folded(name.replaceAll(/[$[\]]/g, ''));
  return names.flatMap((recognized) => query.find(({ name }) => plain(name) === recognized) ?? [])[0];
}

/** Rows of a page that are asked for unless the server gives fewer. */
const USUAL_SIZE = 200;

/** How a list pages, and what could not be told of it. */
interface PagingFound {
  /** Null: it has parameters of paging, and nothing tells how they work. */
  paging: Paging | null;
  asks: string[];
}

/** Tells the paging of a list from its parameters and its envelope, in the terms of the profile. */
function pagingOf(query: readonly QueryParameter[], envelope: Envelope, hasLinkHeader: boolean): PagingFound {
  const find = (kind: keyof typeof PARAMETERS) => findLikeliest(query, PARAMETERS[kind]);
  const [offset, page, cursor, size] = [find('offset'), find('page'), find('cursor'), find('size')];
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
    const first = page.minimum ?? page.default;
    if (first === null) asks.push(`is the first page ${page.name}=0 or ${page.name}=1? (taken for 1)`);
    const names = { pageParameter: page.name, sizeParameter: size.name, startIndex: first === 0 ? 0 : 1 };
    return found('page-size', { ...names, ...counted });
  }
  if (offset !== undefined && size !== undefined) {
    const startIndex = (offset.minimum ?? offset.default) === 1 ? 1 : 0;
    return found('offset-limit', { offsetParameter: offset.name, limitParameter: size.name, startIndex, ...counted });
  }
  if (cursor !== undefined && cursorPath !== null) {
    return found('cursor', { cursorParameter: cursor.name, cursorPath, ...followed });
  }
  if (linkPath !== null) return found('next-link', { linkPath, ...followed });
  const half = [offset, page, cursor, size].flatMap((one) => one?.name ?? []);
  if (half.length > 0) {
    return {
      paging: null,
      asks: [...asks, `how does the list page? Of its parameters only ${half.join(', ')} speaks of it`],
    };
  }
  asks.push('does it give every list whole, however long? Then set paging.cap to a number that no list reaches');
  return found('none', {});
}

/** As many rows as usual, and no more than the server says that it gives. */
function sizesOf(size: QueryParameter | undefined): object {
  const maximum = size?.maximum;
  if (maximum == null || !Number.isInteger(maximum) || maximum < 1) return {};
  return { size: Math.min(USUAL_SIZE, maximum), cap: maximum };
}

/** A list whose rows were found in its answer. */
export interface ListSeen {
  list: ResourceName;
  operation: SpecifiedOperation;
  envelope: Envelope;
}

/**
 * Compares the paging of lists: that of most lists is the profile's; each other list gets its own.
 * @returns the names of each list's parameters of paging
 */
export function comparePaging(
  comparison: Comparison,
  lists: readonly ListSeen[],
  profile: ClinicProfile,
): Map<ResourceName, readonly unknown[]> {
  const found = lists.map(({ list, operation, envelope }) => {
    return { list, operation, ...pagingOf(operation.query, envelope, operation.hasLinkHeader) };
  });
  const askAll = (location: string, { asks, operation }: (typeof found)[number]) => {
    for (const ask of asks) comparison.add('undecided', { area: 'paging', location, there: operation.path, ask });
  };
  for (const one of found) if (one.paging === null) askAll(`${one.list}.paging`, one);
  const recognized = found.filter((one) => one.paging !== null);
  const kinds = Map.groupBy(recognized, ({ paging }) => JSON.stringify(paging));
  const [usual] = [...kinds.values()].sort((a, b) => b.length - a.length);
  const first = usual?.[0];
  if (first?.paging != null) {
    const paging = withOwn(profile.paging, first.paging);
    compareOne(comparison, ['paging'], profile.paging, paging);
    askAll('paging', first);
    for (const one of recognized) {
      if (one.paging === null) continue;
      const own = profile[one.list].paging;
      const wanted = withOwn(own ?? profile.paging, one.paging);
      const isUsual = JSON.stringify(wanted) === JSON.stringify(paging);
      if (!isUsual || own !== null) compareOne(comparison, [one.list, 'paging'], own, isUsual ? null : wanted);
    }
  }
  return new Map(found.map(({ list, paging }) => [list, Object.values(paging ?? {})]));
}

/** What a document can't tell of paging stays as the profile has it, as long as the style is the same. */
function withOwn(now: Paging, found: Paging): Paging {
  if (now.style === 'none' && found.style === 'none') return { ...found, cap: now.cap };
  if (now.style === 'none' || found.style === 'none' || now.style !== found.style) return found;
  const isAlike = now.hasMorePath === found.hasMorePath && now.totalPath === found.totalPath;
  const size = found.cap === null ? now.size : Math.min(now.size, found.cap);
  return { ...found, cap: found.cap ?? now.cap, size, ends: isAlike ? now.ends : found.ends };
}

function compareOne(comparison: Comparison, path: string[], now: Paging | null, wanted: Paging | null): void {
  // A document that is silent on paging may have left it out.
  const certainty = wanted?.style === 'none' ? 'likely' : 'sure';
  const [here, there] = [pagingText(now), pagingText(wanted)];
  comparison.compare({ area: 'paging', path, now, wanted, here, there, certainty });
}

function pagingText(paging: Paging | null): string {
  if (paging === null) return 'as the profile';
  const { style, ...rest } = paging;
  const names = Object.entries(rest).filter(([name, value]) => /Parameter$|Path$/.test(name) && value !== null);
  return [style, ...names.map(([, value]) => String(value))].join(' ');
}

/** A list that is asked for a window and for agendas. */
type WindowList = 'appointments' | 'availabilities';

/** How much earlier a list by start is asked for, in hours. Longer appointments are rare. */
export const LEAD_HOURS = 7 * 24;

/** Compares how a list is asked for a window and agendas. @param query its parameters other than those of paging */
export function compareFilters(
  comparison: Comparison,
  list: WindowList,
  query: readonly QueryParameter[],
  profile: ClinicProfile,
): void {
  const { filters, query: fixed } = profile[list];
  const times = query.filter(isTime);
  const [from, to] = [endOf('from', filters.from, times), endOf('to', filters.to, times)];
  const window = from === undefined || to === undefined ? null : { from, to };
  const agenda =
    query.find(({ name, isAgenda }) => name === filters.agenda || isAgenda === true) ??
    findLikeliest(query, PARAMETERS.agenda);
  for (const [filter, found] of Object.entries({ from: window?.from, to: window?.to, agenda })) {
    const path = [list, 'filters', filter];
    const now = filters[filter as keyof typeof filters];
    const comment = found === undefined ? 'no such parameter: filtered here' : undefined;
    comparison.compare({ area: 'filters', path, now, wanted: found?.name ?? null, certainty: 'likely', comment });
  }
  if (window !== null) compareWindow(comparison, list, window, profile);
  if (agenda !== undefined) compareAgendas(comparison, list, agenda, profile);
  compareHidden(comparison, list, query, profile);
  if (list === 'appointments') compareChanges(comparison, query, profile);
  const filled = [window?.from, window?.to, agenda].map((one) => one?.name);
  for (const one of query) {
    const { name, required } = one;
    if (!required || filled.includes(name) || name in fixed) continue;
    // A time that is needed is an end of a window that was not understood: a fixed one in `query` would stay the same.
    const ask = times.includes(one)
      ? `the list needs the time ${name}: which end of a window is it (${list}.filters.from or .to), and what is the other?`
      : `the list needs the parameter ${name}: put its value in ${list}.query`;
    comparison.add('undecided', { area: 'filters', location: `${list}.query`, here: '(none)', there: name, ask });
  }
}

/** Whether a parameter may hold a time: by its kind, and, where texts and numbers may be anything, by its name. */
function isTime({ name, schema }: QueryParameter): boolean {
  if (!['string', 'integer', 'number', null].includes(schema.type) || schema.words !== null) return false;
  return schema.epochUnit !== null || /^date/.test(schema.format ?? '') || windowNameOf(name) !== null;
}

/** An end of a window: as the profile has it, else by what its name says. */
function endOf(
  end: WindowName['end'],
  now: string | null,
  times: readonly QueryParameter[],
): QueryParameter | undefined {
  const spoken = times.filter(({ name }) => windowNameOf(name)?.end === end);
  return times.find(({ name }) => name === now) ?? spoken.find(isOfStart) ?? spoken[0];
}

function isOfStart({ name }: QueryParameter): boolean {
  return windowNameOf(name)?.isOfStart === true;
}

function compareWindow(
  comparison: Comparison,
  list: WindowList,
  { from, to }: { from: QueryParameter; to: QueryParameter },
  profile: ClinicProfile,
): void {
  const { format: now, toIncluded, leadHours } = profile[list].window;
  const format = formatOf(from);
  const path = [list, 'window', 'format'];
  const wanted = format === 'offset' && now === 'utc' ? now : format;
  if (wanted === null) {
    const ask = `in which form does ${from.name} take a time?`;
    comparison.add('undecided', { area: 'times', location: path.join('.'), here: now, ask });
  } else comparison.compare({ area: 'times', path, now, wanted, there: format ?? '' });
  if ((format ?? now) === 'date') {
    const isSaid = /\b(inclusive|included|incluso|inclusa|compreso|compresa)\b/i.test(
      `${to.description} ${to.schema.description}`,
    );
    const day = { area: 'times', path: [list, 'window', 'toIncluded'], now: toIncluded } as const;
    if (isSaid && !toIncluded)
      comparison.compare({ ...day, wanted: true, comment: `the day ${to.name} belongs to it` });
    else if (!isSaid) {
      const ask = `does the day in ${to.name} belong to the answer?`;
      comparison.add('undecided', { area: 'times', location: day.path.join('.'), here: String(toIncluded), ask });
    }
  }
  // No document says whether a window lists what overlaps it or what starts in it, but names as `starts_from` do.
  const lead = { area: 'filters', path: [list, 'window', 'leadHours'], now: leadHours } as const;
  if (!isOfStart(from) || !isOfStart(to)) {
    const ask = 'does it list what overlaps the window, or only what starts in it (then set leadHours)?';
    comparison.add('undecided', { area: 'filters', location: lead.path.join('.'), here: `${leadHours}`, ask });
  } else {
    const ask = `is any appointment or absence longer than ${LEAD_HOURS / 24} days? Then set it to the longest, in hours`;
    const comment = `${from.name} goes by the start: this much earlier is asked for`;
    const hours = list === 'appointments' ? Math.max(leadHours, LEAD_HOURS) : leadHours;
    comparison.compare({ ...lead, wanted: hours, there: 'by start', certainty: 'likely', ask, comment });
  }
}

function formatOf({ schema, description }: QueryParameter): ClinicProfile['appointments']['window']['format'] | null {
  const example = String(schema.example ?? '');
  if (schema.type === 'integer' || schema.epochUnit !== null) {
    return schema.epochUnit === 'ms' || /milli|\bms\b/i.test(description) ? 'epoch-ms' : 'epoch-seconds';
  }
  if (schema.format === 'date' || /^\d{4}-\d\d-\d\d$/.test(example)) return 'date';
  if (/^\d{4}-\d\d-\d\dT[\d:.]+$/.test(example)) return 'local';
  if (/^\d{4}-\d\d-\d\d [\d:.]+$/.test(example)) return 'local-space';
  return schema.format === 'date-time' ? 'offset' : null;
}

function compareAgendas(
  comparison: Comparison,
  list: WindowList,
  { name, several, schema }: QueryParameter,
  profile: ClinicProfile,
): void {
  const { style, maxPerCall: now } = profile[list].agendaFilter;
  const path = [list, 'agendaFilter', 'maxPerCall'];
  if (several !== null) {
    comparison.compare({ area: 'filters', path: [list, 'agendaFilter', 'style'], now: style, wanted: several });
  } else if (now === 1 || (schema.type !== null && !/s$/i.test(name))) {
    const comment = `${name} is a single value`;
    comparison.compare({ area: 'filters', path, now, wanted: 1, here: String(now), certainty: 'likely', comment });
  } else {
    const ask = `does ${name} take several, and how?`;
    comparison.add('undecided', { area: 'filters', location: path.join('.'), here: String(now), ask });
  }
}

/** A list that hides cancelled rows unless asked: absent ones would have to be read one by one. */
function compareHidden(
  comparison: Comparison,
  list: WindowList,
  query: readonly QueryParameter[],
  profile: ClinicProfile,
): void {
  const { query: now } = profile[list];
  const isSwitch = ({ name, schema }: QueryParameter) =>
    PARAMETERS.includesHidden.includes(folded(name)) && schema.type === 'boolean';
  const found = query.find(isSwitch);
  if (found === undefined || found.name in now) return;
  const [here, there] = ['(none)', `${found.name}=true`];
  const wanted = { ...now, [found.name]: 'true' };
  const comment = 'cancelled rows are wanted';
  comparison.compare({
    area: 'filters',
    path: [list, 'query'],
    now,
    wanted,
    here,
    there,
    certainty: 'likely',
    comment,
  });
}

/** A filter for what changed is never proposed unasked: what was deleted is noticed later then. */
function compareChanges(comparison: Comparison, query: readonly QueryParameter[], profile: ClinicProfile): void {
  const { parameter: now } = profile.appointments.rereading.changedSince;
  const found = query.find(({ name }) => name === now) ?? findLikeliest(query, PARAMETERS.changedSince);
  if (found === undefined && now === null) return;
  const path = ['appointments', 'rereading', 'changedSince', 'parameter'];
  if (now === null) {
    const ask = `does ${found?.name} list what changed since a time, cancelled rows too, and without a window?`;
    const more = `${ask} Then its name there spares reading all with each cycle`;
    const [location, there] = [path.join('.'), found?.name ?? '–'];
    comparison.add('undecided', { area: 'filters', location, here: '(none)', there, ask: more });
    return;
  }
  const comment = found === undefined ? 'no such parameter: all is read' : undefined;
  comparison.compare({ area: 'filters', path, now, wanted: found?.name ?? null, certainty: 'likely', comment });
}
