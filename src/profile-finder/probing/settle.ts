import { compilePaths, folded, type JsonObject } from '../../clinic/http/rows.ts';
import type { BookedAppointment } from '../../clinic/read/appointment-rows.ts';
import { compileRaised, compileStatuses } from '../../clinic/read/statuses.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import type { AppointmentStatus } from '../../model/records.ts';
import { DAY_MS } from '../../model/time.ts';
import { type Compared, Comparison, type Finding, type ProfileChange, type Told } from '../specification/findings.ts';
import { epochForm, formOf } from '../specification/match-conventions.ts';
import { LEAD_HOURS } from '../specification/match-filters.ts';
import { UNTOLD, type ValueSchema } from '../specification/schemas.ts';
import type { QueryParameter } from '../specification/specification.ts';
import type { AgendaSeen, WindowManners, WindowSeen } from './windows.ts';

/** What a probe saw beside parameters and fields. */
export interface Seen {
  window: WindowSeen | null;
  manners: WindowManners | null;
  agenda: AgendaSeen | null;
  rows: readonly BookedAppointment[];
  /** The same rows as they came, and how they are read so far. */
  samples: readonly JsonObject[];
  reading: Pick<ClinicProfile, 'appointments' | 'epochUnit'>;
  /** Times as they were told. */
  times: readonly string[];
}

/** Most that a profile takes. */
const LONGEST_LEAD_HOURS = 24 * 31;

/** The parameters that a probe found, in the terms of a document. */
export function queryOf(window: WindowSeen | null, agenda: AgendaSeen | null): QueryParameter[] {
  const found: QueryParameter[] = [];
  if (window !== null) {
    const schema = schemaOf(window.format);
    const description = window.format === 'epoch-ms' ? 'milliseconds' : '';
    found.push(parameter(window.from, { schema, description }), parameter(window.to, { schema, description }));
  }
  if (agenda !== null) {
    found.push(
      parameter(agenda.name, { isAgenda: true, several: agenda.several, schema: { ...UNTOLD, type: 'string' } }),
    );
  }
  return found;
}

function parameter(name: string, more: Partial<QueryParameter>): QueryParameter {
  const usual = { required: false, schema: UNTOLD, several: null, minimum: null, maximum: null, default: null };
  return { name, ...usual, description: '', ...more };
}

function schemaOf(format: WindowSeen['format']): ValueSchema {
  const told = { ...UNTOLD, type: 'string' } as const;
  switch (format) {
    case 'date':
      return { ...told, format: 'date' };
    case 'local':
      return { ...told, example: '2026-03-20T10:00:00' };
    case 'local-space':
      return { ...told, example: '2026-03-20 10:00:00' };
    case 'epoch-ms':
    case 'epoch-seconds':
      return { ...UNTOLD, type: 'integer' };
    default:
      return { ...told, format: 'date-time' };
  }
}

/** Places that a document leaves open and a probe looks at itself. */
const LOOKED_AT = new Set([
  'appointments.window.leadHours',
  'appointments.window.toIncluded',
  'appointments.agendaFilter.maxPerCall',
  'appointments.allDayEnd',
]);

/** A comparison with what was seen in the place of what could not be read from names. */
export function settle(compared: Compared, profile: ClinicProfile, seen: Seen): Compared {
  const comparison = new Comparison();
  const flags = new Set(raisedFlags(seen).map(({ path }) => path));
  const isKept = (area: string, place: string) =>
    area !== 'routes' && area !== 'scopes' && !LOOKED_AT.has(place) && (place !== FLAGS || flags.size > 0);
  comparison.add({
    findings: compared.findings
      .filter(({ area, place }) => isKept(area, place))
      .map((finding) => withRows(finding, seen.rows)),
    changes: compared.changes
      .filter(({ path }) => isKept('', path.join('.')))
      .map((change) => withKnownWords(change, profile))
      .map((change) => (change.path.join('.') === FLAGS ? { ...change, value: raisedFlags(seen) } : change)),
  });
  settleWindow(comparison, profile, seen);
  settleRows(comparison, profile, seen);
  return comparison;
}

const FLAGS = 'appointments.flags';
const STATUSES = 'appointments.statuses';
/** What gives the time back: a flag for it is proposed although no row had it up, since none may have been cancelled yet. */
const FREEING: readonly AppointmentStatus[] = ['cancelled', 'no_show'];

/**
 * Flags that were seen to tell another status than the word beside them: without such a row a field is just a field. Those of a status
 * that frees the time stay as long as no word tells it.
 */
function raisedFlags({ reading: { appointments }, samples }: Seen): ClinicProfile['appointments']['flags'] {
  const byWord = compileStatuses({ ...appointments, flags: [] });
  const wordOf = compilePaths(appointments.fields.status);
  const told = samples.map((row) => {
    const word = wordOf(row) ?? null;
    return { row, status: byWord(word === null ? null : String(word), row) };
  });
  const isTold = (wanted: AppointmentStatus) => told.some(({ status }) => status === wanted);
  return appointments.flags.filter(
    (flag) =>
      (FREEING.includes(flag.status) && !isTold(flag.status)) ||
      told.some(({ row, status }) => {
        const overrides = flag.over === null || flag.over.includes(status);
        return compileRaised(flag)(row) && status !== flag.status && overrides;
      }),
  );
}

/** The question what states mean says how many rows have each. */
function withRows(finding: Finding, rows: readonly BookedAppointment[]): Finding {
  if (finding.place !== STATUSES || finding.ask === null) return finding;
  const open = rows.filter(({ status }) => status === 'unknown');
  const counts = [...Map.groupBy(open, ({ statusWord }) => statusWord ?? 'none')];
  const told = counts.map(([word, found]) => `${word} in ${found.length}`).join(', ');
  return { ...finding, ask: `${finding.ask}. Of ${rows.length} rows: ${told}` };
}

/** Only some words were seen: those that the profile knows stay, if it is of this clinic at all. */
function withKnownWords(change: ProfileChange, { appointments }: ClinicProfile): ProfileChange {
  if (change.path.join('.') !== STATUSES) return change;
  const seen = new Set(Object.keys(change.value as object).map(folded));
  if (!Object.keys(appointments.statuses).some((word) => seen.has(folded(word)))) return change;
  return {
    ...change,
    value: { ...appointments.statuses, ...(change.value as object) },
    comment: 'with the words seen',
  };
}

/** Says that a place fits or what it should be; null: it could not be told. */
function settleOne(
  comparison: Comparison,
  path: string[],
  here: unknown,
  there: unknown,
  rest: Partial<Told> & { ask: string },
) {
  const place = path.join('.');
  const told = {
    area: 'filters',
    place,
    here: String(here),
    there: there === null ? '–' : String(there),
    ...rest,
  } as const;
  if (there === null) return comparison.undecided(told);
  const known = { ...told, ask: null };
  if (there === here) return comparison.fits(known);
  comparison.differs(known, { path, value: there, comment: `not ${here}, as it was seen` });
}

/** Of a list by start: so much earlier is asked for, in hours, and no less than the longest appointment that was seen. */
function leadOf(rows: readonly BookedAppointment[]): number {
  const longestMs = Math.max(0, ...rows.map(({ start, end }) => (end ?? start) - start));
  return Math.min(LONGEST_LEAD_HOURS, Math.max(LEAD_HOURS, Math.ceil(longestMs / DAY_MS) * 24));
}

function settleWindow(
  comparison: Comparison,
  { appointments }: ClinicProfile,
  { window, manners, agenda, rows }: Seen,
) {
  const { leadHours, toIncluded, maxDays } = appointments.window;
  if (window !== null && manners !== null) {
    const lead =
      manners.lists === null ? null : manners.lists === 'overlap' ? leadHours : Math.max(leadHours, leadOf(rows));
    const ask = 'does it list what overlaps the window, or only what starts in it (then set leadHours)?';
    settleOne(comparison, ['appointments', 'window', 'leadHours'], leadHours, lead, { ask });
    if (window.format === 'date') {
      const included = `does the day in ${window.to} belong to the answer?`;
      settleOne(comparison, ['appointments', 'window', 'toIncluded'], toIncluded, manners.toIncluded, {
        ask: included,
      });
    }
    const isTooLong = maxDays === null ? manners.isRefusedAbove : manners.longestDays < maxDays;
    const there = `${manners.longestDays} ${manners.isRefusedAbove ? 'at most' : 'at least'}`;
    const told = {
      area: 'filters',
      place: 'appointments.window.maxDays',
      here: String(maxDays ?? 'any'),
      there,
    } as const;
    const change = {
      path: ['appointments', 'window', 'maxDays'],
      value: manners.longestDays,
      comment: 'more is refused',
    };
    if (isTooLong) comparison.differs(told, change);
    else comparison.fits(told);
  }
  if (agenda !== null && agenda.several === null) {
    const path = ['appointments', 'agendaFilter', 'maxPerCall'];
    settleOne(comparison, path, appointments.agendaFilter.maxPerCall, 1, { ask: '' });
  }
}

/** Numbers of minutes for hours are seconds: no list has appointments of five hours alone. */
function settleDuration(comparison: Comparison, { appointments }: Seen['reading'], samples: Seen['samples']) {
  const { fields, durationUnit } = appointments;
  const read = compilePaths(fields.duration);
  const lengths = samples.map((row) => Number(read(row) || Number.NaN)).filter((length) => length > 0);
  if (durationUnit === 'seconds' || lengths.length === 0 || lengths.some((length) => length < LEAST_SECONDS)) return;
  const path = ['appointments', 'durationUnit'];
  const told = {
    area: 'times',
    place: path.join('.'),
    here: durationUnit,
    there: 'seconds',
    certainty: 'likely',
  } as const;
  const ask = `is ${fields.duration.join(', ')} in seconds? It is ${LEAST_SECONDS} or more in every row`;
  comparison.differs({ ...told, ask }, { path, value: 'seconds', comment: 'by its numbers' });
}

const LEAST_SECONDS = 300;

function settleRows(comparison: Comparison, profile: ClinicProfile, { rows, times, reading, samples }: Seen) {
  settleDuration(comparison, reading, samples);
  const wholeDays = rows.filter(({ allDay, end }) => allDay === true && end !== null);
  const isInclusive = wholeDays.some(({ start, end }) => end === start);
  const end = wholeDays.length === 0 ? null : isInclusive ? 'inclusive' : 'exclusive';
  const day = { area: 'times', ask: 'does the end of a whole day name its last day, or the day after it?' } as const;
  settleOne(comparison, ['appointments', 'allDayEnd'], profile.appointments.allDayEnd, end, day);
  settleOne(comparison, ['writes', 'times'], profile.writes.times, epochForm(reading.epochUnit) ?? formOf(times), {
    area: 'times',
    certainty: 'likely',
    ask: 'in which form does it take times?',
  });
  if (times.some((time) => !/(Z|[+-]\d\d:?\d\d)$/i.test(time))) {
    const told = { area: 'times', place: 'zone', here: profile.zone, there: 'times without an offset' } as const;
    comparison.undecided({ ...told, ask: 'in which time zone are its times?' });
  }
  const cancelled = rows.filter(({ status }) => status === 'cancelled').length;
  const told = { area: 'lists', place: 'appointments (cancelled)', here: 'listed, or read alone' } as const;
  if (cancelled > 0) comparison.fits({ ...told, there: 'listed' });
  else if (rows.every(({ status }) => status !== 'unknown')) {
    const there = `none among ${rows.length}`;
    const ask = 'do lists leave cancelled appointments out? If a parameter includes them, put it in appointments.query';
    comparison.undecided({ ...told, there, ask });
  }
}
