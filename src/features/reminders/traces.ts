import { slices } from '../../core/model/pieces.ts';
import type { ReminderTraces } from '../../core/model/reminders.ts';
import { namesIn } from '../../state/damaged.ts';
import type { RedisClient } from '../../state/redis.ts';
import { askEach, keysLike, sendAll } from '../../state/script.ts';
import { answerLinkIn } from './answer-store.ts';
import { reminderKeys } from './keys.ts';

/** Opens the patient data of a tenant's reminders. @param tenant id of the ledger's tenant */
export function createReminderTraces(redis: RedisClient, tenant: string): ReminderTraces {
  return {
    async find(patientId, appointmentIds, messages = new Set()) {
      const links: string[] = [];
      const reminders = new Set(messages);
      for await (const key of keysLike(redis, reminderKeys.answerLink('*'))) {
        const link = answerLinkIn(await redis.get(key));
        const isOwn = patientId !== null && link?.patientId === patientId;
        if (link?.tenant !== tenant || !(isOwn || messages.has(link.reminder))) continue;
        links.push(key);
        reminders.add(link.reminder);
      }
      for (const slice of slices(appointmentIds, 500)) {
        const ids = await askEach<string[]>(redis, slice, (pipeline, id) =>
          pipeline.smembers(reminderKeys.remindersOf(tenant, id)),
        );
        for (const id of ids.flat()) reminders.add(id);
      }
      const traced: { id: string; appointmentId: string | null; remainingMs: number }[] = [];
      for (const slice of slices([...reminders], 500)) {
        const answers = await askEach<string | null>(redis, slice, (pipeline, id) =>
          pipeline.hget(reminderKeys.reminder(tenant, id), 'appointmentId'),
        );
        const lifetimesMs = await askEach<number>(redis, slice, (pipeline, id) =>
          pipeline.pttl(reminderKeys.reminder(tenant, id)),
        );
        for (const [index, id] of slice.entries()) {
          traced.push({ id, appointmentId: answers[index] ?? null, remainingMs: Math.max(lifetimesMs[index] ?? 0, 0) });
        }
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

/** One step: after a partial removal, the remaining data could not be found again. */
async function eraseEntries(
  redis: RedisClient,
  tenant: string,
  ids: readonly string[],
  appointmentIds: ReadonlySet<string>,
): Promise<void> {
  const references = await askEach<string | null>(redis, ids, (pipeline, id) =>
    pipeline.hget(reminderKeys.reminder(tenant, id), 'reference'),
  );
  const recipients = await askEach<string | null>(redis, ids, (pipeline, id) =>
    pipeline.hget(reminderKeys.reminder(tenant, id), 'recipient'),
  );
  const firstOf = (field: string) => namesIn(field, { owner: tenant, kind: 'reminders' })[0] ?? null;
  const replies = await redis.hkeys(reminderKeys.reminderReplies(tenant));
  const pipeline = redis.pipeline();
  for (const one of new Set(recipients.filter((hash) => hash !== null && hash !== '')))
    pipeline.unlink(
      reminderKeys.remindersRecipient(tenant, one ?? ''),
      reminderKeys.remindersCorrected(tenant, one ?? ''),
    );
  for (const id of ids) {
    pipeline.zrem(reminderKeys.remindersOpen(tenant), id).zrem(reminderKeys.remindersSettled(tenant), id);
    pipeline.unlink(reminderKeys.reminder(tenant, id));
  }
  for (const one of references)
    if (one !== null && one !== '') pipeline.unlink(reminderKeys.reminderReport(tenant, one));
  const written = replies.filter((field) => recipients.includes(firstOf(field)));
  if (written.length > 0) pipeline.hdel(reminderKeys.reminderReplies(tenant), ...written);
  const wrong = await redis.hkeys(reminderKeys.remindersWrong(tenant));
  for (const id of appointmentIds) {
    pipeline.unlink(reminderKeys.remindersOf(tenant, id)).zrem(reminderKeys.remindersTold(tenant), id);
    pipeline.hdel(reminderKeys.remindersKnown(tenant), id);
    const own = wrong.filter((field) => firstOf(field) === id);
    if (own.length > 0) pipeline.hdel(reminderKeys.remindersWrong(tenant), ...own);
  }
  await sendAll(pipeline);
}

/** Keys with different tags are removed individually: on a cluster, the keys are on several servers. */
async function unlink(redis: RedisClient, names: readonly string[]): Promise<number> {
  let removed = 0;
  for (const slice of slices(names, 500)) {
    for (const count of await Promise.all(slice.map((name) => redis.unlink(name)))) removed += count;
  }
  return removed;
}
