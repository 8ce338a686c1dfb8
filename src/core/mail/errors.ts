import { message, type Text } from '../../messages/message.ts';
import type { MailServer } from '../../settings/delivery-schema.ts';
import { namingSources } from '../../settings/secret-reference.ts';
import { MirrorError, type MirrorErrorOptions } from '../model/errors.ts';
import { UTF8_MISSING } from './mailbox.ts';
import type { SmtpFailure } from './smtp.ts';

/** Locations of the secrets in a mail server's settings. */
type Secrets = Pick<MailServer, 'login' | 'certificateAuthority'>;

/** Codes of OpenSSL and Node for a refused certificate or a server without TLS. */
const TLS_REFUSED = /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_)|SELF_SIGNED_CERT/;

/**
 * Returns the error of a mail that the server did not acknowledge. `settings`: an operator must correct server, credentials or sender.
 * `remote` with `retry` `never`: the server permanently refuses the mail or recipient. `ambiguous`: the server may have the mail. Otherwise
 * `remote`.
 * @param handedOver whether the transfer of the mail had started
 * @param server settings with the location of a refused secret
 */
export function smtpError({ reply, command, codes }: SmtpFailure, handedOver: boolean, server: Secrets): MirrorError {
  // RFC 5321 section 4.2.1: 4yz is temporary, 5yz is permanent.
  if (reply !== null && reply >= 500) return refusal(command, reply, server);
  if (reply !== null && reply >= 400) return busy(reply);
  if (handedOver) return remote(message('mail.answer-lost'), 'smtp-answer-lost', { ambiguous: true });
  if (codes.includes(UTF8_MISSING))
    return remote(message('mail.utf8-missing'), 'smtp-utf8-missing', { retry: 'never' });
  if (codes.includes('EAUTH') || codes.includes('ENOAUTH')) return loginRefused(server);
  if (codes.some((code) => TLS_REFUSED.test(code))) return tlsRefused(server);
  const code = codes.some((each) => each === 'TimeoutError' || each === 'ETIMEDOUT') ? 'timeout' : 'connection-failed';
  return remote(message('mail.unreachable'), code);
}

function refusal(command: string, status: number, server: Secrets): MirrorError {
  if (command === 'RCPT TO') {
    return remote(message('mail.recipient-refused'), 'recipient-refused', { retry: 'never', status });
  }
  if (command === 'DATA') return remote(message('mail.refused'), 'mail-refused', { retry: 'never', status });
  if (command === 'STARTTLS' || command === 'EHLO') return tlsRefused(server);
  if (command.startsWith('AUTH')) return loginRefused(server, status);
  if (command === 'MAIL FROM') {
    const remedy = message('mail.sender-refused.remedy');
    return forOperator(message('mail.sender-refused'), 'smtp-sender-refused', remedy, status);
  }
  // 554 as a greeting and similar replies: the server currently offers no service (RFC 5321 section 3.1).
  return busy(status);
}

function busy(status: number): MirrorError {
  return remote(message('mail.busy'), 'smtp-busy', { status });
}

function loginRefused({ login }: Pick<MailServer, 'login'>, status?: number): MirrorError {
  const remedy = namingSources(message('mail.login-refused.remedy'), [login?.password]);
  return forOperator(message('mail.login-refused'), 'smtp-login-refused', remedy, status);
}

function tlsRefused({ certificateAuthority }: Pick<MailServer, 'certificateAuthority'>): MirrorError {
  const remedy = namingSources(message('mail.tls-failed.remedy'), [certificateAuthority]);
  return forOperator(message('mail.tls-failed'), 'smtp-tls-failed', remedy);
}

function forOperator(text: Text, code: string, remedy: Text, status?: number): MirrorError {
  return new MirrorError(text, { actor: 'settings', code, retry: 'later', remedy, status });
}

function remote(text: Text, code: string, more: Partial<MirrorErrorOptions> = {}): MirrorError {
  return new MirrorError(text, { actor: 'remote', code, retry: 'later', ...more });
}
