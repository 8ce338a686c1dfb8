import type ICAL from 'ical.js';
import { eventsOf } from '../kit/icalendar.ts';
import { eventsIn } from './objects.ts';
import { child, childrenOf, type Element } from './xml.ts';

/** The supported part of a `calendar-query` (RFC 4791 section 9.7): its conditions on events. */
export interface EventFilter {
  range: { fromAt: number; toAt: number } | undefined;
  properties: Element[];
}

/** Reads the filter of a query; undefined when it has none for events. */
export function readFilter(query: Element): EventFilter | undefined {
  const calendar = child(child(query, 'filter'), 'comp-filter');
  const events = childrenOf(calendar, 'comp-filter').find(({ attributes }) => attributes.name === 'VEVENT');
  if (events === undefined) return undefined;
  const range = child(events, 'time-range');
  const at = (name: string, otherwise: number) => instantOf(range?.attributes[name]) ?? otherwise;
  return {
    range:
      range === undefined
        ? undefined
        : { fromAt: at('start', Number.NEGATIVE_INFINITY), toAt: at('end', Number.POSITIVE_INFINITY) },
    properties: childrenOf(events, 'prop-filter'),
  };
}

/** Returns whether an object matches a query. */
export function fits(data: string, { range, properties }: EventFilter): boolean {
  if (range !== undefined && !eventsOf(data).some((event) => overlaps(event, range))) return false;
  return eventsIn(data).some((event) => properties.every((filter) => hasProperty(event, filter)));
}

function overlaps({ startAt, endAt }: { startAt: number; endAt: number }, range: { fromAt: number; toAt: number }) {
  return startAt < range.toAt && Math.max(endAt, startAt + 1) > range.fromAt;
}

function hasProperty(event: ICAL.Component, filter: Element): boolean {
  const property = event.getFirstProperty((filter.attributes.name ?? '').toLowerCase());
  if (child(filter, 'is-not-defined') !== undefined) return property === null;
  if (property === null) return false;
  const match = child(filter, 'text-match');
  if (match === undefined) return true;
  const isExact = match.attributes.collation === 'i;octet';
  const inCase = (text: string) => (isExact ? text : text.toLowerCase());
  const isFound = inCase(String(property.getFirstValue())).includes(inCase(match.text));
  return isFound !== (match.attributes['negate-condition'] === 'yes');
}

/** Of `20270311T000000Z`, as filters have it. */
function instantOf(text: string | undefined): number | undefined {
  const iso = text?.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z');
  return iso === undefined ? undefined : Date.parse(iso);
}
