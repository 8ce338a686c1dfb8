import { expect, test } from 'vitest';
import { keys } from '../../src/state/keys.ts';
import { createUpkeepStore } from '../../src/tenant/upkeep.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();

test('a record replaces the earlier one of its kind, and belongs to its tenant or to the installation', async () => {
  const upkeep = createUpkeepStore(redis.connect());
  await upkeep.record('studio-rossi', 'replies', { at: NOW, ended: 2 });
  await upkeep.record('studio-rossi', 'replies', { at: NOW + 1, ended: 3 });
  await upkeep.record(null, 'check', { at: NOW + 1, ended: 0 });
  expect(await upkeep.read('studio-rossi')).toEqual({ replies: { at: NOW + 1, ended: 3 } });
  expect(await upkeep.read(null)).toEqual({ check: { at: NOW + 1, ended: 0 } });
  expect(await upkeep.read('studio-bianchi')).toEqual({});
});

test('a value that clinic-mirror did not write is treated as missing', async () => {
  const connection = redis.connect();
  await connection.hset(keys.upkeep('studio-neri'), { replies: '<b>1</b>', approvals: '9'.repeat(40) });
  expect(await createUpkeepStore(connection).read('studio-neri')).toEqual({});
});
