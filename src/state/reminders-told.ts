import type { WrongInformation } from '../model/reminders.ts';
import { DAY_MS, type Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { sealedTable } from './sealed-store.ts';
import type { Sealer } from './sealing.ts';

/** Which appointments patients were told of, and which of them were told something that is not true now. */
export type ToldLedger = ReturnType<typeof openTold>;

/** An appointment is kept for so long after the start that was told: a reading may tell later that it had been moved before. */
const KEPT_MS = 2 * DAY_MS;

/** Opens that part of the ledger. */
export function openTold(redis: RedisClient, tenant: string, sealer: Sealer) {
  const told = keys.remindersTold(tenant);
  const wrong = sealedTable<WrongInformation>(keys.remindersWrong(tenant), { redis, sealer });
  const fieldOf = ({ appointmentId, channel }: Pick<WrongInformation, 'appointmentId' | 'channel'>) =>
    JSON.stringify([appointmentId, channel]);
  return {
    /**
     * Ids of the appointments that a message was handed over for, or may have been, and whose start by that message lies after `since`. Those of
     * two days before it are forgotten.
     */
    async told(since: Instant): Promise<string[]> {
      await redis.zremrangebyscore(told, '-inf', since - KEPT_MS);
      return redis.zrangebyscore(told, `(${since}`, '+inf');
    },
    /** Keeps an appointment among these until then. */
    async keepTold(appointmentId: string, untilAt: Instant): Promise<void> {
      await redis.zadd(told, 'XX', 'GT', untilAt, appointmentId);
    },
    /** Patients who hold wrong information, the longest first. */
    async wrong(now: Instant): Promise<WrongInformation[]> {
      const all = await wrong.prune(({ untilAt }) => untilAt <= now);
      return [...all.values()].sort((one, other) => one.sinceAt - other.sinceAt);
    },
    noteWrong: (one: WrongInformation) => wrong.set(fieldOf(one), one),
    async clearWrong(one: Pick<WrongInformation, 'appointmentId' | 'channel'>): Promise<void> {
      await wrong.remove([fieldOf(one)]);
    },
  };
}
