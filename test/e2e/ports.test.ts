import { expect, onTestFinished, test } from 'vitest';
import type { Role } from '../../src/control/roles.ts';
import { silentLogger } from '../../src/log/logger.ts';
import { startDaemon } from '../../src/main.ts';
import { useRedis } from '../support/redis.ts';
import { startSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const NEVER = new AbortController().signal;

async function start(role: Role, http: object) {
  const world = await startSmallWorld({ redisUrl: redis.url, appointments: 0, settings: { http } });
  onTestFinished(() => world.close());
  const daemon = await startDaemon(world.open().configuration, silentLogger, NEVER, { role });
  onTestFinished(() => daemon.close());
  return daemon;
}

const statusOf = async (port: number | null, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;

test.each<Role>(['all', 'http'])(
  'a daemon of the role %s has a port for the outside, apart from its own',
  async (role) => {
    const { operatorPort, publicPort } = await start(role, { port: 0 });
    expect(await Promise.all(['/healthz', '/readyz', '/metrics'].map((path) => statusOf(operatorPort, path)))).toEqual([
      ...[200, 200, 200],
    ]);
    expect(await statusOf(operatorPort, '/oauth/login/x')).toBe(404);
    expect(await statusOf(publicPort, '/oauth/login/x')).toBe(200);
    expect(await statusOf(publicPort, '/metrics')).toBe(404);
  },
);

test.each<Role>(['scheduler', 'worker'])('a daemon of the role %s has its own port alone', async (role) => {
  const { operatorPort, publicPort } = await start(role, { port: 0 });
  expect([await statusOf(operatorPort, '/metrics'), publicPort]).toEqual([200, null]);
});

test('without a port in the settings nothing is open to the outside, and the role http has nothing to do', async () => {
  const { operatorPort, publicPort } = await start('all', {});
  expect([await statusOf(operatorPort, '/readyz'), publicPort]).toEqual([200, null]);
  await expect(start('http', {})).rejects.toMatchObject({ actor: 'settings', code: 'no-public-port' });
});
