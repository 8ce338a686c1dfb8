import { smtpError } from '../../../../mail/errors.ts';
import type { SmtpFailure } from '../../../../mail/smtp.ts';
import type { MailServer } from '../../../../settings/delivery-schema.ts';
import type { Delivery } from '../channel.ts';

/**
 * What a mail that the server did not acknowledge means for a reminder.
 * @throws MirrorError `settings` when server, login or sender need a person; nothing was sent then
 */
export function deliveryOfSmtpFailure(failure: SmtpFailure, handedOver: boolean, server: MailServer): Delivery {
  const error = smtpError(failure, handedOver, server);
  const { actor, code, retry, ambiguous } = error;
  if (actor !== 'remote') throw error;
  if (ambiguous) return { result: 'unknown', code };
  if (retry === 'never') return { result: 'refused', code, optedOut: false, channelGone: false };
  return { result: 'later', code, retryAfterMs: null };
}

/** Whether a mail that was not acknowledged says that the server is away: it does not answer, or takes no mail of anyone (RFC 5321, 421). */
export function isOfServer(failure: SmtpFailure, server: MailServer): boolean {
  const { actor } = smtpError(failure, false, server);
  return actor === 'remote' && (failure.reply === null || failure.reply === 421 || failure.command === 'CONN');
}
