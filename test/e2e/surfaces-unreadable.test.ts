import { Redis } from 'ioredis';
import { expect, inject, onTestFinished, test, vi } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { compose } from '../../src/daemon/compose.ts';
import { startDaemon } from '../../src/main.ts';
import { status } from '../../src/operator/control/status.ts';
import { keys } from '../../src/state/keys.ts';
import { startRedis } from '../../tools/redis.ts';
import { useRedis } from '../support/redis.ts';
import { timeOfTests } from '../support/redis-date.ts';
import { DAEMON } from '../support/redis-users.ts';
import { machineNow } from '../support/shifted-date.ts';
import { waitFor } from '../support/wait-for.ts';
import { disagreements, readCommands, shapeOf, tabled } from './support/agreement.ts';
import { TENANT, useWatchedDaemon, type WatchedDaemon } from './support/watched-daemon.ts';

const redis = useRedis();

/** The pages and the API of the daemon. */
const PATHS = ['/', `/tenants/${TENANT}`, '/api/v1/problems', `/api/v1/tenants/${TENANT}`];

/** Exit code or status of each surface, whether it names the code, and whether it shows a state of the clinic. */
async function readUnreadable({ world, operator, page }: WatchedDaemon, code: string) {
  const shows = (result: number, text: string) => [result, text.includes(code), /in[ -]sync|"health":"ok"/.test(text)];
  const seen: Record<string, unknown> = {};
  for (const command of ['status', 'status --json']) {
    const { code: exit, out, err } = await world.cli(...command.split(' '));
    seen[command] = shows(exit, out + err);
  }
  for (const path of ['/readyz', '/metrics', ...PATHS]) {
    const { status, body } = await (PATHS.includes(path) ? page(path) : operator(path));
    seen[path] = shows(status, body);
  }
  return seen;
}

/** The state cannot be read: each surface names the code instead. */
const AGREED = {
  ...{ status: [1, true, false], 'status --json': [1, true, false] },
  ...{ '/readyz': [503, true, false], '/metrics': [200, true, false] },
  ...Object.fromEntries(PATHS.map((path) => [path, [409, true, false]])),
};

async function untilUnreadable(watched: WatchedDaemon, code: string): Promise<void> {
  const agree = async () => {
    expect(await readUnreadable(watched, code)).toEqual(AGREED);
    return true;
  };
  await waitFor(agree, { what: `agreement on ${code}`, intervalMs: 100, timeoutMs: 60 * SECOND_MS });
  // The Overview never goes back to the last good state, and no surface names another fault.
  for (let times = 0; times < 5; times += 1) await agree();
  expect.soft(await watched.told()).toEqual(tabled(code));
}

test('a refused login of Redis is named by every surface, none shows a state, and all agree again afterwards', async () => {
  const watched = await useWatchedDaemon(redis.url);
  await watched.until([]);
  const tester = redis.connect();
  const end = async () => {
    await tester.call('ACL', 'SETUSER', DAEMON.username, 'resetpass', `>${DAEMON.password}`);
    await tester.call('ACL', 'LOG', 'RESET');
  };
  onTestFinished(end);
  await tester.call('ACL', 'SETUSER', DAEMON.username, 'resetpass', '>another');
  await tester.call('CLIENT', 'KILL', 'USER', DAEMON.username);
  await untilUnreadable(watched, 'redis-login-refused');
  await end();
  await watched.until([]);
});

test('a Redis that came back with fewer databases is named by every surface, and all agree again afterwards', async () => {
  const program = { server: inject('redisServer') };
  let server = await startRedis(program);
  onTestFinished(() => server.crash().then(() => server.stop()));
  const watched = await useWatchedDaemon(`${server.url}/5`);
  await watched.until([]);
  const { port, dir } = server;
  await server.crash();
  const small = await startRedis({ ...program, port, settings: { databases: '2' } });
  onTestFinished(() => small.crash().then(() => small.stop()));
  await untilUnreadable(watched, 'redis-database-missing');
  await small.crash();
  server = await startRedis({ ...program, port, dir });
  await watched.until([]);
});

test('after the daemon ended its ports are closed, and the commands agree that no daemon runs', async () => {
  const { world, daemon, operator, until } = await useWatchedDaemon(redis.url);
  await until([]);
  await daemon.close();
  const aheadMs = 3 * MINUTE_MS;
  const seen = await redis.connect().pttl(keys.daemonSeen());
  await redis.connect().pexpire(keys.daemonSeen(), seen - aheadMs);
  vi.spyOn(Redis.prototype, 'time').mockImplementation(timeOfTests(Date.now() - machineNow() + aheadMs));
  const { configuration } = world.opened();
  const later = {
    configuration,
    log: silentLogger,
    priority: 'interactive',
    clock: () => Date.now() + aheadMs,
  } as const;
  const composition = compose(later);
  onTestFinished(() => composition.close());
  const told = await readCommands({ composition, tenant: TENANT });
  expect(told['status --json'].codes).toEqual(['daemon-not-running']);
  expect(told['status --json'].health).toEqual('action-required');
  expect(disagreements(told)).toEqual([]);
  const [problem] = (await status(composition.installation)).problems;
  expect.soft(shapeOf(problem!)).toEqual(tabled('daemon-not-running'));
  await expect(operator('/readyz')).rejects.toThrow('fetch failed');
  const next = await startDaemon(configuration, silentLogger, new AbortController().signal);
  onTestFinished(() => next.close());
  const codes = async () => (await status(composition.installation)).problems.map(({ code }) => code);
  await waitFor(async () => !(await codes()).includes('daemon-not-running'), { what: 'the problem to end' });
});
