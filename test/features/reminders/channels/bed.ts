import PostalMime from 'postal-mime';
import { type MailSandbox, type MailSandboxOptions, startMailSandbox } from '../../../../sandbox/mail/index.ts';
import { type SmsSandbox, startSmsSandbox } from '../../../../sandbox/sms/index.ts';
import { createHttpClient, type HttpClientOptions } from '../../../../src/core/http/client.ts';
import type { Logger } from '../../../../src/core/log/logger.ts';
import type {
  ChannelModule,
  Delivery,
  Reminder,
  ReminderChannel,
  ReminderContent,
} from '../../../../src/features/reminders/channels/channel.ts';
import { email } from '../../../../src/features/reminders/channels/email/index.ts';
import { sms } from '../../../../src/features/reminders/channels/sms/index.ts';
import { webhook } from '../../../../src/features/reminders/channels/webhook/index.ts';
import { createAddressSecrets } from '../../../../src/features/reminders/identity.ts';
import { render, textOfIssue } from '../../../../src/messages/message.ts';
import { OPERATORS_REACH, type Reach } from '../../../../src/settings/outbound-schema.ts';
import { secretSchemas } from '../../../../src/settings/secret-reference.ts';
import { type Receiver, startReceiver } from './receiver.ts';

/** Values that must appear only in the reminder. */
export const PATIENT = {
  name: 'Zenobia Quattrocchi',
  email: 'zenobia.quattrocchi@patient.example',
  phone: '+393331234567',
};
/** Names in the environment of the settings below. */
export type Environment = Record<string, string>;

/** A channel before its other side, as the suite drives it. */
export interface ChannelBed {
  module: ChannelModule;
  /** The channel's part of a tenant file, and the secrets that it refers to. */
  settings: object;
  env: Environment;
  /** The same channel with credentials that the vendor refuses; null if the channel has none. */
  wrongLogin: { settings: object; env: Environment } | null;
  /** Messages that the vendor accepted, as the patient or receiver reads them; `id` if the message carries one. */
  arrived(): Promise<{ id: string | null; text: string }[]>;
  /** URLs of requests, as a proxy on the way sees them. */
  addresses(): string[];
  /** Spoils the next attempt; faults that the vendor cannot have are absent. */
  spoil: Partial<Record<Spoiling, () => void>>;
  /** Whether the server has received the spoiled attempt. */
  isSpoiled(): boolean;
  /** Stops the fake vendor. */
  close(): Promise<void>;
}

/** Faults of an attempt. */
export type Spoiling =
  | 'lostAnswer'
  | 'refuseForGood'
  | 'throttle'
  | 'throttleForSevenSeconds'
  | 'cutBefore'
  | 'garbage'
  | 'stall'
  | 'breakDown';

/** Longer than a test needs to stop a stalled attempt. */
const STALL_MS = 10_000;

let serial = 0;

/** Returns a reminder with a unique id. */
export function reminderOf(
  content: Partial<ReminderContent> = {},
  recipient: Partial<Reminder['recipient']> = {},
): Reminder {
  serial += 1;
  const startAt = Date.parse('2026-12-01T09:30:00Z');
  return {
    id: serial.toString(32).padStart(32, '0'),
    tenant: 'studio-rossi',
    rule: 'day-before',
    appointment: { id: 'apt-1', agendaId: 'agenda-2', startAt, endAt: startAt + 1_800_000, zone: 'Europe/Rome' },
    recipient: { patientId: 'pat-77', email: PATIENT.email, phone: PATIENT.phone, ...recipient },
    content: {
      language: 'it',
      sender: 'Studio Rossi',
      subject: 'Promemoria',
      text: `Gentile ${PATIENT.name}, la aspettiamo domani alle 10:30.`,
      calendarEntry: null,
      link: null,
      ...content,
    },
  };
}

/** Log lines as they would be written. */
export function collectingLog() {
  const lines: string[] = [];
  const write = (data: object, message: string) => void lines.push(`${message} ${JSON.stringify(data)}`);
  const log: Logger = { debug: write, info: write, warn: write, error: write, child: () => log };
  return { log, lines };
}

/** What a bed's channel may be opened with. */
export interface Opening {
  settings?: object;
  env?: Environment;
  log?: Logger;
  callbackUrl?: string | null;
  clock?: () => number;
  httpClient?: Partial<HttpClientOptions>;
  reach?: Reach;
}

/** Proves by the id of a reminder that a URL was made by clinic-mirror. */
export const unsubscribeProof = createAddressSecrets(Buffer.alloc(32, 7), 'studio-rossi').unsubscribe;

/** Opens a channel with settings in the form of a tenant file. @throws ZodError when they are refused */
export function openChannel(
  bed: Pick<ChannelBed, 'module' | 'settings' | 'env'>,
  opening: Opening = {},
): ReminderChannel {
  const reach = opening.reach ?? OPERATORS_REACH;
  const { log = collectingLog().log, callbackUrl = null, clock = Date.now } = opening;
  const schema = bed.module.settingsSchema(secretSchemas({ env: { ...bed.env, ...opening.env }, dir: '/' }));
  const { data: settings, error } = schema.safeParse(opening.settings ?? bed.settings);
  if (error) throw new Error(error.issues.map((issue) => render(textOfIssue(issue.message))).join('; '));
  return bed.module.open({
    settings,
    tenant: 'studio-rossi',
    callbackUrl,
    unsubscribeProof,
    http: createHttpClient({ userAgent: 'clinic-mirror-test', clock, reach, ...opening.httpClient }),
    reach,
    heard: opening.httpClient?.observeHost ?? (() => {}),
    log,
    clock,
  });
}

/** One try, ended after ten seconds at the latest. */
export function attempt(channel: ReminderChannel, reminder: Reminder): Promise<Delivery> {
  return channel.send(reminder, AbortSignal.timeout(10_000));
}

/** The error of a try that must throw. */
export async function errorOf(delivery: Promise<Delivery>): Promise<Error> {
  const thrown = await delivery.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof Error)) throw new Error('it did not throw');
  return thrown;
}

const LOGIN = { user: 'reminders', password: 'correct horse battery' };

/** A mail channel and the server before it. */
export async function openEmailBed(
  options: MailSandboxOptions = { login: LOGIN },
): Promise<ChannelBed & { server: MailSandbox }> {
  const server = await startMailSandbox(options);
  const { faults } = server;
  const once = (method: string, fault: Parameters<typeof faults.add>[0]['fault']) => () =>
    void faults.add({ times: 1, match: { method }, fault });
  const settings = {
    host: server.host,
    port: server.port,
    security: options.security ?? 'starttls',
    ...(options.login === undefined ? {} : { login: { user: options.login.user, password: { env: 'SMTP_PASSWORD' } } }),
    certificateAuthority: server.certificate,
    from: 'reminders@clinic.example',
  };
  return {
    module: email,
    server,
    settings,
    env: { SMTP_PASSWORD: LOGIN.password },
    wrongLogin: { settings, env: { SMTP_PASSWORD: 'wrong horse' } },
    async arrived() {
      const mails = await Promise.all(server.mails().map(({ raw }) => PostalMime.parse(raw)));
      return mails.map(({ messageId, text }) => ({ id: messageId?.slice(1, 33) ?? null, text: text ?? '' }));
    },
    addresses: () => [],
    isSpoiled: () => faults.list().some(({ applied }) => applied > 0),
    spoil: {
      lostAnswer: once('DATA', { kind: 'lost-answer' }),
      refuseForGood: once('RCPT', { kind: 'reply', code: 550 }),
      throttle: once('RCPT', { kind: 'reply', code: 451 }),
      cutBefore: once('CONNECT', { kind: 'cut' }),
      garbage: once('DATA', { kind: 'garbage' }),
      stall: once('DATA', { kind: 'latency', ms: STALL_MS }),
      breakDown: once('MAIL', { kind: 'reply', code: 421 }),
    },
    close: () => server.close(),
  };
}

/** A channel for text messages and the gateway before it. */
export async function openSmsBed(): Promise<ChannelBed & { gateway: SmsSandbox }> {
  const gateway = await startSmsSandbox();
  const { faults, recording } = gateway;
  recording.record(true);
  const once = (fault: Parameters<typeof faults.add>[0]['fault']) => () => void faults.add({ times: 1, fault });
  const settings = {
    accountSid: gateway.accountSid,
    authToken: { env: 'SMS_TOKEN' },
    from: gateway.from,
    maximumSegments: 5,
    server: gateway.url,
  };
  const invalid = { code: 21_211, message: "The 'To' number is not a valid phone number.", status: 400 };
  return {
    module: sms,
    gateway,
    settings,
    env: { SMS_TOKEN: gateway.authToken },
    wrongLogin: { settings, env: { SMS_TOKEN: 'f'.repeat(32) } },
    arrived: async () => gateway.messages().map(({ body }) => ({ id: null, text: body })),
    addresses: () => recording.recorded().map(({ url }) => url),
    isSpoiled: () => faults.list().some(({ applied }) => applied > 0),
    spoil: {
      lostAnswer: once({ kind: 'lost-answer' }),
      refuseForGood: once({ kind: 'status', status: 400, body: invalid }),
      throttle: once({ kind: 'status', status: 429 }),
      throttleForSevenSeconds: once({ kind: 'status', status: 429, headers: { 'retry-after': '7' } }),
      cutBefore: once({ kind: 'cut' }),
      garbage: once({ kind: 'html' }),
      stall: once({ kind: 'latency', ms: STALL_MS }),
      breakDown: once({ kind: 'status', status: 500 }),
    },
    close: () => gateway.close(),
  };
}

/** A secret as receivers are given it: whsec_ and 32 bytes in base64. */
export function signingSecret(letter: string): string {
  return `whsec_${Buffer.from(letter.repeat(32)).toString('base64')}`;
}

/** A webhook channel and the receiver before it. */
export async function openWebhookBed(): Promise<ChannelBed & { receiver: Receiver }> {
  const receiver = await startReceiver();
  const { faults, recording } = receiver.kit;
  const once = (fault: Parameters<typeof faults.add>[0]['fault']) => () => void faults.add({ times: 1, fault });
  return {
    module: webhook,
    receiver,
    settings: {
      url: `${receiver.url}/hook`,
      secrets: [{ env: 'WEBHOOK_SECRET' }],
      fields: ['text'],
    },
    env: { WEBHOOK_SECRET: signingSecret('a') },
    wrongLogin: null,
    arrived: async () =>
      receiver.taken.map(({ headers, body }) => ({
        id: String(headers['webhook-id']),
        text: String((JSON.parse(body) as { data: { text?: unknown } }).data.text),
      })),
    addresses: () => recording.recorded().map(({ url }) => url),
    isSpoiled: () => faults.list().some(({ applied }) => applied > 0),
    spoil: {
      lostAnswer: once({ kind: 'lost-answer' }),
      refuseForGood: once({ kind: 'status', status: 410 }),
      throttle: once({ kind: 'status', status: 429 }),
      throttleForSevenSeconds: once({ kind: 'status', status: 503, headers: { 'retry-after': '7' } }),
      cutBefore: once({ kind: 'cut' }),
      stall: once({ kind: 'latency', ms: STALL_MS }),
      breakDown: once({ kind: 'status', status: 500 }),
    },
    close: () => receiver.close(),
  };
}
