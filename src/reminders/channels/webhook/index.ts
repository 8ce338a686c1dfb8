import { Webhook } from 'standardwebhooks';
import type { HttpResponse } from '../../../http/door.ts';
import { MirrorError } from '../../../model/errors.ts';
import { SECOND_MS } from '../../../model/time.ts';
import type { ChannelContext, ChannelModule, Delivery, Reminder } from '../channel.ts';
import { deliveryOfFailure } from '../http-failure.ts';
import { payloadOf } from './payload.ts';
import { PATIENT_FIELDS, type WebhookSettings, webhookSchema } from './schemas.ts';

/** Standard Webhooks 1.0 asks for 15 to 30 seconds. */
const TIMEOUT_MS = 20 * SECOND_MS;
/** What receivers are told to expect at most (Standard Webhooks 1.0, "Payload size"). */
const LARGEST_BODY_BYTES = 20_000;
/** Nothing in an answer is read but its status. */
const LARGEST_ANSWER_BYTES = 256 * 1024;

/** Reminders posted to a receiver of the clinic, signed by Standard Webhooks 1.0. */
export const webhook: ChannelModule<WebhookSettings> = {
  kind: 'webhook',
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
  if (Buffer.byteLength(body) > LARGEST_BODY_BYTES) {
    return { result: 'refused', code: 'payload-too-large', optedOut: false, channelGone: false };
  }
  try {
    const answer = await http.send({
      label: 'reminder.webhook',
      method: 'POST',
      url: settings.url,
      headers: { 'content-type': 'application/json', ...signed(settings, reminder.id, now, body) },
      body,
      signal,
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: LARGEST_ANSWER_BYTES,
      publicOnly: !settings.allowPrivateAddresses,
    });
    return deliveryOf(answer);
  } catch (error) {
    return deliveryOfFailure(error);
  }
}

/** One signature for each secret; a receiver takes the message when one of them fits. */
function signed({ secrets }: WebhookSettings, id: string, now: number, body: string): Record<string, string> {
  const at = new Date(now);
  return {
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(now / SECOND_MS)),
    'webhook-signature': secrets.map((secret) => new Webhook(secret.reveal()).sign(id, at, body)).join(' '),
  };
}

function deliveryOf({ status, retryAfterMs }: HttpResponse): Delivery {
  if (status >= 200 && status < 300) return { result: 'sent', reference: null };
  if (status === 410) return { result: 'refused', code: 'webhook-gone', optedOut: false, channelGone: true };
  if (status === 401 || status === 403) {
    throw new MirrorError('the receiver refuses our signature', {
      actor: 'settings',
      code: 'webhook-unauthorized',
      retry: 'later',
      status,
      remedy: 'give both sides the same signing secret',
    });
  }
  if (status === 429) return { result: 'later', code: 'throttled', retryAfterMs };
  if (status >= 500) return { result: 'later', code: 'webhook-unavailable', retryAfterMs };
  return { result: 'later', code: status >= 400 ? 'webhook-refused' : 'webhook-redirected', retryAfterMs };
}
