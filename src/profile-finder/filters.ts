import { folded } from '../clinic/http/rows.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import type { Comparison } from './findings.ts';
import { PARAMETERS, type WindowName, windowNameOf } from './names.ts';
import type { QueryParameter } from './openapi.ts';
import { firstKnown } from './paging.ts';

/** A list that is asked for a window and for agendas. */
export type WindowList = 'appointments' | 'availabilities';

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
    firstKnown(query, PARAMETERS.agenda);
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
    comparison.add('undecided', { area: 'filters', place: `${list}.query`, here: '(none)', there: name, ask });
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
    comparison.add('undecided', { area: 'times', place: path.join('.'), here: now, ask });
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
      comparison.add('undecided', { area: 'times', place: day.path.join('.'), here: String(toIncluded), ask });
    }
  }
  // No document says whether a window lists what overlaps it or what starts in it, but names as `starts_from` do.
  const lead = { area: 'filters', path: [list, 'window', 'leadHours'], now: leadHours } as const;
  if (!isOfStart(from) || !isOfStart(to)) {
    const ask = 'does it list what overlaps the window, or only what starts in it (then set leadHours)?';
    comparison.add('undecided', { area: 'filters', place: lead.path.join('.'), here: `${leadHours}`, ask });
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
    comparison.add('undecided', { area: 'filters', place: path.join('.'), here: String(now), ask });
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
  const found = query.find(({ name }) => name === now) ?? firstKnown(query, PARAMETERS.changedSince);
  if (found === undefined && now === null) return;
  const path = ['appointments', 'rereading', 'changedSince', 'parameter'];
  if (now === null) {
    const ask = `does ${found?.name} list what changed since a time, cancelled rows too, and without a window?`;
    const more = `${ask} Then its name there spares reading all with each cycle`;
    const [place, there] = [path.join('.'), found?.name ?? '–'];
    comparison.add('undecided', { area: 'filters', place, here: '(none)', there, ask: more });
    return;
  }
  const comment = found === undefined ? 'no such parameter: all is read' : undefined;
  comparison.compare({ area: 'filters', path, now, wanted: found?.name ?? null, certainty: 'likely', comment });
}
