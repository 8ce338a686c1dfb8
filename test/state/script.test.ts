import { expect, test } from 'vitest';
import { createLeases } from '../../src/state/leases.ts';
import { askEach, countOne, fencedScript, isFenced, keysLike, pairsOf, scoresOf } from '../../src/state/script.ts';
import { useRedis } from '../support/redis.ts';

/** A module next to the scripts. */
const SCRIPTS = new URL('../../src/state/script.ts', import.meta.url).href;

const TENANT = 'studio-rossi';
const redis = useRedis();

test('a fenced script runs for the holder of the lease only', async () => {
  const connection = redis.connect();
  const lease = await createLeases(connection, TENANT, 60_000).tryTake('plan');
  const setFields = fencedScript<number>(SCRIPTS, 'fenced-set');
  const HASH = `cm:{${TENANT}}:hash`;
  const write = (token: string, value: string) =>
    setFields(connection, { key: lease?.key ?? '', token }, [HASH], ['field', value]);
  expect(await write(lease?.token ?? '', 'one')).toBe(1);
  await expect(write('0:somebody', 'two')).rejects.toMatchObject({ code: 'lease-lost', actor: 'conflict' });
  expect(await connection.hget(HASH, 'field')).toBe('one');
  await lease?.release();
});

test('only the refusal of a fenced script is taken for one', () => {
  expect(isFenced(new Error('FENCED script: 1234, on @user_script:1.'))).toBe(true);
  expect(isFenced(new Error('Connection is closed.'))).toBe(false);
  expect(isFenced('FENCED')).toBe(false);
});

test('all items are requested in one batch and answered in order; the first error is thrown', async () => {
  const connection = redis.connect();
  await connection.mset('{t}:one', '1', '{t}:two', '2');
  const ask = (keys: string[]) => askEach<string | null>(connection, keys, (pipeline, key) => pipeline.get(key));
  expect(await ask(['{t}:two', '{t}:none', '{t}:one'])).toEqual(['2', null, '1']);
  await connection.sadd('{t}:set', 'member');
  await expect(ask(['{t}:one', '{t}:set'])).rejects.toThrow('WRONGTYPE');
});

test('a flat reply is read in pairs', () => {
  expect(pairsOf(['a', '1', 'b', '2'])).toEqual([
    ['a', '1'],
    ['b', '2'],
  ]);
  expect(scoresOf(['a', '1.5', 'b', '-2'])).toEqual(
    new Map([
      ['a', 1.5],
      ['b', -2],
    ]),
  );
});

test('all keys like a pattern are found, however many others there are', async () => {
  const connection = redis.connect();
  const names = Array.from({ length: 1_200 }, (_, index) => `{k}:${index % 2 === 0 ? 'even' : 'odd'}:${index}`);
  await connection.mset(names.flatMap((name) => [name, '']));
  const found = new Set(await Array.fromAsync(keysLike(connection, '{k}:odd:*')));
  expect([...found].sort()).toEqual(names.filter((name) => name.includes('odd')).sort());
});

test('what the narrower counter holds back is not counted by the wider one', async () => {
  const connection = redis.connect();
  const count = () =>
    countOne(connection, 60_000, [
      { key: '{c}:one', most: 2 },
      { key: '{c}:all', most: 3 },
    ]);
  expect([await count(), await count()]).toEqual([
    { counted: 1, waitMs: null },
    { counted: 2, waitMs: null },
  ]);
  const held = await count();
  expect(held.waitMs).toBeGreaterThan(0);
  expect(held.waitMs).toBeLessThanOrEqual(60_000);
  expect(await connection.get('{c}:all')).toBe('2');
  const another = () =>
    countOne(connection, 60_000, [
      { key: '{c}:two', most: 2 },
      { key: '{c}:all', most: 3 },
    ]);
  expect((await another()).waitMs).toBeNull();
  expect((await another()).waitMs).not.toBeNull();
});
