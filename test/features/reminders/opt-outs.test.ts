import { describe, expect, test } from 'vitest';
import { createOptOuts } from '../../../src/features/reminders/opt-outs.ts';
import { keys } from '../../../src/state/keys.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
const IDENTITY_KEY = Buffer.alloc(32, 7);

/** Opt-outs of a tenant; `fails` has the next change not be stored. */
function openWorld(tenant: string, identityKey = IDENTITY_KEY) {
  const connection = redis.connect();
  const state = { fails: false };
  const store = async ({ name, value }: { name: string; value: string | null }) => {
    if (state.fails) throw new Error('state-not-durable');
    const table = keys.optOuts(tenant);
    if (value === null) return (await connection.hdel(table, name)) === 1;
    return (await connection.hsetnx(table, name, value)) === 1;
  };
  return { state, connection, optOuts: createOptOuts(connection, tenant, identityKey, { store } as never) };
}

describe('an address', () => {
  test('is one whatever its spelling, and two of different kinds are two', () => {
    const { optOuts } = openWorld('spellings');
    const { hashOf } = optOuts;
    expect(hashOf('email', ' Anna@Example.ORG ')).toBe(hashOf('email', 'anna@example.org'));
    expect(hashOf('phone', '+39 333-123 45.67')).toBe(hashOf('phone', '+393331234567'));
    expect(hashOf('phone', '+393331234567')).not.toBe(hashOf('phone', '393331234567'));
    expect(hashOf('email', '+393331234567')).not.toBe(hashOf('phone', '+393331234567'));
  });

  test('is kept as a keyed hash, which another tenant and another key do not know', async () => {
    const { optOuts, connection } = openWorld('hashes');
    const hash = optOuts.hashOf('email', 'anna@example.org');
    await optOuts.add(hash, { source: 'reply', at: NOW });
    expect(JSON.stringify(await connection.hgetall(keys.optOuts('hashes')))).not.toContain('anna');
    expect(openWorld('others').optOuts.hashOf('email', 'anna@example.org')).not.toBe(hash);
    expect(openWorld('hashes', Buffer.alloc(32, 8)).optOuts.hashOf('email', 'anna@example.org')).not.toBe(hash);
  });
});

describe('an opt-out', () => {
  const optOut = { source: 'unsubscribe', at: NOW } as const;

  test('is found until it is removed', async () => {
    const { optOuts } = openWorld('removals');
    expect(await optOuts.find('h')).toBeNull();
    await optOuts.add('h', optOut);
    expect(await optOuts.find('h')).toEqual(optOut);
    expect([await optOuts.remove('h'), await optOuts.remove('h'), await optOuts.find('h')]).toEqual([
      true,
      false,
      null,
    ]);
  });

  test('is lifted by a message of the patient, which is applied once: shown again it does not undo a later opt-out', async () => {
    const { optOuts } = openWorld('opt-ins');
    await optOuts.add('h', optOut);
    await optOuts.optIn('h', 'START 1');
    expect(await optOuts.find('h')).toBeNull();
    await optOuts.add('h', optOut);
    await optOuts.optIn('h', 'START 1');
    expect(await optOuts.find('h')).toEqual(optOut);
    await optOuts.optIn('h', 'START 2');
    expect(await optOuts.find('h')).toBeNull();
  });

  test('is heard again by the same message where storing it had failed', async () => {
    const { optOuts, state } = openWorld('failures');
    await optOuts.add('h', optOut);
    state.fails = true;
    await expect(optOuts.optIn('h', 'START')).rejects.toThrow('state-not-durable');
    state.fails = false;
    await optOuts.optIn('h', 'START');
    expect(await optOuts.find('h')).toBeNull();
  });
});
