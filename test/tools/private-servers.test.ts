// Tier: full. Fetches and starts every server program.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { describe, expect, inject, type TestContext, test } from 'vitest';
import { onFreePort } from '../../tools/free-port.ts';
import { startGuarded } from '../../tools/guarded-process.ts';
import { startRedis } from '../../tools/redis.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const launcher = fileURLToPath(new URL('fixtures/start-and-die.ts', import.meta.url));

/** An ended orphan that no process has reaped (state Z) is not running. */
function isRunning(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
}

async function startInAnotherProcess(context: TestContext, name: string, mode: string) {
  const parent = spawn(process.execPath, [launcher, name, mode], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(parent, 'exit');
  const [line]: unknown[] = await once(parent.stdout, 'data');
  const printed = String(line).trim();
  if (printed.startsWith('unavailable')) {
    parent.kill('SIGKILL');
    context.skip(printed);
  }
  return { parent, ended, serverPid: Number(printed) };
}

describe('a private Redis', () => {
  test('is set up as the mirror needs it, on loopback and away from the usual port', async () => {
    const redis = await startRedis({ server: inject('redisServer') });
    const connection = new Redis(redis.url);
    const settings = await connection.config('GET', 'maxmemory-policy', 'appendonly', 'save', 'bind', 'port');
    connection.disconnect();
    await redis.stop();
    expect(settings).toEqual(
      expect.arrayContaining(['noeviction', 'appendonly', 'yes', 'bind', '127.0.0.1', 'port', String(redis.port)]),
    );
    expect(redis.port).not.toBe(6379);
  });

  test('is gone with its data after stop(), which may be called twice', async () => {
    const redis = await startRedis({ server: inject('redisServer') });
    expect(existsSync(redis.dir)).toBe(true);
    await Promise.all([redis.stop(), redis.stop()]);
    expect(isRunning(redis.pid)).toBe(false);
    expect(existsSync(redis.dir)).toBe(false);
  });

  test('says why it did not start', async () => {
    const listener = createServer().listen(0, '127.0.0.1');
    await once(listener, 'listening');
    const address = listener.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(startRedis({ server: inject('redisServer'), port })).rejects.toThrow(/Address already in use/);
    listener.close();
  });
});

describe.each(['redis', 'radicale', 'xandikos', 'cyrus'])(
  'a private %s does not outlive the process that started it',
  (name) => {
    test('that ends without stopping it', async (context) => {
      const { ended, serverPid } = await startInAnotherProcess(context, name, 'end');
      expect(await ended).toEqual([0, null]);
      await waitFor(() => !isRunning(serverPid), { what: `the end of ${name}` });
    });

    test('that is killed', async (context) => {
      const { parent, serverPid } = await startInAnotherProcess(context, name, 'live-on');
      expect(isRunning(serverPid)).toBe(true);
      parent.kill('SIGKILL');
      await waitFor(() => !isRunning(serverPid), { what: `the end of ${name}` });
    });
  },
);

describe('the Redis of a test file', () => {
  const redis = useRedis();

  test('keeps its data through a crash', async () => {
    const connection = redis.connect();
    // Every second, as else, Redis may keep a write to itself while the disk is busy.
    await connection.config('SET', 'appendfsync', 'always');
    await connection.set('key', 'value');
    await redis.crash();
    await redis.startAgain();
    expect(await connection.get('key')).toBe('value');
    await redis.crash();
  });

  test('is empty and running before each test', async () => {
    expect(await redis.connect().dbsize()).toBe(0);
  });
});

describe('the Radicale of a test file', () => {
  const radicale = useRadicale({ users: [{ name: 'doctor', password: 'word' }] });
  const authorization = (password: string) => `Basic ${btoa(`doctor:${password}`)}`;

  test('requires the password of its user', async () => {
    const read = (password: string) =>
      fetch(`${radicale().url}/doctor/`, {
        method: 'PROPFIND',
        headers: { authorization: authorization(password), depth: '0' },
      });
    expect((await read('wrong')).status).toBe(401);
    expect((await read('word')).status).toBe(207);
  });

  test('keeps a calendar', async () => {
    const headers = { authorization: authorization('word') };
    const calendar = `${radicale().url}/doctor/visits/`;
    expect((await fetch(calendar, { method: 'MKCALENDAR', headers })).status).toBe(201);
    const event =
      'BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test//EN\r\nBEGIN:VEVENT\r\nUID:one\r\nDTSTAMP:20260101T000000Z\r\n' +
      'DTSTART:20260101T090000Z\r\nDTEND:20260101T100000Z\r\nSUMMARY:Visit\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n';
    const put = { method: 'PUT', body: event, headers: { ...headers, 'if-none-match': '*' } };
    expect((await fetch(`${calendar}one.ics`, put)).status).toBe(201);
    expect((await fetch(`${calendar}one.ics`, put)).status).toBe(412);
    expect(await (await fetch(`${calendar}one.ics`, { headers })).text()).toContain('SUMMARY:Visit');
  });
});

describe('a guarded process', () => {
  const shell = { command: 'sh', args: ['-c'], env: {} };

  test('that ends before it is ready is an error with what it printed', async () => {
    const start = startGuarded({
      server: shell,
      args: ['echo no luck; exit 3'],
      ready: /ready/,
      readyTimeoutMs: 5_000,
    });
    await expect(start).rejects.toThrow(/exit code 3[\s\S]*no luck/);
  });

  test('that is never ready is ended', async () => {
    const start = startGuarded({
      server: shell,
      args: ['echo $$; exec sleep 60'],
      ready: /ready/,
      readyTimeoutMs: 200,
    });
    const error: unknown = await start.catch((reason: unknown) => reason);
    expect(String(error)).toMatch(/wasn't ready after 200 ms/);
    const pid = Number(/:\n(\d+)/.exec(String(error))?.[1]);
    expect(isRunning(pid)).toBe(false);
  });

  test('without an existing program fails with the name of the program', async () => {
    const server = { command: 'no-such-program', args: [], env: {} };
    await expect(startGuarded({ server, args: [], ready: /x/, readyTimeoutMs: 100 })).rejects.toThrow(
      /no-such-program/,
    );
  });
});

test('a server that finds its port taken is started on another one, a few times', async () => {
  const taken = new Error('redis-server ended (exit code 1):\nbind: Address already in use');
  const tried: number[] = [];
  const start = (failures: number) => async (port: number) => {
    tried.push(port);
    if (tried.length <= failures) throw taken;
    return port;
  };
  expect(await onFreePort(start(2))).toBe(tried[2]);
  tried.length = 0;
  await expect(onFreePort(start(9))).rejects.toBe(taken);
  expect(tried).toHaveLength(5);
  tried.length = 0;
  const other = new Error('unknown setting');
  await expect(onFreePort(() => Promise.reject(other))).rejects.toBe(other);
});
