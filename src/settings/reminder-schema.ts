import { z } from 'zod';
import { issueText, message } from '../messages/message.ts';
import { NAME, NAME_REMEDY } from '../model/text.ts';
import { distinctList, mapOf, name, text, wholeNumber } from './common-schemas.ts';

/** Fields that a text may name in braces. */
const TEXT_FIELDS = ['firstName', 'clinic', 'day', 'date', 'time', 'phone', 'address'] as const;
/** Fields that a text of a correction may name besides: what the patient was told before. */
const ANNOUNCED_FIELDS = ['toldDay', 'toldDate', 'toldTime'] as const;
const CORRECTION_FIELDS = [...TEXT_FIELDS, ...ANNOUNCED_FIELDS] as const;
/** Name of such a field. */
export type TextField = (typeof CORRECTION_FIELDS)[number];

const LOCAL_TIME = /^([01]\d|2[0-3]):[0-5]\d$/;
/** ISO 8601 duration of days, hours and minutes; no months, whose length varies. */
const OFFSET = /^P(?!$)(?:(\d{1,3})D)?(?:T(?!$)(?:(\d{1,3})H)?(?:(\d{1,4})M)?)?$/;

const STATUSES = ['booked', 'confirmed', 'unknown'] as const;

const localTime = z.string().regex(LOCAL_TIME, issueText(message('settings.local-time')));

/** An offset: calendar days, which keep the local time, and an exact rest in minutes. */
const offset = z
  .string()
  .regex(OFFSET, issueText(message('settings.duration')))
  .transform((written) => {
    const [, days = '0', hours = '0', minutes = '0'] = OFFSET.exec(written) ?? [];
    return { days: Number(days), minutes: Number(hours) * 60 + Number(minutes) };
  })
  .refine(({ days, minutes }) => days + minutes > 0 && days <= 60, issueText(message('settings.duration-range')));

/** A text with fields in braces; an unknown field is a fault, found at the start. */
function template(fields: readonly TextField[]) {
  return text.max(1_000).refine((written) => namesOnly(written, fields), {
    error: issueText(message('settings.text-fields', { fields: inBraces(fields) })),
  });
}

function inBraces(fields: readonly TextField[]): string {
  return fields.map((field) => `{${field}}`).join(' ');
}

/** Whether a text names no unknown field and no brace stands alone. */
function namesOnly(written: string, fields: readonly TextField[]): boolean {
  const named = [...written.matchAll(/\{([^{}]*)\}/g)].map(([, field = '']) => field);
  if (/[{}]/.test(written.replaceAll(/\{[^{}]*\}/g, ''))) return false;
  return named.every((field) => fields.some((allowed) => allowed === field));
}

function oneOrAll(value: z.ZodType<string, string>) {
  return z.union([z.literal('all'), distinctList(value).min(1)]).default('all');
}

const correctionTexts = z.strictObject({
  subject: template(CORRECTION_FIELDS).optional(),
  text: template(CORRECTION_FIELDS),
});
const texts = z.strictObject({
  subject: template(TEXT_FIELDS).optional(),
  text: template(TEXT_FIELDS),
  moved: correctionTexts
    .optional()
    .describe(`When the appointment begins at another time than was told. Besides: ${inBraces(ANNOUNCED_FIELDS)}`),
  cancelled: correctionTexts
    .optional()
    .describe(`When an appointment that was told does not take place. The fields are those of moved`),
});

const rule = z
  .strictObject({
    before: offset
      .optional()
      .describe('How long before the start: P1D is the same local time a day before, PT2H exactly two hours'),
    at: z
      .strictObject({
        daysBefore: wholeNumber(0, 60).describe('Days before that of the appointment'),
        time: localTime.describe('Local time, such as "18:00"'),
      })
      .optional()
      .describe('A fixed local time in place of before'),
    channels: distinctList(z.string().regex(NAME, issueText(NAME_REMEDY)))
      .min(1)
      .describe('Names of channels above; each gets the reminder'),
    agendas: oneOrAll(text).describe('Ids of the agendas whose appointments are reminded of, or all'),
    treatments: oneOrAll(text).describe('Ids of the treatments whose appointments are reminded of, or all'),
    statuses: z.array(z.enum(STATUSES)).min(1).default(['booked', 'confirmed']).describe('Appointments to remind of'),
    minimumLeadMinutes: wholeNumber(0, 10_080).optional().describe('In place of the one above'),
    graceMinutes: wholeNumber(1, 1_440).optional().describe('In place of the one above'),
    texts: z
      .strictObject({ it: texts.optional(), en: texts.optional() })
      .optional()
      .describe(`Texts of your own by language. Fields: ${inBraces(TEXT_FIELDS)}`),
    corrections: z
      .strictObject({
        moved: z
          .boolean()
          .default(true)
          .describe('The appointment begins at another time, or at another place that the message named'),
        cancelled: z.boolean().default(true).describe('The appointment is cancelled'),
      })
      .prefault({})
      .describe('What a patient who was reminded is told when it is no longer true'),
  })
  .refine(
    ({ before, at }) => (before === undefined) !== (at === undefined),
    issueText(message('settings.before-or-at')),
  );

const channel = z.strictObject({
  kind: z.string().describe('What kind of channel this is'),
  consent: name
    .optional()
    .describe(
      "Name among patients.consents of the clinic profile: only who agreed to it gets this channel's reminders",
    ),
  settings: z.unknown().optional().describe("The channel's own part"),
});

/** Schema of `reminders` in a tenant file. Each channel's own part is left to its module. */
export const reminderSchema = z.strictObject({
  sender: text
    .optional()
    .describe("Name that reminders come from; a neutral one where the clinic's own tells of health"),
  phone: text.optional().describe('Telephone number of the clinic, for texts'),
  phoneRegion: z
    .string()
    .regex(/^[A-Z]{2}$/, issueText(message('settings.country')))
    .default('IT')
    .describe('Country of telephone numbers without an international prefix'),
  calendarEntry: z.boolean().default(false).describe('E-mails carry a calendar entry'),
  quietHours: z
    .strictObject({
      from: localTime.default('21:00').describe('Local time from which nothing is sent'),
      to: localTime.default('08:00').describe('Local time until which nothing is sent'),
    })
    .prefault({})
    .refine(leavesADay, issueText(message('settings.quiet-hours')))
    .describe('In the zone of the location, else of the tenant'),
  minimumLeadMinutes: wholeNumber(0, 10_080)
    .default(60)
    .describe(
      'A reminder comes at least this long before the start, and none at all when the appointment was booked or moved less than this before the reminder is due',
    ),
  graceMinutes: wholeNumber(1, 1_440).default(120).describe('A late reminder is still sent this long, never at night'),
  unreachableMinutes: wholeNumber(1, 1_440)
    .default(60)
    .describe('A due reminder waits this long for a clinic that does not answer; then it is dropped'),
  maxPerHour: wholeNumber(1, 100_000).default(200).describe('Most reminders that begin to be sent in an hour'),
  correctionGuard: z
    .strictObject({
      share: z
        .number()
        .min(0)
        .max(1)
        .default(0.2)
        .describe('Limit as a share of the appointments ahead that patients were told of, from 0 to 1'),
      count: wholeNumber(0, 100_000).default(10).describe('Limit as a number of appointments'),
      holdExpiresAfterHours: wholeNumber(1, 8_760)
        .default(168)
        .describe('A hold without a decision is rejected after this'),
    })
    .prefault({})
    .describe('Corrections wait for a decision when an hour calls for more than both limits'),
  keepDays: wholeNumber(1, 1_096).default(90).describe('How long it is kept what became of each reminder'),
  links: z
    .strictObject({
      cancel: z.boolean().default(false).describe('Patients may also cancel there'),
      cancelUntilHours: wholeNumber(0, 720)
        .default(24)
        .describe('Nearer to the start than this nobody cancels there; the page says to call'),
    })
    .optional()
    .describe('Reminders carry an address at which the patient confirms the appointment; needs http.publicUrl'),
  channels: mapOf(channel).describe('Ways to reach a patient'),
  rules: mapOf(rule).describe('When to remind of what'),
});

/** `reminders` of a tenant file as read. */
export type ReminderFile = z.output<typeof reminderSchema>;
/** One rule as read. */
export type ReminderRuleFile = z.output<typeof rule>;

const LEAST_DAY_MINUTES = 240;

/** A local time as minutes since midnight. */
export function minuteOfDay(written: string): number {
  const [hours, minutes] = written.split(':').map(Number);
  return (hours ?? 0) * 60 + (minutes ?? 0);
}

function leavesADay({ from, to }: { from: string; to: string }): boolean {
  const night = (minuteOfDay(to) - minuteOfDay(from) + 1_440) % 1_440;
  return 1_440 - night >= LEAST_DAY_MINUTES;
}
