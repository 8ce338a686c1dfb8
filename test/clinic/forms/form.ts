import fc from 'fast-check';
import type { AppointmentStatus } from '../../../src/core/model/records.ts';
import { anyRowForm, type RowForm } from './row-form.ts';
import { anyUserForm, type UserForm } from './user-form.ts';

/** The lists that a generated clinic has. */
export const LISTS = ['appointments', 'patients', 'agendas', 'locations'] as const;
export type ListName = (typeof LISTS)[number];

const TIMES = [
  'offset',
  'basic-offset',
  'utc',
  'local',
  'local-space',
  'local-minutes',
  'epoch-seconds',
  'epoch-ms',
  'epoch-text',
  'dot-net',
  'digits',
  'spelled',
  'spelled-too',
] as const;
export type TimeForm = (typeof TIMES)[number];

/** How a date and its time of day come apart. */
export interface ApartForm {
  date: 'date' | 'midnight' | 'utc-midnight' | 'epoch';
  time: 'HH:MM' | 'HH:MM:SS' | 'H:MM' | 'dated';
  /** Value of the time field of a whole day. */
  none: null | '' | 'missing';
  /** Start and end have one date. */
  isShared: boolean;
  /** The time of change comes apart too. */
  isEverywhere: boolean;
}

const STATUS_FORMS = [
  'words',
  'letters',
  'numbers',
  'signed',
  'digits',
  'flags',
  'flags-as-numbers',
  'flags-as-words',
  'flags-as-times',
] as const;
export type StatusForm = (typeof STATUS_FORMS)[number];

/** How one list pages. Size and names of parameters are the clinic's own. */
export interface PagingForm {
  style: 'none' | 'offset' | 'page' | 'cursor' | 'link' | 'link-header';
  /** Location of the paging information; a bare array has only headers. */
  where: 'body' | 'header' | 'range';
  end: 'has-more' | 'total' | 'short' | 'empty' | 'next';
  size: number;
  /** The profile knows the size; otherwise the profile requests more rows than a page has. */
  isSizeKnown: boolean;
  startIndex: 0 | 1;
  /** Value that means no next page. */
  none: 'null' | 'missing' | 'empty';
  link: 'text' | 'relative' | 'href' | 'url' | 'rel' | 'relation';
  /** Takes a size. */
  isSized: boolean;
}

/** Where a list holds its rows, and the answer for one record that record. `.` = it is the answer itself. */
export interface EnvelopeForm {
  list: string;
  record: string;
  /** If a usual name exists, the profile does not name the field. */
  isFound: boolean;
  repeats: 'unexpected' | 'counted-each' | 'counted-once';
  paging: PagingForm;
}

/** How a request selects a window and agendas. */
export interface WindowForm {
  filters: 'none' | 'overlap' | 'start';
  format: 'date' | 'utc' | 'offset' | 'local' | 'local-space' | 'epoch-seconds' | 'epoch-ms';
  toIncluded: boolean;
  maxDays: number | null;
  agendas: 'none' | 'repeated' | 'comma';
  agendasPerCall: number;
}

/** One way in which a clinic system may speak: every combination is possible. */
export interface Form {
  zone: 'Europe/Rome' | 'America/New_York' | 'Asia/Kolkata';
  times: TimeForm;
  /** Unit of numbers that are dates, where times are none. */
  epochUnit: 'seconds' | 'ms';
  /** Value of a missing time. */
  noTime: null | '' | 0 | 'missing';
  apart: ApartForm | null;
  end: 'end' | 'minutes' | 'seconds' | 'minutes-as-text' | 'iso' | 'clock';
  wholeDays: 'dates' | 'instants' | 'utc-midnights';
  allDayEnd: 'exclusive' | 'inclusive';
  births: 'date' | 'time' | 'utc-time' | 'local-midnight' | 'epoch';
  status: StatusForm;
  truth: 'boolean' | 'number' | 'text';
  names: 'camel' | 'snake' | 'attributes' | 'shouted';
  references: 'flat' | 'nested' | 'listed' | 'conditioned';
  ids: 'text' | 'number' | 'digits';
  tenant: 'none' | 'flat' | 'nested';
  /** Rows of another tenant are among the clinic's own. */
  hasForeign: boolean;
  /** Paths that lead nowhere come before those that do. */
  hasDetours: boolean;
  /** Pages have ETags. */
  hasEtags: boolean;
  global: { list: string | null; record: string | null };
  lists: Record<ListName, EnvelopeForm>;
  window: WindowForm;
  rows: RowForm;
  user: UserForm;
}

const paging: fc.Arbitrary<PagingForm> = fc.record({
  style: fc.constantFrom('none', 'offset', 'page', 'cursor', 'link', 'link-header'),
  where: fc.constantFrom('body', 'header', 'range'),
  end: fc.constantFrom('has-more', 'total', 'short', 'empty', 'next'),
  size: fc.integer({ min: 3, max: 9 }),
  isSizeKnown: fc.boolean(),
  startIndex: fc.constantFrom(0, 1),
  none: fc.constantFrom('null', 'missing', 'empty'),
  link: fc.constantFrom('text', 'relative', 'href', 'url', 'rel', 'relation'),
  isSized: fc.boolean(),
});

function envelope(list: ListName): fc.Arbitrary<EnvelopeForm> {
  return fc.record({
    list: fc.constantFrom('.', 'data', 'items', list, 'result.rows', 'elenco'),
    record: fc.constantFrom('.', 'data', 'record', 'result.one'),
    isFound: fc.boolean(),
    repeats: fc.constantFrom('unexpected', 'counted-each', 'counted-once'),
    paging: paging.map((one) => lawful(one)),
  });
}

/** Replaces an end rule that the paging style cannot satisfy. */
function lawful(one: PagingForm): PagingForm {
  const follows = ['cursor', 'link', 'link-header'].includes(one.style);
  const isWrong = follows ? ['short', 'empty'].includes(one.end) : one.end === 'next';
  const end = isWrong ? (follows ? 'next' : 'empty') : one.end;
  return { ...one, end, isSizeKnown: end === 'short' || (one.isSizeKnown && one.isSized) };
}

/** Any way to speak. */
export const anyForm: fc.Arbitrary<Form> = fc
  .record({
    zone: fc.constantFrom('Europe/Rome', 'America/New_York', 'Asia/Kolkata'),
    times: fc.constantFrom(...TIMES),
    epochUnit: fc.constantFrom('seconds', 'ms'),
    noTime: fc.constantFrom<Form['noTime']>(null, '', 0, 'missing'),
    apart: fc.option(
      fc.record({
        date: fc.constantFrom('date', 'midnight', 'utc-midnight', 'epoch'),
        time: fc.constantFrom('HH:MM', 'HH:MM:SS', 'H:MM', 'dated'),
        none: fc.constantFrom(null, '', 'missing'),
        isShared: fc.boolean(),
        isEverywhere: fc.boolean(),
      }),
    ),
    end: fc.constantFrom('end', 'minutes', 'seconds', 'minutes-as-text', 'iso', 'clock'),
    wholeDays: fc.constantFrom('dates', 'instants', 'utc-midnights'),
    allDayEnd: fc.constantFrom('exclusive', 'inclusive'),
    births: fc.constantFrom('date', 'time', 'utc-time', 'local-midnight', 'epoch'),
    status: fc.constantFrom(...STATUS_FORMS),
    truth: fc.constantFrom('boolean', 'number', 'text'),
    names: fc.constantFrom('camel', 'snake', 'attributes', 'shouted'),
    references: fc.constantFrom('flat', 'nested', 'listed', 'conditioned'),
    ids: fc.constantFrom('text', 'number', 'digits'),
    tenant: fc.constantFrom('none', 'flat', 'nested'),
    hasForeign: fc.boolean(),
    hasDetours: fc.boolean(),
    hasEtags: fc.boolean(),
    global: fc.record({
      list: fc.constantFrom(null, 'data', 'elenco'),
      record: fc.constantFrom(null, 'data', 'result.one'),
    }),
    lists: fc.record({
      appointments: envelope('appointments'),
      patients: envelope('patients'),
      agendas: envelope('agendas'),
      locations: envelope('locations'),
    }),
    window: fc.record({
      filters: fc.constantFrom('none', 'overlap', 'start'),
      format: fc.constantFrom('date', 'utc', 'offset', 'local', 'local-space', 'epoch-seconds', 'epoch-ms'),
      toIncluded: fc.boolean(),
      maxDays: fc.constantFrom(null, 7, 30),
      agendas: fc.constantFrom('none', 'repeated', 'comma'),
      agendasPerCall: fc.constantFrom(1, 20),
    }),
    rows: anyRowForm,
    user: anyUserForm,
  } satisfies { [Key in keyof Form]: fc.Arbitrary<Form[Key]> })
  .map((form) => ({ ...form, times: form.times === 'digits' && hasNumbers(form) ? ('local' as const) : form.times }))
  .map((form) => ({ ...form, epochUnit: unitOf(form.times) ?? form.epochUnit }));

/** The unit of numeric times, null for strings. */
export function unitOf(times: TimeForm): 'seconds' | 'ms' | null {
  if (times === 'epoch-ms') return 'ms';
  return times === 'epoch-seconds' || times === 'epoch-text' ? 'seconds' : null;
}

/** Whether any time or date of a clinic is a number. */
export function hasNumbers({ times, apart, births }: Form): boolean {
  return unitOf(times) !== null || apart?.date === 'epoch' || births === 'epoch';
}

/** The clinic's status values, for forms with one status field. */
export const STATUS_VALUES: Record<
  Exclude<StatusForm, `flags${string}`>,
  Partial<Record<AppointmentStatus, string | number>>
> = {
  words: {
    booked: 'Da confermare',
    confirmed: 'CONFIRMED',
    arrived: 'Checked-In',
    in_progress: 'in_progress',
    completed: 'Done',
    cancelled: 'Canceled',
    no_show: 'NoShow',
    unknown: 'Rescheduled',
  },
  letters: {
    booked: '-',
    confirmed: 'C',
    arrived: '@',
    in_progress: '<',
    completed: '>',
    cancelled: 'c',
    no_show: '?',
  },
  numbers: { booked: 0, confirmed: 1, arrived: 2, in_progress: 3, completed: 4, cancelled: 5, no_show: 6, unknown: 17 },
  signed: {
    booked: 1,
    confirmed: 2,
    arrived: 3,
    in_progress: 4,
    completed: 5,
    cancelled: -1,
    no_show: -2,
    unknown: -3,
  },
  digits: {
    booked: '10',
    confirmed: '20',
    arrived: '30',
    in_progress: '40',
    completed: '50',
    cancelled: '90',
    no_show: '91',
  },
};

/** Flags, the later ones over the earlier. */
export const FLAGS = [
  ['confirmed', 'confirmed'],
  ['presence', 'arrived'],
  ['seen', 'completed'],
  ['missed', 'no_show'],
  ['cancelled', 'cancelled'],
] as const satisfies readonly (readonly [string, AppointmentStatus])[];
