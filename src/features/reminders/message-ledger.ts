import { z } from 'zod';
import type { WrongInformation } from '../../core/model/reminders.ts';
import { DAY_MS, type Instant } from '../../core/model/time.ts';
import { openNumber, openPlain } from '../../state/damaged.ts';
import type { RedisClient } from '../../state/redis.ts';
import { redisScript } from '../../state/script.ts';
import type { Sealer } from '../../state/sealing.ts';
import { sealedTable } from '../../state/sealing.ts';
import { reminderKeys } from './keys.ts';

const moveScript = redisScript<number>(import.meta.url, 'reminder-move');

/** Appointments that patients were notified of, and patients with wrong information. */
export type MessageLedger = ReturnType<typeof openMessageLedger>;

/** Retention after the announced start, because a later read may report an earlier move. */
const RETENTION_MS = 2 * DAY_MS;

const observedVisit = z.object({
  /** First cycle that stored the appointment. */
  foundAt: z.number(),
  /** False if the appointment may be older than the observation of the patient. */
  isNew: z.boolean(),
  startAt: z.number(),
  agendaIds: z.array(z.string()).readonly(),
  treatmentId: z.string().nullable(),
  /** First cycle that found the appointment cancelled, or missing in a complete list; null for an appointment that takes place. */
  goneAt: z.number().nullable(),
});
/** Appointment of a patient with a reminder, as lists of the clinic showed it. */
export type ObservedVisit = z.infer<typeof observedVisit>;

/** Field of the coverage. No appointment has an empty id. */
const COVERAGE = '';

/** Opens this part of the ledger. */
export function openMessageLedger(redis: RedisClient, tenant: string, sealer: Sealer) {
  const origin = { owner: tenant, kind: 'reminders' } as const;
  const announced = reminderKeys.remindersTold(tenant);
  const observed = reminderKeys.remindersKnown(tenant);
  const wrong = sealedTable<WrongInformation>(reminderKeys.remindersWrong(tenant), {
    redis,
    sealer,
    kind: 'reminders',
  });
  const fieldOf = ({ appointmentId, channel }: Pick<WrongInformation, 'appointmentId' | 'channel'>) =>
    JSON.stringify([appointmentId, channel]);
  return {
    /** Returns appointments with a possibly delivered message and an announced start after `since`. Deletes appointments two days older. */
    async notifiedSince(since: Instant): Promise<string[]> {
      await redis.zremrangebyscore(announced, '-inf', since - RETENTION_MS);
      return redis.zrangebyscore(announced, `(${since}`, '+inf');
    },
    /** Keeps an appointment in the set until a time. */
    async storeNotified(appointmentId: string, untilAt: Instant): Promise<void> {
      await redis.zadd(announced, 'XX', 'GT', untilAt, appointmentId);
    },
    /** Returns patients with wrong information, oldest first. */
    async wrong(now: Instant): Promise<WrongInformation[]> {
      const all = await wrong.prune(({ untilAt }) => untilAt <= now);
      return [...all.values()].sort((one, other) => one.sinceAt - other.sinceAt);
    },
    /** Returns the watched appointments, and the start until which earlier complete lists showed all appointments. */
    async observed(): Promise<{ visits: Map<string, ObservedVisit>; coveredUntilAt: Instant }> {
      const fields = new Map(Object.entries(await redis.hgetall(observed)));
      const coveredUntilAt = openNumber(fields.get(COVERAGE), origin) ?? 0;
      fields.delete(COVERAGE);
      const visits = [...fields].flatMap(([id, value]) => {
        const visit = openPlain(value, origin, observedVisit);
        return visit === null ? [] : [[id, visit] as const];
      });
      return { visits: new Map(visits), coveredUntilAt };
    },
    /** Stores changed watched appointments (null: watched no longer), and the coverage. */
    async storeObserved(changes: ReadonlyMap<string, ObservedVisit | null>, coveredUntilAt: Instant): Promise<void> {
      const stored = [...changes].flatMap(([id, one]) => (one === null ? [] : [id, JSON.stringify(one)]));
      const gone = [...changes].flatMap(([id, one]) => (one === null ? [id] : []));
      await redis.hset(observed, COVERAGE, coveredUntilAt, ...stored);
      if (gone.length > 0) await redis.hdel(observed, ...gone);
    },
    /**
     * Moves the messages about an appointment to the appointment that replaces it, in one step.
     * @returns false during a delivery
     */
    async follow(appointmentId: string, replacedBy: string): Promise<boolean> {
      const from = reminderKeys.remindersOf(tenant, appointmentId);
      const ids = await redis.smembers(from);
      const scriptKeys = [from, reminderKeys.remindersOf(tenant, replacedBy), announced];
      const entries = ids.map((id) => reminderKeys.reminder(tenant, id));
      return (await moveScript(redis, [...scriptKeys, ...entries], [appointmentId, replacedBy, ...ids])) === 1;
    },
    recordWrong: (one: WrongInformation) => wrong.set(fieldOf(one), one),
    async clearWrong(one: Pick<WrongInformation, 'appointmentId' | 'channel'>): Promise<void> {
      await wrong.remove([fieldOf(one)]);
    },
  };
}
