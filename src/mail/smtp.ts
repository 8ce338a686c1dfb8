import { once } from 'node:events';
import { connect, type LookupFunction } from 'node:net';
import { Readable } from 'node:stream';
import SMTPConnection from 'nodemailer/lib/smtp-connection';
import { MirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';
import type { MailServer } from '../settings/delivery-schema.ts';

/** How handing a mail to the server ended. */
export type SmtpResult =
  | { done: true }
  | {
      done: false;
      /** The mail itself had begun to leave: without an answer nobody knows whether the server has it. */
      handedOver: boolean;
      failure: SmtpFailure;
    };

/** What the mail program's library tells of a failure, without its words: they quote addresses. */
export interface SmtpFailure {
  /** Reply code of the server (RFC 5321 section 4.2), when it gave one. */
  reply: number | null;
  /** What was being done: `CONN`, `EHLO`, `STARTTLS`, `AUTH …`, `MAIL FROM`, `RCPT TO`, `DATA`. */
  command: string;
  /** The library's code, such as `EAUTH`, and the system's beneath it. */
  codes: readonly string[];
}

/**
 * Hands one mail to the server, for these addresses, over a connection of its own. A pool would send a mail again whose connection broke off, and that
 * may be a second time.
 * @param lookup says where the server is
 * @throws MirrorError `settings`, where `lookup` refuses the address: nothing was sent
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
  async function* body() {
    // Read when the server has said 354, not before.
    handedOver = true;
    yield message;
  }
  try {
    await once(socket, 'connect', { signal: ending });
    const opened = new SMTPConnection({ ...connectionOptions(settings, timeoutMs), connection: socket });
    connection = opened;
    await untilEnded(opened, ending, async () => {
      await step((done) => opened.connect(done));
      const { login } = settings;
      if (login !== undefined) {
        const credentials = { user: login.user, pass: login.password.reveal() };
        await step((done) => opened.login({ credentials }, done));
      }
      const envelope = { from: settings.from, to: [...to], size: message.length };
      await step((done) => opened.send(envelope, Readable.from(body(), { objectMode: false }), done));
    });
    return { done: true };
  } catch (error) {
    if (error instanceof MirrorError) throw error;
    return { done: false, handedOver, failure: failureOf(error) };
  } finally {
    connection?.close();
    socket.destroy();
  }
}

function connectionOptions(settings: MailServer, timeoutMs: number): SMTPConnection.Options {
  const { host, port, security, certificateAuthority } = settings;
  return {
    host,
    port,
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    // Our machine's name is nobody's business.
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

/** Runs the steps until they are done, the connection fails between two of them, or the time is over. */
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
