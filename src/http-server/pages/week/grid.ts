import type { WeekEntryView, WeekTime, WeekView } from '../../../control/week.ts';
import { DAY_MS, type Instant, MINUTE_MS, offsetMs } from '../../../model/time.ts';
import { MOST_LANES, ROW_MINUTES, type Side } from '../assets.ts';

/** Minutes of a day that its last row ends with. */
const DAY_MINUTES = DAY_MS / MINUTE_MS;
/** What is shorter takes up as much, so that its words have a line. */
const LEAST_MINUTES = 20;
/** Hours that are always shown. */
const USUAL_HOURS = { from: 8, to: 18 };

/** One entry, or one side of it, in one day. */
export interface Block {
  entry: WeekEntryView;
  side: Side;
  /** As its side tells; in the day it may be cut. */
  time: WeekTime;
}

/** A block among the hours of its day, by the clock on the wall. */
export interface PositionedBlock extends Block {
  /** Minutes since midnight as the clock shows them, whole rows. */
  fromMinute: number;
  toMinute: number;
  /** From 0 on, of so many that stand side by side at this time. */
  lane: number;
  lanes: number;
}

/** What a day shows. */
export interface GridDay {
  date: string;
  startAt: Instant;
  endAt: Instant;
  /** Hours that it has: 23 or 25 where the clock changes. */
  hours: number;
  allDay: Block[];
  positioned: PositionedBlock[];
  /** What has no room side by side. */
  more: Block[];
}

/** A week as it is drawn. */
export interface WeekGrid {
  days: GridDay[];
  /** Whole hours between which the days are drawn. */
  fromHour: number;
  toHour: number;
}

/** Lays a week out. Pure. */
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

/** One block where both sides have one time, else one for each side that has any. */
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

/** Whether two times are one, as far as calendars keep them: to the second. */
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
      // Dates compare as texts.
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

/** Minutes of the day by the clock on the wall: an hour that comes twice is drawn once, one that is skipped stays empty. */
function minutesOf(from: Instant, to: Instant, dayEndAt: Instant, zone: string) {
  const start = Math.min(minuteOf(from, zone), DAY_MINUTES - LEAST_MINUTES);
  const shown = to === dayEndAt ? DAY_MINUTES : minuteOf(to, zone);
  // Where the clock went back meanwhile, its end may show an earlier time than its beginning.
  const end = shown > start ? shown : start + (to - from) / MINUTE_MS;
  const fromMinute = Math.floor(start / ROW_MINUTES) * ROW_MINUTES;
  const toMinute = Math.ceil(Math.max(end, fromMinute + LEAST_MINUTES) / ROW_MINUTES) * ROW_MINUTES;
  return { fromMinute, toMinute: Math.min(toMinute, DAY_MINUTES) };
}

function minuteOf(at: Instant, zone: string): number {
  const wallMs = at + offsetMs(zone, at);
  return (((wallMs % DAY_MS) + DAY_MS) % DAY_MS) / MINUTE_MS;
}

/** Gives blocks that overlap a lane each: the first that is free, as people lay out cards. */
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
