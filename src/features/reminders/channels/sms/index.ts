import { createHmac, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { isHtml, readJson } from '../../../../core/http/answer.ts';
import type { HttpResponse } from '../../../../core/http/client.ts';
import { MirrorError } from '../../../../core/model/errors.ts';
import { SECOND_MS } from '../../../../core/model/time.ts';
import { issueText, message } from '../../../../messages/message.ts';
import { namingSources, type SecretSchemas } from '../../../../settings/secret-reference.ts';
import {
  type CallbackAnswer,
  type ChannelCallback,
  type ChannelContext,
  type ChannelEvent,
  type ChannelModule,
  type Delivery,
  deliveryOfFailure,
  type Reminder,
  segmentsOf,
  textWithLink,
} from '../channel.ts';
import { gsmTextOf } from './gsm-text.ts';
import { meaningOfReply } from './replies.ts';

/** An E.164 number, a short code, or a name of at most 11 letters and digits with at least one letter. */
const SENDER = /^(\+[1-9]\d{6,14}|\d{3,8}|(?=.*[A-Za-z])[A-Za-z0-9 ]{1,11})$/;
/** Longest queue time of Twilio. */
const LONGEST_VALIDITY_SECONDS = 36_000;

/** Returns the schema of the channel in the tenant file. */
function smsSchema(secrets: SecretSchemas) {
  return z
    .strictObject({
      accountSid: z
        .string()
        .regex(/^AC[0-9a-f]{32}$/, issueText(message('sms.account')))
        .describe('Account SID in Twilio.'),
      authToken: secrets.text.describe("Auth token of the account. Also verifies Twilio's delivery reports."),
      from: z
        .string()
        .regex(SENDER, issueText(message('sms.sender')))
        .optional()
        .describe('Phone number or name of the sender.'),
      messagingServiceSid: z
        .string()
        .regex(/^MG[0-9a-f]{32}$/, issueText(message('sms.service')))
        .optional()
        .describe('Messaging service, as an alternative to `from`.'),
      maximumSegments: z
        .int()
        .min(1)
        .max(10)
        .default(3)
        .describe('Maximum number of SMS segments. Longer texts are refused, never cut.'),
      validitySeconds: z
        .int()
        .min(1)
        .max(LONGEST_VALIDITY_SECONDS)
        .default(3_600)
        .describe('Seconds after which the gateway discards an unsent message.'),
      server: z
        .url({ protocol: /^https?$/ })
        .refine(isSafe, issueText(message('sms.server')))
        .default('https://api.twilio.com')
        .describe('URL of the Twilio API, for example of another region.'),
    })
    .refine(({ from, messagingServiceSid }) => (from === undefined) !== (messagingServiceSid === undefined), {
      message: issueText(message('sms.one-sender')),
    });
}

/** Parsed settings of text messages. */
type SmsSettings = z.output<ReturnType<typeof smsSchema>>;

/** The account's credentials are sent to this URL. */
function isSafe(address: string): boolean {
  const { protocol, hostname, username } = new URL(address);
  return username === '' && (protocol === 'https:' || /^(127\.[\d.]+|\[::1\]|localhost)$/.test(hostname));
}

/**
 * Twilio's error codes for numbers that cannot receive messages.
 * @see https://www.twilio.com/docs/api/errors
 */
const NOT_ARRIVING: readonly { code: string; numbers: readonly number[] }[] = [
  { code: 'sms-opted-out', numbers: [21610] },
  { code: 'number-unreachable', numbers: [21211, 21214, 21217, 21612, 21614, 21635, 30003, 30005, 30006] },
  { code: 'region-not-enabled', numbers: [21408] },
];
/** Default code for other failures, before or after acceptance by the gateway. */
const NOT_DELIVERED = { code: 'sms-failed' };
const REFUSED = { code: 'sms-refused' };
const THROTTLED = new Set([14107, 20429, 21611, 30001]);
const SENDER_REFUSED = new Set([21212, 21603, 21606, 21659, 21660, 21701, 21703, 21704, 21705]);

const errorBody = z.object({ code: z.number().nullish() });

/** Returns whether a code means that the recipient opted out. */
function isOptOut(number: number): boolean {
  return meaningOf(number)?.code === 'sms-opted-out';
}

/** Returns the failure code of an undelivered message. */
function failureCode(number: number | null): string {
  return (meaningOf(number) ?? NOT_DELIVERED).code;
}

function meaningOf(number: number | null) {
  return NOT_ARRIVING.find(({ numbers }) => number !== null && numbers.includes(number));
}

/**
 * Returns the result of an unsuccessful answer. Only answers by Twilio are trusted, because a proxy may have answered.
 * @throws MirrorError `settings` for refused credentials or sender; no message was sent
 */
function deliveryOfRefusal(answer: HttpResponse, settings: Pick<SmsSettings, 'authToken'>): Delivery {
  const { status, retryAfterMs } = answer;
  const number = twilioNumber(answer);
  if (status === 429 || (number !== null && THROTTLED.has(number))) {
    return { result: 'later', code: 'throttled', retryAfterMs };
  }
  if (status === 401 || (status === 403 && number !== null && number < 21_000)) throw loginRefused(status, settings);
  if (status < 400 || status >= 500 || number === null) return { result: 'unknown', code: 'sms-answer-unclear' };
  if (SENDER_REFUSED.has(number) || status === 404) throw senderRefused(status);
  const code = (meaningOf(number) ?? REFUSED).code;
  return { result: 'refused', code, optedOut: isOptOut(number), channelGone: false };
}

function twilioNumber(answer: HttpResponse): number | null {
  if (isHtml(answer)) return null;
  try {
    return errorBody.parse(readJson(answer, 'reminder.sms')).code ?? null;
  } catch {
    return null;
  }
}

function loginRefused(status: number, { authToken }: Pick<SmsSettings, 'authToken'>): MirrorError {
  return new MirrorError(message('sms-login-refused'), {
    actor: 'settings',
    code: 'sms-login-refused',
    retry: 'later',
    status,
    remedy: namingSources(message('sms-login-refused.remedy'), [authToken]),
  });
}

function senderRefused(status: number): MirrorError {
  return new MirrorError(message('sms-sender-refused'), {
    actor: 'settings',
    code: 'sms-sender-refused',
    retry: 'later',
    status,
    remedy: message('sms-sender-refused.remedy'),
  });
}

const TIMEOUT_MS = 20 * SECOND_MS;
/** @see https://www.twilio.com/docs/messaging/api/message-resource, "Body" */
const LONGEST_TEXT = 1_600;
const LARGEST_ANSWER_BYTES = 256 * 1024;

const messageSchema = z.object({
  sid: z.string().regex(/^[A-Z]{2}[0-9a-f]{32}$/),
  status: z.string(),
  error_code: z.number().nullish(),
});

/** Text messages through Twilio's REST API. The API has no idempotency key, so a possibly sent message is never sent again. */
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
      fits: (content) => fits(gsmTextOf(textWithLink(content)), settings),
      ...(callbackUrl === null ? {} : { takeCallback: (callback) => readCallback(callback, settings, callbackUrl) }),
    };
  },
};

function fits(text: string, { maximumSegments }: SmsSettings): boolean {
  return text.length <= LONGEST_TEXT && segmentsOf(text).count <= maximumSegments;
}

async function send(
  { settings, callbackUrl, http }: ChannelContext<SmsSettings>,
  { recipient, content }: Reminder,
  signal: AbortSignal,
): Promise<Delivery> {
  const text = gsmTextOf(textWithLink(content));
  if (recipient.phone === null) return refusedFor('no-phone');
  if (!fits(text, settings)) return refusedFor('text-too-long');
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

/** The gateway accepted the message. The answer already contains an immediate failure. */
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

const E164 = /^\+[1-9]\d{6,14}$/;
const NOT_ARRIVED = new Set(['failed', 'undelivered', 'canceled']);
/** Base64 of the 20 bytes of a SHA-1. */
const SIGNATURE = /^[A-Za-z0-9+/]{27}=$/;
/** Twilio sends about 30 parameters, plus two for each of at most ten files (docs/design/unproved.md). */
const MOST_PARAMETERS = 100;

/**
 * Parses a status report or a patient's reply. An unsigned request is answered with 403 and has no events.
 * @param address the callback URL given to the gateway, never the URL of the request
 * @see https://www.twilio.com/docs/usage/security#validating-requests
 */
export function readCallback(
  { method, query, headers, body }: ChannelCallback,
  { authToken, accountSid }: Pick<SmsSettings, 'authToken' | 'accountSid'>,
  address: string,
): CallbackAnswer {
  if (method !== 'POST') return { status: 405, events: [] };
  const presented = headers['x-twilio-signature'] ?? '';
  // The URL is public: requests with a malformed signature or too many parameters are refused before parsing.
  if (!SIGNATURE.test(presented) || isCrowded(body)) return { status: 403, events: [] };
  const form = new URLSearchParams(body);
  if (!isSame(signatureOf(authToken.reveal(), address + query, form), presented)) return { status: 403, events: [] };
  if (form.get('AccountSid') !== accountSid) return { status: 403, events: [] };
  // A status report has no text. The only delivery state of a reply is `received`.
  const state = form.get('MessageStatus');
  return { status: 204, events: state === null ? repliesOf(form) : reportsOf(form, state) };
}

/** Returns the HMAC-SHA1 of the URL and each parameter, sorted by name, without separators. */
export function signatureOf(authToken: string, address: string, form: URLSearchParams): string {
  const values = new Map<string, Set<string>>();
  for (const [name, value] of form) values.set(name, (values.get(name) ?? new Set()).add(value));
  const hmac = createHmac('sha1', authToken).update(address);
  for (const name of [...values.keys()].sort()) {
    for (const value of [...(values.get(name) ?? [])].sort()) hmac.update(name + value);
  }
  return hmac.digest('base64');
}

function isCrowded(body: string): boolean {
  return body.split('&', MOST_PARAMETERS + 1).length > MOST_PARAMETERS;
}

function isSame(expected: string, presented: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(presented)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function reportsOf(form: URLSearchParams, state: string): ChannelEvent[] {
  const reference = form.get('MessageSid') ?? '';
  if (reference === '') return [];
  if (state === 'delivered' || state === 'read') return [{ kind: 'delivered', reference }];
  if (!NOT_ARRIVED.has(state)) return [];
  const code = /^\d{1,6}$/.test(form.get('ErrorCode') ?? '') ? Number(form.get('ErrorCode')) : null;
  const failed: ChannelEvent = { kind: 'failed', reference, code: failureCode(code) };
  const phone = form.get('To') ?? '';
  if (code === null || !isOptOut(code) || !E164.test(phone)) return [failed];
  return [failed, { kind: 'opted-out', who: { phone } }];
}

function repliesOf(form: URLSearchParams): ChannelEvent[] {
  const phone = form.get('From') ?? '';
  if (!E164.test(phone)) return [];
  const message = form.get('MessageSid') ?? '';
  const text = form.get('Body') ?? '';
  // Advanced opt-out of a messaging service has decided already.
  const decided = (form.get('OptOutType') ?? '').toLowerCase();
  const { asks, says } =
    decided === 'stop' || decided === 'start' ? { asks: decided, says: false } : meaningOfReply(text);
  const events: ChannelEvent[] = [];
  if (asks === 'stop') events.push({ kind: 'opted-out', who: { phone } });
  if (asks === 'start' && message !== '') events.push({ kind: 'opted-in', who: { phone }, message });
  if (says && message !== '') events.push({ kind: 'replied', who: { phone }, message, text });
  return events;
}
