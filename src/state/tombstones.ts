import { createHmac, hash, randomBytes } from 'node:crypto';
import type { ForgetReceipt } from '../model/forgetting.ts';
import { base32hex, derivedKey } from '../model/hashes.ts';
import type { Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { Protection } from './protection.ts';
import type { RedisClient } from './redis.ts';
import { createReminderTraces, type ReminderTraces } from './reminder-traces.ts';

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
  keepReceipt(content: Omit<ForgetReceipt, 'receipt'>): Promise<ForgetReceipt>;
  /** Oldest first. */
  receipts(): Promise<ForgetReceipt[]>;
  /** What reminders keep of patients, also where none are configured any more. */
  reminders: ReminderTraces;
}

/** Tells of each patient whether they are forgotten. */
export interface ForgottenPatients {
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
  { keep }: Pick<Protection, 'keep'>,
): TombstoneStore {
  const key = derivedKey(identityKey, tenant, 'tombstones');
  const nameOf = (patientId: string) => createHmac('sha256', key()).update(patientId).digest('base64url');
  const table = keys.tombstones(tenant);
  const receipts = keys.receipts(tenant);
  return {
    async add(patientId, at) {
      const name = nameOf(patientId);
      await keep({ table: 'tombstones', name, value: String(at) });
      return name;
    },
    remove: (patientId) => keep({ table: 'tombstones', name: nameOf(patientId), value: null }),
    async load() {
      const names = new Set((await redis.hkeys(table)).sort());
      const version = hash('sha256', [...names].join('\n'), 'base64url');
      return Object.assign((patientId: string) => names.size > 0 && names.has(nameOf(patientId)), { version });
    },
    count: () => redis.hlen(table),
    async keepReceipt(content) {
      for (;;) {
        const stored: ForgetReceipt = { receipt: base32hex(randomBytes(RECEIPT_BYTES)), ...content };
        if (await keep({ table: 'receipts', name: stored.receipt, value: JSON.stringify(stored) })) return stored;
      }
    },
    async receipts() {
      const stored = (await redis.hvals(receipts)).map((value) => JSON.parse(value) as ForgetReceipt);
      return stored.sort((one, other) => one.at - other.at);
    },
    reminders: createReminderTraces(redis, tenant),
  };
}
