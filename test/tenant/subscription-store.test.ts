import { expect, test } from 'vitest';
import { MINUTE_MS } from '../../src/core/model/time.ts';
import { keys } from '../../src/state/keys.ts';
import { createLeases } from '../../src/state/leases.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import {
  createSubscriptionDirectory,
  createSubscriptionStore,
  isSubscriptionSecret,
  NO_SUBSCRIPTIONS,
  subscriptionSecretHash,
} from '../../src/tenant/subscription-store.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis({ appendOnly: false });
const TENANT = 'rossi';
const IDENTITY_KEY = Buffer.alloc(32, 7);
const FAILED = { ...NO_SUBSCRIPTIONS, failure: { code: 'no', sinceAt: NOW, retryAt: NOW } };

test('subscriptions are written under the lease only, and their key is deleted with the last of them', async () => {
  const connection = redis.connect();
  const store = createSubscriptionStore(connection, TENANT, createProofSealer(IDENTITY_KEY, TENANT));
  const lease = await createLeases(connection, TENANT, 30_000).tryTake('subscriptions');
  if (lease === null) throw new Error('the lease is free');
  await store.write('doctor', FAILED, lease);
  expect(await store.read()).toEqual(new Map([['doctor', FAILED]]));
  await store.write('doctor', NO_SUBSCRIPTIONS, lease);
  expect(await connection.exists(keys.subscriptions(TENANT))).toBe(0);
  await lease.release();
  await expect(store.write('doctor', FAILED, lease)).rejects.toMatchObject({ code: 'lease-lost' });
});

test('the directory knows an addressee until its time is over or it is removed, and what the vendor asked for does not prolong it', async () => {
  const connection = redis.connect();
  const directory = createSubscriptionDirectory(connection, IDENTITY_KEY, () => NOW);
  const addressee = {
    tenant: TENANT,
    connector: 'x',
    targets: ['doctor'],
    secretHash: 'h',
    isOpening: false,
    asked: null,
  };
  const [id, key] = ['a'.repeat(32), keys.subscription('a'.repeat(32))];
  await directory.put(id, addressee, NOW + 10 * MINUTE_MS);
  const leftMs = await connection.pttl(key);
  expect(leftMs).toBeGreaterThan(9 * MINUTE_MS);
  await directory.ask(id, addressee, 'extend');
  expect(await directory.find(id)).toEqual({ ...addressee, asked: 'extend' });
  expect(await connection.pttl(key)).toBeLessThanOrEqual(leftMs);
  expect(await createSubscriptionDirectory(connection, Buffer.alloc(32, 8), () => NOW).find(id)).toBeNull();
  await directory.remove(id);
  await directory.ask(id, addressee, 'ended');
  expect(await directory.find(id)).toBeNull();
  await directory.put(id, addressee, NOW - MINUTE_MS);
  expect(await connection.pttl(key)).toBeGreaterThan(MINUTE_MS / 2);
});

test('a secret matches its own hash only', () => {
  const secretHash = subscriptionSecretHash('secret');
  expect(secretHash).not.toContain('secret');
  const fits = ['secret', 'Secret', '', secretHash].map((secret) => isSubscriptionSecret(secret, secretHash));
  expect(fits).toEqual([true, false, false, false]);
  expect(isSubscriptionSecret('secret', '')).toBe(false);
});
