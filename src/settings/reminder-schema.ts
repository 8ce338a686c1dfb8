import { z } from 'zod';
import { NAME, NAME_REMEDY } from '../core/model/text.ts';
import { issueText, message } from '../messages/message.ts';
import { distinctList, mapOf, name, text, wholeNumber } from './common-schemas.ts';

/** Fields for braces in a text. */
const TEXT_FIELDS = ['firstName', 'clinic', 'day', 'date', 'time', 'phone', 'address'] as const;
/** Additional fields for corrections: facts from the earlier message. */
const ANNOUNCED_FIELDS = ['toldDay', 'toldDate', 'toldTime'] as const;
const CORRECTION_FIELDS = [...TEXT_FIELDS, ...ANNOUNCED_FIELDS] as const;
export type TextField = (typeof CORRECTION_FIELDS)[number];

const LOCAL_TIME = /^([01]\d|2[0-3]):[0-5]\d$/;
/** ISO 8601 duration of days, hours and minutes; no months, because their length varies. */
const OFFSET = /^P(?!$)(?:(\d{1,3})D)?(?:T(?!$)(?:(\d{1,3})H)?(?:(\d{1,4})M)?)?$/;

const STATUSES = ['booked', 'confirmed', 'unknown'] as const;

const localTime = z.string().regex(LOCAL_TIME, issueText(message('settings.local-time')));

/** An offset: calendar days, which preserve the local time, and an exact remainder in minutes. */
const offset = z
  .string()
  .regex(OFFSET, issueText(message('settings.duration')))
  .transform((written) => {
    const [, days = '0', hours = '0', minutes = '0'] = OFFSET.exec(written) ?? [];
    return { days: Number(days), minutes: Number(hours) * 60 + Number(minutes) };
  })
  .refine(({ days, minutes }) => days + minutes > 0 && days <= 60, issueText(message('settings.duration-range')));

/** A text with fields in braces; an unknown field is a fault at the start. */
function template(fields: readonly TextField[]) {
  return text.max(1_000).refine((written) => namesOnly(written, fields), {
    error: issueText(message('settings.text-fields', { fields: inBraces(fields) })),
  });
}

function inBraces(fields: readonly TextField[]): string {
  return fields.map((field) => `{${field}}`).join(' ');
}

/** Decides whether a text has only known fields and matching braces. */
function namesOnly(written: string, fields: readonly TextField[]): boolean {
  const named = [...written.matchAll(/\{([^{}]*)\}/g)].map(([, field = '']) => field);
  if (/[{}]/.test(written.replaceAll(/\{[^{}]*\}/g, ''))) return false;
  return named.every((field) => fields.some((allowed) => allowed === field));
}

function oneOrAll(value: z.ZodType<string, string>) {
  return z.union([z.literal('all'), distinctList(value).min(1)]).default('all');
}

const correctionTexts = z.strictObject({
  subject: template(CORRECTION_FIELDS).optional().describe('Subject of the e-mail.'),
  text: template(CORRECTION_FIELDS).describe('Text of the message.'),
});
const texts = z.strictObject({
  subject: template(TEXT_FIELDS).optional().describe('Subject of the e-mail.'),
  text: template(TEXT_FIELDS).describe('Text of the message.'),
  moved: correctionTexts
    .optional()
    .describe(`Text for a changed time after a reminder was sent. Additional fields: ${inBraces(ANNOUNCED_FIELDS)}.`),
  cancelled: correctionTexts
    .optional()
    .describe('Text for a cancelled appointment after a reminder was sent. Fields: see `moved`.'),
});

const rule = z
  .strictObject({
    before: offset.optional().meta({
      description:
        'Time before the start: `P1D` means the same local time one day earlier, `PT2H` exactly two hours earlier.',
      examples: ['P1D'],
    }),
    at: z
      .strictObject({
        daysBefore: wholeNumber(0, 60).describe('Days before the day of the appointment.'),
        time: localTime.meta({ description: 'Local time.', examples: ['18:00'] }),
      })
      .optional()
      .describe('Fixed local time, as an alternative to `before`.'),
    channels: distinctList(z.string().regex(NAME, issueText(NAME_REMEDY)))
      .min(1)
      .describe('Channels from `reminders.channels`. Each channel sends the reminder.'),
    agendas: oneOrAll(text).describe('Ids of agendas whose appointments have reminders, or `all`.'),
    treatments: oneOrAll(text).describe('Ids of treatments whose appointments have reminders, or `all`.'),
    statuses: z
      .array(z.enum(STATUSES))
      .min(1)
      .default(['booked', 'confirmed'])
      .describe('Statuses of appointments that have reminders.'),
    group: z
      .enum(['recipient', 'none'])
      .optional()
      .describe(
        'Several visits of one number or address on one day: one message that lists the visits (`recipient`), or one message each (`none`). Default: `recipient` for `sms`, `none` for other channels. A list has no link.',
      ),
    minimumLeadMinutes: wholeNumber(0, 10_080).optional().describe('Overrides the general value for this rule.'),
    graceMinutes: wholeNumber(1, 1_440).optional().describe('Overrides the general value for this rule.'),
    texts: z
      .strictObject({ it: texts.optional(), en: texts.optional() })
      .optional()
      .describe(`Your own texts by language, instead of the default texts. Fields: ${inBraces(TEXT_FIELDS)}.`),
    corrections: z
      .strictObject({
        moved: z
          .boolean()
          .default(true)
          .describe(
            'Sends a correction if the time changes, or if the message named a location and the location changes.',
          ),
        cancelled: z.boolean().default(true).describe('Sends a correction if the appointment is cancelled.'),
      })
      .prefault({})
      .describe('Messages to patients whose reminder is no longer correct.'),
  })
  .refine(
    ({ before, at }) => (before === undefined) !== (at === undefined),
    issueText(message('settings.before-or-at')),
  );

const channel = z.strictObject({
  kind: z.string().describe('Kind of channel.'),
  consent: name
    .optional()
    .describe(
      "Consent that a patient must have given for this channel, by a name in the profile's `patients.consents`.",
    ),
  settings: z.unknown().optional().describe('Settings of the channel, described below by kind.'),
});

/** Default of `rescheduleWithinMinutes`, also for the calendars of a tenant without reminders. */
export const DEFAULT_RESCHEDULE_MINUTES = 10;

/** Schema of `reminders` in a tenant file. Each channel's settings are checked by its module. */
export const reminderSchema = z.strictObject({
  sender: text
    .optional()
    .describe("Sender name of reminders. Use a neutral name if the clinic's name reveals health data."),
  phone: text.optional().describe('Phone number of the clinic in reminder texts.'),
  phoneRegion: z
    .string()
    .regex(/^[A-Z]{2}$/, issueText(message('settings.country')))
    .default('IT')
    .describe('Country of patient phone numbers that have no international prefix.'),
  calendarEntry: z.boolean().default(false).describe('Attaches a calendar event to e-mails.'),
  quietHours: z
    .strictObject({
      from: localTime.default('21:00').describe('Local time at which the period starts.'),
      to: localTime.default('08:00').describe('Local time at which the period ends.'),
    })
    .prefault({})
    .refine(leavesADay, issueText(message('settings.quiet-hours')))
    .describe(
      'Period without messages, in the time zone of the location, or of the tenant if the location has no zone.',
    ),
  minimumLeadMinutes: wholeNumber(0, 10_080)
    .default(60)
    .describe(
      'Minimum minutes between reminder and start. If less than this time passed between the booking or move and the due time, the daemon sends no reminder, because the patient knows the time.',
    ),
  graceMinutes: wholeNumber(1, 1_440)
    .default(120)
    .describe('Minutes for which a late reminder is still sent, outside quiet hours.'),
  unreachableMinutes: wholeNumber(1, 1_440)
    .default(60)
    .describe('Minutes for which a due reminder waits for an unavailable clinic. After that the reminder is dropped.'),
  maxPerHour: wholeNumber(1, 100_000)
    .default(200)
    .describe('Maximum number of reminders that the daemon starts to send per hour.'),
  correctionGuard: z
    .strictObject({
      share: z
        .number()
        .min(0)
        .max(1)
        .default(0.2)
        .describe('Limit as a share of the future appointments with a sent reminder, from 0 to 1.'),
      count: wholeNumber(0, 100_000).default(10).describe('Limit as a number of appointments.'),
      holdExpiresAfterHours: wholeNumber(1, 8_760)
        .default(168)
        .describe('Hours after which an undecided hold is rejected.'),
    })
    .prefault({})
    .describe('Limits for corrections in one hour. The daemon holds corrections that exceed both limits.'),
  rescheduleWithinMinutes: wholeNumber(0, 1_440)
    .default(DEFAULT_RESCHEDULE_MINUTES)
    .describe(
      'Minutes within which a cancelled or deleted appointment and a new appointment of the same patient are one move. The event of the new appointment takes over what users added to the event of the first. A cancellation waits for this time, unless the appointment begins within two hours after it. 0: no moves are recognised.',
    ),
  keepDays: wholeNumber(1, 1_096).default(90).describe('Days for which the result of each reminder is kept.'),
  links: z
    .strictObject({
      cancel: z.boolean().default(false).describe('Allows patients to cancel on the page.'),
      cancelUntilHours: wholeNumber(0, 720)
        .default(24)
        .describe(
          "Hours before the start after which patients cannot cancel online. The page then shows the clinic's phone number.",
        ),
    })
    .optional()
    .describe('Adds a URL to reminders at which the patient confirms the appointment. Requires `http.publicUrl`.'),
  channels: mapOf(channel).describe('Channels that reach patients.'),
  rules: mapOf(rule).describe('Times of reminders and the appointments concerned.'),
});

/** Parsed `reminders` of a tenant file. */
export type ReminderFile = z.output<typeof reminderSchema>;
/** Parsed rule. */
export type ReminderRuleFile = z.output<typeof rule>;

const LEAST_DAY_MINUTES = 240;

/** Converts a local time to minutes since midnight. */
export function minuteOfDay(written: string): number {
  const [hours, minutes] = written.split(':').map(Number);
  return (hours ?? 0) * 60 + (minutes ?? 0);
}

function leavesADay({ from, to }: { from: string; to: string }): boolean {
  const night = (minuteOfDay(to) - minuteOfDay(from) + 1_440) % 1_440;
  return 1_440 - night >= LEAST_DAY_MINUTES;
}
