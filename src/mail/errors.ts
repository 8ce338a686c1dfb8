import type { Text } from '../messages/message.ts';
import { MirrorError, type MirrorErrorOptions } from '../model/errors.ts';
import type { MailServer } from '../settings/delivery-schema.ts';
import { namingSources } from '../settings/secret-reference.ts';
import type { SmtpFailure } from './smtp.ts';

/** Where secrets of a mail server's settings are kept. */
type Secrets = Pick<MailServer, 'login' | 'certificateAuthority'>;

/** OpenSSL's and Node's names of a certificate that was not accepted, and of a server that speaks no TLS. */
const TLS_REFUSED = /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_)|SELF_SIGNED_CERT/;

/**
 * A mail that the server did not acknowledge, as an error: `settings` when server, login or sender need a person, `remote` with `retry`
 * `never` when the server wants this mail or its recipient not at all, `ambiguous` when it may have the mail, else `remote`.
 * @param handedOver whether the mail had begun to leave
 * @param server its settings, which say where a refused secret is kept
 */
export function smtpError({ reply, command, codes }: SmtpFailure, handedOver: boolean, server: Secrets): MirrorError {
  // RFC 5321 section 4.2.1: 4yz may pass by itself, 5yz will not.
  if (reply !== null && reply >= 500) return refusal(command, reply, server);
  if (reply !== null && reply >= 400) return busy(reply);
  if (handedOver)
    return remote('the mail server did not say whether it has the mail', 'smtp-answer-lost', { ambiguous: true });
  if (codes.includes('EAUTH') || codes.includes('ENOAUTH')) return loginRefused(server);
  if (codes.some((code) => TLS_REFUSED.test(code))) return tlsRefused(server);
  const code = codes.some((each) => each === 'TimeoutError' || each === 'ETIMEDOUT') ? 'timeout' : 'connection-failed';
  return remote('the mail server could not be reached', code);
}

function refusal(command: string, status: number, server: Secrets): MirrorError {
  if (command === 'RCPT TO') {
    return remote('the mail server refuses the recipient', 'recipient-refused', { retry: 'never', status });
  }
  if (command === 'DATA') return remote('the mail server refuses the mail', 'mail-refused', { retry: 'never', status });
  if (command === 'STARTTLS' || command === 'EHLO') return tlsRefused(server);
  if (command.startsWith('AUTH')) return loginRefused(server, status);
  if (command === 'MAIL FROM') {
    const remedy =
      'correct login and from; many servers take mails only from their own domains, and only after a login';
    return forOperator('the mail server refuses the sender', 'smtp-sender-refused', remedy, status);
  }
  // 554 as a greeting and the like: no service here, now (RFC 5321 section 3.1).
  return busy(status);
}

function busy(status: number): MirrorError {
  return remote('the mail server is failing or asks for patience', 'smtp-busy', { status });
}

function loginRefused({ login }: Pick<MailServer, 'login'>, status?: number): MirrorError {
  const remedy = namingSources('correct user and password', [login?.password]);
  return forOperator('the mail server refuses the login', 'smtp-login-refused', remedy, status);
}

function tlsRefused({ certificateAuthority }: Pick<MailServer, 'certificateAuthority'>): MirrorError {
  const remedy = namingSources(
    'correct host, port and security, or give certificateAuthority for a certificate of your own',
    [certificateAuthority],
  );
  return forOperator('no encrypted connection to the mail server could be made', 'smtp-tls-failed', remedy);
}

function forOperator(message: string, code: string, remedy: Text, status?: number): MirrorError {
  return new MirrorError(message, { actor: 'settings', code, retry: 'later', remedy, status });
}

function remote(message: string, code: string, more: Partial<MirrorErrorOptions> = {}): MirrorError {
  return new MirrorError(message, { actor: 'remote', code, retry: 'later', ...more });
}
