import { MirrorError } from '../../../model/errors.ts';
import type { Delivery } from '../channel.ts';
import type { SmtpFailure } from './smtp.ts';

/** OpenSSL's and Node's names of a certificate that was not accepted, and of a server that speaks no TLS. */
const TLS_REFUSED = /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_)|SELF_SIGNED_CERT/;

/**
 * What a mail that the server did not acknowledge means for a reminder.
 * @throws MirrorError `settings` when server, login or sender need a person; nothing was sent then
 */
export function deliveryOfSmtpFailure(failure: SmtpFailure, handedOver: boolean): Delivery {
  const { reply, command, codes } = failure;
  // RFC 5321 section 4.2.1: 4yz may pass by itself, 5yz will not.
  if (reply !== null && reply >= 400 && reply < 500) return { result: 'later', code: 'smtp-busy', retryAfterMs: null };
  if (reply !== null && reply >= 500) return deliveryOfRefusal(command, reply);
  if (handedOver) return { result: 'unknown', code: 'smtp-answer-lost' };
  if (codes.includes('EAUTH') || codes.includes('ENOAUTH')) throw loginRefused(null);
  if (codes.some((code) => TLS_REFUSED.test(code))) throw tlsRefused();
  const code = codes.some((each) => each === 'TimeoutError' || each === 'ETIMEDOUT') ? 'timeout' : 'connection-failed';
  return { result: 'later', code, retryAfterMs: null };
}

function deliveryOfRefusal(command: string, reply: number): Delivery {
  if (command === 'RCPT TO') return refusedFor('recipient-refused');
  if (command === 'DATA') return refusedFor('mail-refused');
  if (command === 'STARTTLS' || command === 'EHLO') throw tlsRefused();
  if (command.startsWith('AUTH')) throw loginRefused(reply);
  if (command === 'MAIL FROM') {
    throw new MirrorError('the mail server refuses the sender', {
      actor: 'settings',
      code: 'smtp-sender-refused',
      retry: 'later',
      status: reply,
      remedy: 'correct login and from; many servers take mails only from their own domains, and only after a login',
    });
  }
  // 554 as a greeting and the like: no service here, now (RFC 5321 section 3.1).
  return { result: 'later', code: 'smtp-busy', retryAfterMs: null };
}

function refusedFor(code: string): Delivery {
  return { result: 'refused', code, optedOut: false, channelGone: false };
}

function loginRefused(reply: number | null): MirrorError {
  return new MirrorError('the mail server refuses the login', {
    actor: 'settings',
    code: 'smtp-login-refused',
    retry: 'later',
    ...(reply === null ? {} : { status: reply }),
    remedy: 'correct user and password',
  });
}

function tlsRefused(): MirrorError {
  return new MirrorError('no encrypted connection to the mail server could be made', {
    actor: 'settings',
    code: 'smtp-tls-failed',
    retry: 'later',
    remedy: 'correct host, port and security, or give certificateAuthority for a certificate of your own',
  });
}
