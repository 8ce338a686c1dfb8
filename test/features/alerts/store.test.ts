import { describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { alertKeys } from '../../../src/features/alerts/keys.ts';
import { createAlertStore } from '../../../src/features/alerts/store.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useDamage } from '../../support/damage.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis({ appendOnly: false });
const IDENTITY_KEY = Buffer.alloc(32, 7);
const damage = useDamage();

describe('the memory of an alert channel', () => {
  function open() {
    const connection = redis.connect();
    const clock = { now: NOW };
    const openStore = () => createAlertStore({ redis: connection, identityKey: IDENTITY_KEY, clock: () => clock.now });
    return { connection, clock, store: openStore(), openStore };
  }
  const stored = { memory: 'm', failure: null };

  test('is read unchanged, in another process too, and is removed with its channel', async () => {
    const { store, openStore } = open();
    await store.write('mail', stored);
    await store.write('hook', { ...stored, failure: { code: 'refused', sinceAt: NOW } });
    const read = await openStore().read();
    expect(read.get('mail')).toEqual(stored);
    expect(read.get('hook')?.failure).toEqual({ code: 'refused', sinceAt: NOW });
    expect(await openStore().failures()).toEqual([{ channel: 'hook', code: 'refused', sinceAt: NOW }]);
    await store.retainOnly(['mail']);
    expect([...(await store.read()).keys()]).toEqual(['mail']);
  });

  test('is valid for two hours without a write; its failure remains', async () => {
    const { store, clock } = open();
    await store.write('mail', { ...stored, failure: { code: 'refused', sinceAt: NOW } });
    clock.now = NOW + 2 * HOUR_MS - 1;
    expect((await store.read()).get('mail')?.memory).toBe('m');
    clock.now += 1;
    expect((await store.read()).get('mail')).toMatchObject({ memory: null, failure: { code: 'refused' } });
    expect([...damage]).toEqual([]);
  });

  test('that is older than this process saw, or not encrypted, is state-damaged', async () => {
    const { store, connection, openStore } = open();
    await store.write('mail', stored);
    const before = (await connection.hget(alertKeys.alerts(), 'mail')) ?? '';
    await store.write('mail', { ...stored, memory: 'newer' });
    await connection.hset(alertKeys.alerts(), 'mail', before);
    const nothing = { memory: null, failure: null };
    expect((await store.read()).get('mail')).toEqual(nothing);
    expect([...damage]).toEqual(['{alerts} alerts']);
    damage.clear();
    expect((await openStore().read()).get('mail')).toEqual(stored);
    expect([...damage]).toEqual([]);
    await connection.hset(alertKeys.alerts(), 'mail', 'made up');
    expect((await openStore().read()).get('mail')).toEqual(nothing);
    expect([...damage]).toEqual(['{alerts} alerts']);
  });
});
