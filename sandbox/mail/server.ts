import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { SMTPServer, type SMTPServerDataStream, type SMTPServerOptions, type SMTPServerSession } from 'smtp-server';
import { createCertificate } from '../kit/certificate.ts';
import type { Fault } from '../kit/faults.ts';
import { SandboxKit } from '../kit/kit.ts';
import { startDesk } from './desk.ts';
import type { MailSandbox, MailSandboxOptions, TakenMail } from './types.ts';

/** A reply other than success, as smtp-server reads it from an error. */
type Refusal = Error & { responseCode?: number };
type Callback = (error?: Refusal | null) => void;

const KINDS: ReadonlySet<string> = new Set(['reply', 'latency', 'cut', 'garbage', 'lost-answer']);
/** Certificates are made once: it takes a while. */
let madeCertificate: ReturnType<typeof createCertificate> | undefined;

/** Starts the sandbox on loopback. Throws when the port is taken. */
export async function startMailSandbox(options: MailSandboxOptions = {}): Promise<MailSandbox> {
  const security = options.security ?? 'starttls';
  madeCertificate ??= createCertificate('localhost');
  const state = new State(options);
  const server = new SMTPServer({
    ...handlers(state),
    secure: security === 'tls',
    disabledCommands: security === 'none' ? ['STARTTLS', ...(options.login ? [] : ['AUTH'])] : [],
    hideSMTPUTF8: options.utf8 === false,
    authOptional: options.login === undefined,
    allowInsecureAuth: security === 'none',
    key: madeCertificate.privateKey,
    cert: madeCertificate.certificate,
    disableReverseLookup: true,
    closeTimeout: 1,
    logger: false,
  });
  // A client that breaks off is an error to smtp-server; here it is an ordinary event.
  server.on('error', () => {});
  // The outermost socket: Node crashes when TLS is torn down from below during a handshake.
  server.server.on(security === 'tls' ? 'secureConnection' : 'connection', (socket: Socket) => state.keep(socket));
  await new Promise<void>((resolve, reject) => {
    server.server.once('error', reject);
    server.listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const address = server.server.address();
  const { certificate } = madeCertificate;
  const mails = (to?: string): TakenMail[] => state.mails.filter((mail) => to === undefined || mail.to.includes(to));
  const clear = (): void => void state.mails.splice(0);
  const closeServer = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  const desk =
    options.httpPort === undefined
      ? undefined
      : await startDesk({ kit: state.kit, certificate, mails, clear }, options.httpPort).catch(
          async (error: unknown) => {
            await closeServer();
            throw error;
          },
        );
  return {
    host: 'localhost',
    port: typeof address === 'object' && address !== null ? address.port : 0,
    adminUrl: desk?.url,
    certificate,
    faults: state.kit.faults,
    counts: state.kit.counts,
    mails,
    clear,
    close: async () => {
      await Promise.all([closeServer(), desk?.close()]);
    },
  };
}

class State {
  readonly kit: SandboxKit;
  readonly mails: TakenMail[] = [];
  readonly login: MailSandboxOptions['login'];
  readonly #sockets = new Map<number, Socket>();

  constructor({ seed, login }: MailSandboxOptions) {
    this.kit = new SandboxKit(seed === undefined ? {} : { seed });
    this.login = login;
  }

  keep(socket: Socket): void {
    const { remotePort } = socket;
    if (remotePort === undefined) return;
    this.#sockets.set(remotePort, socket);
    socket.once('close', () => this.#sockets.delete(remotePort));
  }

  socketOf(session: SMTPServerSession): Socket | undefined {
    return this.#sockets.get(session.remotePort);
  }

  /** Returns the faults for a command. `path` of a rule's match is compared with the sender, recipient or username. */
  faultsFor(method: string, address: string): Fault[] {
    return this.kit.faults.next({ method, path: address }, KINDS);
  }
}

function handlers(state: State): SMTPServerOptions {
  return {
    onConnect: (session, callback) => void answer(state, session, 'CONNECT', '', callback),
    onMailFrom: ({ address }, session, callback) => void answer(state, session, 'MAIL', address, callback),
    onRcptTo: ({ address }, session, callback) => void answer(state, session, 'RCPT', address, callback),
    onAuth: (given, session, callback) => {
      const { login } = state;
      const fits = login !== undefined && given.username === login.user && given.password === login.password;
      void answer(state, session, 'AUTH', given.username ?? '', (error) => {
        if (error) callback(error);
        else if (fits) callback(null, { user: login.user });
        else callback(refusal(535, 'Authentication credentials invalid'));
      });
    },
    onData: (stream, session, callback) => void takeMail(state, stream, session, callback),
  };
}

/** Answers a command with a fault, otherwise with success. A cut connection gets no answer. */
async function answer(
  state: State,
  session: SMTPServerSession,
  command: string,
  address: string,
  callback: Callback,
): Promise<void> {
  state.kit.counts.add(command);
  for (const fault of state.faultsFor(command, address)) {
    switch (fault.kind) {
      case 'latency':
        await delay(Number((fault as { ms?: unknown }).ms));
        break;
      case 'reply':
        return callback(refusalOf(fault));
      case 'garbage':
        state.socketOf(session)?.write('\u0000\u0001?? what is a mail\r\n');
        return;
      default:
        state.socketOf(session)?.destroy();
        return;
    }
  }
  callback();
}

async function takeMail(
  state: State,
  stream: SMTPServerDataStream,
  session: SMTPServerSession,
  callback: Callback,
): Promise<void> {
  const to = session.envelope.rcptTo.map(({ address }) => address);
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  } catch {
    // Broken off in the middle: no mail.
    return;
  }
  const faults = state.faultsFor('DATA', to.join(','));
  const [refused] = faults.filter(({ kind }) => kind === 'reply' || kind === 'cut');
  if (refused === undefined) {
    const from = session.envelope.mailFrom === false ? '' : session.envelope.mailFrom.address;
    state.mails.push({ from, to, raw: Buffer.concat(chunks), secure: session.secure, user: session.user ?? null });
    for (const each of to) state.kit.counts.add(`mail:${each}`);
  }
  state.kit.counts.add('DATA');
  for (const fault of faults) {
    if (fault.kind === 'latency') await delay(Number((fault as { ms?: unknown }).ms));
    else if (fault.kind === 'reply') return callback(refusalOf(fault));
    else if (fault.kind === 'garbage') return void state.socketOf(session)?.end('\u0000?? what is a mail\r\n');
    else return void state.socketOf(session)?.destroy();
  }
  callback();
}

function refusalOf(fault: Fault): Refusal {
  const { code, text } = fault as { code?: unknown; text?: unknown };
  return refusal(Number(code), typeof text === 'string' ? text : 'fault injected by the sandbox');
}

function refusal(responseCode: number, text: string): Refusal {
  return Object.assign(new Error(text), { responseCode });
}
