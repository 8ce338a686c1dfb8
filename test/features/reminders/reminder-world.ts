import { silentLogger } from '../../../src/core/log/logger.ts';
import type { Patient } from '../../../src/core/model/records.ts';
import type { LedgerEntry } from '../../../src/core/model/reminders.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { createAnswerDirectory, createAnswerStore } from '../../../src/features/reminders/answer-store.ts';
import { createAnswerServices, type PostedAnswer } from '../../../src/features/reminders/answers.ts';
import type { Delivery, Reminder, ReminderChannel } from '../../../src/features/reminders/channels/channel.ts';
import {
  createAddressSecrets,
  createMessageProofs,
  createReminderNames,
} from '../../../src/features/reminders/identity.ts';
import { remind } from '../../../src/features/reminders/job.ts';
import { createOptOuts } from '../../../src/features/reminders/opt-outs.ts';
import type { OpenAnswers, OpenChannel, OpenReminders } from '../../../src/features/reminders/ports.ts';
import { createPatientReplies } from '../../../src/features/reminders/replies.ts';
import { compileRules } from '../../../src/features/reminders/rules.ts';
import { createReminderLedger } from '../../../src/features/reminders/store.ts';
import { withViews } from '../../../src/features/reminders/views.ts';
import type { Outages } from '../../../src/jobs/outages.ts';
import type { Wake } from '../../../src/jobs/queues.ts';
import { type Installation, requireTenant } from '../../../src/operator/control/installation.ts';
import { reminderSchema } from '../../../src/settings/reminder-schema.ts';
import { createProtection, type Protection } from '../../../src/state/protection.ts';
import type { RedisClient } from '../../../src/state/redis.ts';
import { createProofSealer } from '../../../src/state/sealing.ts';
import type { StateCounter } from '../../../src/state/state-counter.ts';
import type { OpenTenant } from '../../../src/tenant/tenant.ts';
import { wakeOther } from '../../../src/tenant/wake-others.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { NEVER, pull } from '../../tenant/cycle.ts';
import { createModelClinic, type ModelClinic } from '../../tenant/model-clinic.ts';
import { openEpoch, openOutages, openTenant, withReminders } from '../../tenant/open-tenant.ts';
import { patientOf as contactOf } from '../../tenant/world.ts';

/** A clinic with one patient, a gateway, alarms, and a clock that tests move. */
export interface ReminderWorld {
  clinic: ModelClinic;
  gateway: ModelGateway;
  alarms: ModelAlarms;
  lags: number[];
  now: number;
  tenant: OpenTenant;
  outages: Outages;
  /** The same tenant in a new process, or over another connection. */
  open(redis?: RedisClient): OpenTenant;
  /** Advances the time; each alarm rings when it is due. */
  advance(durationMs: number): Promise<void>;
  /** A cycle at this moment. */
  cycle(): Promise<void>;
  entries(): Promise<LedgerEntry[]>;
  /** State and reason of the only reminder of an appointment: `sent`, `dropped moved`. */
  fate(appointmentId?: string): Promise<string>;
}

/** @param options.file the tenant file's part on reminders, without channels */
export function createReminderWorld(
  redis: RedisClient,
  options: Partial<Omit<RemindersChoice, 'redis' | 'alarms' | 'gateway'>> & {
    deduplicates?: boolean;
    dataDirectory?: string;
  } = {},
): ReminderWorld {
  const clinic = createModelClinic();
  clinic.patientList.push(patientOf('p1'));
  const world: ReminderWorld = {
    clinic,
    gateway: createModelGateway(options.deduplicates),
    alarms: { wakes: new Map() },
    lags: [],
    now: NOW,
    outages: openOutages(redis, () => world.now, {
      wake: async ({ other }, _, delayMs) => void (other && (await wakeOther(world.open(), other, delayMs))),
    }),
    get tenant() {
      return this.open();
    },
    open(connection = redis) {
      const { gateway, alarms, lags } = world;
      const clock = () => world.now;
      const dataDirectory = options.dataDirectory ?? null;
      const { outages } = world;
      const tenant = openTenant({ redis: connection, clinic, targets: [], clock, dataDirectory, outages });
      const epoch = options.epoch ?? openEpoch(connection, clock, dataDirectory);
      const { store: keep } = tenant.protection;
      const reminders = openModelReminders({ ...options, redis: connection, gateway, alarms, lags, epoch, keep });
      return withReminders(tenant, reminders);
    },
    async advance(durationMs) {
      const untilAt = world.now + durationMs;
      for (;;) {
        const due = [...world.alarms.wakes].filter(([, { wakeAt }]) => wakeAt <= untilAt);
        const [next] = due.sort(([, one], [, other]) => one.wakeAt - other.wakeAt);
        if (next === undefined) break;
        const [name, { id, wakeAt }] = next;
        world.alarms.wakes.delete(name);
        world.now = Math.max(world.now, wakeAt);
        await remind(world.tenant, id, { stop: NEVER, abort: NEVER });
      }
      world.now = untilAt;
    },
    async cycle() {
      const { error } = await pull(world.tenant);
      if (error !== null && clinic.listError === null) throw new Error(`the cycle failed: ${error.code}`);
    },
    entries: async () => {
      const { ledger } = openModelReminders({ ...options, redis, gateway: world.gateway, alarms: world.alarms });
      return [...(await ledger.open()), ...(await ledger.finished(10_000))];
    },
    async fate(appointmentId = 'one') {
      const own = (await world.entries()).filter((entry) => entry.appointmentId === appointmentId);
      return own.map(({ state, reason }) => (reason === null ? state : `${state} ${reason}`)).join(', ');
    },
  };
  return world;
}

/** Books an appointment with the patient, or changes it. */
export function book(world: ReminderWorld, id: string, inHours: number, own: Parameters<typeof appointmentOf>[1] = {}) {
  const appointment = appointmentOf(id, { inHours, updatedAt: NOW, ...own });
  world.clinic.appointments.set(id, appointment);
  return appointment;
}

const IDENTITY_KEY = Buffer.alloc(32, 7);

/** A gateway in memory: what it was handed, and what it answers next. */
export interface ModelGateway {
  /** What a patient would have got, in order; a gateway that deduplicates delivers a repeated id once. */
  readonly delivered: Reminder[];
  readonly calls: string[];
  /** Answers of the next calls; `accept-and-die` delivers and throws. Then all is taken. */
  readonly answers: (Delivery | 'accept-and-die' | 'die')[];
  readonly deduplicates: boolean;
  /** Longer texts are refused, as by a channel with a maximum of segments. */
  longestText: number;
  /** Called during each delivery. */
  onSend: () => Promise<void> | void;
}

export function createModelGateway(deduplicates = false): ModelGateway {
  return { delivered: [], calls: [], answers: [], deduplicates, longestText: Infinity, onSend: () => {} };
}

/** The alarms as a table that tests ring. */
export interface ModelAlarms {
  readonly wakes: Map<string, Wake>;
}

/** What a test chooses of a tenant's reminders. */
export interface RemindersChoice {
  redis: RedisClient;
  gateway: ModelGateway;
  alarms: ModelAlarms;
  tenant?: string;
  /** The tenant file's part, without channels. */
  file?: object;
  channel?: Partial<OpenChannel>;
  /** Reads the callbacks of the vendor. */
  callback?: ReminderChannel['takeCallback'];
  /** How patients answer; by default reminders carry no link. */
  answers?: OpenReminders['answers'];
  claimMs?: number;
  /** Makes decisions durable; by default they are not. */
  epoch?: Pick<StateCounter, 'confirm'>;
  keep?: Protection['store'];
  lags?: number[];
}

const RULES = { 'day-before': { before: 'P1D', channels: ['text'] } };

/** A tenant's reminders with one channel, `text`. Each call is another process. */
export function openModelReminders(choice: RemindersChoice): OpenReminders {
  const { redis, gateway, alarms } = choice;
  const tenant = choice.tenant ?? 'studio-rossi';
  const file = reminderSchema.parse({ channels: { text: { kind: 'model' } }, rules: RULES, ...choice.file });
  const channel: OpenChannel = {
    id: 'text',
    needs: 'phone',
    readsPatient: true,
    deduplicates: gateway.deduplicates,
    consent: null,
    channel: {
      send: (reminder) => send(gateway, reminder),
      fits: ({ text }) => text.length <= gateway.longestText,
      ...(choice.callback === undefined ? {} : { takeCallback: choice.callback }),
    },
    ...choice.channel,
  };
  const nameOf = ({ id, wakeAt }: Wake) => `${id}-${wakeAt}`;
  return withViews({
    file,
    rules: compileRules(file),
    channels: new Map([[channel.id, channel]]),
    ledger: createReminderLedger(redis, tenant, {
      retentionMs: file.keepDays * DAY_MS,
      sealer: createProofSealer(IDENTITY_KEY, tenant),
      claimMs: choice.claimMs ?? 60_000,
    }),
    optOuts: createOptOuts(redis, tenant, IDENTITY_KEY, { store: choice.keep ?? keptIn(redis, tenant) }),
    replies: createPatientReplies(redis, tenant, createProofSealer(IDENTITY_KEY, tenant)),
    confirm: choice.epoch?.confirm ?? (async () => 0),
    name: createReminderNames(IDENTITY_KEY, tenant),
    proofs: createMessageProofs(IDENTITY_KEY, tenant),
    alarms: {
      set: async (wakes) => {
        for (const { id, wakeAt } of wakes) alarms.wakes.set(nameOf({ id, wakeAt }), { id, wakeAt });
      },
      cancel: async (wakes) => {
        for (const wake of wakes) alarms.wakes.delete(nameOf(wake));
      },
    },
    answers: choice.answers ?? null,
    observeLag: (_tenant, lagMs) => void choice.lags?.push(lagMs),
  });
}

/** Makes opt-outs last as the daemon does, without a directory outside Redis. */
function keptIn(redis: RedisClient, tenant: string): Protection['store'] {
  const clock = () => NOW;
  const epoch = openEpoch(redis, clock);
  return createProtection({ redis, tenant, identityKey: IDENTITY_KEY, stateCounter: epoch, clock, log: silentLogger })
    .store;
}

async function send(gateway: ModelGateway, reminder: Reminder): Promise<Delivery> {
  gateway.calls.push(reminder.id);
  if (reminder.content.text.length > gateway.longestText)
    return { result: 'refused', code: 'text-too-long', optedOut: false, channelGone: false };
  const answer = gateway.answers.shift() ?? { result: 'sent' as const, reference: `ref-${gateway.calls.length}` };
  const isTaken = answer === 'accept-and-die' || (answer !== 'die' && answer.result === 'sent');
  const isKnown = gateway.deduplicates && gateway.delivered.some(({ id }) => id === reminder.id);
  if (isTaken && !isKnown) gateway.delivered.push(structuredClone(reminder));
  await gateway.onSend();
  if (answer === 'accept-and-die' || answer === 'die') throw new Error('the connection was lost');
  return answer;
}

/** A patient that can be reached. */
export function patientOf(id: string, own: Partial<Patient> = {}): Patient {
  return contactOf(id, { lastName: 'Verdi', email: 'anna@example.org', consents: {}, ...own });
}

/** The tenant. */
export const ID = 'studio-rossi';
/** The identity key. */
export const KEY = Buffer.alloc(32, 7);
/** Reminder settings of a tenant file, except rules and channels. */
export const ANSWER_FILE = {
  sender: 'Studio <Rossi>',
  phone: '06 1234567',
  links: { cancel: true, cancelUntilHours: 12 },
};

/** A tenant whose reminders carry links, and the page behind them. */
export interface AnswerBed {
  world: ReminderWorld;
  desk: ReturnType<typeof deskOf>;
  pulled: string[];
  /** Token in the URL of the message. */
  token: string;
  connection: RedisClient;
}

/** How its patients answer, over a connection. */
export function answersOver(connection: RedisClient): OpenAnswers {
  const secrets = createAddressSecrets(KEY, ID);
  const directory = createAnswerDirectory(connection);
  return {
    async linkFor({ reminder, patientId }) {
      const token = secrets.token(reminder);
      await directory.put(
        token,
        { tenant: ID, reminder, patientId, proof: secrets.patient(reminder, patientId) },
        90 * DAY_MS,
      );
      return { url: `https://mirror.test/r/${token}`, cancels: true };
    },
    isOurs: secrets.isOurs,
    proof: secrets.proof,
    store: createAnswerStore(connection, ID, secrets.caller),
  };
}

/** The page of an installation. */
export function deskOf(installation: Installation, connection: RedisClient) {
  const directory = createAnswerDirectory(connection);
  const desk = createAnswerServices({
    installation,
    directory,
    clinicOf: ({ id }) => requireTenant(installation, id).clinic,
  });
  const patient = '198.18.0.9';
  return {
    show: (token: string, caller = patient) => desk.show(token, caller),
    take: (token: string, given: PostedAnswer, caller = patient) => desk.take(token, given, caller),
  };
}

/** A patient has the reminder of an appointment that begins in a day. */
export async function openAnswerBed(connection: RedisClient, file: object = ANSWER_FILE): Promise<AnswerBed> {
  const world = createReminderWorld(connection, { file, answers: answersOver(connection) });
  book(world, 'one', 48);
  await world.cycle();
  await world.advance(DAY_MS);
  const url = world.gateway.delivered[0]?.content.link?.url ?? '';
  const installation = openInstallation({ tenants: [world.tenant] });
  const desk = deskOf({ ...installation, clock: () => world.now }, connection);
  return { world, desk, pulled: installation.pulled, token: url.slice(url.lastIndexOf('/') + 1), connection };
}

/** Opens the page and presses a button. */
export async function press({ desk, token }: AnswerBed, answer: string) {
  const shown = await desk.show(token);
  return desk.take(token, { answer, proof: shown.form?.proof ?? '' });
}
