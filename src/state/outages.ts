import { createHash } from 'node:crypto';
import type { ItemKey } from '../model/operations.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { pairsOf, redisScript } from './script.ts';
import { createProofSealer, openSealed } from './sealing.ts';

const scripts = {
  wait: redisScript<[isChosen: number, became: string]>(import.meta.url, 'outage-wait'),
  end: redisScript<string[]>(import.meta.url, 'outage-end'),
};

/** Other work than cycles and lanes that asks a host: a reminder channel, a trigger endpoint, or the refresh of a connection's tokens. */
export interface OtherWork {
  kind: 'channel' | 'connection' | 'endpoint';
  id: string;
}

/** Work that waits until a host answers again: a target's lane, a tenant's cycle, or other work of the tenant. */
export interface WaitingWork {
  tenant: string;
  /** Null: the tenant's cycle, or `other`. */
  target: string | null;
  other?: OtherWork;
}

/** A host that fails whoever asks it. */
export interface HostOutage {
  host: string;
  /** Of the error with which it was first noticed. */
  code: string;
  sinceAt: Instant;
  /** When a work was last chosen to try it soon, for all others. */
  triedAt: Instant;
  works: WaitingWork[];
}

/** What a wait is noted with. */
interface WaitFacts {
  now: Instant;
  code: string;
  /** Whether it may try the host for all others. Only such a wait says that the host is away. */
  mayTry: boolean;
  /** After so long it is told that the host is still away. */
  lastsAfterMs: number;
}

/** Which work waits for which failing host, over all tenants and processes. */
export interface OutageStore {
  /**
   * Notes that a work waits for a host. `isChosen`: this work tries the host soon, for all others. `became`: the host is away since now, or
   * has been for `lastsAfterMs`; each is answered once over all processes.
   */
  wait(
    host: string,
    work: WaitingWork,
    facts: WaitFacts,
  ): Promise<{ isChosen: boolean; became: 'began' | 'lasts' | null }>;
  /**
   * Notes that a host answers again. `works`: what waited for it, each one once over all processes. `outage`: what is over, if anybody was told
   * that it began.
   */
  end(host: string, now: Instant): Promise<{ works: WaitingWork[]; outage: HostOutage | null }>;
  /** The work that waits for a host now. */
  works(host: string): Promise<WaitingWork[]>;
  /** The hosts that are away, longest first. */
  list(now: Instant): Promise<HostOutage[]>;
}

/** While a host fails, one work tries it this often for all that wait. Our choice. */
export const PROBE_EVERY_MS = 10 * SECOND_MS;
/** A host that fails now and then wakes those that wait for it no more often. */
const LEAST_BETWEEN_ENDS_MS = 5 * SECOND_MS;
/** An outage that begins so soon after another one is told only when it lasts. Our choice. */
const REPORT_AGAIN_AFTER_MS = 5 * MINUTE_MS;
/** Work that waits notes so with each try, at least hourly. */
const RETENTION_MS = DAY_MS;
/** Nobody has asked the host for so long: whatever waited for it is no longer there, or paused. */
const FORGOTTEN_AFTER_MS = 2 * HOUR_MS;
/** Ends the names of fields that are no works. */
const FACT = ':';

/** Opens the record of failing hosts. @param identityKey seals their names: they are shown, and mailed */
export function createOutageStore(redis: RedisClient, identityKey: Uint8Array): OutageStore {
  const sealer = createProofSealer(identityKey, '{outages}');

  /** @returns null for what is no outage, or whose facts we did not write */
  function outageIn(id: string, stored: Readonly<Record<string, string>>): HostOutage | null {
    const sealed = stored['incident:'];
    const facts =
      sealed === undefined ? null : openSealed<Pick<HostOutage, 'host' | 'code' | 'sinceAt'>>(sealer, sealed, id);
    if (facts === null) return null;
    return { ...facts, triedAt: Number(stored['probe:'] ?? facts.sinceAt), works: worksIn(stored) };
  }

  return {
    async wait(host, waitingWork, { now, code, mayTry, lastsAfterMs }) {
      const id = hashOf(host);
      const { waiting, ended } = keys.outage(id);
      const work = nameOf(waitingWork);
      const sealed = mayTry ? sealer.seal(JSON.stringify({ host, code, sinceAt: now }), id) : '';
      const facts = [work, now, PROBE_EVERY_MS, RETENTION_MS, mayTry ? '1' : '0', sealed, lastsAfterMs];
      const [isChosen, became] = await scripts.wait(redis, [waiting, ended], facts);
      // With each try: who crashed between the two is followed by the next one.
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
      return { works: worksIn(stored), outage: stored['told:'] === undefined ? null : outageIn(id, stored) };
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

/**
 * Keys whose writes got no answer, by target: such a write may still arrive, also after the object was deleted. Each is looked at once
 * more at its time. Keys are keyed hashes, so nothing here tells of a record.
 */
export interface UnansweredStore {
  /** Notes keys to be looked at; of several times the latest counts. */
  record(target: string, times: ReadonlyMap<ItemKey, Instant>): Promise<void>;
  /** At most `limit` keys whose time has come. */
  due(target: string, now: Instant, limit: number): Promise<ItemKey[]>;
  done(target: string, keys: readonly ItemKey[]): Promise<void>;
  /** When the next key is to be looked at; null when none waits. */
  nextAt(target: string): Promise<Instant | null>;
}

/** Opens the notes of a tenant. */
export function createUnansweredStore(redis: RedisClient, tenant: string): UnansweredStore {
  const name = (target: string) => keys.unanswered(tenant, target);
  return {
    async record(target, times) {
      if (times.size > 0) {
        const pipeline = redis.pipeline();
        for (const [key, at] of times) pipeline.zadd(name(target), 'GT', at, key);
        await pipeline.exec();
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
