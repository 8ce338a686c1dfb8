import { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Logger } from '../../src/log/logger.ts';
import { asMirrorError } from '../../src/model/errors.ts';
import { connectForWorkers, connectRedis, type RedisClient, watchRedis } from '../../src/state/redis.ts';
import { checkRedis, checkRepeatedly } from '../../src/state/redis-check.ts';
import { untilSeen, useFakeTime } from '../support/fake-time.ts';
import { useRedis } from '../support/redis.ts';
import { startSilentProxy } from '../support/silent-proxy.ts';
import { waitFor } from '../support/wait-for.ts';

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

  test('is looked at again while the daemon runs: what takes over may evict', async () => {
    const connection = redis.connect();
    const error = vi.fn();
    const stop = checkRepeatedly(connection, { error } as unknown as Logger, 5);
    onTestFinished(async () => {
      stop();
      await connection.config('SET', 'maxmemory-policy', 'noeviction');
    });
    await connection.config('SET', 'maxmemory-policy', 'allkeys-lru');
    await waitFor(() => error.mock.calls.length > 0, { what: 'the line in the log' });
    expect(error.mock.calls[0]?.[0]).toMatchObject({ code: 'redis-evicts' });
  });

  test('is sent the text of a script once by each connection, and runs it also where it has forgotten it', async () => {
    const onlooker = redis.connect();
    const ADD = "return redis.call('HINCRBY', KEYS[1], ARGV[1], ARGV[2])";
    const callsOf = async (name: string) =>
      Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(await onlooker.info('commandstats'))?.[1] ?? 0);
    await onlooker.config('RESETSTAT');
    const connection = connectRedis(redis.url);
    onTestFinished(() => connection.disconnect());
    const add = (by: number) => connection.eval(ADD, 1, 'cm:key', 'field', by);
    expect(await Promise.all([add(1), add(2), add(3)])).toEqual([1, 3, 6]);
    expect([await callsOf('eval'), await callsOf('evalsha')]).toEqual([1, 2]);
    expect(await connection.eval('return ARGV[1]', 0, 'another')).toBe('another');
    await onlooker.script('FLUSH');
    expect(await add(4)).toBe(10);
    expect(await add(5)).toBe(15);
    await expect(connection.eval('return redis.error_reply("FENCED")', 0)).rejects.toThrow('FENCED');
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
    await connection.set('cm:key', 'value');
    await redis.crash();
    const waiting = connection.ping();
    await redis.startAgain();
    expect(await waiting).toBe('PONG');
    connection.disconnect();
  });

  test('is said to be out of reach by every failure that means so', async () => {
    const [ended, away] = [connectRedis(redis.url), new Redis(redis.url, { maxRetriesPerRequest: 0 })];
    away.on('error', () => {});
    await Promise.all([ended.ping(), away.ping()]);
    ended.disconnect();
    await redis.crash();
    const failures = await Promise.all([ended.ping().catch(asMirrorError), away.ping().catch(asMirrorError)]);
    expect(failures).toEqual([0, 1].map(() => expect.objectContaining({ code: 'redis-unreachable', retry: 'later' })));
    away.disconnect();
    await redis.startAgain();
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

describe('a Redis that falls silent without closing its connections', () => {
  const redis = useRedis();

  async function open(connect: (url: string) => RedisClient = connectRedis) {
    const proxy = await startSilentProxy(redis.port);
    const client = connect(redis.url.replace(`:${redis.port}`, `:${proxy.port}`));
    onTestFinished(() => client.disconnect());
    await client.set('cm:key', 'value');
    return { proxy, client };
  }

  test.each([
    ['any other', connectRedis],
    ["the workers'", connectForWorkers],
  ])('ends every command over %s connection after ten seconds', async (_, connect) => {
    const { proxy, client } = await open(connect);
    const time = useFakeTime();
    proxy.fallSilent();
    const ended = vi.fn();
    client.get('cm:key').then(ended, ended);
    await time.pass(9_999);
    expect(ended).not.toHaveBeenCalled();
    await time.pass(1);
    expect(ended.mock.calls.map(([error]) => asMirrorError(error).code)).toEqual(['redis-unreachable']);
  });

  test('is reached over another connection as soon as it speaks again, although nobody closed the old one', async () => {
    const { proxy, client } = await open();
    const time = useFakeTime();
    proxy.fallSilent();
    const answer = client.get('cm:key');
    await time.pass(6_999);
    proxy.speak();
    expect(client.status).toBe('ready');
    await time.pass(1);
    await untilSeen(() => client.status === 'reconnecting', 'the old connection to be dropped');
    await time.pass(100);
    expect(await answer).toBe('value');
    expect(proxy.connections).toBe(2);
  });

  test('leaves the copies that wait for jobs alone: BullMQ watches those', async () => {
    const { proxy, client } = await open(connectForWorkers);
    const copy = (client as Redis).duplicate();
    onTestFinished(() => copy.disconnect());
    await copy.ping();
    const time = useFakeTime();
    proxy.fallSilent();
    const ended = vi.fn();
    copy.bzpopmin('jobs', 60).then(ended, ended);
    await time.pass(30_000);
    expect(ended).not.toHaveBeenCalled();
    expect(copy.status).toBe('ready');
  });

  test('is said to be out of reach, with the time, in at most ten seconds; its loss and its return are logged once each', async () => {
    const { proxy, client } = await open();
    const lines: [level: string, message: string, silentForMs: unknown][] = [];
    const note = (level: string) => (data: object, message: string) =>
      void lines.push([level, message, Reflect.get(data, 'silentForMs')]);
    const time = useFakeTime();
    const asked = vi.spyOn(client, 'exists');
    const answers = () => asked.mock.settledResults.filter(({ type }) => type === 'fulfilled').length;
    const watch = watchRedis(client, { error: note('error'), info: note('info') } as unknown as Logger);
    onTestFinished(() => watch.stop());
    for (let second = 0; second < 20; second += 2) {
      await untilSeen(() => answers() === second / 2 + 1, 'the answer');
      expect(watch.failure()).toBeNull();
      await time.pass(2_000);
    }
    await untilSeen(() => answers() === 11, 'the answer');
    proxy.fallSilent();
    await time.pass(7_000);
    expect(watch.failure()).toBeNull();
    expect(lines).toEqual([]);
    await time.pass(1_000);
    expect(watch.failure()).toBe('no answer for 8 s');
    await time.pass(30_000);
    expect(watch.failure()).not.toBeNull();
    expect(lines).toEqual([['error', 'Redis does not answer, no new work begins', 8_000]]);
    proxy.speak();
    await untilSeen(async () => {
      await time.pass(500);
      return watch.failure() === null;
    }, 'Redis to be reached again');
    expect(lines.slice(1)).toEqual([['info', 'Redis answers again', expect.any(Number)]]);
    expect(lines[1]?.[2]).toBeGreaterThan(37_000);
    const { length } = asked.mock.calls;
    watch.stop();
    await time.pass(20_000);
    expect(asked.mock.calls).toHaveLength(length);
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
