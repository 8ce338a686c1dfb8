import { createHmac, createPublicKey, hash, randomBytes, sign } from 'node:crypto';
import { z } from 'zod';
import { type ForgetReceipt, forgetReceipt, signedText } from '../core/model/forgetting.ts';
import { base32hex, derivedKey, derivedSigningKey } from '../core/model/hashes.ts';
import type { Instant } from '../core/model/time.ts';
import type { ErasedPersons } from '../engine/store.ts';
import { openPlain } from './damaged.ts';
import { keys } from './keys.ts';
import type { Protection } from './protection.ts';
import type { RedisClient } from './redis.ts';

/** Persons that an operator erased, as keyed hashes: ids cannot be recovered, and the next pull does not restore the persons. */
export interface TombstoneStore {
  /**
   * Adds a tombstone; an existing tombstone stays. Durable on return, as far as Redis can confirm.
   * @returns the tombstone's name, a constant keyed hash
   * @throws MirrorError `remote`, code `state-not-durable`
   */
  add(personId: string, at: Instant): Promise<string>;
  /** Removes a tombstone: the person is synced again. @returns whether the tombstone existed */
  remove(personId: string): Promise<boolean>;
  /** Returns the current erased persons. */
  load(): Promise<ErasedPersons>;
  count(): Promise<number>;
  /** Signs a receipt and stores it permanently under a new name. @throws MirrorError as `add` */
  storeReceipt(content: Omit<ForgetReceipt, 'receipt' | 'signature'>): Promise<ForgetReceipt>;
  /** Oldest first. */
  receipts(): Promise<ForgetReceipt[]>;
  /** Returns the installation's key for signatures of receipts (PEM), which anyone may have. */
  publicKey(): string;
}

const RECEIPT_BYTES = 5;
/** Receipts of earlier releases have no signature. */
const storedReceipt = forgetReceipt.extend({ signature: z.string().nullable().default(null) });

/**
 * Opens the tombstones of a tenant.
 * @param tenant first id of the tenant's objects, so that a renamed tenant keeps its tombstones
 * @param identityKey the installation's key, 32 bytes; with a different key, erased persons would not be recognised
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
  const nameOf = (personId: string) => createHmac('sha256', key()).update(personId).digest('base64url');
  const table = keys.tombstones(tenant);
  const receipts = keys.receipts(tenant);
  return {
    async add(personId, at) {
      const name = nameOf(personId);
      await store({ table: 'tombstones', name, value: String(at) });
      return name;
    },
    remove: (personId) => store({ table: 'tombstones', name: nameOf(personId), value: null }),
    async load() {
      const names = new Set((await redis.hkeys(table)).sort());
      const version = hash('sha256', [...names].join('\n'), 'base64url');
      return Object.assign((personId: string) => names.size > 0 && names.has(nameOf(personId)), { version });
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
  };
}
