import type { WrongInformation } from '../model/reminders.ts';
import { DAY_MS, type Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { openSealed, type Sealer } from './sealing.ts';

/** Which appointments patients were told of, and which of them were told something that is not true now. */
export interface ToldLedger {
  /**
   * Ids of the appointments that a message was handed over for, or may have been, and whose start by that message lies after `since`. Those of
   * two days before it are forgotten.
   */
  told(since: Instant): Promise<string[]>;
  /** Keeps an appointment among these until then. */
  keepTold(appointmentId: string, untilAt: Instant): Promise<void>;
  /** Patients who hold wrong information, the longest first. */
  wrong(now: Instant): Promise<WrongInformation[]>;
  noteWrong(wrong: WrongInformation): Promise<void>;
  clearWrong(of: Pick<WrongInformation, 'appointmentId' | 'channel'>): Promise<void>;
}

/** An appointment is kept for so long after the start that was told: a reading may tell later that it had been moved before. */
const KEPT_MS = 2 * DAY_MS;

/** Opens that part of the ledger. */
export function openTold(redis: RedisClient, tenant: string, sealer: Sealer): ToldLedger {
  const told = keys.remindersTold(tenant);
  const wrong = keys.remindersWrong(tenant);
  const fieldOf = ({ appointmentId, channel }: Pick<WrongInformation, 'appointmentId' | 'channel'>) =>
    JSON.stringify([appointmentId, channel]);
  return {
    async told(since) {
      await redis.zremrangebyscore(told, '-inf', since - KEPT_MS);
      return redis.zrangebyscore(told, `(${since}`, '+inf');
    },
    async keepTold(appointmentId, untilAt) {
      await redis.zadd(told, 'XX', 'GT', untilAt, appointmentId);
    },
    async wrong(now) {
      const noted = Object.entries(await redis.hgetall(wrong)).flatMap(([field, value]) => {
        const one = openSealed<WrongInformation>(sealer, value, contextOf(field));
        return one === null ? [] : [[field, one] as const];
      });
      const over = noted.flatMap(([field, { untilAt }]) => (untilAt <= now ? [field] : []));
      if (over.length > 0) await redis.hdel(wrong, ...over);
      return noted
        .flatMap(([, one]) => (one.untilAt <= now ? [] : [one]))
        .sort((one, other) => one.sinceAt - other.sinceAt);
    },
    async noteWrong(one) {
      await redis.hset(wrong, fieldOf(one), sealer.seal(JSON.stringify(one), contextOf(fieldOf(one))));
    },
    async clearWrong(one) {
      await redis.hdel(wrong, fieldOf(one));
    },
  };
}

function contextOf(field: string): string {
  return `wrong/${field}`;
}
