import { z } from 'zod';
import type { HttpResponse } from '../../../../http/client.ts';
import { readJson } from '../../../../http/json.ts';
import { SECOND_MS } from '../../../../model/time.ts';
import type { ChannelContext, ChannelModule, Delivery, Reminder } from '../channel.ts';
import { deliveryOfFailure } from '../http-failure.ts';
import { textWithLink } from '../link-lines.ts';
import { segmentsOf } from '../segments.ts';
import { readCallback } from './callback.ts';
import { deliveryOfRefusal, failureCode, isOptOut } from './errors.ts';
import { type SmsSettings, smsSchema } from './schemas.ts';

const TIMEOUT_MS = 20 * SECOND_MS;
/** @see https://www.twilio.com/docs/messaging/api/message-resource, "Body" */
const LONGEST_TEXT = 1_600;
const LARGEST_ANSWER_BYTES = 256 * 1024;

const messageSchema = z.object({
  sid: z.string().regex(/^[A-Z]{2}[0-9a-f]{32}$/),
  status: z.string(),
  error_code: z.number().nullish(),
});

/**
 * Text messages by Twilio's REST API. It knows no key for a repeated request, so what may have been sent is never sent again.
 */
export const sms: ChannelModule<SmsSettings> = {
  kind: 'sms',
  purpose: 'sms',
  needs: 'phone',
  deduplicates: false,
  settingsSchema: smsSchema,
  open(context) {
    const { settings, callbackUrl } = context;
    return {
      send: (reminder, signal) => send(context, reminder, signal),
      ...(callbackUrl === null ? {} : { takeCallback: (callback) => readCallback(callback, settings, callbackUrl) }),
    };
  },
};

async function send(
  { settings, callbackUrl, http }: ChannelContext<SmsSettings>,
  { recipient, content }: Reminder,
  signal: AbortSignal,
): Promise<Delivery> {
  const text = textWithLink(content);
  if (recipient.phone === null) return refusedFor('no-phone');
  if (text.length > LONGEST_TEXT || segmentsOf(text).count > settings.maximumSegments)
    return refusedFor('text-too-long');
  const form = new URLSearchParams({
    To: recipient.phone,
    ...(settings.from === undefined
      ? { MessagingServiceSid: settings.messagingServiceSid ?? '' }
      : { From: settings.from }),
    Body: text,
    ValidityPeriod: String(settings.validitySeconds),
    ...(callbackUrl === null ? {} : { StatusCallback: callbackUrl }),
  });
  const login = Buffer.from(`${settings.accountSid}:${settings.authToken.reveal()}`).toString('base64');
  let answer: HttpResponse;
  try {
    answer = await http.send({
      label: 'reminder.sms',
      method: 'POST',
      url: `${settings.server.replace(/\/+$/, '')}/2010-04-01/Accounts/${settings.accountSid}/Messages.json`,
      headers: { authorization: `Basic ${login}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: form.toString(),
      signal,
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: LARGEST_ANSWER_BYTES,
    });
  } catch (error) {
    return deliveryOfFailure(error);
  }
  const isTaken = answer.status >= 200 && answer.status < 300;
  return isTaken ? deliveryOfMessage(answer) : deliveryOfRefusal(answer, settings);
}

/** The gateway took the message; what it can't send at once it says so already here. */
function deliveryOfMessage(answer: HttpResponse): Delivery {
  let message: z.infer<typeof messageSchema>;
  try {
    message = messageSchema.parse(readJson(answer, 'reminder.sms'));
  } catch {
    return { result: 'unknown', code: 'sms-answer-unclear' };
  }
  if (message.status !== 'failed' && message.status !== 'undelivered')
    return { result: 'sent', reference: message.sid };
  const code = message.error_code ?? null;
  return { ...refusedFor(failureCode(code)), optedOut: code !== null && isOptOut(code) };
}

function refusedFor(code: string) {
  return { result: 'refused' as const, code, optedOut: false, channelGone: false };
}
