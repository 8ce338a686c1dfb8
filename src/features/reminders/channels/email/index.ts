import { timingSafeEqual } from 'node:crypto';
import { pinnedLookup } from '../../../../core/http/pinned.ts';
import { smtpError } from '../../../../core/mail/errors.ts';
import { mailboxOf } from '../../../../core/mail/mailbox.ts';
import type { SmtpFailure } from '../../../../core/mail/smtp.ts';
import type { MailServer } from '../../../../settings/delivery-schema.ts';
import type { CallbackAnswer, ChannelCallback, ChannelContext, ChannelModule, Delivery, Reminder } from '../channel.ts';
import { type EmailSettings, emailSchema } from './schemas.ts';

const REMINDER_ID = /^[0-9a-v]{32}$/;

/** E-mails over SMTP. Servers do not detect repeated mails, so a possibly accepted mail is never sent again. */
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
  const to = mailboxOf(reminder.recipient.email ?? '');
  if (to === null) return { result: 'refused', code: 'address-invalid', optedOut: false, channelGone: false };
  // Loaded for the first mail, because the mail modules are large.
  const [{ messageOf }, { handOver }] = await Promise.all([
    import('./message.ts'),
    import('../../../../core/mail/smtp.ts'),
  ]);
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
 * Handles the unsubscribe button of mail programs: a POST with a fixed body to the URL in the mail, which contains the reminder id and an
 * unguessable token (section 6). A GET changes nothing, because link scanners open URLs.
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
 * Returns the delivery result of an unacknowledged mail.
 * @throws MirrorError `settings` if server, account or sender require action; no mail was sent
 */
function deliveryOfSmtpFailure(failure: SmtpFailure, handedOver: boolean, server: MailServer): Delivery {
  const error = smtpError(failure, handedOver, server);
  const { actor, code, retry, ambiguous } = error;
  if (actor !== 'remote') throw error;
  if (ambiguous) return { result: 'unknown', code };
  if (retry === 'never') return { result: 'refused', code, optedOut: false, channelGone: false };
  return { result: 'later', code, retryAfterMs: null };
}

/**
 * Returns whether the server is unavailable: the server does not answer, or accepts no mail (RFC 5321, 421). After a recipient or a content,
 * 421 is of this mail: other mails may pass.
 */
function isOfServer(failure: SmtpFailure, server: MailServer): boolean {
  const { reply, command } = failure;
  const { actor, retry } = smtpError(failure, false, server);
  if (actor !== 'remote' || (reply === null && retry === 'never')) return false;
  if (reply === null || command === 'CONN') return true;
  return reply === 421 && command !== 'RCPT TO' && command !== 'DATA';
}
