import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { silentLogger } from '../../src/log/logger.ts';
import { startDaemon } from '../../src/main.ts';
import { MINUTE_MS, SECOND_MS } from '../../src/model/time.ts';
import { useRedis } from '../support/redis.ts';
import { timeOfTests } from '../support/redis-date.ts';
import { DAEMON } from '../support/redis-users.ts';
import { machineNow } from '../support/shifted-date.ts';
import { waitFor } from '../support/wait-for.ts';
import { disagreements, readSurfaces, renderTold, type Told } from './support/agreement.ts';
import { useSmallWorld } from './support/small-world.ts';

const redis = useRedis();

/** What a fault works on. */
interface Place {
  tester: Redis;
  dataDirectory: string;
}

type Change = (place: Place) => unknown;

/** Shifts the clock of Redis, as this process reads it. */
function shiftRedis(aheadMs: number): void {
  vi.spyOn(Redis.prototype, 'time').mockImplementation(timeOfTests(Date.now() - machineNow() + aheadMs));
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

/** A clinic in sync and a running daemon, with every surface. */
async function open() {
  const parent = await mkdtemp(join(tmpdir(), 'clinic-mirror-data-'));
  onTestFinished(() => rm(parent, { recursive: true }));
  const dataDirectory = join(parent, 'data');
  await mkdir(dataDirectory);
  const settings = { dataDirectory, operator: { port: 0 }, schedule: { pullEverySeconds: 60 } };
  const world = await useSmallWorld({ redisUrl: redis.url, appointments: 10, settings });
  await world.cycle();
  const daemon = await startDaemon(world.open().configuration, silentLogger, new AbortController().signal);
  onTestFinished(() => daemon.close());
  const operator = async (path: string) => {
    const answer = await fetch(`http://127.0.0.1:${daemon.operatorPort}${path}`);
    return { status: answer.status, body: await answer.text() };
  };
  const until = async (codes: readonly string[]): Promise<Told> => {
    let told: Told | null = null;
    const agree = async () => {
      told = await readSurfaces({ composition: daemon.composition, tenant: 'clinic-1', operator });
      expect(told['status --json'].codes).toEqual(codes);
      expect(disagreements(told)).toEqual([]);
      return true;
    };
    await waitFor(agree, { what: `agreement on ${codes.join()}`, intervalMs: 100, timeoutMs: 20 * SECOND_MS });
    return told!;
  };
  return { until, place: { tester: redis.connect(), dataDirectory } };
}

test('every surface shows each fault of the installation as one problem that stops every clinic, and its end', async () => {
  const { until, place } = await open();
  await until([]);
  const rows: string[] = [];
  for (const [code, [begin, end]] of Object.entries(FAULTS)) {
    onTestFinished(async () => void (await Promise.resolve(end(place)).catch(() => {})));
    await begin(place);
    const told = await until([code]);
    expect([told['status --json'].health, told['status --json'].result, told['/readyz'].result]).toEqual([
      ...['action-required', 1, 503],
    ]);
    rows.push(renderTold(code, told));
    await end(place);
    await until([]);
  }
  if (process.env.SURFACES_TABLE === '1') console.info(rows.join('\n'));
});
