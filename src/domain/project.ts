import { type CalendarItem, type ItemTime, LONGEST_URL, type Presets } from '../core/model/items.ts';
import type { ItemKey } from '../core/model/operations.ts';
import { isPathSegment } from '../core/model/path-segment.ts';
import { type Appointment, type AppointmentPatient, type AppointmentStatus, belongsTo } from '../core/model/records.ts';
import { STORED_LIMITS } from '../core/model/stored-limits.ts';
import { isVisible, shortened, shownName } from '../core/model/text.ts';
import { formatText, valuesOf } from '../core/model/text-format.ts';
import { toZonedIso } from '../core/model/time.ts';
import { type Language, message, render } from '../messages/message.ts';
import { shown } from '../messages/shown.ts';
import {
  ALLOWED_FIELDS,
  type AllowedField,
  type Catalogue,
  fieldLine,
  fieldText,
  formatLocation,
  locationOf,
  type ReadByFields,
  type TitleFormat,
  type TitleValue,
} from '../settings/event-fields.ts';
import type { Label } from '../settings/tenant-schema.ts';

/** Content of the title. The default, `appointment`, contains no names. */
export type TitleLevel = 'busy' | 'appointment' | 'code' | 'initials' | 'full';

/** URLs that a target may show: the appointment's page in the clinic system, and a video visit. */
export type LinkName = 'page' | 'teleVisit';

/** Appointment data that a target may show. */
export interface ProjectionPolicy {
  title: TitleLevel;
  /** Format of a title, made of `fields` and the level's content; absent for the level's content only. */
  titleFormat?: TitleFormat | undefined;
  fields: readonly AllowedField[];
  /** Statuses that the target shows; appointments with another status are excluded. */
  statuses: readonly AppointmentStatus[];
  /** Statuses whose time is shown as free. */
  free: readonly AppointmentStatus[];
  /** Statuses that block their time without a confirmation. */
  tentative: readonly AppointmentStatus[];
  visibility: 'private' | 'default';
  /** The first matching label applies. */
  labels: readonly Label[];
  /** Absent: clinic-mirror sets no reminder. */
  reminderMinutes?: number | 'none' | undefined;
  links: readonly LinkName[];
  /** Presets that the vendor supports. Links without a preset are written into the texts. */
  presets: readonly string[];
  language: 'it' | 'en';
  /** IANA zone of appointments whose location has no zone. */
  zone: string;
}

/** The catalogue, with data that only some targets need. */
export interface Directory extends Catalogue {
  /** Filled only if a target's title contains patients' names. */
  patients: ReadonlyMap<string, AppointmentPatient>;
  /** URL of an appointment in the clinic system, with `{id}` for its id, or null. */
  pageUrl: string | null;
}

const TEXTS = { it: textsIn('it'), en: textsIn('en') };

function textsIn(language: Language) {
  return {
    busy: render(message('event.busy'), language),
    appointment: render(message('event.appointment'), language),
    pageUrl: render(message('event.page'), language),
    teleVisitUrl: render(message('event.video-visit'), language),
  };
}

/** Words of titles that replace a patient's name. */
export const APPOINTMENT_WORDS: readonly string[] = [TEXTS.it, TEXTS.en].flatMap(({ busy, appointment }) => [
  busy,
  appointment,
]);

/** Characters of a code title: enough to distinguish one day's appointments, and meaningless without the key. */
const CODE_LENGTH = 4;

/**
 * Returns the target's item for an appointment, or null if the policy excludes the appointment.
 * @param key returns the record's key for this target, for the `code` title
 */
export function project(
  appointment: Appointment,
  policy: ProjectionPolicy,
  directory: Directory,
  key: () => ItemKey,
): CalendarItem | null {
  const { status } = appointment;
  if (!policy.statuses.includes(status)) return null;
  const links = linksOf(appointment, policy, directory);
  const presets = presetsOf(appointment, policy, links);
  return {
    ...textsWith(links, appointment, policy, { directory, key }),
    time: timeOf(appointment, policy, directory),
    busy: !policy.free.includes(status),
    ...(policy.tentative.includes(status) ? { tentative: true } : {}),
    ...(policy.visibility === 'default' ? { visibility: 'default' } : {}),
    ...(Object.keys(presets).length === 0 ? {} : { presets }),
  };
}

/** The readable texts of an event. */
export type EventTexts = Pick<CalendarItem, 'title' | 'description' | 'location'>;

/** Appointment fields used in texts. */
export type TextSubject = Pick<
  Appointment,
  ReadByFields | 'id' | 'patientId' | 'patient' | 'patientIds' | 'teleVisitUrl'
>;

/**
 * Returns only the texts of a target's item for an appointment.
 * @param key as in {@link project}
 */
export function textsFor(
  appointment: TextSubject,
  policy: ProjectionPolicy,
  directory: Directory,
  key: () => ItemKey,
): EventTexts {
  return textsWith(linksOf(appointment, policy, directory), appointment, policy, { directory, key });
}

function textsWith(
  links: Links,
  appointment: TextSubject,
  policy: ProjectionPolicy,
  { directory, key }: { directory: Directory; key: () => ItemKey },
): EventTexts {
  const description = descriptionOf(appointment, policy, directory, links);
  const existing = policy.fields.includes('location') ? locationOf(appointment, directory) : undefined;
  const location = existing === undefined ? null : formatLocation(existing);
  return {
    title: storedText(wholeTitle(appointment, policy, directory, key)),
    description: description === null ? null : storedText(description),
    location: location === null ? null : storedText(location),
  };
}

/** Returns a text as calendars show it, and the outbox stores it. */
function storedText(text: string): string {
  return shortened(shown(text), STORED_LIMITS.eventText);
}

const LINK_NAMES = ['teleVisitUrl', 'pageUrl'] as const;

/** URLs that the target may show. */
type Links = Partial<Record<(typeof LINK_NAMES)[number], string>>;

/** URLs contain only ids: the appointment's id for the page, and the clinic's own URL for a video visit. */
function linksOf({ id, teleVisitUrl }: TextSubject, { links }: ProjectionPolicy, { pageUrl }: Directory): Links {
  const page =
    links.includes('page') && isPathSegment(id) ? pageUrl?.replaceAll('{id}', encodeURIComponent(id)) : undefined;
  return {
    ...(page === undefined || page.length > LONGEST_URL ? {} : { pageUrl: page }),
    ...(links.includes('teleVisit') && teleVisitUrl !== undefined ? { teleVisitUrl } : {}),
  };
}

function presetsOf(appointment: Appointment, policy: ProjectionPolicy, links: Links): Presets {
  const { colour, category } = policy.labels.find((label) => fits(label, appointment)) ?? {};
  const { reminderMinutes, presets } = policy;
  const reminds = reminderMinutes === 'none' || !policy.free.includes(appointment.status);
  const ownLinks = Object.entries(links).filter(([name]) => presets.includes(name));
  return {
    ...(colour === undefined ? {} : { colour }),
    ...(category === undefined ? {} : { category }),
    ...(reminderMinutes === undefined || !reminds ? {} : { reminderMinutes }),
    ...Object.fromEntries(ownLinks),
  };
}

function fits({ statuses, agendas, treatments }: Label, appointment: Appointment): boolean {
  const { status, treatmentId } = appointment;
  return (
    (statuses?.includes(status) ?? true) &&
    belongsTo(appointment, agendas ?? 'all') === true &&
    (treatments === undefined || (treatmentId !== null && treatments.includes(treatmentId)))
  );
}

function wholeTitle(
  appointment: TextSubject,
  policy: ProjectionPolicy,
  directory: Directory,
  key: () => ItemKey,
): string {
  const title = titleOf(appointment, policy, directory, key);
  if (policy.titleFormat === undefined) return title;
  const textOf = (name: TitleValue) =>
    name === 'title' ? title : fieldText(name, appointment, directory, policy.language);
  return formatText(policy.titleFormat, textOf) || title;
}

function titleOf(appointment: TextSubject, policy: ProjectionPolicy, directory: Directory, key: () => ItemKey): string {
  const texts = TEXTS[policy.language];
  if (policy.title === 'busy' || appointment.patientId === null) return texts.busy;
  if (policy.title === 'appointment') return texts.appointment;
  if (policy.title === 'code') return `${texts.appointment} ${key().slice(0, CODE_LENGTH).toUpperCase()}`;
  const names = patientNames(appointment, directory);
  if (names.length === 0) return texts.appointment;
  return policy.title === 'initials' ? names.map(initial).join(' ') : names.join(' ');
}

function patientNames(appointment: TextSubject, directory: Directory): string[] {
  // The first of several patients would be a wrong name for the others.
  if (appointment.patientIds !== undefined) return [];
  const patient =
    appointment.patient ?? (appointment.patientId === null ? null : directory.patients.get(appointment.patientId));
  const names = [patient?.firstName, patient?.lastName].map((name) => shownName(name ?? ''));
  return names.filter(isVisible);
}

/** Returns the first grapheme, so that combined characters are not split. */
function initial(name: string): string {
  for (const { segment } of new Intl.Segmenter().segment(name))
    if (isVisible(segment)) return `${segment.toUpperCase()}.`;
  return '';
}

/** Returns a line for each field that the title does not contain, and for URLs without a field. The location has a field. */
function descriptionOf(
  appointment: TextSubject,
  policy: ProjectionPolicy,
  directory: Directory,
  links: Links,
): string | null {
  const texts = TEXTS[policy.language];
  const inTitle: readonly string[] = policy.titleFormat === undefined ? [] : valuesOf(policy.titleFormat);
  const parts = ALLOWED_FIELDS.filter((name) => policy.fields.includes(name) && !inTitle.includes(name)).map((name) =>
    fieldLine(name, appointment, directory, policy.language),
  );
  const addresses = LINK_NAMES.filter((name) => links[name] !== undefined && !policy.presets.includes(name));
  const lines = [...parts, ...addresses.map((name) => `${texts[name]}: ${links[name]}`)];
  const text = lines.filter((line) => line !== null && line !== '').join('\n');
  return text === '' ? null : text;
}

function timeOf(appointment: Appointment, policy: ProjectionPolicy, directory: Directory): ItemTime {
  const { time } = appointment;
  if (time.kind === 'all-day') return { kind: 'all-day', startDate: time.startDate, endDate: time.endDate };
  const zone = locationOf(appointment, directory)?.zone ?? policy.zone;
  return { kind: 'timed', start: toZonedIso(zone, time.startAt), end: toZonedIso(zone, time.endAt), zone };
}
