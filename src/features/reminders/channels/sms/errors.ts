import { z } from 'zod';
import type { HttpResponse } from '../../../../http/client.ts';
import { isHtml, readJson } from '../../../../http/json.ts';
import { MirrorError } from '../../../../model/errors.ts';
import { namingSources } from '../../../../settings/secret.ts';
import type { Delivery } from '../channel.ts';
import type { SmsSettings } from './schemas.ts';

/**
 * Twilio's error codes that say why a number gets no message.
 * @see https://www.twilio.com/docs/api/errors
 */
const NOT_ARRIVING: readonly { code: string; numbers: readonly number[] }[] = [
  { code: 'sms-opted-out', numbers: [21610] },
  { code: 'number-unreachable', numbers: [21211, 21214, 21217, 21612, 21614, 21635, 30003, 30005, 30006] },
  { code: 'region-not-enabled', numbers: [21408] },
];
/** Any other reason: after the gateway took the message, and before. */
const NOT_DELIVERED = { code: 'sms-failed' };
const REFUSED = { code: 'sms-refused' };
const THROTTLED = new Set([14107, 20429, 21611, 30001]);
const SENDER_REFUSED = new Set([21212, 21603, 21606, 21659, 21660, 21701, 21703, 21704, 21705]);

const errorBody = z.object({ code: z.number().nullish() });

/** Whether a code means that the recipient wants no more messages. */
export function isOptOut(number: number): boolean {
  return meaningOf(number)?.code === 'sms-opted-out';
}

/** Our word for why a message did not arrive. */
export function failureCode(number: number | null): string {
  return (meaningOf(number) ?? NOT_DELIVERED).code;
}

function meaningOf(number: number | null) {
  return NOT_ARRIVING.find(({ numbers }) => number !== null && numbers.includes(number));
}

/**
 * What an answer other than success means. Only what Twilio itself says is believed: anything else may stand between.
 * @throws MirrorError `settings` when login or sender are refused; nothing was sent then
 */
export function deliveryOfRefusal(answer: HttpResponse, settings: Pick<SmsSettings, 'authToken'>): Delivery {
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
  return new MirrorError('the gateway refuses the login', {
    actor: 'settings',
    code: 'sms-login-refused',
    retry: 'later',
    status,
    remedy: namingSources('correct accountSid and authToken, and see that the account is active', [authToken]),
  });
}

function senderRefused(status: number): MirrorError {
  return new MirrorError('the gateway refuses the account or the sender', {
    actor: 'settings',
    code: 'sms-sender-refused',
    retry: 'later',
    status,
    remedy: 'correct accountSid and from or messagingServiceSid',
  });
}
