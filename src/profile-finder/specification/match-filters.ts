import { folded } from '../../clinic/http/rows.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import { type Compared, Comparison } from './findings.ts';
import type { QueryParameter } from './specification.ts';
import { type WindowName, windowNameOf } from './window-names.ts';

type WindowList = 'appointments' | 'availabilities';

const words = (text: string) => text.split(' ');
const FROM = words(
  'from datefrom fromdate startdate datestart mindate dal dadata datainizio startsafter startfrom starttime start begin inizio timemin',
);
const TO = words(
  'to dateto todate enddate dateend maxdate al adata datafine startsbefore startto endtime end fine timemax',
);
const AGENDA = words(
  'agendaid agendaids agenda agendas calendarid calendarids calendar calendars resourceid resourceids idagenda idagende scheduleid',
);
const INCLUDES_HIDDEN = words(
  'includecancelled includecanceled withcancelled withcanceled showcancelled showcanceled includedeleted showdeleted includeall showall includiannullati',
);
const CHANGED = words(
  'updatedsince modifiedsince changedsince updatedafter modifiedafter changedafter updatedfrom modifiedfrom lastmodified lastupdated lastupdate ifmodifiedsince modificatidal modificatodal aggiornatidal aggiornatodal',
);

/** Compares how a list is asked for a window and agendas. @param isPaging whether a parameter belongs to paging */
export function compareFilters(
  list: WindowList,
  query: readonly QueryParameter[],
  profile: ClinicProfile,
  isPaging: (name: string) => boolean,
): Compared {
  const comparison = new Comparison();
  const rules = profile[list];
  const times = query.filter((one) => isTime(one) && !isPaging(one.name));
  const ends = { from: endOf('from', rules.filters.from, times, FROM), to: endOf('to', rules.filters.to, times, TO) };
  const { from, to } = ends;
  const agenda =
    query.find(({ name, isAgenda }) => name === rules.filters.agenda || isAgenda === true) ?? firstKnown(query, AGENDA);
  const pair = from !== undefined && to !== undefined;
  compareName(comparison, list, 'from', rules.filters.from, pair ? from : undefined);
  compareName(comparison, list, 'to', rules.filters.to, pair ? to : undefined);
  compareName(comparison, list, 'agenda', rules.filters.agenda, agenda);
  if (pair) {
    compareFormat(comparison, list, from, to, profile);
    compareLead(comparison, list, from, to, profile);
  }
  if (agenda !== undefined) compareAgendas(comparison, list, agenda, profile);
  compareHidden(comparison, list, query, profile);
  if (list === 'appointments') compareChanges(comparison, query, profile);
  const filled = [...(pair ? [from, to] : []), agenda].map((one) => one?.name);
  for (const { name, required } of query) {
    if (!required || filled.includes(name) || isPaging(name) || name in rules.query) continue;
    const told = { area: 'filters', place: `${list}.query`, here: '(none)', there: name } as const;
    comparison.undecided({ ...told, ask: askRequired(list, name, times) });
  }
  return comparison;
}

/** A time that is needed is an end of a window that was not understood: a fixed one in `query` would stand still. */
function askRequired(list: WindowList, name: string, times: readonly QueryParameter[]): string {
  if (times.some((one) => one.name === name)) {
    return `the list needs the time ${name}: which end of a window is it (${list}.filters.from or .to), and what is the other?`;
  }
  return `the list needs the parameter ${name}: put its value in ${list}.query`;
}

/** Whether a parameter may hold a time: by its kind, and, where texts and numbers may be anything, by its name. */
function isTime({ name, schema }: QueryParameter): boolean {
  if (!['string', 'integer', 'number', null].includes(schema.type) || schema.words !== null) return false;
  return schema.epochUnit !== null || /^date/.test(schema.format ?? '') || windowNameOf(name) !== null || isKnown(name);
}

function isKnown(name: string): boolean {
  return [...FROM, ...TO].includes(folded(name));
}

/** An end of a window: as the profile has it, by a known name, else by what its name says. */
function endOf(
  end: WindowName['end'],
  now: string | null,
  times: readonly QueryParameter[],
  known: readonly string[],
): QueryParameter | undefined {
  const named = times.find(({ name }) => name === now) ?? firstKnown(times, known);
  const spoken = times.filter(({ name }) => windowNameOf(name)?.end === end);
  return named ?? spoken.find(({ name }) => windowNameOf(name)?.isOfStart) ?? spoken[0];
}

function firstKnown(query: readonly QueryParameter[], names: readonly string[]): QueryParameter | undefined {
  return names.map((known) => query.find(({ name }) => folded(name) === known)).find((one) => one !== undefined);
}

function compareName(
  comparison: Comparison,
  list: WindowList,
  filter: 'from' | 'to' | 'agenda',
  here: string | null,
  there: QueryParameter | undefined,
) {
  const path = [list, 'filters', filter];
  const told = { area: 'filters', place: path.join('.'), here: here ?? '(none)', there: there?.name ?? '–' } as const;
  if ((there?.name ?? null) === here) return comparison.fits(told);
  const comment = there === undefined ? 'no such parameter: filtered here' : `not ${here ?? '(none)'}`;
  comparison.differs({ ...told, certainty: 'likely' }, { path, value: there?.name ?? null, comment });
}

function compareFormat(
  comparison: Comparison,
  list: WindowList,
  from: QueryParameter,
  to: QueryParameter,
  profile: ClinicProfile,
) {
  const { format, toIncluded } = profile[list].window;
  const path = [list, 'window', 'format'];
  const there = formatOf(from);
  const told = { area: 'times', place: path.join('.'), here: format, there: there ?? '–' } as const;
  if (there === null) comparison.undecided({ ...told, ask: `in which form does ${from.name} take a time?` });
  else if (there === format || (there === 'offset' && format === 'utc')) comparison.fits(told);
  else comparison.differs(told, { path, value: there, comment: `not ${format}` });
  if ((there ?? format) === 'date') {
    const said = [to.description, to.schema.description].join(' ');
    const included = /\b(inclusive|included|incluso|inclusa|compreso|compresa)\b/i.test(said);
    const place = [list, 'window', 'toIncluded'];
    const day = { area: 'times', place: place.join('.'), here: String(toIncluded) } as const;
    if (included && !toIncluded) {
      comparison.differs(
        { ...day, there: 'true' },
        { path: place, value: true, comment: `the day ${to.name} belongs to it` },
      );
    } else if (!included) {
      comparison.undecided({ ...day, there: '–', ask: `does the day in ${to.name} belong to the answer?` });
    }
  }
}

/** Whether a window lists what overlaps it or what starts in it: no document says so, but names as `starts_from` do. */
function compareLead(
  comparison: Comparison,
  list: WindowList,
  from: QueryParameter,
  to: QueryParameter,
  profile: ClinicProfile,
) {
  const { leadHours } = profile[list].window;
  const path = [list, 'window', 'leadHours'];
  const told = { area: 'filters', place: path.join('.'), here: `${leadHours}` } as const;
  const isByStart = [from, to].every(({ name }) => windowNameOf(name)?.isOfStart === true);
  if (list === 'appointments' && isByStart && leadHours < LEAD_HOURS) {
    const ask = `is any appointment or absence longer than ${LEAD_HOURS / 24} days? Then set it to the longest, in hours`;
    const change = {
      path,
      value: LEAD_HOURS,
      comment: `${from.name} goes by the start: this much earlier is asked for`,
    };
    return comparison.differs({ ...told, there: 'by start', certainty: 'likely', ask }, change);
  }
  if (isByStart) return comparison.fits({ ...told, there: 'by start' });
  const ask = 'does it list what overlaps the window, or only what starts in it (then set leadHours)?';
  comparison.undecided({ ...told, there: '–', ask });
}

/** Of a list by start: so much earlier is asked for, in hours. Longer appointments are rare. */
export const LEAD_HOURS = 7 * 24;

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
) {
  const { style, maxPerCall } = profile[list].agendaFilter;
  const path = [list, 'agendaFilter', 'style'];
  if (several === null) {
    const single = {
      area: 'filters',
      place: `${list}.agendaFilter.maxPerCall`,
      here: String(maxPerCall),
      there: '1',
    } as const;
    const isOne = schema.type !== null && !/s$/i.test(name);
    if (maxPerCall === 1) return comparison.fits(single);
    const value = { path: [list, 'agendaFilter', 'maxPerCall'], value: 1, comment: `${name} is a single value` };
    if (isOne) return comparison.differs({ ...single, certainty: 'likely' }, value);
    return comparison.undecided({ ...single, there: '–', ask: `does ${name} take several, and how?` });
  }
  const told = { area: 'filters', place: path.join('.'), here: style, there: several } as const;
  if (several === style) return comparison.fits(told);
  comparison.differs(told, { path, value: several, comment: `not ${style}` });
}

/** A list that hides cancelled rows unless asked: absent ones would have to be read one by one. */
function compareHidden(
  comparison: Comparison,
  list: WindowList,
  query: readonly QueryParameter[],
  profile: ClinicProfile,
) {
  const switched = query.find(
    ({ name, schema }) => INCLUDES_HIDDEN.includes(folded(name)) && schema.type === 'boolean',
  );
  if (switched === undefined || switched.name in profile[list].query) return;
  const told = { area: 'filters', place: `${list}.query`, here: '(none)', there: `${switched.name}=true` } as const;
  const value = { ...profile[list].query, [switched.name]: 'true' };
  comparison.differs(
    { ...told, certainty: 'likely' },
    { path: [list, 'query'], value, comment: 'cancelled rows are wanted' },
  );
}

/** A filter for what changed is proposed to nobody unasked: what was deleted is noticed later then. */
function compareChanges(comparison: Comparison, query: readonly QueryParameter[], profile: ClinicProfile) {
  const { parameter: here } = profile.appointments.rereading.changedSince;
  const found = query.find(({ name }) => name === here) ?? firstKnown(query, CHANGED);
  if (found === undefined && here === null) return;
  const path = ['appointments', 'rereading', 'changedSince', 'parameter'];
  const told = { area: 'filters', place: path.join('.'), here: here ?? '(none)', there: found?.name ?? '–' } as const;
  if (found?.name === here) return comparison.fits(told);
  if (here === null) {
    const ask = `does ${found?.name} list what changed since a time, cancelled rows too, and without a window?`;
    return comparison.undecided({ ...told, ask: `${ask} Then its name there spares reading all with each cycle` });
  }
  const comment = found === undefined ? 'no such parameter: all is read' : `not ${here}`;
  comparison.differs({ ...told, certainty: 'likely' }, { path, value: found?.name ?? null, comment });
}
