import type {
  ChannelModule,
  Delivery,
  Reminder,
  ReminderChannel,
  ReminderContent,
} from '../../../../src/features/reminders/channels/channel.ts';
import { createAddressSecrets } from '../../../../src/features/reminders/identity.ts';
import { createHttpClient, type HttpClientOptions } from '../../../../src/http/client.ts';
import type { Logger } from '../../../../src/log/logger.ts';
import { OPERATORS_REACH, type Reach } from '../../../../src/settings/outbound-schema.ts';
import { secretSchemas } from '../../../../src/settings/secret-reference.ts';

/** What must show nowhere but where the reminder goes. */
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
  /** The same with a login that the other side refuses; null where there is none. */
  wrongLogin: { settings: object; env: Environment } | null;
  /** What reached the other side for good, as the patient or receiver would read it; `id` where it is told. */
  arrived(): Promise<{ id: string | null; text: string }[]>;
  /** Addresses of requests, as an operator between us and them would see them. */
  addresses(): string[];
  /** Spoils the next try; what the other side can't do is absent. */
  spoil: Partial<Record<Spoiling, () => void>>;
  /** Ends the other side. */
  close(): Promise<void>;
}

/** What may go wrong with a try. */
export type Spoiling =
  | 'lostAnswer'
  | 'refuseForGood'
  | 'throttle'
  | 'throttleForSevenSeconds'
  | 'cutBefore'
  | 'garbage'
  | 'stall'
  | 'breakDown';

let serial = 0;

/** A reminder with an id of its own. */
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

/** What proves that an address is one of ours, by the id of a reminder. */
export const unsubscribeProof = createAddressSecrets(Buffer.alloc(32, 7), 'studio-rossi').unsubscribe;

/** Opens a channel with settings as a tenant file has them. @throws ZodError when they are refused */
export function openChannel(
  bed: Pick<ChannelBed, 'module' | 'settings' | 'env'>,
  opening: Opening = {},
): ReminderChannel {
  const reach = opening.reach ?? OPERATORS_REACH;
  const { log = collectingLog().log, callbackUrl = null, clock = Date.now } = opening;
  const schema = bed.module.settingsSchema(secretSchemas({ env: { ...bed.env, ...opening.env }, dir: '/' }));
  return bed.module.open({
    settings: schema.parse(opening.settings ?? bed.settings),
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
export function attempt(channel: ReminderChannel, reminder: Reminder, stopAfterMs = 10_000): Promise<Delivery> {
  return channel.send(reminder, AbortSignal.timeout(stopAfterMs));
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
