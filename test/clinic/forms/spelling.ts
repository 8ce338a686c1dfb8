import fc from 'fast-check';
import { addDays, type Zone } from '../../../sandbox/clinic/data/zone.ts';

/** One way to write dates and times that can be read in one way only. */
export interface Spelling {
  date:
    | 'iso'
    | 'unpadded'
    | 'slashes'
    | 'dots'
    | 'basic'
    | 'week'
    | 'week-basic'
    | 'ordinal'
    | 'mail'
    | 'hyphens'
    | 'javascript'
    | 'month-first'
    | 'year-last'
    | 'month-day-year';
  separator: 'T' | ' ' | ', ';
  clock: 'seconds' | 'minutes' | 'fraction' | 'comma' | 'long-fraction' | 'half' | 'half-dots' | 'short';
  offset: 'none' | 'Z' | ' UTC' | ' GMT' | '+01:00' | '+0100' | '+01' | ' GMT+0100' | ' GMT+0100 (name)';
  zone: 'none' | 'brackets' | 'word';
  around: 'nothing' | 'quotes' | 'spaces' | 'capitals' | 'small';
  /** Dates without a time of day are written so too. */
  isOnDates: boolean;
  /** Digits that are a date are a number. */
  isNumber: boolean;
}

/** Any spelling. */
export const anySpelling: fc.Arbitrary<Spelling> = fc.record({
  date: fc.constantFrom(
    'iso',
    'unpadded',
    'slashes',
    'dots',
    'basic',
    'week',
    'week-basic',
    'ordinal',
    'mail',
    'hyphens',
    'javascript',
    'month-first',
    'year-last',
    'month-day-year',
  ),
  separator: fc.constantFrom('T', ' ', ', '),
  clock: fc.constantFrom('seconds', 'minutes', 'fraction', 'comma', 'long-fraction', 'half', 'half-dots', 'short'),
  offset: fc.constantFrom('none', 'Z', ' UTC', ' GMT', '+01:00', '+0100', '+01', ' GMT+0100', ' GMT+0100 (name)'),
  zone: fc.constantFrom('none', 'brackets', 'word'),
  around: fc.constantFrom('nothing', 'quotes', 'spaces', 'capitals', 'small'),
  isOnDates: fc.boolean(),
  isNumber: fc.boolean(),
});

const MONTHS = 'January February March April May June July August September October November December'.split(' ');
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

/** Writes a local date. @param date `YYYY-MM-DD` */
export function spelledDate({ date: form, around }: Pick<Spelling, 'date' | 'around'>, date: string): string {
  return wrapped(around, bareDate(form, date));
}

function bareDate(form: Spelling['date'], date: string): string {
  const [year = '', month = '', day = ''] = date.split('-');
  const [monthNumber, dayNumber] = [Number(month), Number(day)];
  const name = MONTHS[monthNumber - 1] ?? '';
  const weekday = DAYS[weekdayOf(date)] ?? '';
  switch (form) {
    case 'iso':
      return date;
    case 'unpadded':
      return `${year}-${monthNumber}-${dayNumber}`;
    case 'slashes':
      return `${year}/${month}/${day}`;
    case 'dots':
      return `${year}.${month}.${day}`;
    case 'basic':
      return `${year}${month}${day}`;
    case 'week':
      return weekOf(date).join('-');
    case 'week-basic':
      return weekOf(date).join('');
    case 'ordinal':
      return `${year}-${String(daysFrom(`${year}-01-01`, date) + 1).padStart(3, '0')}`;
    case 'mail':
      return `${weekday.slice(0, 3)}, ${dayNumber} ${name.slice(0, 3)} ${year}`;
    case 'hyphens':
      return `${day}-${name.slice(0, 3)}-${year}`;
    case 'javascript':
      return `${weekday.slice(0, 3)} ${name.slice(0, 3)} ${day} ${year}`;
    case 'month-first':
      return `${weekday}, ${name} ${dayNumber}, ${year}`;
    default:
      // A day and a month that could be taken for each other: no clinic that writes so can be read, so it writes otherwise.
      if (dayNumber <= 12 && dayNumber !== monthNumber) return `${year}/${month}/${day}`;
      return form === 'year-last' ? `${day}/${month}/${year}` : `${monthNumber}-${dayNumber}-${year}`;
  }
}

function weekdayOf(date: string): number {
  return new Date(`${date}T00:00:00Z`).getUTCDay();
}

function daysFrom(one: string, other: string): number {
  return (Date.parse(other) - Date.parse(one)) / 86_400_000;
}

/** Year, week and day of ISO 8601. */
function weekOf(date: string): [string, string, string] {
  const day = weekdayOf(date) || 7;
  const thursday = addDays(date, 4 - day);
  const year = thursday.slice(0, 4);
  const week = Math.floor(daysFrom(`${year}-01-01`, thursday) / 7) + 1;
  return [year, `W${String(week).padStart(2, '0')}`, String(day)];
}

/** Writes an instant. @param kind which of the spelling's offsets is taken */
export function spelledTime(spelling: Spelling, at: number, { zone, name }: { zone: Zone; name: string }): string {
  const isUtc = ['Z', ' UTC', ' GMT'].includes(spelling.offset);
  const local = zone.formatInstant(at);
  const shown = isUtc ? new Date(at).toISOString().slice(0, 19) : local;
  const date = bareDate(spelling.date, shown.slice(0, 10));
  const isBasic = spelling.date === 'basic';
  const clock = isBasic
    ? basicClock(spelling.clock, shown.slice(11, 19))
    : clockIn(spelling.clock, shown.slice(11, 19));
  const separator = isBasic && spelling.separator === ', ' ? '' : spelling.separator;
  const offset = offsetIn(spelling.offset, local.slice(19));
  const named = { none: '', brackets: `[${name}]`, word: ` ${name}` }[spelling.zone];
  return wrapped(spelling.around, `${date}${separator}${clock}${offset}${named}`);
}

function clockIn(form: Spelling['clock'], clock: string): string {
  const hour = Number(clock.slice(0, 2));
  const behind = clock.endsWith(':00') ? clock.slice(2, 5) : clock.slice(2);
  switch (form) {
    case 'seconds':
      return clock;
    case 'minutes':
      return `${clock.slice(0, 2)}${behind}`;
    case 'fraction':
      return `${clock}.000`;
    case 'comma':
      return `${clock},0`;
    case 'long-fraction':
      return `${clock}.0000000`;
    case 'half':
      return `${hour % 12 || 12}${behind} ${hour < 12 ? 'AM' : 'PM'}`;
    case 'half-dots':
      return `${hour % 12 || 12}${behind} ${hour < 12 ? 'a.m.' : 'p.m.'}`;
    case 'short':
      return `${hour}${behind}`;
  }
}

function basicClock(form: Spelling['clock'], clock: string): string {
  const digits = clock.replaceAll(':', '');
  if (form === 'fraction' || form === 'comma') return `${digits}${form === 'comma' ? ',' : '.'}000`;
  return form === 'minutes' && digits.endsWith('00') ? digits.slice(0, 4) : digits;
}

/** @param told the offset as `+01:00` */
function offsetIn(form: Spelling['offset'], told: string): string {
  const both = told.replace(':', '');
  switch (form) {
    case 'none':
      return '';
    case '+01:00':
      return told;
    case '+0100':
      return both;
    case '+01':
      return told.endsWith(':00') ? told.slice(0, 3) : told;
    case ' GMT+0100':
      return ` GMT${both}`;
    case ' GMT+0100 (name)':
      return ` GMT${both} (Central European Standard Time)`;
    default:
      return form;
  }
}

function wrapped(around: Spelling['around'], text: string): string {
  switch (around) {
    case 'quotes':
      return `"${text}"`;
    case 'spaces':
      return `  ${text}\u00a0`;
    case 'capitals':
      return text.toUpperCase();
    case 'small':
      return text.toLowerCase();
    default:
      return text;
  }
}
