import { DAY_MS, type Instant, MINUTE_MS, offsetMs } from '../../../../core/model/time.ts';
import type { WeekEntryView, WeekTime, WeekView } from '../../../control/week.ts';
import { MOST_LANES, ROW_MINUTES, type Side } from '../assets.ts';

/** End of a day's last row in minutes. */
const DAY_MINUTES = DAY_MS / MINUTE_MS;
/** Minimum height in minutes, so that the text of a short block fits. */
const LEAST_MINUTES = 20;
/** Hours that are always shown. */
const USUAL_HOURS = { from: 8, to: 18 };

/** One appointment, or one side of it, on one day. */
export interface Block {
  entry: WeekEntryView;
  side: Side;
  /** Time from this side, possibly cut at the day's bounds. */
  time: WeekTime;
}

/** A block with its position in the day, by the wall clock. */
export interface PositionedBlock extends Block {
  /** Wall-clock minutes since midnight, rounded to rows. */
  fromMinute: number;
  toMinute: number;
  /** Lane from 0, and number of parallel lanes. */
  lane: number;
  lanes: number;
}

/** Content of a day. */
export interface GridDay {
  date: string;
  startAt: Instant;
  endAt: Instant;
  /** Number of hours; 23 or 25 on clock changes. */
  hours: number;
  allDay: Block[];
  positioned: PositionedBlock[];
  /** Blocks without a free lane. */
  more: Block[];
}

/** Layout of a week. */
export interface WeekGrid {
  days: GridDay[];
  /** First and last displayed hour. */
  fromHour: number;
  toHour: number;
}

/** Computes the layout of a week. Pure. */
export function gridOf({ days, entries, zone }: Pick<WeekView, 'days' | 'entries' | 'zone'>): WeekGrid {
  const blocks = entries.flatMap(blocksOf);
  const laid = days.map((day) => dayOf(day, blocks, zone));
  const positioned = laid.flatMap((day) => day.positioned);
  const hours = {
    fromHour: Math.floor(Math.min(USUAL_HOURS.from * 60, ...positioned.map(({ fromMinute }) => fromMinute)) / 60),
    toHour: Math.ceil(Math.max(USUAL_HOURS.to * 60, ...positioned.map(({ toMinute }) => toMinute)) / 60),
  };
  return { days: laid, ...hours };
}

/** Returns one block if both sides agree on the time, otherwise one for each side with a time. */
function blocksOf(entry: WeekEntryView): Block[] {
  const clinic = entry.clinic?.time ?? null;
  const calendar = entry.calendar?.time ?? null;
  if (clinic !== null && calendar !== null && isSameTime(clinic, calendar))
    return [{ entry, side: 'both', time: clinic }];
  return [
    ...(clinic === null ? [] : [{ entry, side: 'clinic' as const, time: clinic }]),
    ...(calendar === null ? [] : [{ entry, side: 'calendar' as const, time: calendar }]),
  ];
}

/** Compares two times to the second, the precision of calendars. */
function isSameTime(one: WeekTime, other: WeekTime): boolean {
  if (one.kind === 'all-day' && other.kind === 'all-day') {
    return one.startDate === other.startDate && one.endDate === other.endDate;
  }
  if (one.kind === 'all-day' || other.kind === 'all-day') return false;
  return [one.startAt - other.startAt, one.endAt - other.endAt].every((apart) => Math.abs(apart) < 1_000);
}

function dayOf({ date, startAt, endAt }: WeekView['days'][number], blocks: readonly Block[], zone: string): GridDay {
  const allDay: Block[] = [];
  const timed: Omit<PositionedBlock, 'lane' | 'lanes'>[] = [];
  for (const block of blocks) {
    const { time } = block;
    if (time.kind === 'all-day') {
      // Dates are compared as strings.
      if (time.startDate <= date && (date < time.endDate || date === time.startDate)) allDay.push(block);
      continue;
    }
    const [from, to] = [Math.max(time.startAt, startAt), Math.min(Math.max(time.endAt, time.startAt + 1), endAt)];
    if (from >= to) continue;
    if (from === startAt && to === endAt) allDay.push(block);
    else timed.push({ ...block, ...minutesOf(from, to, endAt, zone) });
  }
  const { positioned, more } = sideBySide(timed);
  return {
    date,
    startAt,
    endAt,
    hours: Math.round((endAt - startAt) / (60 * MINUTE_MS)),
    allDay,
    positioned,
    more,
  };
}

/** Returns wall-clock minutes of the day: a repeated hour is drawn once, and a skipped hour stays empty. */
function minutesOf(from: Instant, to: Instant, dayEndAt: Instant, zone: string) {
  const start = Math.min(minuteOf(from, zone), DAY_MINUTES - LEAST_MINUTES);
  const shown = to === dayEndAt ? DAY_MINUTES : minuteOf(to, zone);
  // After a clock change backwards, the end can show an earlier time than the start.
  const end = shown > start ? shown : start + (to - from) / MINUTE_MS;
  const fromMinute = Math.floor(start / ROW_MINUTES) * ROW_MINUTES;
  const toMinute = Math.ceil(Math.max(end, fromMinute + LEAST_MINUTES) / ROW_MINUTES) * ROW_MINUTES;
  return { fromMinute, toMinute: Math.min(toMinute, DAY_MINUTES) };
}

function minuteOf(at: Instant, zone: string): number {
  const wallMs = at + offsetMs(zone, at);
  return (((wallMs % DAY_MS) + DAY_MS) % DAY_MS) / MINUTE_MS;
}

/** Assigns the first free lane to each overlapping block. */
function sideBySide(blocks: readonly Omit<PositionedBlock, 'lane' | 'lanes'>[]): Pick<GridDay, 'positioned' | 'more'> {
  const sorted = blocks.toSorted((one, other) => one.fromMinute - other.fromMinute || other.toMinute - one.toMinute);
  const positioned: PositionedBlock[] = [];
  const more: Block[] = [];
  let group: PositionedBlock[] = [];
  let ends: number[] = [];
  const close = () => {
    for (const block of group) block.lanes = ends.length;
    positioned.push(...group);
    group = [];
    ends = [];
  };
  for (const block of sorted) {
    if (ends.every((end) => end <= block.fromMinute)) close();
    const free = ends.findIndex((end) => end <= block.fromMinute);
    const lane = free === -1 ? ends.length : free;
    if (lane >= MOST_LANES) {
      more.push(block);
      continue;
    }
    ends[lane] = block.toMinute;
    group.push({ ...block, lane, lanes: 0 });
  }
  close();
  return { positioned, more };
}
