import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { createServer, get, type IncomingMessage } from 'node:http';
import { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test, vi } from 'vitest';
import { useRedis } from './redis.ts';
import { machineNow } from './shifted-date.ts';
import { testDateOptions } from './test-date.ts';

const HOUR_MS = 3_600_000;
const redis = useRedis();

/** Variables that give the whole run another date than the host's, as with libfaketime. */
const OF_ALL = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => /^(?:LD_PRELOAD$|FAKETIME)/.test(name)),
);

/** What a process says that is started with these variables. */
function dateIn(env: NodeJS.ProcessEnv): number {
  const given = { ...OF_ALL, ...env };
  return Number(execFileSync(process.execPath, ['-p', 'Date.now()'], { env: given, encoding: 'utf8' }));
}

test('a process that a test starts has the date of the tests', () => {
  const theirs = dateIn(process.env);
  expect(Math.abs(theirs - Date.now())).toBeLessThan(60_000);
  expect(Math.abs(dateIn({}) - machineNow())).toBeLessThan(60_000);
});

test('a variable sets another date, independent of the clock of the process that reads it', () => {
  const asked = { CLINIC_MIRROR_TEST_DATE: '2028-02-29T09:30Z' };
  const theirs = dateIn({ NODE_OPTIONS: testDateOptions(asked) });
  expect(theirs - Date.parse('2028-02-29T09:30Z')).toBeGreaterThanOrEqual(0);
  expect(theirs - Date.parse('2028-02-29T09:30Z')).toBeLessThan(HOUR_MS);
  expect(() => testDateOptions({ CLINIC_MIRROR_TEST_DATE: 'tomorrow' })).toThrow(
    'CLINIC_MIRROR_TEST_DATE must be a date',
  );
});

test('a server says the date of the tests in its answers', async () => {
  const server = createServer((_, response) => void response.writeHead(200, { 'x-a': '1' }).end()).listen(
    0,
    '127.0.0.1',
  );
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const [answer] = (await once(get({ port, host: '127.0.0.1' }), 'response')) as [IncomingMessage];
  answer.resume();
  expect(Math.abs(Date.parse(answer.headers.date ?? '') - Date.now())).toBeLessThan(60_000);
});

test('the time of Redis, as a connection of the test process reads it, is the date of the tests', async () => {
  const [seconds] = (await redis.connect().time()) as unknown as [string];
  expect(Math.abs(Number(seconds) * 1_000 - Date.now())).toBeLessThan(60_000);
});

test('a thread has the date of the tests', async () => {
  const code = 'import { parentPort } from "node:worker_threads"; parentPort.postMessage(Date.now())';
  const thread = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
  const [theirs] = (await once(thread, 'message')) as [number];
  expect(Math.abs(theirs - Date.now())).toBeLessThan(60_000);
});

test('a host whose clock is corrected while the tests run: the date of the tests is as far ahead of it as before', () => {
  const aheadMs = Date.now() - machineNow();
  const HostDate = Reflect.get(globalThis, Symbol.for('clinic-mirror.tests.real-date')) as DateConstructor;
  const before = HostDate.now.bind(HostDate);
  vi.spyOn(HostDate, 'now').mockImplementation(() => before() + 14_000);
  onTestFinished(() => void vi.restoreAllMocks());
  expect(machineNow() - before()).toBeGreaterThan(13_000);
  expect(Math.abs(Date.now() - machineNow() - aheadMs)).toBeLessThan(1_000);
});
