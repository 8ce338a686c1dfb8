import { z } from 'zod';
import { instant, source } from '../../core/model/schemas.ts';

export const report = z.object({ state: z.enum(['delivered', 'failed']), code: z.string().nullable(), at: instant });
/** Report of the receiver after delivery. */
export type DeliveryReport = z.infer<typeof report>;

const reminder = z.object({
  id: z.string().nullable().describe('Null before planning'),
  appointment: z.string(),
  rule: z.string(),
  channel: z.string(),
  dueAt: instant,
  startAt: instant,
  zone: z.string(),
  correction: z
    .enum(['moved', 'changed', 'cancelled'])
    .nullable()
    .describe('Reason for the correction; null for a reminder'),
  state: z.enum(['planned', 'sending', 'sent', 'dropped', 'unknown']),
  reason: z.string().nullable(),
  finishedAt: instant.nullable(),
  attempts: z.number(),
  lastCode: z.string().nullable(),
  reference: z.string().nullable(),
  report: report.nullable().describe('Delivery report of the gateway'),
  answer: z
    .object({ is: z.enum(['confirmed', 'cancelled']), at: instant })
    .nullable()
    .describe('Answer of the patient through the link'),
});
/** A reminder without name and contact data. */
export type ReminderLine = z.infer<typeof reminder>;

export const reminders = z.object({
  tenant: z.string(),
  day: z.string().nullable().describe('The requested local day'),
  complete: z.boolean().describe("False if the clinic's list was incomplete"),
  reminders: z.array(reminder),
});
/** Reminders of a tenant, by time. */
export type ReminderList = z.infer<typeof reminders>;

const rule = z.union([
  z.object({ rule: z.string(), channel: z.string(), dueAt: instant, zone: z.string() }),
  z.object({ rule: z.string(), channel: z.string(), excluded: z.string() }),
]);
/** Result of a rule for an appointment's present clinic data. */
export type RuleView = z.infer<typeof rule>;

export const explanation = z.object({
  tenant: z.string(),
  appointment: z.string(),
  source,
  rules: z.array(rule),
  reminders: z.array(reminder),
});
/** Reminders of one appointment, with rules and messages. */
export type ReminderExplanation = z.infer<typeof explanation>;

const reply = z.object({
  /** Hash of the gateway's id. */
  id: z.string(),
  ...{ phone: z.string(), text: z.string(), at: instant },
});
/** A patient's reply. Patient data: shown to operators only. */
export type PatientReply = z.infer<typeof reply>;

export const replies = z.object({
  tenant: z.string(),
  replies: z.array(reply),
});
/** Patients' replies for the desk. */
export type ReplyList = z.infer<typeof replies>;
