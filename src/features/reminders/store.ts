import { randomUUID } from 'node:crypto';
import type {
  Answer,
  Correction,
  CorrectionKind,
  DropReason,
  LedgerEntry,
  PlannedReminder,
  ReminderState,
  Withdrawal,
  WrongInformation,
} from '../../model/reminders.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS } from '../../model/time.ts';
import { keys } from '../../state/keys.ts';
import type { RedisClient } from '../../state/redis.ts';
import { askEach, pairsOf, redisScript } from '../../state/script.ts';
import type { Sealer } from '../../state/sealing.ts';
import { codeIn, sealedTable } from '../../state/sealing.ts';

const scripts = {
  plan: redisScript<number>(import.meta.url, 'reminder-plan'),
  withdraw: redisScript<number>(import.meta.url, 'reminder-withdraw'),
  claim: redisScript<string[] | number | null>(import.meta.url, 'reminder-claim'),
  intend: redisScript<'go' | 'limit' | 'opted-out' | 'lost'>(import.meta.url, 'reminder-intend'),
  finish: redisScript<number>(import.meta.url, 'reminder-finish'),
  postpone: redisScript<number>(import.meta.url, 'reminder-postpone'),
};

/** How long a worker may be at one reminder, unless told; then another one takes it up. */
const CLAIM_MS = 2 * MINUTE_MS;

/** A claim on one reminder: its holder decides what becomes of it. */
export interface Claim {
  /** As it stood when it was claimed; `sending` when a worker died over it. */
  entry: LedgerEntry;
  token: string;
}

/** What is written down before a reminder is handed over. */
export interface Intent {
  now: Instant;
  maxPerHour: number;
  /** It may be handed over although it may have been before. */
  mayRepeat: boolean;
  /** Keyed hash of the address that it goes to; null where there is none. */
  recipient: string | null;
  /** Keyed hash of the patient. */
  patientProof: string;
  /** Keyed hash of the address that the text names; null where it names none. */
  locationProof: string | null;
}

/** What the other side told of a reminder after it had taken it. */
export interface DeliveryReport {
  state: 'delivered' | 'failed';
  code: string | null;
  at: Instant;
}

/** Why nothing is handed to a channel. */
export interface ChannelClosing {
  code: string;
  at: Instant;
}

/** How handing over ended, or why it did not begin. */
export type ReminderSettlement =
  | { state: 'sent'; reference: string | null }
  | { state: 'dropped'; reason: DropReason; code: string | null }
  | { state: 'unknown'; code: string };

/** What became of a tenant's reminders. Each is unique by its id, which is made of appointment, start, rule and channel. */
export interface ReminderLedger extends MessageLedger {
  /** Plans, or says at once why it is not sent. What was handed over, or may have been, stays. @returns whether it changed */
  plan(reminder: PlannedReminder, dropped: DropReason | null, now: Instant): Promise<boolean>;
  /** @returns false when it is being handed over or has come to its end */
  withdraw(id: string, reason: Withdrawal, now: Instant): Promise<boolean>;
  /** Takes a reminder for the time of a claim; null when nothing is left to do for it. */
  claim(id: string): Promise<Claim | { busyMs: number } | null>;
  /**
   * Writes down that it will be handed over, unless the recipient opted out. `limit`: so many began in this hour already.
   * `lost`: it was withdrawn, or the claim is over: it must not be handed over.
   */
  intend(claim: Claim, options: Intent): Promise<'go' | 'limit' | 'opted-out' | 'lost'>;
  /** @returns false when somebody else has settled it */
  finish(claim: Claim, settlement: ReminderSettlement, now: Instant): Promise<boolean>;
  /** Looks at it again then. @param options.notSent it was surely not handed over */
  postpone(claim: Claim, options: { wakeAt: Instant; code: string | null; notSent: boolean }): Promise<boolean>;
  read(id: string): Promise<LedgerEntry | null>;
  readSome(ids: readonly string[]): Promise<Map<string, LedgerEntry>>;
  /** Everything that is planned or being sent, the next one first. */
  open(): Promise<LedgerEntry[]>;
  /** What was settled, newest first. */
  finished(limit: number): Promise<LedgerEntry[]>;
  /** Everything of an appointment, the first one due first. */
  ofAppointment(appointmentId: string): Promise<LedgerEntry[]>;
  /** The same of several, by appointment. */
  ofAppointments(appointmentIds: readonly string[]): Promise<Map<string, LedgerEntry[]>>;
  /** How many came to each state, and for which reason, since the ledger began. */
  counts(): Promise<{ state: ReminderState; reason: string | null; count: number }[]>;
  openCount(): Promise<number>;
  /** Whom it was handed over for, as opt-outs are remembered; null when it was not, or for nobody's address. */
  recipientOf(id: string): Promise<string | null>;
  /** Keeps what the other side reports, in whatever order it comes: a delivery is the last word. */
  report(reference: string, report: DeliveryReport): Promise<void>;
  reports(references: readonly string[]): Promise<Map<string, DeliveryReport>>;
  /** Nothing is handed to a channel until a person opens it again. The first closing is kept. */
  closeChannel(channel: string, closing: ChannelClosing): Promise<void>;
  /** @returns whether it was closed */
  reopenChannel(channel: string): Promise<boolean>;
  /** Since when a channel is closed, and why; null when it is not. */
  closingOf(channel: string): Promise<ChannelClosing | null>;
}

/**
 * Opens the ledger of a tenant.
 * @param options.retentionMs how long an entry is kept after its appointment began
 * @param options.sealer seals with the identity key what is sent of who holds wrong information
 * @param options.claimMs how long a worker may be at one reminder, by the clock of Redis
 */
export function createReminderLedger(
  redis: RedisClient,
  tenant: string,
  { retentionMs, sealer, claimMs = CLAIM_MS }: { retentionMs: number; sealer: Sealer; claimMs?: number },
): ReminderLedger {
  const entryKey = (id: string) => keys.reminder(tenant, id);
  const claimKey = (id: string) => keys.reminderClaim(tenant, id);
  const open = keys.remindersOpen(tenant);
  const finished = keys.remindersSettled(tenant);
  const counts = keys.reminderCounts(tenant);
  return {
    async plan(reminder, dropped, now) {
      const { id, appointmentId, startAt, rule, channel, dueAt, zone } = reminder;
      const lifeMs = Math.max(startAt - now, 0) + retentionMs;
      const scriptKeys = [entryKey(id), open, finished, counts, keys.remindersOf(tenant, appointmentId)];
      const correction = reminder.correction == null ? '' : `${reminder.correction.kind}:${reminder.correction.fact}`;
      const facts = [dueAt, lifeMs, appointmentId, startAt, rule, channel, zone, correction].map(String);
      return (await scripts.plan(redis, scriptKeys, [id, now, retentionMs, dropped ?? '', ...facts])) === 1;
    },
    withdraw: async (id, reason, now) =>
      (await scripts.withdraw(redis, [entryKey(id), open, finished, counts], [id, now, retentionMs, reason])) === 1,
    async claim(id) {
      const token = randomUUID();
      const answer = await scripts.claim(redis, [entryKey(id), open, claimKey(id)], [id, token, claimMs]);
      if (typeof answer === 'number') return { busyMs: answer };
      const entry = answer === null ? null : entryOf(Object.fromEntries(pairsOf(answer)));
      return entry === null ? null : { entry, token };
    },
    async intend({ entry, token }, { now, maxPerHour, mayRepeat, recipient, patientProof, locationProof }) {
      const hour = keys.remindersHour(tenant, Math.floor(now / HOUR_MS));
      const may = mayRepeat ? '1' : '0';
      const scriptKeys = [
        entryKey(entry.id),
        claimKey(entry.id),
        hour,
        keys.optOuts(tenant),
        keys.remindersTold(tenant),
        keys.remindersOrder(tenant),
      ];
      const facts = [entry.appointmentId, entry.startAt, patientProof, locationProof ?? ''].map(String);
      return scripts.intend(redis, scriptKeys, [token, maxPerHour, may, recipient ?? '', ...facts]);
    },
    async finish({ entry: { id }, token }, settlement, now) {
      const { state } = settlement;
      const reason = state === 'dropped' ? settlement.reason : '';
      const code = state === 'sent' ? '' : (settlement.code ?? '');
      const reference = state === 'sent' ? (settlement.reference ?? '') : '';
      const scriptKeys = [entryKey(id), open, finished, counts, claimKey(id)];
      const facts = [id, now, retentionMs, token, state, reason, code, reference].map(String);
      return (await scripts.finish(redis, scriptKeys, facts)) === 1;
    },
    async postpone({ entry: { id }, token }, { wakeAt, code, notSent }) {
      const scriptKeys = [entryKey(id), open, claimKey(id)];
      const facts = [id, token, String(wakeAt), code ?? '', notSent ? '1' : '0'];
      return (await scripts.postpone(redis, scriptKeys, facts)) === 1;
    },
    ...openReads(redis, tenant),
    ...openChannels(redis, tenant, retentionMs),
    ...openMessageLedger(redis, tenant, sealer),
  };
}

type Reads = Pick<
  ReminderLedger,
  | 'read'
  | 'readSome'
  | 'open'
  | 'finished'
  | 'ofAppointment'
  | 'ofAppointments'
  | 'counts'
  | 'openCount'
  | 'recipientOf'
>;

/** What stands in the ledger. */
function openReads(redis: RedisClient, tenant: string): Reads {
  const entryKey = (id: string) => keys.reminder(tenant, id);
  const open = keys.remindersOpen(tenant);
  const readMany = (ids: readonly string[]) => readEntries(redis, ids.map(entryKey));
  return {
    read: async (id) => entryOf(await redis.hgetall(entryKey(id))),
    readSome: async (ids) => new Map((await readMany(ids)).map((entry) => [entry.id, entry])),
    open: async () => readMany(await redis.zrange(open, '0', '-1')),
    finished: async (limit) => readMany(await redis.zrevrange(keys.remindersSettled(tenant), 0, limit - 1)),
    async ofAppointment(appointmentId) {
      const entries = await readMany(await redis.smembers(keys.remindersOf(tenant, appointmentId)));
      return entries.sort((one, other) => one.dueAt - other.dueAt);
    },
    async ofAppointments(appointmentIds) {
      const ids = await askEach<string[]>(redis, appointmentIds, (pipeline, id) =>
        pipeline.smembers(keys.remindersOf(tenant, id)),
      );
      return Map.groupBy(await readMany(ids.flat()), ({ appointmentId }) => appointmentId);
    },
    async counts() {
      return Object.entries(await redis.hgetall(keys.reminderCounts(tenant))).map(([name, count]) => {
        const [state = '', reason = ''] = name.split(':');
        return { state: state as ReminderState, reason: reason === '' ? null : reason, count: Number(count) };
      });
    },
    openCount: () => redis.zcard(open),
    recipientOf: async (id) => (await redis.hget(entryKey(id), 'recipient')) || null,
  };
}

type Channels = Pick<ReminderLedger, 'report' | 'reports' | 'closeChannel' | 'reopenChannel' | 'closingOf'>;

/** What the other side of a channel reported, and which channels are closed. */
function openChannels(redis: RedisClient, tenant: string, retentionMs: number): Channels {
  return {
    async report(reference, report) {
      const key = keys.reminderReport(tenant, reference);
      if (report.state === 'delivered') await redis.set(key, JSON.stringify(report), 'PX', retentionMs);
      else await redis.set(key, JSON.stringify(report), 'PX', retentionMs, 'NX');
    },
    async reports(references) {
      if (references.length === 0) return new Map();
      const values = await redis.mget(references.map((reference) => keys.reminderReport(tenant, reference)));
      return new Map(
        references.flatMap((reference, index) => {
          const value = values[index];
          return value == null ? [] : [[reference, JSON.parse(value) as DeliveryReport] as const];
        }),
      );
    },
    async closeChannel(channel, closing) {
      await redis.set(keys.reminderChannelClosed(tenant, channel), JSON.stringify(closing), 'NX');
    },
    reopenChannel: async (channel) => (await redis.del(keys.reminderChannelClosed(tenant, channel))) === 1,
    async closingOf(channel) {
      const value = await redis.get(keys.reminderChannelClosed(tenant, channel));
      return value === null ? null : closingIn(value);
    },
  };
}

function closingIn(stored: string): ChannelClosing {
  const closing = JSON.parse(stored) as ChannelClosing;
  return { ...closing, code: codeIn(closing.code) };
}

async function readEntries(redis: RedisClient, names: readonly string[]): Promise<LedgerEntry[]> {
  const all = await askEach<Record<string, string>>(redis, names, (pipeline, name) => pipeline.hgetall(name));
  return all.flatMap((fields) => entryOf(fields) ?? []);
}

function entryOf(fields: Record<string, string>): LedgerEntry | null {
  if (fields.state === undefined) return null;
  const textOrNull = (value: string | undefined) => (value === undefined || value === '' ? null : value);
  return {
    id: fields.id ?? '',
    appointmentId: fields.appointmentId ?? '',
    startAt: Number(fields.startAt),
    rule: fields.rule ?? '',
    channel: fields.channel ?? '',
    zone: fields.zone ?? 'UTC',
    dueAt: Number(fields.dueAt),
    state: fields.state as ReminderState,
    plannedAt: Number(fields.plannedAt),
    wakeAt: Number(fields.wakeAt),
    attempts: Number(fields.attempts),
    finishedAt: textOrNull(fields.settledAt) === null ? null : Number(fields.settledAt),
    reason: textOrNull(fields.reason) as DropReason | null,
    lastCode: textOrNull(fields.lastCode) === null ? null : codeIn(fields.lastCode ?? ''),
    reference: textOrNull(fields.reference),
    correction: correctionOf(fields.correction),
    handedAs: textOrNull(fields.handedAs) === null ? null : Number(fields.handedAs),
    patientProof: textOrNull(fields.patient),
    locationProof: textOrNull(fields.place),
    answer: fields.answer === undefined ? null : { is: fields.answer as Answer, at: Number(fields.answeredAt) },
  };
}

function correctionOf(written: string | undefined): Correction | null {
  if (written === undefined || written === '') return null;
  const [kind = '', fact = ''] = written.split(':');
  return { kind: kind as CorrectionKind, fact };
}

/** Which appointments patients were told of, and which of them were told something that is not true now. */
export type MessageLedger = ReturnType<typeof openMessageLedger>;

/** An appointment is kept for so long after the start that was told: a reading may tell later that it had been moved before. */
const RETENTION_MS = 2 * DAY_MS;

/** Opens that part of the ledger. */
export function openMessageLedger(redis: RedisClient, tenant: string, sealer: Sealer) {
  const announced = keys.remindersTold(tenant);
  const wrong = sealedTable<WrongInformation>(keys.remindersWrong(tenant), { redis, sealer });
  const fieldOf = ({ appointmentId, channel }: Pick<WrongInformation, 'appointmentId' | 'channel'>) =>
    JSON.stringify([appointmentId, channel]);
  return {
    /**
     * Ids of the appointments that a message was handed over for, or may have been, and whose start by that message lies after `since`. Those of
     * two days before it are forgotten.
     */
    async notifiedSince(since: Instant): Promise<string[]> {
      await redis.zremrangebyscore(announced, '-inf', since - RETENTION_MS);
      return redis.zrangebyscore(announced, `(${since}`, '+inf');
    },
    /** Keeps an appointment among these until then. */
    async storeNotified(appointmentId: string, untilAt: Instant): Promise<void> {
      await redis.zadd(announced, 'XX', 'GT', untilAt, appointmentId);
    },
    /** Patients who hold wrong information, the longest first. */
    async wrong(now: Instant): Promise<WrongInformation[]> {
      const all = await wrong.prune(({ untilAt }) => untilAt <= now);
      return [...all.values()].sort((one, other) => one.sinceAt - other.sinceAt);
    },
    recordWrong: (one: WrongInformation) => wrong.set(fieldOf(one), one),
    async clearWrong(one: Pick<WrongInformation, 'appointmentId' | 'channel'>): Promise<void> {
      await wrong.remove([fieldOf(one)]);
    },
  };
}
