import { describe, expect, test } from 'vitest';
import { MINUTE_MS } from '../../../src/core/model/time.ts';
import { createAnswerDirectory, createAnswerStore } from '../../../src/features/reminders/answer-store.ts';
import { reminderKeys } from '../../../src/features/reminders/keys.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis({ appendOnly: false });

test('the link of a reminder is found by its token only, which Redis does not contain', async () => {
  const connection = redis.connect();
  const directory = createAnswerDirectory(connection);
  const link = { tenant: 'rossi', reminder: 'r1', patientId: null, proof: 'p' };
  await directory.put('token-canary', link, MINUTE_MS);
  expect(await directory.find('token-canary')).toEqual(link);
  expect(await directory.find('another')).toBeNull();
  const stored = await connection.keys('*');
  expect(stored.join()).not.toContain('canary');
  expect(await connection.pttl(stored[0] ?? '')).toBeGreaterThan(0);
});

describe('the requests of a minute', () => {
  async function admitted(count: number, choose: (index: number) => [reminder: string, caller: string]) {
    const store = createAnswerStore(redis.connect(), 'rossi', (caller) => caller);
    let all = 0;
    for (let index = 0; index < count; index += 1) if (await store.admit(...choose(index), NOW)) all += 1;
    return { all, store };
  }

  test.each<[number, string, (index: number) => [string, string]]>([
    [20, 'one reminder', (index) => ['r', `caller-${index}`]],
    [100, 'one caller', (index) => [`r-${index}`, 'caller']],
    [300, 'one tenant', (index) => [`r-${index}`, `caller-${index}`]],
  ])('are at most %i for %s, and the next minute begins at 0', async (limit, _, choose) => {
    const { all, store } = await admitted(limit + 5, choose);
    expect(all).toBe(limit);
    expect(await store.admit(...choose(0), NOW + MINUTE_MS)).toBe(true);
  });

  test('that the limit of a reminder refuses take nothing from the caller', async () => {
    const { all } = await admitted(150, (index) => [index < 100 ? 'r' : `r-${index}`, 'caller']);
    expect(all).toBe(20 + 50);
  });
});

describe('an answer', () => {
  test('is carried out by one request at a time, and the first one stays', async () => {
    const connection = redis.connect();
    const store = createAnswerStore(connection, 'rossi', (caller) => caller);
    const reminder = reminderKeys.reminder('rossi', 'r1');
    await connection.hset(reminder, 'state', 'sent');
    const claim = (await store.begin('r1')) ?? '';
    expect(await store.begin('r1')).toBeNull();
    await store.end('r1', 'claim of another request', null);
    expect(await store.begin('r1')).toBeNull();
    await store.end('r1', claim, null);
    const again = (await store.begin('r1')) ?? '';
    expect(again).not.toBe('');
    await store.end('r1', again, { answer: 'confirmed', at: NOW });
    const answered = await connection.hgetall(reminder);
    expect(Object.values(answered)).toEqual(expect.arrayContaining(['confirmed', `${NOW}`]));
    const late = (await store.begin('r1')) ?? '';
    await store.end('r1', late, { answer: 'cancelled', at: NOW + 1 });
    expect(await connection.hgetall(reminder)).toEqual(answered);
  });
});
