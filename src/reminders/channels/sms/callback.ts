import { createHmac, timingSafeEqual } from 'node:crypto';
import type { CallbackAnswer, ChannelCallback, ChannelEvent } from '../channel.ts';
import { failureCode, isOptOut } from './errors.ts';
import type { SmsSettings } from './schemas.ts';

/**
 * Words that end all messages when a reply is nothing else: Twilio's own (https://help.twilio.com/articles/223134027) and Italian
 * ones. "Annulla" is not among them: it may mean the appointment.
 */
const STOP_WORDS = new Set([
  ...['stop', 'stopall', 'unsubscribe', 'cancel', 'end', 'quit', 'optout', 'revoke'],
  ...['basta', 'disiscrivi', 'disiscrivimi', 'cancellami'],
]);
const START_WORDS = new Set(['start', 'unstop']);
const E164 = /^\+[1-9]\d{6,14}$/;
const NOT_ARRIVED = new Set(['failed', 'undelivered', 'canceled']);

/**
 * Reads a status report or a patient's reply. It must be signed (https://www.twilio.com/docs/usage/security#validating-requests); what
 * is not is answered with 403 and tells nothing.
 * @param address the callback address as it was given to the gateway, never as a request names it
 */
export function readCallback(
  { method, query, headers, body }: ChannelCallback,
  { authToken, accountSid }: Pick<SmsSettings, 'authToken' | 'accountSid'>,
  address: string,
): CallbackAnswer {
  if (method !== 'POST') return { status: 405, events: [] };
  const form = new URLSearchParams(body);
  const signature = signatureOf(authToken.reveal(), address + query, form);
  if (!isSame(signature, headers['x-twilio-signature'] ?? '')) return { status: 403, events: [] };
  if (form.get('AccountSid') !== accountSid) return { status: 403, events: [] };
  // A status report repeats no text; a reply has no state of delivery but `received`.
  const state = form.get('MessageStatus');
  return { status: 204, events: state === null ? repliesOf(form) : reportsOf(form, state) };
}

/** HMAC-SHA1 over the address and every parameter, sorted by name, name and value without anything between. */
export function signatureOf(authToken: string, address: string, form: URLSearchParams): string {
  const names = [...new Set(form.keys())].sort();
  const whole = names.flatMap((name) => [...new Set(form.getAll(name))].sort().map((value) => name + value));
  return createHmac('sha1', authToken)
    .update(address + whole.join(''))
    .digest('base64');
}

function isSame(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)];
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
  // What a messaging service with advanced opt-out has made of the reply, else the reply itself.
  const word = (form.get('OptOutType') ?? form.get('Body') ?? '').toLowerCase().replaceAll(/[^\p{L}]/gu, '');
  if (STOP_WORDS.has(word)) return [{ kind: 'opted-out', who: { phone } }];
  return START_WORDS.has(word) ? [{ kind: 'opted-in', who: { phone } }] : [];
}
