import { ApiError, invalid, required } from './errors.ts';
import type { EventTime } from './event-fields.ts';
import { hasOffset, isZone, parseDate, parseDateTime } from './time.ts';

/** The instants of an event in epoch ms; the end is exclusive. All-day events span days of the calendar's zone. */
export interface EventRange {
  startMs: number;
  endMs: number;
}

/** Checks start and end as the vendor does and returns their instants. Throws ApiError 400. */
export function eventRange(start: EventTime | undefined, end: EventTime | undefined, calendarZone: string): EventRange {
  const checkedStart = checkPresent(start, 'start');
  const checkedEnd = checkPresent(end, 'end');
  if ((checkedStart.date === undefined) !== (checkedEnd.date === undefined)) {
    throw invalid('Start and end times must either both be date or both be dateTime.');
  }
  const range = {
    startMs: instantOf(checkedStart, 'start', calendarZone),
    endMs: instantOf(checkedEnd, 'end', calendarZone),
  };
  if (range.endMs <= range.startMs) {
    throw new ApiError(400, 'timeRangeEmpty', 'The specified time range is empty.', { domain: 'calendar' });
  }
  return range;
}

function checkPresent(time: EventTime | undefined, name: 'start' | 'end'): EventTime {
  if (time === undefined || (time.date === undefined && time.dateTime === undefined)) {
    throw required(`Missing ${name} time.`);
  }
  if (time.date !== undefined && time.dateTime !== undefined) {
    throw invalid(`Invalid ${name} time.`);
  }
  return time;
}

function instantOf(time: EventTime, name: 'start' | 'end', calendarZone: string): number {
  if (time.timeZone !== undefined && !isZone(time.timeZone)) {
    throw invalid(`Invalid time zone definition for ${name} time.`);
  }
  if (time.dateTime !== undefined && !hasOffset(time.dateTime) && time.timeZone === undefined) {
    throw required(`Missing time zone definition for ${name} time.`);
  }
  const instant =
    time.dateTime === undefined
      ? parseDate(time.date ?? '', calendarZone)
      : parseDateTime(time.dateTime, time.timeZone ?? calendarZone);
  if (instant === undefined) {
    throw invalid(`Invalid ${name} time.`);
  }
  return instant;
}
