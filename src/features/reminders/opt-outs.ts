import { createHash, createHmac } from 'node:crypto';
import { derivedKey } from '../../model/hashes.ts';
import type { AddressKind } from '../../model/reminders.ts';
import { DAY_MS, type Instant } from '../../model/time.ts';
import { keys } from '../../state/keys.ts';
import type { Protection } from '../../state/protection.ts';
import type { RedisClient } from '../../state/redis.ts';

/** So long an opt-in is known by its message: longer than a gateway keeps what it could show again. Our choice. */
const OPT_IN_RETENTION_MS = 800 * DAY_MS;

/** Where an opt-out came from; said of a reminder that was dropped for it. */
export type OptOutSource = 'reply' | 'callback' | 'unsubscribe' | 'refused' | 'operator';

/** An opt-out as it is kept. */
export interface OptOut {
  source: OptOutSource;
  at: Instant;
}

/** An address as it is remembered: its kind and a keyed hash. */
export type AddressHash = string;

/** Who wants no reminders of one tenant. Addresses are kept as keyed hashes; nobody can read them back. */
export interface OptOuts {
  hashOf(kind: AddressKind, address: string): AddressHash;
  /**
   * Stands from this moment on, for every channel that reaches this address. The first one is kept. It can't be lost when this returns,
   * as far as Redis can tell.
   * @throws MirrorError `remote`, code `state-not-durable`
   */
  add(hash: AddressHash, optOut: OptOut): Promise<void>;
  /** @returns whether there was one */
  remove(hash: AddressHash): Promise<boolean>;
  /**
   * What a patient wrote to get reminders again. A gateway's requests bear no time, so each message counts once: whoever shows an old one again
   * does not undo what the patient said since.
   */
  optIn(hash: AddressHash, message: string): Promise<void>;
  find(hash: AddressHash): Promise<OptOut | null>;
}

/**
 * Opens the opt-outs of a tenant.
 * @param identityKey the installation's identity key, 32 bytes; with another one they would all be forgotten
 * @param protection makes each change last
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
      // Only now: whoever reports again because of a failure is heard.
      await redis.set(taken, '', 'PX', OPT_IN_RETENTION_MS);
    },
    remove: (hash) => store({ table: 'optOuts', name: hash, value: null }),
    async find(hash) {
      const value = await redis.hget(table, hash);
      return value === null ? null : (JSON.parse(value) as OptOut);
    },
  };
}

/** Spellings of one address are one: letters' case in e-mail, blanks and signs in telephone numbers (given as E.164). */
function sameForm(kind: AddressKind, address: string): string {
  return kind === 'email' ? address.trim().toLowerCase() : address.replaceAll(/[^+\d]/g, '');
}
