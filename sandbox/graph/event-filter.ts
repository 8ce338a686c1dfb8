import { GraphError, notInSandbox } from './errors.ts';
import type { StoredEvent } from './event-store.ts';
import { comparableValue } from './extended-properties.ts';
import type { Filter, Literal, Operator } from './odata-filter.ts';
import { parseQueryTime } from './time.ts';
import type { Calendar, Mailbox } from './world.ts';

type Value = string | number | boolean;

/** The fields that can be filtered and ordered by; times as epoch ms. */
const FIELDS: Record<string, (event: StoredEvent) => Value> = {
  'start/dateTime': (event) => event.startMs,
  'end/dateTime': (event) => event.endMs,
  createdDateTime: (event) => event.createdAt,
  lastModifiedDateTime: (event) => event.updatedAt,
  subject: (event) => event.content.subject,
  isAllDay: (event) => event.content.isAllDay,
  showAs: (event) => event.content.showAs,
  sensitivity: (event) => event.content.sensitivity,
  iCalUId: (event) => event.iCalUId,
};
const TIMES: readonly string[] = ['start/dateTime', 'end/dateTime', 'createdDateTime', 'lastModifiedDateTime'];

/** The events of a calendar that a filter lets through; an extended property that all must have comes from the index. */
export function filteredEvents(mailbox: Mailbox, calendar: Calendar, filter: Filter | undefined): StoredEvent[] {
  if (!filter) {
    return [...mailbox.events.inCalendar(calendar.id)];
  }
  const fits = compileFilter(filter);
  const terms = filter.kind === 'and' ? filter.terms : [filter];
  const indexed = terms.find((term) => term.kind === 'property' && term.value !== null);
  const candidates =
    indexed?.kind === 'property' && indexed.value !== null
      ? mailbox.events.withProperty(calendar.id, indexed.id, indexed.value)
      : [...mailbox.events.inCalendar(calendar.id)];
  return candidates.filter(fits);
}

/** Sorts by `$orderby`; without it the order is that of creation. Throws GraphError 400. */
export function ordered(events: StoredEvent[], orderBy: string | null): StoredEvent[] {
  if (orderBy === null) {
    return events;
  }
  const [path = '', direction = 'asc', ...rest] = orderBy.trim().split(/\s+/);
  const field = fieldOf(path);
  if (!['asc', 'desc'].includes(direction.toLowerCase()) || rest.length > 0) {
    throw notInSandbox('$orderby of more than one field');
  }
  const sign = direction.toLowerCase() === 'desc' ? -1 : 1;
  return events.toSorted((one, other) => sign * order(field(one), field(other)));
}

function compileFilter(filter: Filter): (event: StoredEvent) => boolean {
  switch (filter.kind) {
    case 'and':
    case 'or': {
      const terms = filter.terms.map(compileFilter);
      return filter.kind === 'and'
        ? (event) => terms.every((fits) => fits(event))
        : (event) => terms.some((fits) => fits(event));
    }
    case 'property': {
      const { id, value } = filter;
      const wanted = value === null ? null : comparableValue(value);
      return ({ properties }) => {
        const found = properties.get(id);
        return found !== undefined && (wanted === null || comparableValue(found) === wanted);
      };
    }
    case 'compare': {
      const field = fieldOf(filter.path);
      const value = TIMES.includes(filter.path) ? timeOf(filter.value) : filter.value;
      return (event) => compares(field(event), filter.operator, value);
    }
  }
}

function fieldOf(path: string): (event: StoredEvent) => Value {
  const field = Object.hasOwn(FIELDS, path) ? FIELDS[path] : undefined;
  if (!field) {
    throw notInSandbox('filters and orders by this property');
  }
  return field;
}

function timeOf(value: Literal): number {
  const time = typeof value === 'string' ? parseQueryTime(value) : undefined;
  if (time === undefined) {
    throw new GraphError(400, 'ErrorInvalidUrlQueryFilter', 'The query filter contains an invalid time.');
  }
  return time;
}

function compares(value: Value, operator: Operator, wanted: Literal): boolean {
  if (wanted === null) {
    return operator === 'ne';
  }
  const difference = order(value, wanted);
  switch (operator) {
    case 'eq':
      return difference === 0;
    case 'ne':
      return difference !== 0;
    case 'gt':
      return difference > 0;
    case 'ge':
      return difference >= 0;
    case 'lt':
      return difference < 0;
    case 'le':
      return difference <= 0;
  }
}

function order(one: Value, other: Value): number {
  if (one === other) {
    return 0;
  }
  return one < other ? -1 : 1;
}
