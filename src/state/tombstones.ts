import { createHmac, createPublicKey, hash, randomBytes, sign } from 'node:crypto';
import { z } from 'zod';
import type { ErasedPersons } from '../engine/store.ts';
import { type ForgetReceipt, forgetReceipt, signedText } from '../model/forgetting.ts';
import { base32hex, derivedKey, derivedSigningKey } from '../model/hashes.ts';
import { slices } from '../model/pieces.ts';
import type { Instant } from '../model/time.ts';
import { answerLinkIn } from './answers.ts';
import { namesIn, openPlain } from './damaged.ts';
import { keys } from './keys.ts';
import type { Protection } from './protection.ts';
import type { RedisClient } from './redis.ts';
import { askEach, keysLike, sendAll } from './script.ts';

/** Patients that an operator erased, as keyed hashes: patient ids cannot be recovered, and the next pull does not restore the patients. */
export interface TombstoneStore {
  /**
   * Adds a tombstone; an existing tombstone stays. Durable on return, as far as Redis can confirm.
   * @returns the tombstone's name, a constant keyed hash
   * @throws MirrorError `remote`, code `state-not-durable`
   */
  add(patientId: string, at: Instant): Promise<string>;
  /** Removes a tombstone: the patient is synced again. @returns whether the tombstone existed */
  remove(patientId: string): Promise<boolean>;
  /** Returns the current erased patients. */
  load(): Promise<ErasedPersons>;
  count(): Promise<number>;
  /** Signs a receipt and stores it permanently under a new name. @throws MirrorError as `add` */
  storeReceipt(content: Omit<ForgetReceipt, 'receipt' | 'signature'>): Promise<ForgetReceipt>;
  /** Oldest first. */
  receipts(): Promise<ForgetReceipt[]>;
  /** Returns the installation's key for signatures of receipts (PEM), which anyone may have. */
  publicKey(): string;
  /** Patient data of reminders, even without configured reminders. */
  reminders: ReminderTraces;
}

const RECEIPT_BYTES = 5;
/** Receipts of earlier releases have no signature. */
const storedReceipt = forgetReceipt.extend({ signature: z.string().nullable().default(null) });

/**
 * Opens the tombstones of a tenant.
 * @param tenant first id of the tenant's objects, so that a renamed tenant keeps its tombstones
 * @param identityKey the installation's key, 32 bytes; with a different key, erased patients would not be recognised
 * @param protection makes each change durable
 */
export function createTombstoneStore(
  redis: RedisClient,
  tenant: string,
  identityKey: Uint8Array,
  { store }: Pick<Protection, 'store'>,
): TombstoneStore {
  const key = derivedKey(identityKey, tenant, 'tombstones');
  // One key for all tenants, so that the operator publishes one. No tenant's id contains braces.
  const signingKey = derivedSigningKey(identityKey, '{receipts}', 'signatures of receipts');
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
        const named = { receipt: base32hex(randomBytes(RECEIPT_BYTES)), ...content };
        const signature = sign(null, Buffer.from(signedText(named)), signingKey()).toString('base64');
        const stored: ForgetReceipt = { ...named, signature };
        if (await store({ table: 'receipts', name: stored.receipt, value: JSON.stringify(stored) })) return stored;
      }
    },
    async receipts() {
      const all = (await redis.hvals(receipts)).flatMap(
        (value) => openPlain<ForgetReceipt>(value, { owner: tenant, kind: 'safeguards' }, storedReceipt) ?? [],
      );
      return all.sort((one, other) => one.at - other.at);
    },
    publicKey: () => createPublicKey(signingKey()).export({ format: 'pem', type: 'spki' }).toString(),
    reminders: createReminderTraces(redis, tenant),
  };
}

/** Remaining reminder data of a patient. */
export interface TracedReminders {
  /** Ids in the ledger, with the appointment if known, and the time until Redis deletes the record. */
  reminders: readonly { id: string; appointmentId: string | null; remainingMs: number }[];
  /** Keys of links that were sent to the patient. */
  links: readonly string[];
}

/** Patient data of reminders: ledger records of appointments, and answer links. */
interface ReminderTraces {
  /**
   * @param patientId null for messages of an unknown patient
   * @param appointmentIds known appointments of the patient
   * @param messages further known reminders
   */
  find(
    patientId: string | null,
    appointmentIds: readonly string[],
    messages?: ReadonlySet<string>,
  ): Promise<TracedReminders>;
  /**
   * Removes the data; a reminder that is being sent at this moment ends without a record.
   * @param appointmentIds appointments of the patient
   * @returns the number of removed records
   */
  erase(traces: TracedReminders, appointmentIds: Iterable<string>): Promise<{ reminders: number; answerLinks: number }>;
}

/** @param tenant id of the ledger's tenant */
function createReminderTraces(redis: RedisClient, tenant: string): ReminderTraces {
  return {
    async find(patientId, appointmentIds, messages = new Set()) {
      const links: string[] = [];
      const reminders = new Set(messages);
      for await (const key of keysLike(redis, keys.answerLink('*'))) {
        const link = answerLinkIn(await redis.get(key));
        const isOwn = patientId !== null && link?.patientId === patientId;
        if (link?.tenant !== tenant || !(isOwn || messages.has(link.reminder))) continue;
        links.push(key);
        reminders.add(link.reminder);
      }
      for (const slice of slices(appointmentIds, 500)) {
        const ids = await askEach<string[]>(redis, slice, (pipeline, id) =>
          pipeline.smembers(keys.remindersOf(tenant, id)),
        );
        for (const id of ids.flat()) reminders.add(id);
      }
      const traced: { id: string; appointmentId: string | null; remainingMs: number }[] = [];
      for (const slice of slices([...reminders], 500)) {
        const answers = await askEach<string | null>(redis, slice, (pipeline, id) =>
          pipeline.hget(keys.reminder(tenant, id), 'appointmentId'),
        );
        const lifetimesMs = await askEach<number>(redis, slice, (pipeline, id) =>
          pipeline.pttl(keys.reminder(tenant, id)),
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
    pipeline.hget(keys.reminder(tenant, id), 'reference'),
  );
  const recipients = await askEach<string | null>(redis, ids, (pipeline, id) =>
    pipeline.hget(keys.reminder(tenant, id), 'recipient'),
  );
  const firstOf = (field: string) => namesIn(field, { owner: tenant, kind: 'reminders' })[0] ?? null;
  const replies = await redis.hkeys(keys.reminderReplies(tenant));
  const pipeline = redis.pipeline();
  for (const one of new Set(recipients.filter((hash) => hash !== null && hash !== '')))
    pipeline.unlink(keys.remindersRecipient(tenant, one ?? ''), keys.remindersCorrected(tenant, one ?? ''));
  for (const id of ids) {
    pipeline.zrem(keys.remindersOpen(tenant), id).zrem(keys.remindersSettled(tenant), id);
    pipeline.unlink(keys.reminder(tenant, id));
  }
  for (const one of references) if (one !== null && one !== '') pipeline.unlink(keys.reminderReport(tenant, one));
  const written = replies.filter((field) => recipients.includes(firstOf(field)));
  if (written.length > 0) pipeline.hdel(keys.reminderReplies(tenant), ...written);
  const wrong = await redis.hkeys(keys.remindersWrong(tenant));
  for (const id of appointmentIds) {
    pipeline.unlink(keys.remindersOf(tenant, id)).zrem(keys.remindersTold(tenant), id);
    pipeline.hdel(keys.remindersKnown(tenant), id);
    const own = wrong.filter((field) => firstOf(field) === id);
    if (own.length > 0) pipeline.hdel(keys.remindersWrong(tenant), ...own);
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
