import ICAL from 'ical.js';
import type { Presets } from '../../model/items.ts';
import { MINUTE_MS, SECOND_MS } from '../../model/time.ts';
import { fromPresetsText, NO_PRESETS, type PresetsThere, presetsThere, toPresetsText } from '../event-content.ts';
import { addText, carriable, textOf } from '../icalendar.ts';

/** What of the presets our last write wanted: the rest is a person's. */
const PRESETS_PROPERTY = 'x-clinic-mirror-presets';

/** Of an alarm that rings never, the time at which Apple's programs put it (github.com/tine20/tine20/issues/3595). */
const NEVER = '1976-04-01T00:55:45Z';

/**
 * Adds the presets of an item but for those that are a person's by now, which stay among what is kept, and what tells of them later.
 * @param there whose they are on the object that was looked at; null where nobody has looked
 */
export function addPresets(event: ICAL.Component, wanted: Presets | undefined, there: PresetsThere | null): void {
  if (wanted === undefined) return;
  addText(event, PRESETS_PROPERTY, toPresetsText(wanted));
  const { theirs } = there ?? NO_PRESETS;
  const { colour, category, reminderMinutes, pageUrl, teleVisitUrl } = wanted;
  if (colour !== undefined && !theirs.has('colour')) event.addPropertyWithValue('color', colour);
  if (category !== undefined && !theirs.has('category')) addText(event, 'categories', carriable(category));
  if (pageUrl !== undefined && !theirs.has('pageUrl')) event.addPropertyWithValue('url', pageUrl);
  if (teleVisitUrl !== undefined && !theirs.has('teleVisitUrl')) addConference(event, teleVisitUrl);
  if (reminderMinutes !== undefined && !theirs.has('reminderMinutes')) event.addSubcomponent(alarm(reminderMinutes));
}

/** Whose the presets of an event are. */
export function readPresets(event: ICAL.Component): PresetsThere {
  const last = fromPresetsText(textOf(event, PRESETS_PROPERTY));
  const hasOurs = event.getAllProperties('categories').some((one) => valuesOf(one).includes(last.category ?? ''));
  return presetsThere(last, {
    colour: textOf(event, 'color')?.toLowerCase(),
    category: hasOurs ? last.category : undefined,
    pageUrl: textOf(event, 'url') ?? undefined,
    teleVisitUrl: textOf(event, 'conference') ?? undefined,
    reminderMinutes: shownReminder(event, last),
  });
}

/** What of a property is no preset of ours, as lines of iCalendar: all of it where it is something else. */
function retainedOfProperty(property: ICAL.Property, { last, theirs }: PresetsThere): string | null {
  const text = () => String(property.getFirstValue());
  switch (property.name) {
    case 'color':
      return isOurs('colour', text().toLowerCase()) ? null : property.toICALString();
    case 'url':
      return isOurs('pageUrl', text()) ? null : property.toICALString();
    case 'conference':
      return isOurs('teleVisitUrl', text()) ? null : property.toICALString();
    case 'categories':
      return retainedCategories(property, last.category);
    default:
      return property.toICALString();
  }
  function isOurs(name: 'colour' | 'pageUrl' | 'teleVisitUrl', shown: string): boolean {
    return !theirs.has(name) && last[name] === shown;
  }
}

/** Whether an alarm is as our last write left it. One that somebody has seen ring keeps that, and is theirs. */
function isOurAlarm(component: ICAL.Component, { reminderMinutes }: Presets): boolean {
  if (component.name !== 'valarm' || reminderMinutes === undefined || component.hasProperty('acknowledged'))
    return false;
  const action = textOf(component, 'action')?.toUpperCase();
  if (reminderMinutes === 'none') return action === 'NONE';
  const trigger: unknown = component.getFirstPropertyValue('trigger');
  return (
    action === 'DISPLAY' && trigger instanceof ICAL.Duration && trigger.toSeconds() === secondsBefore(reminderMinutes)
  );
}

function shownReminder(event: ICAL.Component, last: Presets): unknown {
  const alarms = event.getAllSubcomponents('valarm');
  if (alarms.some((one) => isOurAlarm(one, last))) return last.reminderMinutes;
  return alarms.length === 0 ? undefined : 'other';
}

function retainedCategories(property: ICAL.Property, ours: string | undefined): string | null {
  const values = valuesOf(property);
  const others = values.filter((value) => value !== ours);
  if (others.length === values.length) return property.toICALString();
  if (others.length === 0) return null;
  const retained = new ICAL.Property('categories');
  retained.setValues(others);
  return retained.toICALString();
}

function valuesOf(property: ICAL.Property): string[] {
  return property.getValues().map(String);
}

/** RFC 7986 section 5.11. */
function addConference(event: ICAL.Component, url: string): void {
  const property = new ICAL.Property('conference');
  property.resetType('uri');
  property.setParameter('feature', 'VIDEO');
  property.setValue(url);
  event.addProperty(property);
}

/** RFC 5545 section 3.6.6; `NONE` is Apple's word for no alert at all, its own default one included. */
function alarm(minutes: number | 'none'): ICAL.Component {
  const component = new ICAL.Component('valarm');
  component.addPropertyWithValue('action', minutes === 'none' ? 'NONE' : 'DISPLAY');
  if (minutes === 'none') {
    component.addPropertyWithValue('trigger', ICAL.Time.fromDateTimeString(NEVER));
    component.addPropertyWithValue('x-apple-default-alarm', 'TRUE');
  } else {
    component.addPropertyWithValue('trigger', ICAL.Duration.fromSeconds(secondsBefore(minutes)));
    addText(component, 'description', 'Reminder');
  }
  return component;
}

function secondsBefore(minutes: number): number {
  return (-minutes * MINUTE_MS) / SECOND_MS;
}

/** Properties of an event that are ours, or that stand for one of ours in other words, and would contradict it. */
const OURS = new Set([
  ...[
    'uid',
    'dtstamp',
    'sequence',
    'dtstart',
    'dtend',
    'duration',
    'summary',
    'description',
    'location',
    'class',
    'transp',
    'status',
  ],
  ...['x-alt-desc', 'geo', 'x-apple-structured-location', 'x-microsoft-cdo-busystatus', 'x-microsoft-cdo-alldayevent'],
]);

const OWN_PREFIX = 'x-clinic-mirror';

/** What a person's client writes without anybody having asked for it. */
const OF_CLIENTS = new Set(['created', 'last-modified', 'x-moz-generation', 'x-microsoft-cdo-intendedstatus']);

/** What makes an event a series; an appointment is none. */
export const OF_A_SERIES = ['rrule', 'rdate', 'exdate', 'exrule', 'recurrence-id'];

/**
 * What people and their clients added to an event of ours, as lines of iCalendar: a colour, reminders, guests, notes. Nothing of it is
 * ours, and an update leaves it there. '' when there is nothing.
 */
export function retainedOf(event: ICAL.Component, presets: PresetsThere): string {
  const retained = event.getAllProperties().filter(({ name }) => isRetained(name));
  const properties = [...Map.groupBy(retained, ({ name }) => name).values()].flat();
  const lines = properties.flatMap((one) => retainedOfProperty(one, presets) ?? []);
  const components = event.getAllSubcomponents().filter((one) => !isOurAlarm(one, presets.last));
  return [...lines, ...components.map(String)].join('\r\n');
}

function isRetained(name: string): boolean {
  return !name.startsWith(OWN_PREFIX) && !OURS.has(name) && !OF_CLIENTS.has(name) && !OF_A_SERIES.includes(name);
}
