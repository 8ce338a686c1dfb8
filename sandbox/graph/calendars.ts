import { z } from 'zod';
import type { ApiAnswer } from '../kit/answer.ts';
import { calendarFor, checkIfMatch, checkQuery, jsonBody, type MailboxContext, wholeNumber } from './call.ts';
import { GraphError, invalidProperty, invalidRequest, notInSandbox } from './errors.ts';
import { linkTo } from './event-list.ts';
import { softDeleteEvent } from './event-writes.ts';
import { extendedProperties, toProperties } from './extended-properties.ts';
import { changeKeyOf, etagOf } from './ids.ts';
import { parseExpand, parseFilter } from './odata-filter.ts';
import type { Calendar, Mailbox, World } from './world.ts';

const COLORS = [
  ...['auto', 'lightBlue', 'lightGreen', 'lightOrange', 'lightGray', 'lightYellow', 'lightTeal', 'lightPink'],
  ...['lightBrown', 'lightRed', 'maxColor'],
] as const;
const calendarBody = z.strictObject({
  name: z.string().min(1).exactOptional(),
  color: z.enum(COLORS).exactOptional(),
  hexColor: z.string().exactOptional(),
  singleValueExtendedProperties: extendedProperties.exactOptional(),
});
const DEFAULT_TOP = 10;

/** GET …/calendar and …/calendars/{id}. Throws GraphError. */
export function getCalendar(context: MailboxContext): ApiAnswer {
  const { mailbox, query } = context;
  checkQuery(query, ['$select', '$expand']);
  const resource = toCalendarResource(mailbox, calendarFor(context), parseExpand(query.get('$expand')));
  return { status: 200, body: selected(resource, query) };
}

/** GET …/calendars: a page of the mailbox's calendars. Throws GraphError. */
export function listCalendars(context: MailboxContext): ApiAnswer {
  const { query, mailbox } = context;
  checkQuery(query, ['$top', '$skip', '$select', '$expand', '$filter']);
  const expanded = parseExpand(query.get('$expand'));
  const name = filteredName(query.get('$filter'));
  const calendars = [...mailbox.calendars.values()].filter((each) => name === undefined || each.name === name);
  const top = wholeNumber(query, '$top', 1) ?? DEFAULT_TOP;
  const skip = wholeNumber(query, '$skip', 0) ?? 0;
  const value = calendars
    .slice(skip, skip + top)
    .map((each) => selected(toCalendarResource(mailbox, each, expanded), query));
  const next =
    skip + top < calendars.length ? { '@odata.nextLink': linkTo(context, { $skip: String(skip + top) }) } : {};
  return { status: 200, body: { value, ...next } };
}

/** POST …/calendars. Throws GraphError 400, or 409 when the name is taken. */
export function postCalendar(context: MailboxContext): ApiAnswer {
  const { world, mailbox } = context;
  const { name, color, properties } = readBody(context);
  if (name === undefined) {
    throw invalidProperty('Property: name is required.');
  }
  refuseTakenName(mailbox, name);
  const calendar = world.addCalendar(mailbox, name, false, color);
  calendar.properties = properties;
  return { status: 201, body: toCalendarResource(mailbox, calendar) };
}

/** PATCH …/calendars/{id}. Throws GraphError. */
export function patchCalendar(context: MailboxContext): ApiAnswer {
  const { world, mailbox, call } = context;
  const calendar = calendarFor(context);
  const { name, color, properties } = readBody(context);
  checkIfMatch(call, etagOf(calendar.change));
  if (name !== undefined && name !== calendar.name) {
    refuseTakenName(mailbox, name);
  }
  calendar.name = name ?? calendar.name;
  calendar.color = color ?? calendar.color;
  calendar.properties = new Map([...calendar.properties, ...properties]);
  calendar.change = world.nextChange();
  return { status: 200, body: toCalendarResource(mailbox, calendar) };
}

/** DELETE …/calendars/{id}, with its events. Throws GraphError. */
export function deleteCalendar(context: MailboxContext): ApiAnswer {
  const { world, mailbox, call } = context;
  const calendar = calendarFor(context);
  if (calendar.isDefault) {
    throw new GraphError(400, 'ErrorDeleteDistinguishedFolder', 'Distinguished folders cannot be deleted.');
  }
  checkIfMatch(call, etagOf(calendar.change));
  removeCalendar(world, mailbox, calendar);
  return { status: 204 };
}

/** Removes a calendar and moves its events into Deleted Items. */
export function removeCalendar(world: World, mailbox: Mailbox, calendar: Calendar): void {
  for (const event of [...mailbox.events.inCalendar(calendar.id)]) {
    softDeleteEvent(world, mailbox, event);
  }
  mailbox.calendars.delete(calendar.id);
}

function readBody(context: MailboxContext) {
  checkQuery(context.query, []);
  const parsed = calendarBody.safeParse(jsonBody(context));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw issue?.code === 'invalid_value' ? invalidProperty('Property: color.') : invalidRequest('Invalid calendar.');
  }
  const { singleValueExtendedProperties = [], ...fields } = parsed.data;
  return { ...fields, properties: toProperties(singleValueExtendedProperties) };
}

function refuseTakenName(mailbox: Mailbox, name: string): void {
  if ([...mailbox.calendars.values()].some((each) => each.name.toLowerCase() === name.toLowerCase())) {
    throw new GraphError(409, 'ErrorFolderExists', 'A folder with the specified name already exists.');
  }
}

function filteredName(text: string | null): string | undefined {
  if (text === null) {
    return undefined;
  }
  const filter = parseFilter(text);
  if (filter.kind !== 'compare' || filter.path !== 'name' || filter.operator !== 'eq') {
    throw notInSandbox('$filter of calendars by anything but name eq');
  }
  return String(filter.value);
}

function selected(resource: Record<string, unknown>, query: URLSearchParams): Record<string, unknown> {
  const select = query.get('$select')?.split(',');
  if (!select) {
    return resource;
  }
  const names = ['id', 'singleValueExtendedProperties', ...select];
  return Object.fromEntries(Object.entries(resource).filter(([name]) => names.includes(name)));
}

function toCalendarResource(
  mailbox: Mailbox,
  calendar: Calendar,
  expanded: readonly string[] = [],
): Record<string, unknown> {
  const found = expanded.flatMap((id) => {
    const value = calendar.properties.get(id);
    return value === undefined ? [] : [{ id, value }];
  });
  return {
    '@odata.etag': etagOf(calendar.change),
    id: calendar.id,
    name: calendar.name,
    color: calendar.color,
    hexColor: '',
    isDefaultCalendar: calendar.isDefault,
    changeKey: changeKeyOf(calendar.change),
    canShare: true,
    canViewPrivateItems: true,
    canEdit: true,
    isTallyingResponses: calendar.isDefault,
    isRemovable: !calendar.isDefault,
    allowedOnlineMeetingProviders: ['teamsForBusiness'],
    defaultOnlineMeetingProvider: 'teamsForBusiness',
    owner: { name: mailbox.mail, address: mailbox.mail },
    ...(found.length === 0 ? {} : { singleValueExtendedProperties: found }),
  };
}
