import { createHash, createHmac } from 'node:crypto';
import { z } from 'zod';
import { derivedKey } from '../../core/model/hashes.ts';
import type { AddressKind } from '../../core/model/reminders.ts';
import { DAY_MS } from '../../core/model/time.ts';
import { openPlain } from '../../state/damaged.ts';
import { keys } from '../../state/keys.ts';
import type { Protection } from '../../state/protection.ts';
import type { RedisClient } from '../../state/redis.ts';

/** Retention of opt-in messages, longer than a gateway could replay a message. Project choice. */
const OPT_IN_RETENTION_MS = 800 * DAY_MS;

const optOutForm = z.object({
  source: z.enum(['reply', 'callback', 'unsubscribe', 'refused', 'operator']),
  at: z.number(),
});
/** A stored opt-out. */
export type OptOut = z.infer<typeof optOutForm>;

/** Kind and keyed hash of contact data. */
export type AddressHash = string;

/** Opt-outs of a tenant. Contact data is stored only as keyed hashes. */
export interface OptOuts {
  hashOf(kind: AddressKind, address: string): AddressHash;
  /**
   * Adds an opt-out for every channel with this contact data, immediately. The first opt-out is kept. Persisted before the function
   * returns, as far as Redis reports.
   * @throws MirrorError `remote`, code `state-not-durable`
   */
  add(hash: AddressHash, optOut: OptOut): Promise<void>;
  /** @returns whether an opt-out existed */
  remove(hash: AddressHash): Promise<boolean>;
  /**
   * Stores a patient's opt-in. Gateway requests have no time, so each message is valid once: a replayed message does not override a later
   * opt-out.
   */
  optIn(hash: AddressHash, message: string): Promise<void>;
  find(hash: AddressHash): Promise<OptOut | null>;
}

/**
 * Opens the opt-outs of a tenant.
 * @param identityKey the installation's identity key, 32 bytes; a different key would lose every opt-out
 * @param protection persists each change
 */
export function createOptOuts(
  redis: RedisClient,
  tenant: string,
  identityKey: Uint8Array,
  { store }: Pick<Protection, 'store'>,
): OptOuts {
  const key = derivedKey(identityKey, tenant, 'opt-outs');
  const table = keys.optOuts(tenant);
  return {
    hashOf: (kind, address) =>
      `${kind}:${createHmac('sha256', key()).update(sameForm(kind, address)).digest('base64url')}`,
    async add(hash, optOut) {
      await store({ table: 'optOuts', name: hash, value: JSON.stringify(optOut) });
    },
    async optIn(hash, message) {
      const taken = keys.optIn(tenant, createHash('sha256').update(message).digest('base64url'));
      if ((await redis.exists(taken)) === 1) return;
      await store({ table: 'optOuts', name: hash, value: null });
      // Stored last, so that a repeated request after a failure is processed.
      await redis.set(taken, '', 'PX', OPT_IN_RETENTION_MS);
    },
    remove: (hash) => store({ table: 'optOuts', name: hash, value: null }),
    async find(hash) {
      const value = await redis.hget(table, hash);
      if (value === null) return null;
      // With a damaged record, the patient stays opted out.
      return openPlain(value, { owner: tenant, kind: 'safeguards' }, optOutForm) ?? { source: 'operator', at: 0 };
    },
  };
}

/** Normalises contact data: case in e-mail addresses; spaces and signs in telephone numbers (given as E.164). */
function sameForm(kind: AddressKind, address: string): string {
  return kind === 'email' ? address.trim().toLowerCase() : address.replaceAll(/[^+\d]/g, '');
}
