import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import type { AddressKind } from '../model/reminders.ts';
import type { Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** Where an opt-out came from; said of a reminder that was dropped for it. */
export type OptOutSource = 'reply' | 'callback' | 'unsubscribe' | 'refused' | 'operator';

/** An opt-out as it is kept. */
export interface OptOut {
  source: OptOutSource;
  at: Instant;
}

/** Who wants no reminders of one tenant. Addresses are kept as keyed hashes; nobody can read them back. */
export interface OptOuts {
  /** Stands from this moment on, for every channel that reaches this address. The first one is kept. */
  add(kind: AddressKind, address: string, optOut: OptOut): Promise<void>;
  /** @returns whether there was one */
  remove(kind: AddressKind, address: string): Promise<boolean>;
  find(kind: AddressKind, address: string): Promise<OptOut | null>;
  count(): Promise<number>;
}

/**
 * Opens the opt-outs of a tenant.
 * @param identityKey the installation's identity key, 32 bytes; with another one they would all be forgotten
 */
export function createOptOuts(redis: RedisClient, tenant: string, identityKey: Uint8Array): OptOuts {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', identityKey, tenant, 'clinic-mirror opt-outs', 32)));
  const table = keys.optOuts(tenant);
  const nameOf = (kind: AddressKind, address: string) =>
    `${kind}:${createHmac('sha256', key).update(sameForm(kind, address)).digest('base64url')}`;
  return {
    async add(kind, address, optOut) {
      await redis.hsetnx(table, nameOf(kind, address), JSON.stringify(optOut));
    },
    async remove(kind, address) {
      return (await redis.hdel(table, nameOf(kind, address))) === 1;
    },
    async find(kind, address) {
      const value = await redis.hget(table, nameOf(kind, address));
      return value === null ? null : (JSON.parse(value) as OptOut);
    },
    count: () => redis.hlen(table),
  };
}

/** Spellings of one address are one: letters' case in e-mail, blanks and signs in telephone numbers (given as E.164). */
function sameForm(kind: AddressKind, address: string): string {
  return kind === 'email' ? address.trim().toLowerCase() : address.replaceAll(/[^+\d]/g, '');
}
