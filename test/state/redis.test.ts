import { describe, expect, test } from 'vitest';
import { checkRedis, connectRedis } from '../../src/state/redis.ts';
import { useRedis } from '../support/redis.ts';

const NEVER = new AbortController().signal;

describe('a Redis that keeps what it is given', () => {
  const redis = useRedis();

  test('is accepted', async () => {
    await expect(checkRedis(redis.connect(), NEVER)).resolves.toBeUndefined();
  });

  test.each(['allkeys-lru', 'volatile-ttl'])('is refused while it evicts by %s, with what to do', async (policy) => {
    const connection = redis.connect();
    await connection.config('SET', 'maxmemory-policy', policy);
    await expect(checkRedis(connection, NEVER)).rejects.toMatchObject({
      actor: 'settings',
      code: 'redis-evicts',
      retry: 'never',
      remedy: expect.stringContaining('noeviction'),
    });
    await connection.config('SET', 'maxmemory-policy', 'noeviction');
  });

  test('is not blamed for settings that it does not show', async () => {
    const connection = redis.connect();
    await connection.acl('SETUSER', 'guest', 'on', '>guest', '~*', '&*', '+@all', '-config');
    await connection.auth('guest', 'guest');
    await expect(connection.config('GET', 'appendonly')).rejects.toThrow(/NOPERM/);
    await expect(checkRedis(connection, NEVER)).resolves.toBeUndefined();
  });

  test('is reached again after it was away, and commands wait for it', async () => {
    const connection = connectRedis(redis.url);
    await connection.set('key', 'value');
    await redis.crash();
    const waiting = connection.ping();
    await redis.startAgain();
    expect(await waiting).toBe('PONG');
    connection.disconnect();
  });
});

describe('a Redis without an append-only file', () => {
  const redis = useRedis({ appendOnly: false });

  test('is refused, with what to do', async () => {
    await expect(checkRedis(redis.connect(), NEVER)).rejects.toMatchObject({
      actor: 'settings',
      code: 'redis-not-durable',
      retry: 'never',
      remedy: expect.stringContaining('appendonly yes'),
    });
  });
});

test('a Redis that does not answer is waited for until the wait is ended, and is then said to be out of reach', async () => {
  const client = connectRedis('redis://127.0.0.1:1');
  const stop = new AbortController();
  const checked = checkRedis(client, stop.signal);
  stop.abort(new Error('enough'));
  await expect(checked).rejects.toMatchObject({ actor: 'remote', code: 'redis-unreachable', retry: 'later' });
  client.disconnect();
});
