import ICAL from 'ical.js';
import type { FeedEntry } from '../../model/feeds.ts';
import type { CalendarItem } from '../../model/items.ts';
import type { ItemKey } from '../../model/operations.ts';
import type { Instant } from '../../model/time.ts';
import { addInstant, addText, addTimes, carriable } from '../icalendar.ts';

/** An item as whoever fetches the feed reads it: nothing by which we find it again is in it but its key. */
export function toFeedEvent(
  key: ItemKey,
  item: CalendarItem,
  revision: number,
  writtenAt: Instant,
): Pick<FeedEntry, 'event' | 'zone'> {
  const event = new ICAL.Component('vevent');
  addText(event, 'uid', key);
  addInstant(event, 'dtstamp', writtenAt);
  event.addPropertyWithValue('sequence', revision);
  const needsZone = addTimes(event, item.time) !== null;
  addText(event, 'summary', carriable(item.title));
  if (item.description !== null) addText(event, 'description', carriable(item.description));
  if (item.location !== null) addText(event, 'location', carriable(item.location));
  addText(event, 'class', item.visibility === 'default' ? 'PUBLIC' : 'PRIVATE');
  if (item.tentative === true) addText(event, 'status', 'TENTATIVE');
  addText(event, 'transp', item.busy ? 'OPAQUE' : 'TRANSPARENT');
  if (!needsZone || item.time.kind === 'all-day') return { event: event.toString(), zone: null };
  const { zone: name, start, end } = item.time;
  return {
    event: event.toString(),
    zone: { name, fromYear: Number(start.slice(0, 4)), toYear: Number(end.slice(0, 4)) },
  };
}
