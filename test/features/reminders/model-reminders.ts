import type { Delivery, Reminder, ReminderChannel } from '../../../src/features/reminders/channels/channel.ts';
import { createMessageProofs, createReminderNames } from '../../../src/features/reminders/identity.ts';
import { createOptOuts } from '../../../src/features/reminders/opt-outs.ts';
import type { OpenChannel, OpenReminders } from '../../../src/features/reminders/ports.ts';
import { compileRules } from '../../../src/features/reminders/rules.ts';
import { createReminderLedger } from '../../../src/features/reminders/store.ts';
import { withViews } from '../../../src/features/reminders/views.ts';
import type { Wake } from '../../../src/jobs/queues.ts';
import { silentLogger } from '../../../src/log/logger.ts';
import type { Patient } from '../../../src/model/records.ts';
import { DAY_MS } from '../../../src/model/time.ts';
import { reminderSchema } from '../../../src/settings/reminder-schema.ts';
import { createProtection, type Protection } from '../../../src/state/protection.ts';
import type { RedisClient } from '../../../src/state/redis.ts';
import { createProofSealer } from '../../../src/state/sealing.ts';
import type { StateCounter } from '../../../src/state/state-counter.ts';
import { openEpoch } from '../../jobs/open-tenant.ts';
import { NOW } from '../../sync/arbitraries.ts';

const IDENTITY_KEY = Buffer.alloc(32, 7);

/** A gateway in memory: what it was handed, and what it answers next. */
export interface ModelGateway {
  /** What a patient would have got, in order; a gateway that deduplicates delivers a repeated id once. */
  readonly delivered: Reminder[];
  readonly calls: string[];
  /** Answers of the next calls; `accept-and-die` delivers and throws. Then all is taken. */
  readonly answers: (Delivery | 'accept-and-die' | 'die')[];
  readonly deduplicates: boolean;
  /** Called in the middle of each handing over. */
  onSend: () => Promise<void> | void;
}

export function createModelGateway(deduplicates = false): ModelGateway {
  return { delivered: [], calls: [], answers: [], deduplicates, onSend: () => {} };
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
  /** How it takes what its other side reports. */
  callback?: ReminderChannel['takeCallback'];
  /** How patients answer; else reminders carry no link. */
  answers?: OpenReminders['answers'];
  claimMs?: number;
  /** What makes decisions last; else nothing does. */
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
  return {
    id,
    firstName: 'Anna',
    lastName: 'Verdi',
    email: 'anna@example.org',
    phone: null,
    mobilePhone: '333 123 4567',
    language: 'it',
    consents: {},
    taxCode: null,
    birthDate: null,
    gender: null,
    address: null,
    updatedAt: null,
    isActive: true,
    ...own,
  };
}
