import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { parse, stringify } from 'yaml';
import { startRedis } from '../../tools/redis.ts';
import { atMost, type Figure } from '../figure.ts';
import { PROGRAM, runDaemon } from './start.ts';
import { secretsOf, writeTenants } from './world.ts';

/** From the question to the last byte of a page with something on it. */
const GOAL_SECONDS = 1;
/** The page with all clinics on it. Our choice. */
const GOAL_BYTES = 60_000;
/** Text of the page while some clinics are unchecked. */
const UNREAD = /being looked at/;
const READERS = 50;

/**
 * Measures the first request for the Overview of many clinics after a start: its time, its size, and the time until all clinics are shown.
 */
export async function measureOverview(
  { tenants }: { tenants: number },
  say: (text: string) => void,
): Promise<Figure[]> {
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-bench-'));
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  say(`overview: writing the files of ${tenants} tenants …`);
  await writeTenants(dir, tenants);
  const file = join(dir, 'clinic-mirror.yaml');
  const settings = parse(await readFile(file, 'utf8'));
  await writeFile(file, stringify({ ...settings, operator: { port: 0, access: { passphrase: true } } }));
  const redis = await startRedis();
  stack.defer(() => redis.stop());
  const env = { ...process.env, ...secretsOf(tenants), REDIS_URL: redis.url };
  const command = [PROGRAM, '-c', dir, 'access', 'token', 'create', 'bench', '--json'];
  const { shown } = JSON.parse((await promisify(execFile)(process.execPath, command, { env })).stdout);
  say('overview: opening the page immediately after the start of a daemon …');
  await using daemon = await runDaemon(dir, env);
  const look = async () => {
    const startedAt = performance.now();
    const headers = { accept: 'text/html', authorization: `Bearer ${shown}` };
    const answer = await fetch(`http://localhost:${daemon.operatorPort}/`, { headers });
    const page = await answer.text();
    if (!answer.ok) throw new Error(`the Overview answered ${answer.status}`);
    return { page, seconds: (performance.now() - startedAt) / 1_000 };
  };
  const openedAt = performance.now();
  const first = await look();
  let { page } = first;
  while (UNREAD.test(page)) {
    await pause(100);
    ({ page } = await look());
  }
  const wholeSeconds = (performance.now() - openedAt) / 1_000;
  const readers = await Promise.all(Array.from({ length: READERS }, look));
  const slowest = Math.max(...readers.map(({ seconds }) => seconds));
  const figure = (name: string, goal: number, ours: number, unit: string): Figure => ({
    ...{ name: `overview ${name}`, ...atMost(goal, ours), floor: null, ours, unit, n: tenants },
  });
  return [
    figure('first content', GOAL_SECONDS, first.seconds, 's'),
    figure('all clinics', 10 * GOAL_SECONDS, wholeSeconds, 's'),
    figure('bytes', GOAL_BYTES, Buffer.byteLength(page), 'B'),
    figure(`slowest of ${READERS} at once`, GOAL_SECONDS, slowest, 's'),
  ];
}
