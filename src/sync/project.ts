import { type Language, message, render } from '../messages/message.ts';
import {
  type CalendarItem,
  type Colour,
  formatTitle,
  type ItemTime,
  LONGEST_URL,
  type Presets,
  type TitleFormat,
  type TitleValue,
  valuesOf,
} from '../model/items.ts';
import type { ItemKey } from '../model/operations.ts';
import type {
  Agenda,
  Appointment,
  AppointmentPatient,
  AppointmentStatus,
  Location,
  Treatment,
} from '../model/records.ts';
import { isVisible } from '../model/text.ts';
import { toZonedIso } from '../model/time.ts';

/** How much the title tells. The default, `appointment`, names nobody. */
export type TitleLevel = 'busy' | 'appointment' | 'code' | 'initials' | 'full';

/** Fields beyond the title that a tenant may allow. */
export type AllowedField = 'location' | 'agenda' | 'treatment' | 'status';

/** Addresses that a target may show: of the appointment in the clinic system, and of a video visit. */
export type LinkName = 'page' | 'teleVisit';

/** What sets appointments apart: colour and category of those that meet every condition that is named. */
export interface Label {
  statuses?: readonly AppointmentStatus[] | undefined;
  agendas?: readonly string[] | undefined;
  treatments?: readonly string[] | undefined;
  colour?: Colour | undefined;
  category?: string | undefined;
}

/** What a target may show of an appointment. */
export interface ProjectionPolicy {
  title: TitleLevel;
  /** How a title is put together, of nothing but `fields` and what the level tells; absent for that alone. */
  titleFormat?: TitleFormat | undefined;
  fields: readonly AllowedField[];
  /** Statuses that the target shows; others are kept out of it. */
  statuses: readonly AppointmentStatus[];
  /** Statuses whose time stays free. */
  free: readonly AppointmentStatus[];
  /** Statuses that block their time and do not stand yet. */
  tentative: readonly AppointmentStatus[];
  visibility: 'private' | 'default';
  /** Of several that fit the first counts. */
  labels: readonly Label[];
  /** Absent: none of ours. */
  reminderMinutes?: number | 'none' | undefined;
  links: readonly LinkName[];
  /** Presets that the target's vendor has a place for: links that it has none for stand in the texts. */
  presets: readonly string[];
  language: 'it' | 'en';
  /** IANA zone of appointments whose location names none. */
  zone: string;
}

/** The catalogue that ids in appointments refer to; entries may be missing. */
export interface Directory {
  agendas: ReadonlyMap<string, Agenda>;
  locations: ReadonlyMap<string, Location>;
  treatments: ReadonlyMap<string, Treatment>;
  /** Filled only when a target's title names patients. */
  patients: ReadonlyMap<string, AppointmentPatient>;
  /** Address of an appointment in the clinic system, with `{id}` for its id; null for none. */
  pageUrl: string | null;
}

const TEXTS = { it: textsIn('it'), en: textsIn('en') };

function textsIn(language: Language) {
  return {
    busy: render(message('event.busy'), language),
    appointment: render(message('event.appointment'), language),
    status: render(message('event.status'), language),
    pageUrl: render(message('event.page'), language),
    teleVisitUrl: render(message('event.video-visit'), language),
  };
}

/** What titles say in place of a patient's name. */
export const APPOINTMENT_WORDS: readonly string[] = [TEXTS.it, TEXTS.en].flatMap(({ busy, appointment }) => [
  busy,
  appointment,
]);

const STATUS_TEXTS: Record<'it' | 'en', Record<AppointmentStatus, string>> = {
  it: {
    booked: 'prenotato',
    confirmed: 'confermato',
    arrived: 'arrivato',
    in_progress: 'in corso',
    completed: 'completato',
    cancelled: 'annullato',
    no_show: 'non presentato',
    unknown: 'sconosciuto',
  },
  en: {
    booked: 'booked',
    confirmed: 'confirmed',
    arrived: 'arrived',
    in_progress: 'in progress',
    completed: 'completed',
    cancelled: 'cancelled',
    no_show: 'no show',
    unknown: 'unknown',
  },
};

/**
 * Texts of events that come from the clinic's catalogue or are ours, and so tell of no patient: names of places, agendas and treatments, and
 * statuses as descriptions have them.
 */
export function catalogueTexts({ agendas, locations, treatments }: Directory): ReadonlySet<string> {
  const statuses = (['it', 'en'] as const).flatMap((language) =>
    Object.values(STATUS_TEXTS[language]).map((text) => `${TEXTS[language].status}: ${text}`),
  );
  const named = [agendas, locations, treatments].flatMap((list) => [...list.values()].map(({ name }) => name));
  return new Set([...statuses, ...named, ...[...locations.values()].map(formatLocation)]);
}

/** Characters of a code title: enough to tell a day's appointments apart, meaningless without the key. */
const CODE_LENGTH = 4;

/**
 * What the target should hold for an appointment, or null when its policy keeps the appointment out.
 * @param key tells the record's key for this target, from which the `code` title is taken
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

/** What is to be read of an event. */
export type EventTexts = Pick<CalendarItem, 'title' | 'description' | 'location'>;

/** What of an appointment texts are made of. */
export type TextSubject = Pick<Appointment, 'id' | 'agendaId' | 'locationId' | 'treatmentId' | 'status' | 'patientId'> &
  Pick<Appointment, 'patient' | 'teleVisitUrl'>;

/** The texts alone of what a target should hold for an appointment. @param key as {@link project} */
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
  return {
    title: wholeTitle(appointment, policy, directory, key),
    description: descriptionOf(appointment, policy, directory, links),
    location: policy.fields.includes('location') ? locationText(appointment, directory) : null,
  };
}

const LINK_NAMES = ['teleVisitUrl', 'pageUrl'] as const;

/** The addresses that the target may show. */
type Links = Partial<Record<(typeof LINK_NAMES)[number], string>>;

/** They carry ids alone: of the page nothing but the appointment's, of a video visit what the clinic made of it. */
function linksOf({ id, teleVisitUrl }: TextSubject, { links }: ProjectionPolicy, { pageUrl }: Directory): Links {
  const page = links.includes('page') ? pageUrl?.replaceAll('{id}', encodeURIComponent(id)) : undefined;
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

function fits({ statuses, agendas, treatments }: Label, { status, agendaId, treatmentId }: Appointment): boolean {
  return (
    (statuses?.includes(status) ?? true) &&
    (agendas?.includes(agendaId) ?? true) &&
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
  const textOf = (name: TitleValue) => (name === 'title' ? title : fieldText(name, appointment, policy, directory));
  return formatTitle(policy.titleFormat, textOf) || title;
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
  const patient =
    appointment.patient ?? (appointment.patientId === null ? null : directory.patients.get(appointment.patientId));
  const names = [patient?.firstName, patient?.lastName].map((name) => name?.trim() ?? '');
  return names.filter(isVisible);
}

/** First letter as a person sees it: one grapheme, so that combined characters stay whole. */
function initial(name: string): string {
  for (const { segment } of new Intl.Segmenter().segment(name))
    if (isVisible(segment)) return `${segment.toUpperCase()}.`;
  return '';
}

/** What the title does not tell already, a line each, and addresses that have no place of their own; the location has one. */
function descriptionOf(
  appointment: TextSubject,
  policy: ProjectionPolicy,
  directory: Directory,
  links: Links,
): string | null {
  const texts = TEXTS[policy.language];
  const inTitle: readonly string[] = policy.titleFormat === undefined ? [] : valuesOf(policy.titleFormat);
  const parts = (['agenda', 'treatment', 'status'] as const)
    .filter((name) => policy.fields.includes(name) && !inTitle.includes(name))
    .map((name) => {
      const text = fieldText(name, appointment, policy, directory);
      return name === 'status' ? `${texts.status}: ${text}` : text;
    });
  const addresses = LINK_NAMES.filter((name) => links[name] !== undefined && !policy.presets.includes(name));
  const lines = [...parts, ...addresses.map((name) => `${texts[name]}: ${links[name]}`)];
  const text = lines.filter((line) => line !== null && line !== '').join('\n');
  return text === '' ? null : text;
}

function fieldText(
  name: AllowedField,
  appointment: TextSubject,
  policy: ProjectionPolicy,
  directory: Directory,
): string | null {
  switch (name) {
    case 'location':
      return locationOf(appointment, directory)?.name ?? null;
    case 'agenda':
      return directory.agendas.get(appointment.agendaId)?.name ?? null;
    case 'treatment':
      return (
        (appointment.treatmentId === null ? null : directory.treatments.get(appointment.treatmentId)?.name) ?? null
      );
    case 'status':
      return STATUS_TEXTS[policy.language][appointment.status];
  }
}

function locationText(appointment: TextSubject, directory: Directory): string | null {
  const location = locationOf(appointment, directory);
  return location === undefined ? null : formatLocation(location);
}

function formatLocation({ name, address }: Location): string {
  return address === null ? name : `${name}, ${address}`;
}

function locationOf(appointment: TextSubject, directory: Directory): Location | undefined {
  const id = appointment.locationId ?? directory.agendas.get(appointment.agendaId)?.locationId ?? null;
  return id === null ? undefined : directory.locations.get(id);
}

function timeOf(appointment: Appointment, policy: ProjectionPolicy, directory: Directory): ItemTime {
  const { time } = appointment;
  if (time.kind === 'all-day') return { kind: 'all-day', startDate: time.startDate, endDate: time.endDate };
  const zone = locationOf(appointment, directory)?.zone ?? policy.zone;
  return { kind: 'timed', start: toZonedIso(zone, time.startAt), end: toZonedIso(zone, time.endAt), zone };
}
