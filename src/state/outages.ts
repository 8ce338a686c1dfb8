import { createHash } from 'node:crypto';
import { DAY_MS, type Instant, SECOND_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import { END_OUTAGE, WAIT_FOR_HOST } from './outage-scripts.ts';
import type { RedisClient } from './redis.ts';

/** Work that waits until a host answers again: a target's lane, or a tenant's cycle. */
export interface WaitingWork {
  tenant: string;
  /** Null: the tenant's cycle. */
  target: string | null;
}

/** Which work waits for which failing host, over all tenants and processes. */
export interface OutageStore {
  /** Notes that a work waits for a host. @returns whether this work, if it may, tries the host soon, for all others */
  wait(host: string, work: WaitingWork, options: { now: Instant; mayTry: boolean }): Promise<boolean>;
  /** Notes that a host answers again. @returns the work that waited for it, each one once over all processes */
  end(host: string, now: Instant): Promise<WaitingWork[]>;
}

/** While a host fails, one work tries it this often for all that wait. Our choice. */
export const PROBE_EVERY_MS = 10 * SECOND_MS;
/** A host that fails now and then wakes those that wait for it no more often. */
const LEAST_BETWEEN_ENDS_MS = 5 * SECOND_MS;
/** Work that waits notes so with each try, at least hourly. */
const KEPT_MS = DAY_MS;
const PROBE = 'probe:';

/** Opens the record of failing hosts. */
export function createOutageStore(redis: RedisClient): OutageStore {
  return {
    async wait(host, { tenant, target }, { now, mayTry }) {
      const { waiting } = keys.outage(hashOf(host));
      const work = target === null ? tenant : `${tenant}/${target}`;
      const facts = [work, now, PROBE_EVERY_MS, KEPT_MS, mayTry ? '1' : '0'];
      return (await redis.eval(WAIT_FOR_HOST, 1, waiting, ...facts)) === 1;
    },
    async end(host, now) {
      const { waiting, ended } = keys.outage(hashOf(host));
      const works = (await redis.eval(END_OUTAGE, 2, waiting, ended, now, LEAST_BETWEEN_ENDS_MS)) as string[];
      return works.flatMap((work) => {
        const [tenant = '', target = null] = work.split('/');
        return work === PROBE ? [] : [{ tenant, target }];
      });
    },
  };
}

/** Hosts may have any characters, and the name is a hash tag. */
function hashOf(host: string): string {
  return createHash('sha256').update(host).digest('base64url').slice(0, 22);
}
