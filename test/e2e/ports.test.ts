import { expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../src/core/log/create-logger.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { startDaemon } from '../../src/main.ts';
import type { Role } from '../../src/operator/control/roles.ts';
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

/** Starts a daemon with administrators; returns its terminal output and its log. */
async function startForAdministrators(settings: object) {
  const world = await startSmallWorld({ redisUrl: redis.url, appointments: 0, settings });
  onTestFinished(() => world.close());
  const started: { close(): Promise<void> }[] = [];
  onTestFinished(async () => void (await Promise.all(started.map((daemon) => daemon.close()))));
  const [told, logged]: [string[], string[]] = [[], []];
  const log = createLogger({ level: 'debug', destination: { write: (line) => logged.push(line) } });
  const startOne = async () => {
    const daemon = await startDaemon(world.open().configuration, log, NEVER, { report: (text) => told.push(text) });
    started.push(daemon);
    return daemon;
  };
  return { startOne, told, logged };
}

const statusOf = async (port: number | null, path: string) => (await fetch(`http://127.0.0.1:${port}${path}`)).status;

test.each<Role>(['all', 'http'])(
  'a daemon of the role %s has a public port, separate from its operator port',
  async (role) => {
    const { operatorPort, publicPort } = await start(role, { port: 0 });
    expect(await Promise.all(['/healthz', '/readyz', '/metrics'].map((path) => statusOf(operatorPort, path)))).toEqual([
      ...[200, 200, 200],
    ]);
    expect(await statusOf(operatorPort, '/oauth/login/x')).toBe(404);
    expect(await statusOf(publicPort, '/oauth/login/x')).toBe(400);
    expect(await statusOf(publicPort, '/metrics')).toBe(404);
  },
);

test.each<Role>(['scheduler', 'worker'])('a daemon of the role %s has only its operator port', async (role) => {
  const { operatorPort, publicPort } = await start(role, { port: 0 });
  expect([await statusOf(operatorPort, '/metrics'), publicPort]).toEqual([200, null]);
});

test('without a port in the settings no public port is open, and the role http has no work', async () => {
  const { operatorPort, publicPort } = await start('all', {});
  expect([await statusOf(operatorPort, '/readyz'), publicPort]).toEqual([200, null]);
  await expect(start('http', {})).rejects.toMatchObject({ actor: 'settings', code: 'no-public-port' });
});

test('the owner of a new installation is shown once where to choose a passphrase, and signs in with it from then on', async () => {
  const { startOne, told, logged } = await startForAdministrators({ operator: { port: 0, access: {} } });
  const { operatorPort } = await startOne();
  const [, link = ''] = /^(http:\/\/localhost:\d+\/\S+)$/m.exec(told.join('\n')) ?? [];
  expect(link).toMatch(new RegExp(`^http://localhost:${operatorPort}/sign-in/link/[\\w-]{43}$`));
  const send = (url: string, form: Record<string, string>) =>
    fetch(url.replace('localhost', '127.0.0.1'), {
      method: 'POST',
      body: new URLSearchParams(form),
      headers: { origin: `http://127.0.0.1:${operatorPort}` },
      redirect: 'manual',
    });
  const passphrase = 'correct horse battery staple';
  const first = await send(link, { passphrase, again: passphrase });
  expect([first.status, first.headers.get('location')]).toEqual([303, '/']);
  expect(first.headers.get('set-cookie')).toMatch(
    /^clinic-mirror-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax, clinic-mirror-known-browser=/,
  );
  expect((await send(link, { passphrase, again: passphrase })).status).toBe(400);
  expect((await send(`http://localhost:${operatorPort}/sign-in`, { passphrase })).status).toBe(303);
  await startOne();
  expect(told).toHaveLength(1);
  expect(logged.join('')).toContain('no administrator can sign in yet');
  expect(logged.join('')).not.toContain(link.split('/').at(-1));
});

test('without any allowed user no sign-in page exists', async () => {
  const { startOne, told } = await startForAdministrators({});
  const { operatorPort } = await startOne();
  expect([await statusOf(operatorPort, '/sign-in'), told]).toEqual([404, []]);
});
