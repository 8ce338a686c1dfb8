import { z } from 'zod';
import { isTooLarge, postSigned } from '../../../../core/http/signed-webhook.ts';
import type { Instant } from '../../../../core/model/time.ts';
import { webhookKeys } from '../../../../settings/delivery-schema.ts';
import type { SecretSchemas } from '../../../../settings/secret-reference.ts';
import {
  type ChannelContext,
  type ChannelModule,
  type Delivery,
  deliveryOfFailure,
  type Reminder,
} from '../channel.ts';

/** Posts reminders to a receiver of the clinic, signed by Standard Webhooks 1.0. */
export const webhook: ChannelModule<WebhookSettings> = {
  kind: 'webhook',
  purpose: 'webhooks',
  needs: 'nothing',
  deduplicates: true,
  readsPatient: ({ fields }) => fields.some((field) => PATIENT_FIELDS.includes(field)),
  settingsSchema: webhookSchema,
  open: (context) => ({ send: (reminder, signal) => send(context, reminder, signal) }),
};

async function send(
  { settings, http, clock }: ChannelContext<WebhookSettings>,
  reminder: Reminder,
  signal: AbortSignal,
): Promise<Delivery> {
  const now = clock();
  const body = payloadOf(reminder, settings.fields, now);
  if (isTooLarge(body)) {
    return { result: 'refused', code: 'payload-too-large', optedOut: false, channelGone: false };
  }
  try {
    const message = { label: 'reminder.webhook', id: reminder.id, now, body };
    const answer = await postSigned(http, settings, message, signal);
    if (answer.result === 'taken') return { result: 'sent', reference: null };
    if (answer.result === 'later') return answer;
    return { result: 'refused', code: 'webhook-gone', optedOut: false, channelGone: true };
  } catch (error) {
    return deliveryOfFailure(error);
  }
}

/** Optional payload fields that the settings may add to the ids. */
const PAYLOAD_FIELDS = [
  'startAt',
  'endAt',
  'zone',
  'language',
  'sender',
  'subject',
  'text',
  'email',
  'phone',
  'link',
] as const;
type PayloadField = (typeof PAYLOAD_FIELDS)[number];
/** Fields with patient data. */
const PATIENT_FIELDS: readonly PayloadField[] = ['language', 'subject', 'text', 'email', 'phone'];

/** Returns the schema of the channel in the tenant file. */
function webhookSchema(secrets: SecretSchemas) {
  const { url, ...keys } = webhookKeys(secrets);
  return z.strictObject({
    url: url.describe('URL that receives reminders.'),
    secrets: keys.secrets,
    fields: z.array(z.enum(PAYLOAD_FIELDS)).default([]).describe('Patient data in the payload, in addition to ids.'),
  });
}

/** Parsed settings of a webhook. */
type WebhookSettings = z.output<ReturnType<typeof webhookSchema>>;

const REMINDER_EVENT = 'appointment.reminder.due';
const CORRECTION_EVENT = 'appointment.reminder.corrected';

const READ_FIELD: Readonly<Record<PayloadField, (reminder: Reminder) => string | null>> = {
  startAt: ({ appointment }) => new Date(appointment.startAt).toISOString(),
  endAt: ({ appointment }) => new Date(appointment.endAt).toISOString(),
  zone: ({ appointment }) => appointment.zone,
  language: ({ content }) => content.language,
  sender: ({ content }) => content.sender,
  subject: ({ content }) => content.subject,
  text: ({ content }) => content.text,
  email: ({ recipient }) => recipient.email,
  phone: ({ recipient }) => recipient.phone,
  link: ({ content }) => content.link?.url ?? null,
};

/**
 * Returns the body of an attempt (Standard Webhooks 1.0, "Payload structure"): ids and the configured fields.
 * @param now event time: the time of delivery
 */
export function payloadOf(reminder: Reminder, fields: readonly PayloadField[], now: Instant): string {
  const { id, tenant, rule, appointment, recipient, correction = null } = reminder;
  const allowed = fields.map((field) => [field, READ_FIELD[field](reminder)] as const);
  return JSON.stringify({
    type: correction === null ? REMINDER_EVENT : CORRECTION_EVENT,
    timestamp: new Date(now).toISOString(),
    data: {
      reminderId: id,
      tenant,
      rule,
      appointmentId: appointment.id,
      agendaId: appointment.agendaId,
      patientId: recipient.patientId,
      ...(correction !== null && { correction }),
      ...Object.fromEntries(allowed),
    },
  });
}
