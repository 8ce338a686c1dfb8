import type { ReasonCode } from '../model/operations.ts';
import { slices } from '../model/slices.ts';
import { DAY_MS, type Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { keysLike } from './scan.ts';

/** What a run did to an object that was there before it; creations are not kept. */
export type JournalEffect = 'updated' | 'deleted';

/** One line of a run's journal: no content, so what is restored comes from the clinic. */
export interface JournalEntry {
  target: string;
  recordId: string;
  effect: JournalEffect;
  reason: ReasonCode;
  at: Instant;
}

/** A run that changed or deleted something. */
export interface JournaledRun {
  run: string;
  /** When its first change was acknowledged. */
  at: Instant;
  updated: number;
  deleted: number;
}

/** How long journals are kept unless the settings say otherwise. */
export const JOURNAL_KEEP_MS = 30 * DAY_MS;
/** Most runs that a listing gives. */
const LISTED_RUNS = 100;

/** The journals of one tenant. The outbox writes them, in the step that acknowledges a change. */
export interface Journal {
  /** Every line of a run; empty when it changed nothing, is unknown or too old. */
  read(run: string): Promise<JournalEntry[]>;
  /** Runs with a journal, newest first, at most 100. */
  list(now: Instant): Promise<JournaledRun[]>;
  /** What runs did to a record's object, newest first, as far as `list` names them. */
  linesOf(target: string, recordId: string, now: Instant): Promise<(JournalEntry & { run: string })[]>;
  /** Keeps records in a target although its rules leave them out, until then, or longer where they are pinned longer. */
  pin(target: string, recordIds: readonly string[], untilAt: Instant): Promise<void>;
  unpin(target: string, recordIds: readonly string[]): Promise<void>;
  pinned(target: string, now: Instant): Promise<ReadonlySet<string>>;
  /** Records that are pinned in a target, each with its end. */
  pins(target: string, now: Instant): Promise<Record<string, Instant>>;
  /**
   * Takes records out of every run's journal and ends their pins.
   * @param recordsOf the records of a target, whichever of its ids it is called by
   * @returns how many lines and pins there were
   */
  erase(recordsOf: (target: string) => ReadonlySet<string>): Promise<{ lines: number; pins: number }>;
}

/** Ids of before a renaming, under which journals and pins may stand. */
export interface FormerIds {
  tenant?: string | undefined;
  target?(target: string): string | undefined;
}

/**
 * Opens the journals of a tenant. What stands under former ids counts as its own.
 * @param keepMs how long a journal is kept after its last line
 */
export function createJournal(
  redis: RedisClient,
  tenant: string,
  keepMs = JOURNAL_KEEP_MS,
  formerly: FormerIds = {},
): Journal {
  const tenants = [...new Set([tenant, formerly.tenant ?? tenant])];
  const pinsOf = (target: string) => {
    const targets = new Set([target, formerly.target?.(target) ?? target]);
    return tenants.flatMap((one) => [...targets].map((other) => keys.pins(one, other)));
  };
  const pins = async (target: string, now: Instant) => {
    const pinned: Record<string, Instant> = {};
    for (const key of pinsOf(target)) {
      const scored = await redis.zrangebyscore(key, '-inf', '+inf', 'WITHSCORES');
      // The one that ends first comes first.
      if (scored.length > 0 && Number(scored[1]) <= now) await redis.zremrangebyscore(key, '-inf', now);
      for (let at = 0; at < scored.length; at += 2) {
        const untilAt = Number(scored[at + 1]);
        if (untilAt > now) pinned[String(scored[at])] = untilAt;
      }
    }
    return pinned;
  };
  return {
    pins,
    async read(run) {
      const lines = await Promise.all(tenants.map((one) => redis.hgetall(keys.journal(one, run))));
      return entriesOf(Object.assign({}, ...lines.reverse()));
    },
    async list(now) {
      const lists = await Promise.all(tenants.map((one) => listOf(redis, one, now - keepMs)));
      return lists
        .flat()
        .sort((one, other) => other.at - one.at)
        .slice(0, LISTED_RUNS);
    },
    linesOf: (target, recordId, now) => linesIn(redis, tenants, `${target}${SEPARATOR}${recordId}`, now - keepMs),
    async pin(target, recordIds, untilAt) {
      const pipeline = redis.pipeline();
      for (const recordId of recordIds) pipeline.zadd(keys.pins(tenant, target), 'GT', untilAt, recordId);
      await pipeline.exec();
    },
    async unpin(target, recordIds) {
      for (const key of pinsOf(target)) for (const slice of slices(recordIds, 500)) await redis.zrem(key, ...slice);
    },
    pinned: async (target, now) => new Set(Object.keys(await pins(target, now))),
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
        const prefix = keys.pins(one, '');
        for await (const key of keysLike(redis, `${prefix}*`)) {
          const ids = [...recordsOf(key.slice(prefix.length))];
          for (const slice of slices(ids, 500)) pins += await redis.zrem(key, ...slice);
        }
      }
      return { lines, pins };
    },
  };
}

/** Journals that are looked through in one go. */
const JOURNALS_AT_ONCE = 100;

async function eraseLines(
  redis: RedisClient,
  journals: readonly string[],
  recordsOf: (target: string) => ReadonlySet<string>,
): Promise<number> {
  const looks = redis.pipeline();
  for (const journal of journals) looks.hkeys(journal);
  const removals = redis.pipeline();
  let removed = 0;
  for (const [index, [error, fields]] of ((await looks.exec()) ?? []).entries()) {
    if (error !== null) throw error;
    const named = (fields as string[]).filter((field) => {
      const { target, recordId } = placeOf(field);
      return recordsOf(target).has(recordId);
    });
    if (named.length > 0) removals.hdel(journals[index] as string, ...named);
    removed += named.length;
  }
  await removals.exec();
  return removed;
}

/** The lines of one field in the newest journals, newest first. */
async function linesIn(
  redis: RedisClient,
  tenants: readonly string[],
  field: string,
  oldestAt: Instant,
): Promise<(JournalEntry & { run: string })[]> {
  const lists = await Promise.all(tenants.map((tenant) => linesOfTenant(redis, tenant, field, oldestAt)));
  return lists.flat().sort((one, other) => other.at - one.at);
}

async function linesOfTenant(
  redis: RedisClient,
  tenant: string,
  field: string,
  oldestAt: Instant,
): Promise<(JournalEntry & { run: string })[]> {
  const runs = await redis.zrevrangebyscore(keys.journals(tenant), '+inf', oldestAt, 'LIMIT', 0, LISTED_RUNS);
  const pipeline = redis.pipeline();
  for (const run of runs) pipeline.hget(keys.journal(tenant, run), field);
  const answers = (await pipeline.exec()) ?? [];
  return answers.flatMap(([error, line], index) => {
    if (error !== null) throw error;
    const run = runs[index] as string;
    return line === null ? [] : entriesOf({ [field]: line as string }).map((entry) => ({ ...entry, run }));
  });
}

async function listOf(redis: RedisClient, tenant: string, oldestAt: Instant): Promise<JournaledRun[]> {
  const index = keys.journals(tenant);
  await redis.zremrangebyscore(index, '-inf', oldestAt);
  const scored = await redis.zrevrange(index, 0, LISTED_RUNS - 1, 'WITHSCORES');
  const runs: JournaledRun[] = [];
  for (let at = 0; at < scored.length; at += 2) {
    const run = scored[at] as string;
    const lines = await redis.hvals(keys.journal(tenant, run));
    const deleted = lines.filter((line) => line.startsWith('deleted')).length;
    if (lines.length > 0) runs.push({ run, at: Number(scored[at + 1]), updated: lines.length - deleted, deleted });
  }
  return runs;
}

const SEPARATOR = '\t';

/** A line as it is stored. */
export function journalLine(effect: JournalEffect, reason: ReasonCode, at: Instant): string {
  return [effect, reason, at].join(SEPARATOR);
}

function entriesOf(stored: Record<string, string>): JournalEntry[] {
  return Object.entries(stored).map(([field, line]) => {
    const [effect, reason, when] = line.split(SEPARATOR);
    return {
      ...placeOf(field),
      effect: effect as JournalEffect,
      reason: reason as ReasonCode,
      at: Number(when),
    };
  });
}

/** What a line's field names. */
function placeOf(field: string): Pick<JournalEntry, 'target' | 'recordId'> {
  const at = field.indexOf(SEPARATOR);
  return { target: field.slice(0, at), recordId: field.slice(at + 1) };
}
