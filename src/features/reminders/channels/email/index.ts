import { timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { pinnedLookup } from '../../../../http/pinned.ts';
import { smtpError } from '../../../../mail/errors.ts';
import type { SmtpFailure } from '../../../../mail/smtp.ts';
import type { MailServer } from '../../../../settings/delivery-schema.ts';
import type { CallbackAnswer, ChannelCallback, ChannelContext, ChannelModule, Delivery, Reminder } from '../channel.ts';
import { type EmailSettings, emailSchema } from './schemas.ts';

/** One mailbox, plain: no name, no list, no route, nothing that could begin a header of its own. */
const mailbox = z.email().max(254);
const REMINDER_ID = /^[0-9a-v]{32}$/;

/** E-mails over SMTP. Servers do not know repeated mails, so what may have been taken is never sent again. */
export const email: ChannelModule<EmailSettings> = {
  kind: 'email',
  purpose: 'mail',
  needs: 'email',
  deduplicates: false,
  settingsSchema: emailSchema,
  open: (context) => ({
    send: (reminder, signal) => send(context, reminder, signal),
    ...(context.callbackUrl === null ? {} : { takeCallback: (callback) => unsubscribeByClick(callback, context) }),
  }),
};

async function send(
  { settings, reach, heard, callbackUrl, unsubscribeProof, clock }: ChannelContext<EmailSettings>,
  reminder: Reminder,
  signal: AbortSignal,
): Promise<Delivery> {
  const { success, data: to } = mailbox.safeParse(reminder.recipient.email);
  if (!success) return { result: 'refused', code: 'address-invalid', optedOut: false, channelGone: false };
  // Loaded with the first mail: what builds and sends mails is large.
  const [{ messageOf }, { handOver }] = await Promise.all([import('./message.ts'), import('../../../../mail/smtp.ts')]);
  const unsubscribeUrl =
    callbackUrl === null ? null : `${callbackUrl}?reminder=${reminder.id}&proof=${unsubscribeProof(reminder.id)}`;
  const message = await messageOf(reminder, to, { settings, unsubscribeUrl, now: clock() });
  const lookup = pinnedLookup({ host: settings.host, isPlain: settings.security === 'none' }, reach);
  const result = await handOver(settings, { to: [to], message }, lookup, signal);
  const host = `${settings.host}:${settings.port}`;
  heard(host, result.done || !isOfServer(result.failure, settings) ? 'answered' : 'failed');
  if (result.done) return { result: 'sent', reference: null };
  return deliveryOfSmtpFailure(result.failure, result.handedOver, settings);
}

/**
 * A mail program's button: a POST with this body to the address in the mail, which names the reminder and carries
 * what nobody can guess (section 6). Opening the address changes nothing: programs that check links do it too.
 * @see RFC 8058 section 3.1
 */
function unsubscribeByClick(
  { method, query, body }: ChannelCallback,
  { unsubscribeProof }: Pick<ChannelContext<EmailSettings>, 'unsubscribeProof'>,
): CallbackAnswer {
  if (method !== 'POST') return { status: 405, events: [] };
  const asked = new URLSearchParams(query);
  const [reminderId, presented] = [asked.get('reminder') ?? '', Buffer.from(asked.get('proof') ?? '')];
  if (!REMINDER_ID.test(reminderId)) return { status: 400, events: [] };
  const proof = Buffer.from(unsubscribeProof(reminderId));
  if (presented.length !== proof.length || !timingSafeEqual(presented, proof)) return { status: 403, events: [] };
  const isClick = /(^|[\r\n&]|")List-Unsubscribe("[\r\n]+|=)One-Click/.test(body);
  if (!isClick) return { status: 400, events: [] };
  return { status: 204, events: [{ kind: 'opted-out', who: { reminderId } }] };
}

/**
 * What a mail that the server did not acknowledge means for a reminder.
 * @throws MirrorError `settings` when server, login or sender need a person; nothing was sent then
 */
function deliveryOfSmtpFailure(failure: SmtpFailure, handedOver: boolean, server: MailServer): Delivery {
  const error = smtpError(failure, handedOver, server);
  const { actor, code, retry, ambiguous } = error;
  if (actor !== 'remote') throw error;
  if (ambiguous) return { result: 'unknown', code };
  if (retry === 'never') return { result: 'refused', code, optedOut: false, channelGone: false };
  return { result: 'later', code, retryAfterMs: null };
}

/** Whether a mail that was not acknowledged says that the server is away: it does not answer, or takes no mail of anyone (RFC 5321, 421). */
function isOfServer(failure: SmtpFailure, server: MailServer): boolean {
  const { actor } = smtpError(failure, false, server);
  return actor === 'remote' && (failure.reply === null || failure.reply === 421 || failure.command === 'CONN');
}
