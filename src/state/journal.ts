import { hash } from 'node:crypto';
import type { ReasonCode } from '../core/model/operations.ts';
import { slices } from '../core/model/pieces.ts';
import { DAY_MS, type Instant, SECOND_MS, type TimeSpan, type TimeWindow } from '../core/model/time.ts';
import type { PinTable } from '../engine/store.ts';
import { reportDamaged } from './damaged.ts';
import { keys } from './keys.ts';
import { type RedisClient, refusalOf } from './redis.ts';
import { askEach, keysLike, scoresOf, sendAll } from './script.ts';
import { createProofSealer, openSealed, type Sealer, sealedValue } from './sealing.ts';
import { openTargetProofs } from './target-record.ts';

/** Effect of a run on an existing object; creations are not recorded. */
export type JournalEffect = 'updated' | 'deleted';

/** Line of a run's journal, without content except the encrypted times: restoring uses data from the source. */
export interface JournalEntry {
  target: string;
  recordId: string;
  effect: JournalEffect;
  reason: ReasonCode;
  at: Instant;
  /** Time of the record before and after the change. Null: the line is older than this field. */
  times: ChangedTimes | null;
}

/** Time of a record before and after a change; null for no object, or for a record without a time. */
interface ChangedTimes {
  before: TimeSpan | null;
  after: TimeSpan | null;
}

/** Changes of a target in a period. */
interface PeriodChanges {
  /** Newest first. */
  lines: (JournalEntry & { run: string })[];
  /** Whether a limit cut the list. */
  isCut: boolean;
}

/** Run with updates or deletions. */
export interface JournaledRun {
  run: string;
  /** Time of the first acknowledged change. */
  at: Instant;
  updated: number;
  deleted: number;
}

/** Default retention of journals. */
export const JOURNAL_RETENTION_MS = 30 * DAY_MS;
const LISTED_RUNS = 100;

/** Journals of one tenant. The outbox writes lines in the step that acknowledges a change. */
export interface Journal extends PinTable {
  /** Retention of a journal after its last line. */
  retentionMs: number;
  /** Returns every genuine line of a run; empty for a run without changes, an unknown run or an expired run. */
  read(run: string): Promise<JournalEntry[]>;
  /** Lists runs with a journal, newest first, at most 100. */
  list(now: Instant): Promise<JournaledRun[]>;
  /** Returns the effects of listed runs on a record's object, newest first. */
  linesOf(target: string, recordId: string, now: Instant): Promise<(JournalEntry & { run: string })[]>;
  /** Returns the changes of a target in a period. */
  linesBetween(target: string, period: TimeWindow, limit: number): Promise<PeriodChanges>;
  /** Keeps records in a target against its rules until the given time, or until a later existing time. */
  pin(target: string, recordIds: readonly string[], untilAt: Instant): Promise<void>;
  /** Returns pinned records of a target with their end. */
  pins(target: string, now: Instant): Promise<Record<string, Instant>>;
  /**
   * Removes records from every run's journal and ends their pins.
   * @param recordsOf the records of a target, by any of its ids
   * @returns the number of removed lines and pins
   */
  erase(recordsOf: (target: string) => ReadonlySet<string>): Promise<{ lines: number; pins: number }>;
}

/** One id of a tenant, with the sealer of its lines. */
interface JournalLocation {
  one: string;
  proofs: Sealer;
}

/** Ids before a renaming, which may still have journals and pins. */
interface FormerIds {
  tenant?: string | undefined;
  target?(target: string): string | undefined;
}

/**
 * Opens the journals of a tenant, including journals of former ids.
 * @param identityKey the installation's key, 32 bytes
 * @param options.retentionMs retention of a journal after its last line
 */
export function createJournal(
  redis: RedisClient,
  tenant: string,
  identityKey: Uint8Array,
  { retentionMs = JOURNAL_RETENTION_MS, formerly = {} }: { retentionMs?: number; formerly?: FormerIds } = {},
): Journal {
  const tenants = [...new Set([tenant, formerly.tenant ?? tenant])];
  const locations = tenants.map((one) => ({ one, proofs: createProofSealer(identityKey, one) }));
  return {
    ...openPinned(redis, tenant, identityKey, formerly),
    retentionMs,
    async read(run) {
      const lines = await Promise.all(
        locations.map(async ({ one, proofs }) => entriesOf(proofs, run, await redis.hgetall(keys.journal(one, run)))),
      );
      const byLocation = new Map(lines.reverse().flatMap((each) => each.map((line) => [fieldOf(line), line])));
      return [...byLocation.values()];
    },
    async list(now) {
      const lists = await Promise.all(tenants.map((one) => listOf(redis, one, now - retentionMs)));
      return lists
        .flat()
        .sort((one, other) => other.at - one.at)
        .slice(0, LISTED_RUNS);
    },
    linesBetween: (target, period, limit) => linesInPeriod(redis, locations, { target, ...period }, limit),
    linesOf: (target, recordId, now) => linesIn(redis, locations, fieldOf({ target, recordId }), now - retentionMs),
    async erase(recordsOf) {
      let lines = 0;
      let pins = 0;
      for (const one of tenants) {
        for (const runs of slices(await redis.zrange(keys.journals(one), '0', '-1'), JOURNALS_AT_ONCE)) {
          lines += await eraseLines(
            redis,
            runs.map((run) => keys.journal(one, run)),
            recordsOf,
          );
        }
        pins += await forgetPins(redis, one, identityKey, recordsOf);
      }
      return { lines, pins };
    },
  };
}

type Pinned = Pick<Journal, 'pin' | 'unpin' | 'pinned' | 'pinnedByTarget' | 'pins' | 'confirmPins'>;

/** Opens pins under current ids. Pins under former ids apply until the planner migrates them. */
function openPinned(redis: RedisClient, tenant: string, identityKey: Uint8Array, formerly: FormerIds): Pinned {
  const own = openPins(redis, tenant, identityKey);
  const isRenamed = formerly.tenant !== undefined && formerly.tenant !== tenant;
  const stores = isRenamed ? [own, openPins(redis, formerly.tenant as string, identityKey)] : [own];
  const idsOf = (target: string) => [...new Set([target, formerly.target?.(target) ?? target])];
  async function look(target: string): Promise<PinLook> {
    const there = await own.look(target);
    if (there.state !== 'new') return there;
    const looks = await Promise.all(stores.flatMap((store) => idsOf(target).map((one) => store.look(one))));
    return { ...there, ends: laterOf(looks.map(({ ends }) => ends)) };
  }
  const change: PinStore['change'] = async (target, changed) => {
    const { ends, state } = await look(target);
    return own.change(target, (before) => changed(state === 'new' ? laterOf([before, ends]) : before));
  };
  const pinned = async (target: string, now: Instant) => unexpired((await look(target)).ends, now);
  return {
    pins: async (target, now) => Object.fromEntries(await pinned(target, now)),
    pinned: async (target, now) => new Set((await pinned(target, now)).keys()),
    async pinnedByTarget(targets, now) {
      const all = new Map<string, ReadonlySet<string>>();
      for (const slice of slices(targets, TARGETS_AT_ONCE)) {
        // Most tenants have no pins. A plan of the target finds that pins were removed: with pins, each cycle plans it.
        const ids = slice.flatMap(idsOf);
        const counts = await Promise.all(stores.map((store) => redis.exists(...ids.map(store.keyOf))));
        if (counts.every((count) => count === 0)) continue;
        for (const target of slice) {
          const ends = await pinned(target, now);
          if (ends.size > 0) all.set(target, new Set(ends.keys()));
        }
      }
      return all;
    },
    async pin(target, recordIds, untilAt) {
      const pins = new Map(recordIds.map((recordId) => [recordId, untilAt]));
      await change(target, (before) => laterOf([before, pins]));
    },
    async unpin(target, recordIds) {
      const { ends } = await look(target);
      const gone = new Set(recordIds.filter((recordId) => ends.has(recordId)));
      if (gone.size > 0) await change(target, (before) => without(before, gone));
    },
    async confirmPins(target, now) {
      const { ends, state } = await look(target);
      const remaining = unexpired(ends, now);
      if (state !== 'proved' || remaining.size < ends.size) await change(target, (before) => unexpired(before, now));
      return new Set(remaining.keys());
    },
  };
}

/** Removes records from a tenant's pins. @returns the number of pins */
async function forgetPins(
  redis: RedisClient,
  tenant: string,
  identityKey: Uint8Array,
  recordsOf: (target: string) => ReadonlySet<string>,
): Promise<number> {
  const store = openPins(redis, tenant, identityKey);
  const prefix = keys.pins(tenant, '');
  let pins = 0;
  for await (const key of keysLike(redis, `${prefix}*`)) {
    const target = key.slice(prefix.length);
    const { ends } = await store.look(target);
    const gone = new Set([...recordsOf(target)].filter((recordId) => ends.has(recordId)));
    if (gone.size > 0) pins += await store.change(target, (before) => without(before, gone));
  }
  return pins;
}

/** Keeps the latest end of each record. */
function laterOf(all: readonly Pins[]): Pins {
  const later = new Map<string, Instant>();
  for (const [recordId, untilAt] of all.flatMap((pins) => [...pins]))
    later.set(recordId, Math.max(untilAt, later.get(recordId) ?? 0));
  return later;
}

function unexpired(pins: Pins, now: Instant): Pins {
  return new Map([...pins].filter(([, untilAt]) => untilAt > now));
}

function without(pins: Pins, recordIds: ReadonlySet<string>): Pins {
  return new Map([...pins].filter(([recordId]) => !recordIds.has(recordId)));
}

/** Journals that are read together. */
const JOURNALS_AT_ONCE = 100;
const TARGETS_AT_ONCE = 100;

async function eraseLines(
  redis: RedisClient,
  journals: readonly string[],
  recordsOf: (target: string) => ReadonlySet<string>,
): Promise<number> {
  const all = await askEach<string[]>(redis, journals, (pipeline, journal) => pipeline.hkeys(journal));
  const removals = redis.pipeline();
  let removed = 0;
  for (const [index, fields] of all.entries()) {
    const named = fields.filter((field) => {
      const { target, recordId } = locationOf(field);
      return recordsOf(target).has(recordId);
    });
    if (named.length > 0) removals.hdel(journals[index] as string, ...named);
    removed += named.length;
  }
  await sendAll(removals);
  return removed;
}

/** Returns the lines of one field in the newest journals, newest first. */
async function linesIn(
  redis: RedisClient,
  locations: readonly JournalLocation[],
  field: string,
  oldestAt: Instant,
): Promise<(JournalEntry & { run: string })[]> {
  const lists = await Promise.all(locations.map((location) => linesOfTenant(redis, location, field, oldestAt)));
  return lists.flat().sort((one, other) => other.at - one.at);
}

async function linesOfTenant(
  redis: RedisClient,
  { one: tenant, proofs }: JournalLocation,
  field: string,
  oldestAt: Instant,
): Promise<(JournalEntry & { run: string })[]> {
  const runs = await redis.zrevrangebyscore(keys.journals(tenant), '+inf', oldestAt, 'LIMIT', 0, LISTED_RUNS);
  const lines = await askEach<string | null>(redis, runs, (pipeline, run) =>
    pipeline.hget(keys.journal(tenant, run), field),
  );
  return lines.flatMap((line, index) => {
    const run = runs[index] as string;
    return line === null ? [] : entriesOf(proofs, run, { [field]: line }).map((entry) => ({ ...entry, run }));
  });
}

/** Runs of which a period is read, newest first: three runs in ten minutes for a day. */
const MOST_RUNS_OF_PERIOD = 500;
/** A run's changes are written within this time, except those that wait for a server. */
const LONGEST_RUN_MS = DAY_MS;

/** Returns the lines of a target in a period, newest first. A line of a run that began more than a day before the period is omitted. */
async function linesInPeriod(
  redis: RedisClient,
  locations: readonly JournalLocation[],
  { target, fromAt, toAt }: { target: string } & TimeWindow,
  limit: number,
): Promise<PeriodChanges> {
  let isCut = false;
  const lines: PeriodChanges['lines'] = [];
  for (const { one: tenant, proofs } of locations) {
    const [latest, earliest] = [toAt - 1, fromAt - LONGEST_RUN_MS];
    const index = keys.journals(tenant);
    const runs = await redis.zrevrangebyscore(index, latest, earliest, 'LIMIT', 0, MOST_RUNS_OF_PERIOD + 1);
    isCut ||= runs.length > MOST_RUNS_OF_PERIOD;
    for (const some of slices(runs.slice(0, MOST_RUNS_OF_PERIOD), JOURNALS_AT_ONCE)) {
      const all = await askEach<Record<string, string>>(redis, some, (pipeline, run) =>
        pipeline.hgetall(keys.journal(tenant, run)),
      );
      for (const [at, stored] of all.entries()) {
        const run = some[at] as string;
        const own = Object.entries(stored).filter(([field]) => locationOf(field).target === target);
        const entries = entriesOf(proofs, run, Object.fromEntries(own));
        lines.push(
          ...entries.filter((entry) => fromAt <= entry.at && entry.at < toAt).map((entry) => ({ ...entry, run })),
        );
      }
    }
  }
  lines.sort((one, other) => other.at - one.at);
  return { lines: lines.slice(0, limit), isCut: isCut || lines.length > limit };
}

async function listOf(redis: RedisClient, tenant: string, oldestAt: Instant): Promise<JournaledRun[]> {
  const index = keys.journals(tenant);
  // A Redis that refuses writes still lists the runs.
  await refusalOf(() => redis.zremrangebyscore(index, '-inf', oldestAt));
  const scored = await redis.zrevrangebyscore(index, '+inf', `(${oldestAt}`, 'WITHSCORES', 'LIMIT', 0, LISTED_RUNS);
  const runs: JournaledRun[] = [];
  for (const [run, at] of scoresOf(scored)) {
    const lines = await redis.hvals(keys.journal(tenant, run));
    const deleted = lines.filter((line) => line.startsWith('deleted')).length;
    if (lines.length > 0) runs.push({ run, at, updated: lines.length - deleted, deleted });
  }
  return runs;
}

const SEPARATOR = '\t';

interface LineLocation {
  run: string;
  target: string;
  recordId: string;
}

/** Returns a line for storage, with a proof of its location. @param proofs encrypts with the identity key */
export function journalLine(
  proofs: Sealer,
  location: LineLocation,
  {
    effect,
    reason,
    at,
    times = null,
  }: Pick<JournalEntry, 'effect' | 'reason' | 'at'> & Partial<Pick<JournalEntry, 'times'>>,
): string {
  const said = [effect, reason, at].join(SEPARATOR);
  const sealed = times === null ? NO_TIMES : [times.before, times.after].map(secondsOf);
  return [said, proofs.seal(JSON.stringify(sealed), contextOf(location, said))].join(SEPARATOR);
}

/** The seal proves its context. Its content is the times, or the smallest JSON. */
const NO_TIMES = 1;

/** Start and end in whole seconds, the precision of links; 0 without a time. */
type SealedSpan = readonly [startS: number, endS: number] | 0;

function secondsOf(span: TimeSpan | null): SealedSpan {
  return span === null || span.startAt === 0
    ? 0
    : [Math.floor(span.startAt / SECOND_MS), Math.floor(span.endAt / SECOND_MS)];
}

function spanOf(sealed: SealedSpan): TimeSpan | null {
  return sealed === 0 ? null : { startAt: sealed[0] * SECOND_MS, endAt: sealed[1] * SECOND_MS };
}

function contextOf({ run, target, recordId }: LineLocation, said: string): string {
  return JSON.stringify(['journal', run, target, recordId, said]);
}

/** Returns the genuine lines of a run. */
function entriesOf(proofs: Sealer, run: string, stored: Record<string, string>): JournalEntry[] {
  return Object.entries(stored).flatMap(([field, line]) => {
    const location = locationOf(field);
    const [effect, reason, at, seal = ''] = line.split(SEPARATOR);
    const said = [effect, reason, at].join(SEPARATOR);
    const context = contextOf({ run, ...location }, said);
    const sealed = openSealed<readonly [SealedSpan, SealedSpan] | typeof NO_TIMES>(proofs, seal, context, 'journals');
    if (sealed === null) return [];
    const times = sealed === NO_TIMES ? null : { before: spanOf(sealed[0]), after: spanOf(sealed[1]) };
    return [{ ...location, effect: effect as JournalEffect, reason: reason as ReasonCode, at: Number(at), times }];
  });
}

function fieldOf({ target, recordId }: Pick<JournalEntry, 'target' | 'recordId'>): string {
  return `${target}${SEPARATOR}${recordId}`;
}

/** Parses the field name of a line. */
function locationOf(field: string): Pick<JournalEntry, 'target' | 'recordId'> {
  const at = field.indexOf(SEPARATOR);
  return { target: field.slice(0, at), recordId: field.slice(at + 1) };
}

/** Records that an operator restored in a target, each with the end of its pin. */
type Pins = ReadonlyMap<string, Instant>;

/** State of a target's pins in Redis. */
interface PinLook {
  ends: Pins;
  /** `new`: the target's proof does not name pins yet; `damaged`: the pins differ from clinic-mirror's last write and are ignored. */
  state: 'proved' | 'new' | 'damaged';
  /** Stored value, or null. */
  sealed: string | null;
}

/** Pins of one tenant's targets, under one id of the tenant. */
interface PinStore {
  keyOf(target: string): string;
  look(target: string): Promise<PinLook>;
  /** Changes pins and updates the proof. @returns the number of removed pins */
  change(target: string, change: (before: Pins) => Pins): Promise<number>;
}

const MARK_LENGTH = 16;

/**
 * Opens the pins of a tenant. The pins of a target are one encrypted value, and the target's proof names the newest value, so that adding,
 * removing or reverting pins is detected.
 * @param identityKey the installation's key, 32 bytes
 */
export function openPins(redis: RedisClient, tenant: string, identityKey: Uint8Array): PinStore {
  const sealer = createProofSealer(identityKey, tenant);
  const proofs = openTargetProofs(redis, tenant, sealer);
  const pinsOf = (target: string) =>
    sealedValue<[string, Instant][]>(keys.pins(tenant, target), { redis, sealer, kind: 'pins' });

  async function look(target: string): Promise<PinLook> {
    const key = keys.pins(tenant, target);
    const [pinned, proof] = (await redis.pipeline().get(key).hget(keys.target(tenant, target), 'proof').exec()) ?? [];
    if (proof?.[0]) throw proof[0];
    const stored = proof?.[1] as string | null;
    const newest = stored === null ? undefined : proofs.of(target, { proof: stored })?.pins;
    const isOtherType = pinned?.[0]?.message.startsWith('WRONGTYPE') === true;
    if (pinned?.[0] && !isOtherType) throw pinned[0];
    const sealed = isOtherType ? null : (pinned?.[1] as string | null);
    const pins = sealed === null ? [] : pinsOf(target).open(sealed).value;
    const isLast = !isOtherType && (newest === undefined || newest === markOf(sealed));
    if (!isLast) reportDamaged(tenant, 'pins');
    if (pins === null || !isLast) return { ends: new Map(), state: 'damaged', sealed };
    return { ends: new Map(pins), state: newest === undefined ? 'new' : 'proved', sealed };
  }

  return {
    keyOf: (target) => keys.pins(tenant, target),
    look,
    async change(target, change) {
      const key = keys.pins(tenant, target);
      for (;;) {
        const { ends, sealed } = await look(target);
        const next = change(ends);
        const value = next.size === 0 ? null : pinsOf(target).seal([...next]);
        const entry = { key, before: sealed, value };
        const isChanged = await proofs.change(target, (proof) => ({ ...proof, pins: markOf(value) }), {}, entry);
        if (isChanged) return [...ends.keys()].filter((recordId) => !next.has(recordId)).length;
      }
    },
  };
}

/** Returns the name of an encrypted value in a target's proof; null if absent. */
function markOf(sealed: string | null): string | null {
  return sealed === null ? null : hash('sha256', sealed, 'base64url').slice(0, MARK_LENGTH);
}
