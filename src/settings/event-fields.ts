import type { Agenda, Appointment, AppointmentStatus, Location, Treatment } from '../core/model/records.ts';
import { parseTextFormat, type TextFormat } from '../core/model/text-format.ts';
import { type Language, type Message, message, render } from '../messages/message.ts';

/** The clinic's names for ids in appointments; some ids may be missing. */
export interface Catalogue {
  agendas: ReadonlyMap<string, Agenda>;
  locations: ReadonlyMap<string, Location>;
  treatments: ReadonlyMap<string, Treatment>;
}

/** Decides whether a text may be shown to everyone, since it is one that a field can have for any appointment. */
type IsPlain = (text: string) => boolean;

/** One detail of an appointment that a target may show in an event, without data of the patient. */
interface EventField<Read extends keyof Appointment> {
  /** For the documentation of the setting. */
  description: string;
  /** Data of the appointment on which the text depends. */
  reads: readonly Read[];
  /** Text for titles and descriptions; null if the clinic has none. */
  textOf(subject: Pick<Appointment, Read>, catalogue: Catalogue, language: Language): string | null;
  /** Prepares the check of shown texts. */
  plainIn(catalogue: Catalogue): IsPlain;
  /** Before the text in a description. */
  label?: Message;
  /** The calendar has a field of its own, so that no line of the description repeats the text. */
  isCalendarField?: true;
}

/** What does not depend on the data that a field reads. */
type AnyField = Pick<EventField<keyof Appointment>, 'plainIn' | 'label' | 'isCalendarField'>;

/** Infers the data that a field reads. */
function field<const Read extends keyof Appointment>(one: EventField<Read>): EventField<Read> {
  return one;
}

const LANGUAGES = ['en', 'it'] as const satisfies readonly Language[];

/** Each detail once: settings, titles, descriptions, the check before sending, plans and the documentation are derived from it. */
export const EVENT_FIELDS = {
  location: field({
    description: 'name and address of the location',
    reads: ['locationId', 'agendaId'],
    textOf: (subject, catalogue) => locationOf(subject, catalogue)?.name ?? null,
    plainIn: ({ locations }) => oneOf([...locations.values()].flatMap((one) => [one.name, formatLocation(one)])),
    isCalendarField: true,
  }),
  agenda: field({
    description: 'name of the agenda',
    reads: ['agendaId'],
    textOf: ({ agendaId }, { agendas }) => agendas.get(agendaId)?.name ?? null,
    plainIn: ({ agendas }) => oneOf([...agendas.values()].map(({ name }) => name)),
  }),
  treatment: field({
    description: 'name of the treatment',
    reads: ['treatmentId'],
    textOf: ({ treatmentId }, { treatments }) => treatments.get(treatmentId ?? '')?.name ?? null,
    plainIn: ({ treatments }) => oneOf([...treatments.values()].map(({ name }) => name)),
  }),
  status: field({
    description: 'status of the appointment',
    reads: ['status'],
    textOf: ({ status }, _, language) => STATUS_TEXTS[language][status],
    plainIn: () => oneOf(LANGUAGES.flatMap((language) => Object.values(STATUS_TEXTS[language]))),
    label: message('event.status'),
  }),
} as const;

/** Name of a detail that a target's `fields` may allow. */
export type AllowedField = keyof typeof EVENT_FIELDS;

/** All names, in the order of the lines of a description. */
export const ALLOWED_FIELDS = Object.keys(EVENT_FIELDS) as [AllowedField, ...AllowedField[]];

/** Data of an appointment on which the texts of any field depend. */
export type ReadByFields = (typeof EVENT_FIELDS)[AllowedField]['reads'][number];

/** Values for titles: the title of the target's level, and the values that the target's `fields` allow. */
export const TITLE_VALUES = ['title', ...ALLOWED_FIELDS] as const;

export type TitleValue = (typeof TITLE_VALUES)[number];

/** A format of titles. */
export type TitleFormat = TextFormat<TitleValue>;

/** Parses a format such as `[{agenda}: ]{title}`; null if malformed or without a value. */
export function parseTitleFormat(text: string): TitleFormat | null {
  return parseTextFormat(text, (name): name is TitleValue => TITLE_VALUES.some((value) => value === name));
}

const STATUS_TEXTS: Record<Language, Record<AppointmentStatus, string>> = {
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

/** Returns the text of a field for an appointment; null if the clinic has none. */
export function fieldText(
  name: AllowedField,
  subject: Pick<Appointment, ReadByFields>,
  catalogue: Catalogue,
  language: Language,
): string | null {
  return EVENT_FIELDS[name].textOf(subject, catalogue, language);
}

/** Returns the line of a field in a description; null if the clinic has no text, or the calendar has a place for it. */
export function fieldLine(
  name: AllowedField,
  subject: Pick<Appointment, ReadByFields>,
  catalogue: Catalogue,
  language: Language,
): string | null {
  const { label, isCalendarField }: AnyField = EVENT_FIELDS[name];
  const text = isCalendarField === true ? null : fieldText(name, subject, catalogue, language);
  return text === null || label === undefined ? text : `${render(label, language)}: ${text}`;
}

/** Returns the data of an appointment on which the texts of these fields depend, and no other. */
export function readBy(fields: readonly AllowedField[], appointment: Appointment): Pick<Appointment, ReadByFields> {
  const names = fields.flatMap((name): readonly ReadByFields[] => EVENT_FIELDS[name].reads);
  const read = names.map((name) => [name, appointment[name]] as const);
  return Object.fromEntries(read) as Pick<Appointment, ReadByFields>;
}

/** Prepares the check whether a text of an event comes from a field, with or without its label, and so contains no patient data. */
export function plainTexts(catalogue: Catalogue): IsPlain {
  const tests = Object.values(EVENT_FIELDS).map(({ plainIn, label }: AnyField): IsPlain => {
    const isPlain = plainIn(catalogue);
    const labels = label === undefined ? [] : LANGUAGES.map((language) => `${render(label, language)}: `);
    return (text) => isPlain(text) || labels.some((head) => text.startsWith(head) && isPlain(text.slice(head.length)));
  });
  return (text) => tests.some((isPlain) => isPlain(text));
}

function oneOf(texts: readonly string[]): IsPlain {
  const all = new Set(texts);
  return (text) => all.has(text);
}

/** Returns the location as calendars show it in their own field. */
export function formatLocation({ name, address }: Location): string {
  return address === null ? name : `${name}, ${address}`;
}

/** Returns the location of an appointment, or otherwise of its agenda. */
export function locationOf(
  { locationId, agendaId }: Pick<Appointment, 'locationId' | 'agendaId'>,
  { agendas, locations }: Pick<Catalogue, 'agendas' | 'locations'>,
): Location | undefined {
  const id = locationId ?? agendas.get(agendaId)?.locationId ?? null;
  return id === null ? undefined : locations.get(id);
}
