import { createHmac, hash, randomBytes } from 'node:crypto';
import type { ForgetReceipt } from '../model/forgetting.ts';
import { base32hex, derivedKey } from '../model/hashes.ts';
import { slices } from '../model/pieces.ts';
import type { Instant } from '../model/time.ts';
import type { AnswerLink } from './answers.ts';
import { keys } from './keys.ts';
import type { Protection } from './protection.ts';
import type { RedisClient } from './redis.ts';
import { askEach, keysLike } from './script.ts';

/** Patients whom an operator had forgotten. Kept as keyed hashes: nobody can read them back, and none comes back by the next pull. */
export interface TombstoneStore {
  /**
   * Sets a tombstone; an older one stays as it is. It can't be lost when this returns, as far as Redis can tell.
   * @returns its name, a keyed hash that is the same each time
   * @throws MirrorError `remote`, code `state-not-durable`
   */
  add(patientId: string, at: Instant): Promise<string>;
  /** Ends a tombstone: the patient is followed again. @returns whether there was one */
  remove(patientId: string): Promise<boolean>;
  /** Who is forgotten, as of now. */
  load(): Promise<ForgottenPatients>;
  count(): Promise<number>;
  /** Keeps a receipt under a new name, for ever. @throws MirrorError as `add` */
  storeReceipt(content: Omit<ForgetReceipt, 'receipt'>): Promise<ForgetReceipt>;
  /** Oldest first. */
  receipts(): Promise<ForgetReceipt[]>;
  /** What reminders keep of patients, also where none are configured any more. */
  reminders: ReminderTraces;
}

/** Tells of each patient whether they are forgotten. */
interface ForgottenPatients {
  (patientId: string): boolean;
  /** The same as long as it is the same patients. */
  version: string;
}

const RECEIPT_BYTES = 5;

/**
 * Opens the tombstones of a tenant.
 * @param tenant the id under which its objects were first written, so that a renamed tenant keeps its tombstones' names
 * @param identityKey the installation's identity key, 32 bytes; with another one nobody would be forgotten any more
 * @param protection makes each change last
 */
export function createTombstoneStore(
  redis: RedisClient,
  tenant: string,
  identityKey: Uint8Array,
  { store }: Pick<Protection, 'store'>,
): TombstoneStore {
  const key = derivedKey(identityKey, tenant, 'tombstones');
  const nameOf = (patientId: string) => createHmac('sha256', key()).update(patientId).digest('base64url');
  const table = keys.tombstones(tenant);
  const receipts = keys.receipts(tenant);
  return {
    async add(patientId, at) {
      const name = nameOf(patientId);
      await store({ table: 'tombstones', name, value: String(at) });
      return name;
    },
    remove: (patientId) => store({ table: 'tombstones', name: nameOf(patientId), value: null }),
    async load() {
      const names = new Set((await redis.hkeys(table)).sort());
      const version = hash('sha256', [...names].join('\n'), 'base64url');
      return Object.assign((patientId: string) => names.size > 0 && names.has(nameOf(patientId)), { version });
    },
    count: () => redis.hlen(table),
    async storeReceipt(content) {
      for (;;) {
        const stored: ForgetReceipt = { receipt: base32hex(randomBytes(RECEIPT_BYTES)), ...content };
        if (await store({ table: 'receipts', name: stored.receipt, value: JSON.stringify(stored) })) return stored;
      }
    },
    async receipts() {
      const stored = (await redis.hvals(receipts)).map((value) => JSON.parse(value) as ForgetReceipt);
      return stored.sort((one, other) => one.at - other.at);
    },
    reminders: createReminderTraces(redis, tenant),
  };
}

/** What reminders of a patient left behind. */
export interface TracedReminders {
  /** Ids in the ledger, with the appointment as far as the ledger tells. */
  reminders: readonly { id: string; appointmentId: string | null }[];
  /** Keys of addresses that were sent to the patient. */
  links: readonly string[];
}

/** What reminders keep of patients: ledger entries of their appointments, and addresses that lead to their answers. */
interface ReminderTraces {
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
function createReminderTraces(redis: RedisClient, tenant: string): ReminderTraces {
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
