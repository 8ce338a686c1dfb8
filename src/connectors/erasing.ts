import type { CalendarItem } from '../model/items.ts';

/**
 * What an event is made to say before it is deleted for good: nothing, at a time of nobody's. Where a vendor keeps deleted events,
 * this is what it keeps.
 */
export const BLANK_ITEM: CalendarItem = {
  title: '',
  description: null,
  location: null,
  time: { kind: 'all-day', startDate: '2000-01-01', endDate: '2000-01-02' },
  busy: false,
};
