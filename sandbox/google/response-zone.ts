import { invalid } from './errors.ts';
import { isZone } from './time.ts';
import type { Calendar } from './world.ts';

/** Returns the zone of the times in an answer: the `timeZone` parameter, or by default the calendar's zone. Throws ApiError 400. */
export function responseZone(query: URLSearchParams, calendar: Calendar): string {
  const zone = query.get('timeZone') ?? calendar.timeZone;
  if (!isZone(zone)) {
    throw invalid('Invalid time zone.', 'timeZone');
  }
  return zone;
}
