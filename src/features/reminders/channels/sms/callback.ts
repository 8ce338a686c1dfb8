import { createHmac, timingSafeEqual } from 'node:crypto';
import type { CallbackAnswer, ChannelCallback, ChannelEvent } from '../channel.ts';
import { failureCode, isOptOut } from './errors.ts';
import type { SmsSettings } from './schemas.ts';

/**
 * Words that end all messages when a reply is nothing else: Twilio's own and Italian
 * ones. "Annulla" is not among them: it may mean the appointment.
 * @see https://help.twilio.com/articles/223134027
 */
const STOP_WORDS = new Set([
  ...['stop', 'stopall', 'unsubscribe', 'cancel', 'end', 'quit', 'optout', 'revoke'],
  ...['basta', 'disiscrivi', 'disiscrivimi', 'cancellami'],
]);
const START_WORDS = new Set(['start', 'unstop']);
const E164 = /^\+[1-9]\d{6,14}$/;
const NOT_ARRIVED = new Set(['failed', 'undelivered', 'canceled']);
/** Base64 of the 20 bytes of a SHA-1. */
const SIGNATURE = /^[A-Za-z0-9+/]{27}=$/;
/** Twilio sends some thirty, two more for each of at most ten files of a message (docs/unproved.md). */
const MOST_PARAMETERS = 100;

/**
 * Reads a status report or a patient's reply. It must be signed; what
 * is not is answered with 403 and tells nothing.
 * @param address the callback address as it was given to the gateway, never as a request names it
 * @see https://www.twilio.com/docs/usage/security#validating-requests
 */
export function readCallback(
  { method, query, headers, body }: ChannelCallback,
  { authToken, accountSid }: Pick<SmsSettings, 'authToken' | 'accountSid'>,
  address: string,
): CallbackAnswer {
  if (method !== 'POST') return { status: 405, events: [] };
  const presented = headers['x-twilio-signature'] ?? '';
  // Anybody can post here: what can't be signed is put aside before it is taken apart.
  if (!SIGNATURE.test(presented) || isCrowded(body)) return { status: 403, events: [] };
  const form = new URLSearchParams(body);
  if (!isSame(signatureOf(authToken.reveal(), address + query, form), presented)) return { status: 403, events: [] };
  if (form.get('AccountSid') !== accountSid) return { status: 403, events: [] };
  // A status report repeats no text; a reply has no state of delivery but `received`.
  const state = form.get('MessageStatus');
  return { status: 204, events: state === null ? repliesOf(form) : reportsOf(form, state) };
}

/** HMAC-SHA1 over the address and every parameter, sorted by name, name and value without anything between. */
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
  // What a messaging service with advanced opt-out has made of the reply, else the reply itself.
  const word = (form.get('OptOutType') ?? form.get('Body') ?? '').toLowerCase().replaceAll(/[^\p{L}]/gu, '');
  if (STOP_WORDS.has(word)) return [{ kind: 'opted-out', who: { phone } }];
  const message = form.get('MessageSid') ?? '';
  return START_WORDS.has(word) && message !== '' ? [{ kind: 'opted-in', who: { phone }, message }] : [];
}
