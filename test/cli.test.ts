import { once } from 'node:events';
import { createServer } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { DAY_MS } from '../src/core/model/time.ts';
import { keys } from '../src/state/keys.ts';
import { FORCED, run, start, terminate, untilRunning } from './support/cli-process.ts';
import { useRedis } from './support/redis.ts';
import { waitFor } from './support/wait-for.ts';

const redis = useRedis();

test('the daemon automatically releases tenants removed long enough ago, and exits with 0 after a stop signal', async () => {
  const state = redis.connect();
  const [sealed, young, kept] = [
    keys.outbox('gone', 'doctor'),
    keys.outbox('young', 'doctor'),
    keys.tombstones('gone'),
  ];
  for (const key of [sealed, young, kept]) await state.hset(key, 'field', 'value');
  await state.hset(keys.removedTenants(), { gone: Date.now() - 31 * DAY_MS, young: Date.now() - 29 * DAY_MS });
  const cli = run(redis.url, 0);
  await untilRunning(cli);
  await waitFor(async () => (await state.exists(sealed)) === 0, { what: 'the release' });
  expect(await terminate(cli)).toBe(0);
  expect(cli.output()).toContain('daemon is stopping');
  expect(cli.output()).not.toContain(FORCED);
  expect(await Promise.all([state.exists(young), state.exists(kept)])).toEqual([1, 1]);
});

test('a start that fails ends the process, although its connections to Redis are open', async () => {
  const holder = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void holder.close());
  await once(holder, 'listening');
  const address = holder.address();
  const cli = run(redis.url, typeof address === 'object' ? (address?.port ?? 0) : 0);
  expect(await cli.ended).toBe(1);
  expect(cli.output()).toContain('http-port-unavailable');
});

test('its version is the version of the package', async () => {
  const cli = start(['--version'], 'no-address');
  expect(await cli.ended).toBe(0);
  expect(cli.output()).toBe(`${manifest.version}\n`);
});
