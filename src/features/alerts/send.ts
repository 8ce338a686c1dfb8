import { randomUUID } from 'node:crypto';
import type { HttpClient } from '../../core/http/client.ts';
import { pinnedLookup } from '../../core/http/pinned.ts';
import { postSigned } from '../../core/http/signed-webhook.ts';
import { MirrorError } from '../../core/model/errors.ts';
import type { Instant } from '../../core/model/time.ts';
import { message } from '../../messages/message.ts';
import type { AlertSettings } from '../../settings/delivery-schema.ts';
import { OPERATORS_REACH } from '../../settings/outbound-schema.ts';
import type { Digest } from './digest.ts';
import { payloadOf, textOf } from './texts.ts';

/** An alert channel, by its name in the settings. */
export type AlertChannel = 'email' | 'webhook';

/** Sends a digest to the recipients. Throws if sending fails. */
export type SendAlerts = (digest: Digest, now: Instant, signal: AbortSignal) => Promise<void>;

/** Returns the configured alert channels. */
export function alertChannels(settings: AlertSettings, http: HttpClient): Map<AlertChannel, SendAlerts> {
  const { email, webhook, language } = settings;
  const channels = new Map<AlertChannel, SendAlerts>();
  if (email !== undefined) channels.set('email', (...alert) => sendMail({ email, language }, ...alert));
  if (webhook !== undefined) channels.set('webhook', (...alert) => post({ webhook, http }, ...alert));
  return channels;
}

async function sendMail(
  { email, language }: { email: NonNullable<AlertSettings['email']>; language: AlertSettings['language'] },
  digest: Digest,
  now: Instant,
  signal: AbortSignal,
): Promise<void> {
  // Loaded for the first mail, because the mail modules are large.
  const [{ default: MailComposer }, { handOver }, { smtpError }] = await Promise.all([
    import('nodemailer/lib/mail-composer'),
    import('../../core/mail/smtp.ts'),
    import('../../core/mail/errors.ts'),
  ]);
  const { subject, text } = textOf(digest, now, language);
  const domain = email.from.slice(email.from.lastIndexOf('@') + 1);
  const composer = new MailComposer({
    from: { name: 'clinic-mirror', address: email.from },
    to: email.to.map((address) => ({ name: '', address })),
    subject,
    text,
    messageId: `<${randomUUID()}@${domain}>`,
    date: new Date(now),
    // Prevents out-of-office answers (RFC 3834 section 5).
    headers: { 'Auto-Submitted': 'auto-generated' },
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  const result = await handOver(
    email,
    { to: email.to, message: await composer.compile().build() },
    pinnedLookup({ host: email.host, isPlain: false }, OPERATORS_REACH),
    signal,
  );
  if (!result.done) throw smtpError(result.failure, result.handedOver, email);
}

async function post(
  { webhook, http }: { webhook: NonNullable<AlertSettings['webhook']>; http: HttpClient },
  digest: Digest,
  now: Instant,
  signal: AbortSignal,
): Promise<void> {
  const delivery = { label: 'alerts', id: randomUUID(), now, body: JSON.stringify(payloadOf(digest, now)) };
  const answer = await postSigned(http, webhook, delivery, signal);
  if (answer.result === 'taken') return;
  throw new MirrorError(message('alert-webhook-refused'), {
    actor: answer.result === 'gone' ? 'settings' : 'remote',
    code: answer.result === 'gone' ? 'webhook-gone' : answer.code,
    retry: 'later',
    remedy: message('alert-webhook-refused.remedy'),
  });
}
