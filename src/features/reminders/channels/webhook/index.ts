import { isTooLarge, postSigned } from '../../../../http/signed-webhook.ts';
import type { ChannelContext, ChannelModule, Delivery, Reminder } from '../channel.ts';
import { deliveryOfFailure } from '../http-failure.ts';
import { payloadOf } from './payload.ts';
import { PATIENT_FIELDS, type WebhookSettings, webhookSchema } from './schemas.ts';

/** Reminders posted to a receiver of the clinic, signed by Standard Webhooks 1.0. */
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
