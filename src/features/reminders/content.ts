import { FactSearch, type PatientFact } from '../../core/model/patient-facts.ts';
import type { Location, Patient } from '../../core/model/records.ts';
import type { CorrectionKind } from '../../core/model/reminders.ts';
import { telephonesIn } from '../../core/model/telephones.ts';
import { shownLine, shownName } from '../../core/model/text.ts';
import type { Instant } from '../../core/model/time.ts';
import { type Language, LOCALES } from '../../messages/message.ts';
import type { ReminderFile, TextField } from '../../settings/reminder-schema.ts';
import type { ReminderContent } from './channels/channel.ts';
import type { ReminderRule } from './rules.ts';
import { CORRECTION_TEXTS, ENTRY_TITLES, SHIPPED_TEXTS, type TextTemplate } from './texts/texts.ts';

/** Input of a text. */
export interface ContentInput {
  rule: ReminderRule;
  file: ReminderFile;
  /** Language of the tenant, for patients with an unknown or unsupported language. */
  language: Language;
  /** Name of the clinic, used without a configured name. */
  clinic: string;
  startAt: Instant;
  zone: string;
  location: Location | null;
  patient: Patient | null;
  link: ReminderContent['link'];
  /** Correction, with the time previously sent; absent for a reminder. */
  correction?: { kind: CorrectionKind; sentTime: { startAt: Instant; zone: string } } | null | undefined;
}

/** Returns the text for the patient. Fields missing in the clinic are empty, and adjacent spaces are removed. */
export function contentOf(input: ContentInput): ReminderContent {
  const { file, rule, patient, location } = input;
  const language = languageOf(patient?.language ?? null, input.language);
  // A change of other facts than the time uses the reminder text, which contains the facts.
  const kind = input.correction == null || input.correction.kind === 'changed' ? null : input.correction.kind;
  const texts = kind === null ? SHIPPED_TEXTS[language] : CORRECTION_TEXTS[kind][language];
  const shipped = texts[file.phone === undefined ? 'withoutPhone' : 'withPhone'];
  const own = kind === null ? rule.texts?.[language] : rule.texts?.[language]?.[kind];
  const template: TextTemplate = { subject: own?.subject ?? shipped.subject, text: own?.text ?? shipped.text };
  const fields = fieldValues(input, language);
  return {
    language,
    sender: fields.clinic,
    subject: filled(template.subject, fields),
    text: filled(template.text, fields),
    calendarEntry:
      file.calendarEntry && kind !== 'cancelled'
        ? { title: `${ENTRY_TITLES[language]} ${fields.clinic}`, location: location?.address ?? null }
        : null,
    link: input.link,
  };
}

/** Returns whether the text depends on the postal address of the location. */
export function namesAddress(input: ContentInput): boolean {
  const { location } = input;
  if (location?.address == null) return false;
  const { text, subject, calendarEntry } = contentOf(input);
  const without = contentOf({ ...input, location: { ...location, address: null } });
  return (
    text !== without.text || subject !== without.subject || calendarEntry?.location !== without.calendarEntry?.location
  );
}

/** Returns the language of a patient by tag ("it", "en-GB") or name, or the tenant's language. */
export function languageOf(stated: string | null, fallback: Language): Language {
  const word = stated?.trim().toLowerCase() ?? '';
  if (/^(it([-_]|$)|ita$|ital)/.test(word)) return 'it';
  if (/^(en([-_]|$)|eng$|engl|ingl)/.test(word)) return 'en';
  return fallback;
}

/** Returns the value of each field of a text. */
export function fieldValues(input: ContentInput, language: Language) {
  const { file, clinic, location, patient } = input;
  const now = timeFields(input, language);
  const stated = timeFields(input.correction?.sentTime ?? input, language);
  return {
    firstName: shownName(patient?.firstName ?? ''),
    clinic: shownLine(file.sender ?? clinic),
    ...now,
    toldDay: stated.day,
    toldDate: stated.date,
    toldTime: stated.time,
    phone: shownLine(file.phone ?? ''),
    address: shownLine(location?.address ?? ''),
  } satisfies Record<TextField, string>;
}

function timeFields({ startAt, zone }: { startAt: Instant; zone: string }, language: Language) {
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(LOCALES[language], { timeZone: zone, ...options }).format(startAt);
  return {
    day: format({ weekday: 'long', day: 'numeric', month: 'long' }).replaceAll(',', ''),
    date: format({ day: '2-digit', month: '2-digit', year: 'numeric' }),
    time: format({ hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
  };
}

/** Fills each field in a single pass, so that braces in a value are not fields. */
export function filled(template: string, fields: Record<string, string>): string {
  const text = template.replaceAll(/\{(\w+)\}/g, (_whole, field: string) => fields[field] ?? '');
  return text
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/ ([,.!?;:])/g, '$1')
    .trim();
}

/**
 * Returns the patient fact in a reminder other than the first name, or null. A fact that a reminder without a patient also contains is
 * allowed, such as a clinic with the patient's name.
 */
export function findDisclosedFact(content: ReminderContent, input: ContentInput): PatientFact | null {
  const { patient } = input;
  if (patient === null) return null;
  return new FactSearch().revealedIn(patient, {
    texts: textsOf(content),
    mayReveal: (fact) => fact === 'first-name',
    own: () => textsOf(contentOf({ ...input, patient: { ...patient, ...NOBODY } })),
  });
}

const NOBODY = {
  ...{ firstName: null, lastName: null, email: null, phone: null, mobilePhone: null },
  ...{ taxCode: null, birthDate: null, address: null },
};

function textsOf({ sender, subject, text, calendarEntry }: ReminderContent): (string | null)[] {
  return [sender, subject, text, calendarEntry?.title ?? null, calendarEntry?.location ?? null];
}

/** Number types that cannot receive text messages. Numbers of unknown type are allowed. */
const WITHOUT_MESSAGES: ReadonlySet<string> = new Set([
  'FIXED_LINE',
  'PREMIUM_RATE',
  'TOLL_FREE',
  'SHARED_COST',
  'VOICEMAIL',
  'UAN',
  'PAGER',
]);

/**
 * Returns the first number of a telephone field that can receive text messages, in E.164 (`+393331234567`).
 * @param region ISO 3166 country of numbers without an international prefix
 * @returns null without a valid mobile number, or for an ambiguous field
 */
export function mobileNumber(written: string, region: string): string | null {
  const able = telephonesIn(written, region).find(({ type }) => !WITHOUT_MESSAGES.has(type ?? ''));
  return able?.number ?? null;
}
