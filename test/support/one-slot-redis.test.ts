import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { OneSlotRedis } from './one-slot-redis.ts';

/** A connection that sends nothing. */
function openUnconnected(): OneSlotRedis {
  const connection = new OneSlotRedis({ lazyConnect: true });
  vi.spyOn(connection, 'connect').mockResolvedValue();
  onTestFinished(() => connection.disconnect());
  return connection;
}

describe('commands over several slots are refused', () => {
  test.each([
    ['different hash tags', ['{one}:a', '{one}:b', '{other}:a']],
    ['different keys without a hash tag', ['a', 'b']],
    ['different keys with an empty hash tag', ['{}a', '{}b']],
  ])('%s', (_, keys) => {
    const connection = openUnconnected();
    expect(() => void connection.mget(...keys)).toThrow('a cluster would refuse');
    const pipeline = connection.pipeline();
    expect(() => keys.forEach((key) => void pipeline.get(key))).toThrow('a cluster would refuse');
  });
});

test('a pipeline over one slot is accepted', () => {
  const pipeline = openUnconnected().pipeline();
  for (const key of ['{one}:a', 'b:{one}', 'one']) pipeline.get(key);
  expect(pipeline.length).toBe(3);
});
