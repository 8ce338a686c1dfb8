import ICAL from 'ical.js';

/*
 * What may be given to ical.js, whose time and memory are the choice of whoever writes a calendar object: its parser searches the rest of
 * a line for each parameter of it, and its time zones are worked out change by change.
 */

/** Characters of one object: people put photographs and letters there. */
const MOST_CHARACTERS = 8_000_000;
/** Lines of one object, unfolded: one with a thousand guests has as many. */
const MOST_LINES = 10_000;
/** Characters that are searched for the ends of parameters and values, counted together: a tenth of a second. */
const MOST_SEARCHED = 1_000_000_000;
/** Offsets that a zone had, as some clients write all of them down, and those of them that are rules. */
const MOST_OBSERVANCES = 200;
const MOST_RULES = 32;
/** The last day that every month has, and days of one that a rule may name. */
const LAST_DAY_OF_ALL = 28;
const MOST_DAYS = 31;
/** Outlook begins its zones in 1601. */
const FIRST_YEAR = 1_600;
const LAST_YEAR = 2_199;

const [TAB, LINE_FEED, SPACE, COMMA, SEMICOLON, EQUALS] = [0x09, 0x0a, 0x20, 0x2c, 0x3b, 0x3d];

/** Whether a calendar object can be parsed in passing: by one pass over its lines, folded as they are (RFC 5545 section 3.1). */
export function isModestCalendar(text: string): boolean {
  if (text.length > MOST_CHARACTERS) return false;
  let lines = 1;
  let searched = 0;
  let lineAt = 0;
  let separators = 0;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === COMMA || code === SEMICOLON || code === EQUALS) separators += 1;
    if (code !== LINE_FEED) continue;
    const next = text.charCodeAt(at + 1);
    if (next === SPACE || next === TAB) continue;
    searched += separators * (at - lineAt);
    lines += 1;
    lineAt = at;
    separators = 0;
    if (lines > MOST_LINES || searched > MOST_SEARCHED) return false;
  }
  return searched + separators * (text.length - lineAt) <= MOST_SEARCHED;
}

/** Whether a time is one of an appointment, whatever stands there. */
export function isPlainTime({ year }: ICAL.Time): boolean {
  return year >= FIRST_YEAR && year <= LAST_YEAR;
}

/** Whether a VTIMEZONE is one of the real world: changes on a day of a month, each year. */
export function isPlainZone(definition: ICAL.Component): boolean {
  const observances = definition.getAllSubcomponents();
  const rules = observances.filter((observance) => observance.hasProperty('rrule'));
  return observances.length <= MOST_OBSERVANCES && rules.length <= MOST_RULES && rules.every(isPlainRule);
}

/** Parts of a rule that say at what time of its day, as some clients do. */
const OF_THE_DAY = ['BYHOUR', 'BYMINUTE', 'BYSECOND'];

/** A day of a month that each year has, or one in a few: what never comes is looked for through twenty thousand years. */
function isPlainRule(observance: ICAL.Component): boolean {
  const rule: unknown = observance.getFirstPropertyValue('rrule');
  const start: unknown = observance.getFirstPropertyValue('dtstart');
  if (!(rule instanceof ICAL.Recur) || !(start instanceof ICAL.Time)) return false;
  const {
    BYMONTH: months = [],
    BYDAY: [weekday, ...otherWeekdays] = [],
    BYMONTHDAY: days = [],
    ...others
  } = rule.parts;
  const isOfEachYear =
    otherWeekdays.length === 0 &&
    months.every((month) => Number(month) >= 1 && Number(month) <= 12) &&
    days.length <= MOST_DAYS &&
    (days.length === 0 || days.some((day) => Number(day) >= 1 && Number(day) <= LAST_DAY_OF_ALL)) &&
    Object.entries(others).every(([name, values]) => OF_THE_DAY.includes(name) && (values?.length ?? 0) <= 1);
  if (rule.freq !== 'YEARLY' || rule.interval !== 1 || !isOfEachYear || !isPlainTime(start)) return false;
  if (months.length !== 1) return months.length === 0 && weekday === undefined && days.length === 0;
  if (weekday === undefined) return days.length <= 1;
  // The last Sunday; or the one of the seven days from the 8th on.
  return days.length === 0 ? /^[+-]?[1-5][A-Z]{2}$/.test(String(weekday)) : /^[A-Z]{2}$/.test(String(weekday));
}
