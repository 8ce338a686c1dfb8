import { type Language, LOCALES } from '../../messages/message.ts';
import { FactSearch, type PatientFact } from '../../model/patient-facts.ts';
import type { Location, Patient } from '../../model/records.ts';
import type { CorrectionKind } from '../../model/reminders.ts';
import { telephonesIn } from '../../model/telephones.ts';
import type { Instant } from '../../model/time.ts';
import type { ReminderFile, TextField } from '../../settings/reminder-schema.ts';
import type { ReminderContent } from './channels/channel.ts';
import type { ReminderRule } from './rules.ts';
import { CORRECTION_TEXTS, ENTRY_TITLES, SHIPPED_TEXTS, type TextTemplate } from './texts/texts.ts';

/** What a text is made of. */
export interface ContentInput {
  rule: ReminderRule;
  file: ReminderFile;
  /** The tenant's, for a patient whose language is unknown or not one of ours. */
  language: Language;
  /** The clinic's own name, where the settings give no other. */
  clinic: string;
  startAt: Instant;
  zone: string;
  location: Location | null;
  patient: Patient | null;
  link: ReminderContent['link'];
  /** What it corrects, with what the patient was told before; absent for a reminder. */
  correction?: { kind: CorrectionKind; sentTime: { startAt: Instant; zone: string } } | null | undefined;
}

/** What the patient reads. A field that the clinic doesn't tell is left empty, with the blanks beside it. */
export function contentOf(input: ContentInput): ReminderContent {
  const { file, rule, patient, location } = input;
  const language = languageOf(patient?.language ?? null, input.language);
  // What changed besides the time stands in the words of a reminder, which named it before.
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

/** Whether what the patient reads depends on the address of the location. */
export function namesAddress(input: ContentInput): boolean {
  const { location } = input;
  if (location?.address == null) return false;
  const { text, subject, calendarEntry } = contentOf(input);
  const without = contentOf({ ...input, location: { ...location, address: null } });
  return (
    text !== without.text || subject !== without.subject || calendarEntry?.location !== without.calendarEntry?.location
  );
}

/** The language of a patient by its tag ("it", "en-GB"), or by the word for it; else the tenant's. */
export function languageOf(stated: string | null, fallback: Language): Language {
  const word = stated?.trim().toLowerCase() ?? '';
  if (/^(it([-_]|$)|ita$|ital)/.test(word)) return 'it';
  if (/^(en([-_]|$)|eng$|engl|ingl)/.test(word)) return 'en';
  return fallback;
}

function fieldValues(input: ContentInput, language: Language) {
  const { file, clinic, location, patient } = input;
  const now = timeFields(input, language);
  const stated = timeFields(input.correction?.sentTime ?? input, language);
  return {
    firstName: oneLine(patient?.firstName ?? ''),
    clinic: oneLine(file.sender ?? clinic),
    ...now,
    toldDay: stated.day,
    toldDate: stated.date,
    toldTime: stated.time,
    phone: oneLine(file.phone ?? ''),
    address: oneLine(location?.address ?? ''),
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

/** Each field in one pass: braces in a value are not fields. */
function filled(template: string, fields: Record<TextField, string>): string {
  const text = template.replaceAll(/\{(\w+)\}/g, (_whole, field: TextField) => fields[field]);
  return text
    .replaceAll(/[ \t]+/g, ' ')
    .replaceAll(/ ([,.!?;:])/g, '$1')
    .trim();
}

function oneLine(value: string): string {
  return value.replaceAll(/[\p{Cc}\s]+/gu, ' ').trim();
}

/**
 * What a reminder tells of its patient beside the first name; null when it tells nothing more, as it should. Whatever the same reminder to
 * nobody would say too, as the name of a clinic that is called as the patient is, is not told of the patient.
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

/** Types that can't take a text message; a number of unknown type is tried. */
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
 * The first number of a telephone field that text messages can be sent to, in E.164 (`+393331234567`).
 * @param region ISO 3166 country of numbers without an international prefix
 * @returns null where no valid number can take messages, or which number is meant is not clear
 */
export function mobileNumber(written: string, region: string): string | null {
  const able = telephonesIn(written, region).find(({ type }) => !WITHOUT_MESSAGES.has(type ?? ''));
  return able?.number ?? null;
}
