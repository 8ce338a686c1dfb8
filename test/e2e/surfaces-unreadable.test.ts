import { expect, onTestFinished, test } from 'vitest';
import { SECOND_MS } from '../../src/model/time.ts';
import { useRedis } from '../support/redis.ts';
import { DAEMON } from '../support/redis-users.ts';
import { waitFor } from '../support/wait-for.ts';
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
  // The Overview never goes back to the last good state.
  await agree();
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
