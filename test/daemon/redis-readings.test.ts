import { expect, onTestFinished, test, vi } from 'vitest';
import { readRedis, timeByRedis, timeOf } from '../../src/daemon/redis-readings.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();

/** Opens a connection with this answer to INFO. A connection sends INFO before it is ready. */
async function openWithMemory(text: string) {
  const client = redis.connect();
  await client.ping();
  const info = vi.spyOn(client, 'info').mockResolvedValue(text);
  onTestFinished(() => info.mockRestore());
  return client;
}

test('a Redis that works accepts the test write, and has a clock, a time to answer and memory', async () => {
  const read = await readRedis(redis.connect(), Date.now);
  expect(read.refusal).toBeNull();
  expect(Math.abs(read.clockAheadMs)).toBeLessThan(60_000);
  expect(read.answerMs).toBeGreaterThanOrEqual(0);
  expect(read.memory?.usedBytes).toBeGreaterThan(100_000);
});

test.each([
  ['# Memory\r\nused_memory:10\r\nmaxmemory:0\r\n', { usedBytes: 10, limitBytes: null }],
  ['# Memory\r\nused_memory:10\r\nmaxmemory:20\r\n', { usedBytes: 10, limitBytes: 20 }],
  ['# Memory\r\n', null],
])('the memory of %j is %j', async (text, memory) => {
  expect((await readRedis(await openWithMemory(text), Date.now)).memory).toEqual(memory);
});

test('a user without permission for INFO has no memory, and the other readings', async () => {
  const client = redis.connect();
  await client.ping();
  const refused = Object.assign(new Error('NOPERM this user has no permissions'), { name: 'ReplyError' });
  const info = vi.spyOn(client, 'info').mockRejectedValue(refused);
  onTestFinished(() => info.mockRestore());
  expect(await readRedis(client, Date.now)).toMatchObject({ memory: null, refusal: null });
});

test('a time of this host becomes a time of Redis', async () => {
  const time = async () => [100, 500_000] as [number, number];
  expect(await timeOf({ time: time as never })).toBe(100_500);
  const convert = timeByRedis({ time: time as never }, () => 90_000);
  expect(await convert(80_000)).toBe(90_500);
});
