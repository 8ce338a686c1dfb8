import { createHash } from 'node:crypto';
import type { ErrorTexts } from '../core/model/errors.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import type { UnansweredKeys } from '../engine/store.ts';
import { openNumber } from './damaged.ts';
import { recordPastOutage } from './history.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { pairsOf, redisScript, sendAll } from './script.ts';
import { createProofSealer, openSealed } from './sealing.ts';

const scripts = {
  wait: redisScript<[isChosen: number, became: string]>(import.meta.url, 'outage-wait'),
  end: redisScript<string[]>(import.meta.url, 'outage-end'),
};

/** Work other than cycles and lanes that calls a host: a message channel, an endpoint of a receiver, or a token refresh. */
export interface OtherWork {
  kind: 'channel' | 'connection' | 'endpoint';
  id: string;
}

/** Work that waits for a host: a target's lane, a tenant's cycle, or other work of the tenant. */
export interface WaitingWork {
  tenant: string;
  /** Null: the tenant's cycle, or `other`. */
  target: string | null;
  other?: OtherWork;
}

/** Host that fails for every caller. */
export interface HostOutage {
  host: string;
  /** Code and texts of the last error of a work that tried the host for all. Texts are null if unknown. */
  code: string;
  texts: ErrorTexts | null;
  /** False soon after an outage that a success ended: the host answers others. */
  isReported: boolean;
  sinceAt: Instant;
  /** Time when a work was last chosen to try the host for all waiting work. */
  triedAt: Instant;
  works: WaitingWork[];
}

interface WaitFacts {
  now: Instant;
  code: string;
  texts?: ErrorTexts | undefined;
  /** Whether the work may try the host for all waiting work. Only such work declares an outage. */
  mayTry: boolean;
  /** Time after which a continuing outage is reported. */
  lastsAfterMs: number;
}

/** Work that waits for failing hosts, over all tenants and processes. */
export interface OutageStore {
  /**
   * Records that a work waits for a host. `isChosen`: this work soon tries the host for all waiting work. `became`: the outage just began,
   * or has lasted for `lastsAfterMs`; each result is returned once over all processes.
   */
  wait(
    host: string,
    work: WaitingWork,
    facts: WaitFacts,
  ): Promise<{ isChosen: boolean; became: 'began' | 'lasts' | null }>;
  /**
   * Records that a host answers again. `works`: waiting work, each returned once over all processes. `outage`: the ended outage, if its
   * start was reported.
   */
  end(host: string, now: Instant): Promise<{ works: WaitingWork[]; outage: HostOutage | null }>;
  /** Returns the waiting work of a host. */
  works(host: string): Promise<WaitingWork[]>;
  /** Returns the unavailable hosts, longest outage first. */
  list(now: Instant): Promise<HostOutage[]>;
}

/** Interval of attempts for all waiting work during an outage. Our choice. */
export const PROBE_EVERY_MS = 10 * SECOND_MS;
/** Least interval between recoveries, so that an unstable host does not wake waiting work more often. */
const LEAST_BETWEEN_ENDS_MS = 5 * SECOND_MS;
/** An outage that follows a previous outage within this time is reported only if the outage lasts. Our choice. */
const REPORT_AGAIN_AFTER_MS = 5 * MINUTE_MS;
/** Longer than the hourly or more frequent updates of waiting work. */
const RETENTION_MS = DAY_MS;
/** Time without a call after which waiting work is considered removed or paused. */
const FORGOTTEN_AFTER_MS = 2 * HOUR_MS;
/** Suffix of fields that are not works. */
const FACT = ':';

/** Opens the record of failing hosts. @param identityKey seals host names, which are shown and mailed */
export function createOutageStore(redis: RedisClient, identityKey: Uint8Array): OutageStore {
  const sealer = createProofSealer(identityKey, '{outages}');

  /** @returns null for a missing or damaged outage */
  function outageIn(id: string, stored: Readonly<Record<string, string>>): HostOutage | null {
    const [first, last] = [stored['incident:'], stored['cause:']].map((sealed) =>
      sealed === undefined
        ? null
        : openSealed<Pick<HostOutage, 'host' | 'code' | 'sinceAt' | 'texts'>>(sealer, sealed, id, 'outages'),
    );
    if (first == null) return null;
    const { host, sinceAt } = first;
    const { code, texts = null } = last ?? first;
    const isReported = stored['told:'] !== undefined;
    return {
      host,
      code,
      texts,
      sinceAt,
      isReported,
      triedAt: openNumber(stored['probe:'], { owner: sealer.owner, kind: 'outages' }) ?? sinceAt,
      works: worksIn(stored),
    };
  }

  return {
    async wait(host, waitingWork, { now, code, texts, mayTry, lastsAfterMs }) {
      const id = hashOf(host);
      const { waiting, ended } = keys.outage(id);
      const work = nameOf(waitingWork);
      const sealed = mayTry ? sealer.seal(JSON.stringify({ host, code, texts, sinceAt: now }), id) : '';
      const facts = [work, now, PROBE_EVERY_MS, RETENTION_MS, mayTry ? '1' : '0', sealed, lastsAfterMs];
      const [isChosen, became] = await scripts.wait(redis, [waiting, ended], facts);
      // Repeated with each attempt: after a crash between both steps, the next attempt completes the record.
      if (isChosen === 1) await redis.sadd(keys.outages(), id);
      return { isChosen: isChosen === 1, became: became === 'began' || became === 'lasts' ? became : null };
    },
    async end(host, now) {
      const id = hashOf(host);
      const { waiting, ended } = keys.outage(id);
      const flat = await scripts.end(redis, [waiting, ended], [now, LEAST_BETWEEN_ENDS_MS, REPORT_AGAIN_AFTER_MS]);
      if (flat.length === 0) return { works: [], outage: null };
      await redis.srem(keys.outages(), id);
      const stored = Object.fromEntries(pairsOf(flat));
      const outage = stored['told:'] === undefined ? null : outageIn(id, stored);
      if (outage !== null) await recordPastOutage(redis, outage, now);
      return { works: worksIn(stored), outage };
    },
    async works(host) {
      return worksIn(await redis.hgetall(keys.outage(hashOf(host)).waiting));
    },
    async list(now) {
      const found: HostOutage[] = [];
      for (const id of await redis.smembers(keys.outages())) {
        const stored = await redis.hgetall(keys.outage(id).waiting);
        if (Object.keys(stored).length === 0) await redis.srem(keys.outages(), id);
        const outage = outageIn(id, stored);
        if (outage !== null && now - outage.triedAt < FORGOTTEN_AFTER_MS) found.push(outage);
      }
      return found.sort((one, other) => one.sinceAt - other.sinceAt);
    },
  };
}

function worksIn(stored: Readonly<Record<string, string>>): WaitingWork[] {
  return Object.keys(stored)
    .filter((name) => !name.endsWith(FACT))
    .map((work) => {
      const [tenant = '', target = null] = work.split('/');
      const [kind, id] = target?.split(':') ?? [];
      return id === undefined ? { tenant, target } : { tenant, target: null, other: { kind, id } as OtherWork };
    });
}

/** Ids have no colon. */
function nameOf({ tenant, target, other }: WaitingWork): string {
  if (other !== undefined) return `${tenant}/${other.kind}:${other.id}`;
  return target === null ? tenant : `${tenant}/${target}`;
}

/** Hosts may have any characters, and the name is a hash tag. */
function hashOf(host: string): string {
  return createHash('sha256').update(host).digest('base64url').slice(0, 22);
}

export function createUnansweredStore(redis: RedisClient, tenant: string): UnansweredKeys {
  const name = (target: string) => keys.unanswered(tenant, target);
  return {
    async record(target, times) {
      if (times.size > 0) {
        const pipeline = redis.pipeline();
        for (const [key, at] of times) pipeline.zadd(name(target), 'GT', at, key);
        await sendAll(pipeline);
      }
    },
    due: (target, now, limit) => redis.zrangebyscore(name(target), '-inf', now, 'LIMIT', 0, limit),
    async done(target, looked) {
      if (looked.length > 0) await redis.zrem(name(target), ...looked);
    },
    async nextAt(target) {
      const [, at] = await redis.zrangebyscore(name(target), '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1);
      return at === undefined ? null : Number(at);
    },
  };
}
