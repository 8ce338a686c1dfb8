import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { MINUTE_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { useRedis } from '../support/redis.ts';
import { timeOfTests } from '../support/redis-date.ts';
import { DAEMON } from '../support/redis-users.ts';
import { machineNow } from '../support/shifted-date.ts';
import { waitFor } from '../support/wait-for.ts';
import { disagreements, renderTold, tabled } from './support/agreement.ts';
import { TENANT, useWatchedDaemon, type WatchedDaemon } from './support/watched-daemon.ts';

const redis = useRedis();

/** What a fault works on. */
interface Place extends WatchedDaemon {
  tester: Redis;
}

type Change = (place: Place) => unknown;

/** Shifts the clock of Redis, as this process reads it. */
function shiftRedis(aheadMs: number): void {
  vi.spyOn(Redis.prototype, 'time').mockImplementation(timeOfTests(Date.now() - machineNow() + aheadMs));
}

/** This daemon and another one report different configurations, the newer for two minutes. */
async function reportConfigurations({ world, daemon }: Place, newer: 'this daemon' | 'the other' = 'the other') {
  const [own, other] = newer === 'the other' ? [3, 2] : [2, 3];
  const report = (host: string, pid: number, minutes: number) => ({
    ...{ refused: [], awaitsRestart: [] },
    running: { host, pid, hash: host, sinceAt: Date.now() - minutes * MINUTE_MS },
  });
  await daemon.composition.reloads.write(report(hostname(), process.pid, own));
  await world.opened().reloads.write(report('another-host', 7, other));
}

async function endReports({ world, daemon }: Place): Promise<void> {
  for (const { reloads } of [daemon.composition, world.opened()]) await reloads.write(null);
}

/** Lets a snapshot fail: a folder has the name of its file. */
async function failSnapshot({ tester }: Place): Promise<void> {
  await mkdir(join(redis.dir, 'dump.rdb'));
  await tester.config('SET', 'save', '3600 1');
  await tester.bgsave();
  await waitFor(async () => (await tester.info('persistence')).includes('rdb_last_bgsave_status:err'), {
    what: 'the failed snapshot',
  });
}

async function mendSnapshot({ tester }: Place): Promise<void> {
  await rm(join(redis.dir, 'dump.rdb'), { recursive: true });
  await tester.config('SET', 'save', '');
}

const setting =
  (name: string, value: number): Change =>
  ({ tester }) =>
    tester.config('SET', name, value);

async function mendRights({ tester }: Place): Promise<void> {
  await tester.call('ACL', 'SETUSER', DAEMON.username, '+set');
  await tester.call('ACL', 'LOG', 'RESET');
}

/** Every fault of an installation whose daemon runs, by its code. */
const FAULTS: Readonly<Record<string, readonly [begin: Change, end: Change]>> = {
  'redis-full': [setting('maxmemory', 1), setting('maxmemory', 0)],
  'redis-no-replicas': [setting('min-replicas-to-write', 1), setting('min-replicas-to-write', 0)],
  'redis-read-only': [({ tester }) => tester.replicaof('127.0.0.1', 1), ({ tester }) => tester.replicaof('NO', 'ONE')],
  'redis-snapshot-failed': [failSnapshot, mendSnapshot],
  'redis-rights': [({ tester }) => tester.call('ACL', 'SETUSER', DAEMON.username, '-set'), mendRights],
  'clock-differs': [() => shiftRedis(MINUTE_MS), () => shiftRedis(0)],
  'configurations-differ': [(place) => reportConfigurations(place), endReports],
  'data-directory-failed': [
    async ({ dataDirectory }) => {
      await rename(dataDirectory, `${dataDirectory}.away`);
      await writeFile(dataDirectory, '');
    },
    async ({ dataDirectory }) => {
      await rm(dataDirectory);
      await rename(`${dataDirectory}.away`, dataDirectory);
    },
  ],
};

/** Codes of the problems that a page shows as resolved. */
function resolvedOn({ body }: { body: string }): string[] {
  const [, resolved = ''] = /aria-labelledby="resolved">(.*?)<\/section>/s.exec(body) ?? [];
  return [...resolved.matchAll(/<code>([a-z-]+)<\/code>/g)].map(([, code = '']) => code);
}

test('every surface shows each fault of the installation as one problem that stops every clinic, and its end', async () => {
  const watched = await useWatchedDaemon(redis.url);
  const { page, until } = watched;
  const place = { ...watched, tester: redis.connect() };
  await until([]);
  const rows: string[] = [];
  for (const [code, [begin, end]] of Object.entries(FAULTS)) {
    onTestFinished(async () => void (await Promise.resolve(end(place)).catch(() => {})));
    await begin(place);
    const told = await until([code]);
    expect([told['status --json'].health, told['status --json'].result, told['/readyz'].result]).toEqual([
      ...['action-required', 1, 503],
    ]);
    expect.soft(await watched.told()).toEqual(tabled(code));
    rows.push(renderTold(code, told));
    expect(resolvedOn(await page('/')), 'only what ended is told as ended').not.toContain(code);
    await end(place);
    await until([]);
    expect(resolvedOn(await page('/')), `the end of ${code}`).toContain(code);
  }
  for (const path of ['/', `/tenants/${TENANT}`]) {
    expect(resolvedOn(await page(path)).sort(), path).toEqual(Object.keys(FAULTS).sort());
  }
  if (process.env.SURFACES_TABLE === '1') console.info(rows.join('\n'));
});

test('the daemon with the newest configuration stays ready, and every other surface shows the older daemon', async () => {
  const watched = await useWatchedDaemon(redis.url);
  const place = { ...watched, tester: redis.connect() };
  await reportConfigurations(place, 'this daemon');
  const agree = async () => {
    const told = await watched.read();
    expect(told['status --json'].codes).toEqual(['configurations-differ']);
    // Otherwise no update of a deployment would end.
    expect(disagreements(told)).toEqual(['/readyz: result 200, not 503']);
    return true;
  };
  await waitFor(agree, { what: 'the agreement', intervalMs: 100, timeoutMs: 20 * SECOND_MS });
});
