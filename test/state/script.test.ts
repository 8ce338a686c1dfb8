import { expect, test } from 'vitest';
import { createLeases } from '../../src/state/leases.ts';
import { fencedScript, isFenced } from '../../src/state/script.ts';
import { useRedis } from '../support/redis.ts';

/** A module beside the scripts. */
const SCRIPTS = new URL('../../src/state/script.ts', import.meta.url).href;

const TENANT = 'studio-rossi';
const redis = useRedis();

test('a fenced script runs for the holder of the lease alone', async () => {
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
