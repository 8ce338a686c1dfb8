import { invalid } from './errors.ts';
import { isZone } from './time.ts';
import type { Calendar } from './world.ts';

/** The zone of the times in an answer: the `timeZone` parameter, else the calendar's. Throws ApiError 400. */
export function responseZone(query: URLSearchParams, calendar: Calendar): string {
  const zone = query.get('timeZone') ?? calendar.timeZone;
  if (!isZone(zone)) {
    throw invalid('Invalid time zone.', 'timeZone');
  }
  return zone;
}
