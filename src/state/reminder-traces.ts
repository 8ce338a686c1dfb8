import { slices } from '../model/pieces.ts';
import type { AnswerLink } from './answers.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { askEach, keysLike } from './replies.ts';

/** What reminders of a patient left behind. */
export interface TracedReminders {
  /** Ids in the ledger, with the appointment as far as the ledger tells. */
  reminders: readonly { id: string; appointmentId: string | null }[];
  /** Keys of addresses that were sent to the patient. */
  links: readonly string[];
}

/** What reminders keep of patients: ledger entries of their appointments, and addresses that lead to their answers. */
export interface ReminderTraces {
  /** @param appointmentIds those that are known to be the patient's */
  find(patientId: string, appointmentIds: readonly string[]): Promise<TracedReminders>;
  /**
   * Takes all of that out; what is being handed over at this moment ends without a line.
   * @param appointmentIds the patient's
   * @returns how many of each there were
   */
  erase(traces: TracedReminders, appointmentIds: Iterable<string>): Promise<{ reminders: number; answerLinks: number }>;
}

/**
 * Opens them.
 * @param tenant by the name that the ledger has
 */
export function createReminderTraces(redis: RedisClient, tenant: string): ReminderTraces {
  return {
    async find(patientId, appointmentIds) {
      const links: string[] = [];
      const reminders = new Set<string>();
      for await (const key of keysLike(redis, keys.answerLink('*'))) {
        const value = await redis.get(key);
        const link = value === null ? null : (JSON.parse(value) as AnswerLink);
        if (link?.tenant !== tenant || link.patientId !== patientId) continue;
        links.push(key);
        reminders.add(link.reminder);
      }
      for (const slice of slices(appointmentIds, 500)) {
        const ids = await askEach<string[]>(redis, slice, (pipeline, id) =>
          pipeline.smembers(keys.remindersOf(tenant, id)),
        );
        for (const id of ids.flat()) reminders.add(id);
      }
      const traced: { id: string; appointmentId: string | null }[] = [];
      for (const slice of slices([...reminders], 500)) {
        const answers = await askEach<string | null>(redis, slice, (pipeline, id) =>
          pipeline.hget(keys.reminder(tenant, id), 'appointmentId'),
        );
        for (const [index, id] of slice.entries()) traced.push({ id, appointmentId: answers[index] ?? null });
      }
      return { reminders: traced, links };
    },
    async erase({ reminders, links }, appointmentIds) {
      const ids = reminders.map(({ id }) => id);
      const named = reminders.flatMap(({ appointmentId }) => appointmentId ?? []);
      await eraseEntries(redis, tenant, ids, new Set([...appointmentIds, ...named]));
      return { reminders: ids.length, answerLinks: await unlink(redis, links) };
    },
  };
}

/** In one go: what is left of a half could not be found again by the other. */
async function eraseEntries(
  redis: RedisClient,
  tenant: string,
  ids: readonly string[],
  appointmentIds: ReadonlySet<string>,
): Promise<void> {
  const references = await askEach<string | null>(redis, ids, (pipeline, id) =>
    pipeline.hget(keys.reminder(tenant, id), 'reference'),
  );
  const pipeline = redis.pipeline();
  for (const id of ids) {
    pipeline.zrem(keys.remindersOpen(tenant), id).zrem(keys.remindersSettled(tenant), id);
    pipeline.unlink(keys.reminder(tenant, id));
  }
  for (const one of references) if (one !== null && one !== '') pipeline.unlink(keys.reminderReport(tenant, one));
  const wrong = await redis.hkeys(keys.remindersWrong(tenant));
  for (const id of appointmentIds) {
    pipeline.unlink(keys.remindersOf(tenant, id)).zrem(keys.remindersTold(tenant), id);
    const own = wrong.filter((field) => JSON.parse(field)[0] === id);
    if (own.length > 0) pipeline.hdel(keys.remindersWrong(tenant), ...own);
  }
  await pipeline.exec();
}

/** Keys of several tags one by one: on a cluster they lie on several servers. */
async function unlink(redis: RedisClient, names: readonly string[]): Promise<number> {
  let removed = 0;
  for (const slice of slices(names, 500)) {
    for (const count of await Promise.all(slice.map((name) => redis.unlink(name)))) removed += count;
  }
  return removed;
}
