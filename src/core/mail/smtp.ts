import { once } from 'node:events';
import { connect, type LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import type { MailServer } from '../../settings/delivery-schema.ts';
import { MirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';
import { needsUtf8, UTF8_MISSING } from './mailbox.ts';

/** Result of handing a mail to the server. */
export type SmtpResult =
  | { done: true }
  | {
      done: false;
      /** Whether the transfer of the mail had started: without an answer it is unknown whether the server has the mail. */
      handedOver: boolean;
      failure: SmtpFailure;
    };

/** Failure details from the mail library, without messages, because messages quote e-mail addresses. */
export interface SmtpFailure {
  /** Reply code of the server (RFC 5321 section 4.2), if available. */
  reply: number | null;
  /** Current command: `CONN`, `EHLO`, `STARTTLS`, `AUTH …`, `MAIL FROM`, `RCPT TO`, `DATA`. */
  command: string;
  /** The library's code, such as `EAUTH`, and the underlying system code. */
  codes: readonly string[];
}

/**
 * Sends one mail to the given recipients over a dedicated connection. A pool would resend a mail after a lost connection, and the recipient
 * could get the mail twice.
 * @param lookup resolves the server's host name
 * @throws MirrorError `settings` if `lookup` refuses the host: no data was sent
 */
export async function handOver(
  settings: MailServer,
  { to, message }: { to: readonly string[]; message: Buffer },
  lookup: LookupFunction,
  signal: AbortSignal,
): Promise<SmtpResult> {
  const timeoutMs = settings.timeoutSeconds * SECOND_MS;
  const ending = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const { host, port } = settings;
  const socket = connect({ host, port, lookup });
  let connection: SMTPConnection | null = null;
  let handedOver = false;
  let sends = false;
  async function* body() {
    // Read after the server's reply 354, not before.
    handedOver = true;
    yield message;
  }
  try {
    await once(socket, 'connect', { signal: ending });
    const opened = new SMTPConnection({ ...connectionOptions(settings, timeoutMs), connection: socket });
    connection = opened;
    await untilEnded(opened, ending, async () => {
      await step((done) => opened.connect(done));
      if (to.some(needsUtf8) && !offersUtf8(opened))
        throw Object.assign(new Error('no SMTPUTF8'), { code: UTF8_MISSING });
      const { login } = settings;
      if (login !== undefined) {
        const credentials = { user: login.user, pass: login.password.reveal() };
        await step((done) => opened.login({ credentials }, done));
      }
      const envelope = { from: settings.from, to: [...to], size: message.length };
      sends = true;
      await step((done) => opened.send(envelope, Readable.from(body(), { objectMode: false }), done));
    });
    return { done: true };
  } catch (error) {
    if (error instanceof MirrorError) throw error;
    const failure = failureOf(error);
    // The library reports 421 after an accepted sender without its command.
    const isOfMail = sends && failure.reply !== null && failure.command === 'CONN';
    const command = isOfMail ? (handedOver ? 'DATA' : 'RCPT TO') : failure.command;
    return { done: false, handedOver, failure: { ...failure, command } };
  } finally {
    connection?.close();
    socket.destroy();
  }
}

/** Returns whether the server takes mailboxes that are not ASCII. The mail library knows it, but would send the mail all the same. */
function offersUtf8(connection: SMTPConnection): boolean {
  const offered: unknown = Reflect.get(connection, '_supportedExtensions');
  return Array.isArray(offered) && offered.includes('SMTPUTF8');
}

function connectionOptions(settings: MailServer, timeoutMs: number): SMTPConnection.Options {
  const { host, port, security, certificateAuthority } = settings;
  return {
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    // Hides the host name from the server.
    name: 'clinic-mirror',
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    dnsTimeout: timeoutMs,
    tls: {
      minVersion: 'TLSv1.2',
      ...(certificateAuthority === undefined ? {} : { ca: certificateAuthority.reveal() }),
    },
  };
}

/** Runs the steps until completion, a connection failure between two steps, or the time limit. */
async function untilEnded(connection: SMTPConnection, ending: AbortSignal, steps: () => Promise<void>): Promise<void> {
  const ended = new Promise<never>((_, reject) => {
    connection.on('error', reject);
    if (ending.aborted) reject(ending.reason);
    ending.addEventListener('abort', () => reject(ending.reason), { once: true });
  });
  await Promise.race([ended, steps()]);
}

function step(begin: (done: (error?: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    begin((error) => (error ? reject(error) : resolve()));
  });
}

function failureOf(error: unknown): SmtpFailure {
  const about: Record<string, unknown> = error instanceof Error ? { ...error, name: error.name } : {};
  const { responseCode, command, code, originalCode, name } = about;
  return {
    reply: typeof responseCode === 'number' ? responseCode : null,
    command: typeof command === 'string' ? command : 'CONN',
    codes: [code, originalCode, name].filter((each) => typeof each === 'string'),
  };
}
