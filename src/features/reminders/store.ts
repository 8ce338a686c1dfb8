import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type {
  Answer,
  Correction,
  CorrectionKind,
  DropReason,
  LedgerEntry,
  PlannedReminder,
  ReminderState,
  Withdrawal,
} from '../../core/model/reminders.ts';
import { isStorable } from '../../core/model/stored-limits.ts';
import { DAY_MS, HOUR_MS, type Instant, isZone, MINUTE_MS } from '../../core/model/time.ts';
import { type Closing, closingIn, codeIn, openNumber, openPlain, readStored } from '../../state/damaged.ts';
import { keys } from '../../state/keys.ts';
import type { RedisClient } from '../../state/redis.ts';
import { askEach, compareAndSet, pairsOf, redisScript, sendAll } from '../../state/script.ts';
import type { Sealer } from '../../state/sealing.ts';
import { openSealed } from '../../state/sealing.ts';
import { reminderKeys } from './keys.ts';
import { type MessageLedger, openMessageLedger } from './message-ledger.ts';
import { type DeliveryReport, report } from './schemas.ts';
import { visitOf } from './told.ts';

const scripts = {
  plan: redisScript<number>(import.meta.url, 'reminder-plan'),
  withdraw: redisScript<number>(import.meta.url, 'reminder-withdraw'),
  claim: redisScript<string[] | number | null>(import.meta.url, 'reminder-claim'),
  intend: redisScript<IntentAnswer>(import.meta.url, 'reminder-intend'),
  finish: redisScript<number>(import.meta.url, 'reminder-finish'),
  postpone: redisScript<number>(import.meta.url, 'reminder-postpone'),
};

/** Default lifetime of a worker's claim. After expiry, another worker takes the reminder. */
export const CLAIM_MS = 2 * MINUTE_MS;

/** Lifetime of the list of a recipient's reminders: longer than the horizon of the plan. */
const RECIPIENT_MS = 4 * DAY_MS;

/** An exclusive claim on one reminder. */
export interface Claim {
  /** State at the time of the claim; `sending` after a worker stopped during delivery. */
  entry: LedgerEntry;
  token: string;
}

/** Corrections of a recipient in an hour before the next one waits. Project choice. */
const CORRECTIONS_PER_HOUR = 2;

/**
 * Answer to an intent. `recipient-limit`: the recipient received two corrections within an hour; `limit`: the hourly limit is reached;
 * `lost`: withdrawn, or the claim expired, so the reminder must not be delivered.
 */
export type IntentAnswer = 'go' | 'limit' | 'recipient-limit' | 'opted-out' | 'lost';

/** A reminder in a message, with keyed hashes of the patient, and of the location in the text. */
export interface IntendedReminder {
  claim: Claim;
  patientProof: string;
  locationProof: string | null;
  /** Id of the patient for a channel without a recipient, stored encrypted; otherwise absent or null. */
  patientId?: string | null;
}

/** Intent stored before a delivery. */
export interface Intent {
  now: Instant;
  maxPerHour: number;
  /** Whether the limit of corrections of a recipient applies. */
  isLimited: boolean;
  /** Allows delivery of a possibly delivered reminder. */
  mayRepeat: boolean;
  /** Keyed hash of the recipient, or null. */
  recipient: string | null;
}

/** Result of a delivery, or the reason against delivery. */
export type ReminderSettlement =
  | { state: 'sent'; reference: string | null }
  | { state: 'dropped'; reason: DropReason; code: string | null }
  | { state: 'unknown'; code: string };

/** Reminders of a tenant. The id is derived from appointment, start, rule and channel, and is unique. */
export interface ReminderLedger extends MessageLedger {
  /** Plans or drops a reminder. Possibly delivered reminders are unchanged. @returns whether the ledger changed */
  plan(reminder: PlannedReminder, dropped: DropReason | null, now: Instant): Promise<boolean>;
  /** @returns false during delivery, or for a finished reminder */
  withdraw(id: string, reason: Withdrawal, now: Instant): Promise<boolean>;
  /** Claims a reminder; null for a finished reminder. */
  claim(id: string): Promise<Claim | { busyMs: number } | null>;
  /** Stores the intent to deliver one message about all these reminders, unless the recipient opted out. */
  intend(reminders: readonly IntendedReminder[], options: Intent): Promise<IntentAnswer>;
  /** Settles the reminders of a message in one step. @returns false if a different worker settled the first reminder */
  finish(claims: readonly Claim[], settlement: ReminderSettlement, now: Instant): Promise<boolean>;
  /** Reschedules the reminder. @param options.notSent certainly not delivered */
  postpone(claim: Claim, options: { wakeAt: Instant; code: string | null; notSent: boolean }): Promise<boolean>;
  read(id: string): Promise<LedgerEntry | null>;
  readSome(ids: readonly string[]): Promise<Map<string, LedgerEntry>>;
  /** Returns planned and active reminders, next first. */
  open(): Promise<LedgerEntry[]>;
  /** Returns settled reminders, newest first. @param limit 0 for all */
  finished(limit: number): Promise<LedgerEntry[]>;
  /** Returns the reminders of an appointment, and messages about the appointment that it replaced, by due time. */
  ofAppointment(appointmentId: string): Promise<LedgerEntry[]>;
  /** Returns the reminders of several appointments. */
  ofAppointments(appointmentIds: readonly string[]): Promise<Map<string, LedgerEntry[]>>;
  /** Returns totals by state and reason since the ledger began. */
  counts(): Promise<{ state: ReminderState; reason: string | null; count: number }[]>;
  openCount(): Promise<number>;
  /** Returns the hash of the expected or actual recipient in the form of opt-outs; null without contact data. */
  recipientOf(id: string): Promise<string | null>;
  /** Stores the expected recipient of a planned reminder. */
  storeRecipient(id: string, recipient: string): Promise<void>;
  /** Returns the reminders with an expected recipient. */
  ofRecipient(recipient: string): Promise<LedgerEntry[]>;
  /** Returns the patient of a message without a recipient; null for other messages, or if the value is damaged. */
  patientIdOf(id: string): Promise<string | null>;
  /** Stores hash and, for a message without a recipient, id of the present patient, if the record is unchanged. */
  storePatient(id: string, change: { before: string; proof: string; patientId: string | null }): Promise<void>;
  /** Stores a report. Reports arrive in any order; a delivery overrides other reports. */
  report(reference: string, report: DeliveryReport): Promise<void>;
  reports(references: readonly string[]): Promise<Map<string, DeliveryReport>>;
  /** Closes a channel until an operator reopens the channel. The first closing is kept. */
  closeChannel(channel: string, closing: Closing): Promise<void>;
  /** @returns whether the channel was closed */
  reopenChannel(channel: string): Promise<boolean>;
  /** Returns time and reason of a closing, or null. */
  closingOf(channel: string): Promise<Closing | null>;
}

/**
 * Opens the ledger of a tenant.
 * @param options.retentionMs retention after the start of the appointment
 * @param options.sealer encrypts details of wrong information with the identity key
 * @param options.claimMs lifetime of a claim, by the clock of Redis
 */
export function createReminderLedger(
  redis: RedisClient,
  tenant: string,
  { retentionMs, sealer, claimMs = CLAIM_MS }: { retentionMs: number; sealer: Sealer; claimMs?: number },
): ReminderLedger {
  const entryKey = (id: string) => reminderKeys.reminder(tenant, id);
  const claimKey = (id: string) => reminderKeys.reminderClaim(tenant, id);
  const open = reminderKeys.remindersOpen(tenant);
  const finished = reminderKeys.remindersSettled(tenant);
  const counts = reminderKeys.reminderCounts(tenant);
  const { sealedPatient, ...recipients } = openRecipients(redis, tenant, sealer);
  return {
    async plan(reminder, dropped, now) {
      const { id, appointmentId, startAt, rule, channel, dueAt, zone } = reminder;
      const lifeMs = Math.max(startAt - now, 0) + retentionMs;
      const scriptKeys = [entryKey(id), open, finished, counts, reminderKeys.remindersOf(tenant, appointmentId)];
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
      const entry = answer === null ? null : entryOf(Object.fromEntries(pairsOf(answer)), tenant);
      return entry === null ? null : { entry, token };
    },
    async intend(members, { now, maxPerHour, isLimited, mayRepeat, recipient }) {
      const hour = reminderKeys.remindersHour(tenant, Math.floor(now / HOUR_MS));
      const shared = [
        hour,
        keys.optOuts(tenant),
        reminderKeys.remindersTold(tenant),
        reminderKeys.remindersOrder(tenant),
      ];
      const scriptKeys = members.flatMap(({ claim: { entry } }) => [entryKey(entry.id), claimKey(entry.id)]);
      const facts = members.flatMap(({ claim: { entry, token }, patientProof, locationProof, patientId }) => [
        ...[token, entry.appointmentId, String(entry.startAt), patientProof, locationProof ?? ''],
        sealedPatient(entry.id, patientId ?? null),
      ]);
      return scripts.intend(
        redis,
        [...shared, reminderKeys.remindersCorrected(tenant, recipient ?? ''), ...scriptKeys],
        [maxPerHour, mayRepeat ? '1' : '0', recipient ?? '', now, isLimited ? CORRECTIONS_PER_HOUR : '', ...facts],
      );
    },
    async finish(claims, settlement, now) {
      const { state } = settlement;
      const reason = state === 'dropped' ? settlement.reason : '';
      const code = state === 'sent' ? '' : (settlement.code ?? '');
      const sentAs = state === 'sent' ? (settlement.reference ?? '') : '';
      const reference = isStorable('reference', sentAs) ? sentAs : '';
      const scriptKeys = claims.flatMap(({ entry: { id } }) => [entryKey(id), claimKey(id)]);
      const facts = claims.flatMap(({ entry: { id }, token }) => [id, token]);
      const shared = [now, retentionMs, state, reason, code, reference].map(String);
      return (await scripts.finish(redis, [open, finished, counts, ...scriptKeys], [...shared, ...facts])) === 1;
    },
    async postpone({ entry: { id }, token }, { wakeAt, code, notSent }) {
      const scriptKeys = [entryKey(id), open, claimKey(id)];
      const facts = [id, token, String(wakeAt), code ?? '', notSent ? '1' : '0'];
      return (await scripts.postpone(redis, scriptKeys, facts)) === 1;
    },
    ...recipients,
    ...openReads(redis, tenant),
    ...openChannels(redis, tenant, retentionMs),
    ...openMessageLedger(redis, tenant, sealer),
  };
}

type Recipients = Pick<ReminderLedger, 'storeRecipient' | 'patientIdOf' | 'storePatient'>;

/** Opens what the ledger keeps of recipients: a hash of the number or address, or the encrypted patient of a channel without one. */
function openRecipients(redis: RedisClient, tenant: string, sealer: Sealer) {
  const entryKey = (id: string) => reminderKeys.reminder(tenant, id);
  const patientContext = (id: string) => `reminder-patient ${id}`;
  const sealedPatient = (id: string, patientId: string | null) =>
    patientId === null ? '' : sealer.seal(JSON.stringify(patientId), patientContext(id));
  const recipients: Recipients = {
    async storeRecipient(id, recipient) {
      const own = reminderKeys.remindersRecipient(tenant, recipient);
      const pipeline = redis.pipeline().hset(entryKey(id), 'recipient', recipient).sadd(own, id);
      await sendAll(pipeline.pexpire(own, RECIPIENT_MS));
    },
    async patientIdOf(id) {
      const sealed = await redis.hget(entryKey(id), 'sealedPatient');
      return sealed === null || sealed === ''
        ? null
        : openSealed<string>(sealer, sealed, patientContext(id), 'reminders');
    },
    async storePatient(id, { before, proof, patientId }) {
      const key = entryKey(id);
      const present = { key, field: 'patient', value: proof };
      const sealed = { key, field: 'sealedPatient', value: sealedPatient(id, patientId) };
      await compareAndSet(redis, [{ ...present, value: before }], [present, sealed]);
    },
  };
  return { ...recipients, sealedPatient };
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
  | 'ofRecipient'
>;

/** Opens the read functions of the ledger. */
function openReads(redis: RedisClient, tenant: string): Reads {
  const entryKey = (id: string) => reminderKeys.reminder(tenant, id);
  const open = reminderKeys.remindersOpen(tenant);
  const readMany = (ids: readonly string[]) => readEntries(redis, tenant, ids);
  return {
    read: async (id) => (await readMany([id]))[0] ?? null,
    readSome: async (ids) => new Map((await readMany(ids)).map((entry) => [entry.id, entry])),
    open: async () => readMany(await redis.zrange(open, '0', '-1')),
    finished: async (limit) => readMany(await redis.zrevrange(reminderKeys.remindersSettled(tenant), 0, limit - 1)),
    async ofAppointment(appointmentId) {
      const entries = await readMany(await redis.smembers(reminderKeys.remindersOf(tenant, appointmentId)));
      return entries.sort((one, other) => one.dueAt - other.dueAt);
    },
    async ofAppointments(appointmentIds) {
      const ids = await askEach<string[]>(redis, appointmentIds, (pipeline, id) =>
        pipeline.smembers(reminderKeys.remindersOf(tenant, id)),
      );
      return Map.groupBy(await readMany(ids.flat()), visitOf);
    },
    async counts() {
      return Object.entries(await redis.hgetall(reminderKeys.reminderCounts(tenant))).map(([name, count]) => {
        const [state = '', reason = ''] = name.split(':');
        return {
          state: state as ReminderState,
          reason: reason === '' ? null : reason,
          count: openNumber(count, originOf(tenant)) ?? 0,
        };
      });
    },
    openCount: () => redis.zcard(open),
    ofRecipient: async (recipient) =>
      readMany(await redis.smembers(reminderKeys.remindersRecipient(tenant, recipient))),
    recipientOf: async (id) => (await redis.hget(entryKey(id), 'recipient')) || null,
  };
}

type Channels = Pick<ReminderLedger, 'report' | 'reports' | 'closeChannel' | 'reopenChannel' | 'closingOf'>;

/** Opens delivery reports and closings of channels. */
function openChannels(redis: RedisClient, tenant: string, retentionMs: number): Channels {
  return {
    async report(reference, report) {
      const key = reminderKeys.reminderReport(tenant, reference);
      if (report.state === 'delivered') await redis.set(key, JSON.stringify(report), 'PX', retentionMs);
      else await redis.set(key, JSON.stringify(report), 'PX', retentionMs, 'NX');
    },
    async reports(references) {
      if (references.length === 0) return new Map();
      const values = await redis.mget(references.map((reference) => reminderKeys.reminderReport(tenant, reference)));
      return new Map(
        references.flatMap((reference, index) => {
          const found = openPlain(values[index], originOf(tenant), report);
          if (found === null) return [];
          return [[reference, { ...found, code: found.code === null ? null : codeIn(found.code) }] as const];
        }),
      );
    },
    async closeChannel(channel, closing) {
      await redis.set(reminderKeys.reminderChannelClosed(tenant, channel), JSON.stringify(closing), 'NX');
    },
    reopenChannel: async (channel) => (await redis.del(reminderKeys.reminderChannelClosed(tenant, channel))) === 1,
    async closingOf(channel) {
      return closingIn(await redis.get(reminderKeys.reminderChannelClosed(tenant, channel)), originOf(tenant));
    },
  };
}

const originOf = (tenant: string) => ({ owner: tenant, kind: 'reminders' }) as const;

/** A damaged reminder counts as absent. The next plan writes it again unless it was sent; a job that is due drops it. */
async function readEntries(redis: RedisClient, tenant: string, ids: readonly string[]): Promise<LedgerEntry[]> {
  const all = await askEach<Record<string, string>>(redis, ids, (pipeline, id) =>
    pipeline.hgetall(reminderKeys.reminder(tenant, id)),
  );
  return all.flatMap((fields) => {
    const entry = entryOf(fields, tenant);
    return entry === null || entry.isDamaged === true ? [] : [entry];
  });
}

const stateForm = z.enum(['planned', 'sending', 'sent', 'dropped', 'unknown']);
const zoneForm = z.string().refine(isZone);

function entryOf(fields: Record<string, string>, tenant: string): LedgerEntry | null {
  if (fields.state === undefined) return null;
  const number = (value: string | undefined) => openNumber(value, originOf(tenant));
  const [startAt, dueAt, wakeAt] = [number(fields.startAt), number(fields.dueAt), number(fields.wakeAt)];
  const zone = readStored(originOf(tenant), () => zoneForm.parse(fields.zone ?? 'UTC'));
  const state = readStored(originOf(tenant), () => stateForm.parse(fields.state));
  const isDamaged = [startAt, dueAt, wakeAt, zone, state].includes(null);
  const textOrNull = (value: string | undefined) => (value === undefined || value === '' ? null : value);
  return {
    id: fields.id ?? '',
    appointmentId: fields.appointmentId ?? '',
    ...(isDamaged ? { isDamaged } : {}),
    startAt: startAt ?? 0,
    rule: fields.rule ?? '',
    channel: fields.channel ?? '',
    zone: zone ?? 'UTC',
    dueAt: dueAt ?? 0,
    state: state ?? 'unknown',
    plannedAt: number(fields.plannedAt) ?? 0,
    wakeAt: wakeAt ?? 0,
    attempts: number(fields.attempts) ?? 0,
    finishedAt: number(fields.settledAt),
    reason: textOrNull(fields.reason) as DropReason | null,
    lastCode: textOrNull(fields.lastCode) === null ? null : codeIn(fields.lastCode ?? ''),
    reference: textOrNull(fields.reference),
    correction: correctionOf(fields.correction),
    handedAs: number(fields.handedAs),
    patientProof: textOrNull(fields.patient),
    locationProof: textOrNull(fields.place),
    movedTo: textOrNull(fields.movedTo),
    recipient: textOrNull(fields.recipient),
    answer: fields.answer === undefined ? null : { is: fields.answer as Answer, at: number(fields.answeredAt) ?? 0 },
  };
}

function correctionOf(written: string | undefined): Correction | null {
  if (written === undefined || written === '') return null;
  const [kind = '', fact = ''] = written.split(':');
  return { kind: kind as CorrectionKind, fact };
}
