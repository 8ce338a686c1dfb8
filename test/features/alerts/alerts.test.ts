import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { asMirrorError, MirrorError } from '../../../src/core/model/errors.ts';
import { needsPerson, type Problem } from '../../../src/core/model/problems.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { type AlertParts, createAlertWatch } from '../../../src/features/alerts/alerts.ts';
import type { Digest } from '../../../src/features/alerts/digest.ts';
import { createAlertStore } from '../../../src/features/alerts/store.ts';
import { textOf } from '../../../src/features/alerts/texts.ts';
import { message } from '../../../src/messages/message.ts';
import { INSTALLATION_CODES } from '../../../src/operator/control/installation-problems.ts';
import type { Status } from '../../../src/operator/control/status-schemas.ts';
import { createLeases } from '../../../src/state/leases.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { problems, statusOf } from '../../operator/control/status-of.ts';
import { useRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';

const redis = useRedis();
const AWAY = new MirrorError('x', { actor: 'remote', code: 'connection-failed', retry: 'later' });
const subject = message('subject.login', { id: 'doctor-1' });
const ENDED = needsPerson({
  tenant: 'aurora',
  subject,
  code: 'login-ended',
  sentence: message('login-ended'),
  next: null,
});

/** One daemon that looks every five minutes; a channel that fails for as long as `isDown` says. */
async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const world = { now: NOW, isDown: false, sent: [] as Digest[] };
  const clock = () => world.now;
  const watch = createAlertWatch();
  const send = async (digest: Digest) => {
    if (world.isDown) throw AWAY;
    world.sent.push(digest);
  };
  const leases = createLeases(connection, 'clinic-mirror', 30_000);
  const store = createAlertStore({ redis: connection, identityKey: Buffer.alloc(32, 7), clock });
  const parts: Omit<AlertParts, 'problems'> = {
    ...{ channels: new Map([['mail', send]]), outageAfterMs: 15 * MINUTE_MS },
    ...{ store, leases, clock, log: silentLogger },
  };
  async function look(problems: readonly Problem[] | MirrorError, times = 1, own: Partial<AlertParts> = {}) {
    for (let each = 0; each < times; each += 1) {
      const read = async () => {
        if (problems instanceof MirrorError) throw problems;
        return problems;
      };
      await watch.check({ ...parts, problems: read, ...own }, NEVER);
      world.now += 5 * MINUTE_MS;
    }
  }
  return { world, look, store, leases };
}

test('a digest that could not be delivered is sent once by a later check, and the failure is stored until then', async () => {
  const { world, look, store } = await open();
  world.isDown = true;
  await look([ENDED], 3);
  expect((await store.read()).get('mail')?.failure).toMatchObject({ code: 'connection-failed' });
  const { sinceAt } = (await store.read()).get('mail')?.failure ?? {};
  await look([ENDED], 3);
  expect((await store.read()).get('mail')?.failure).toMatchObject({ sinceAt });
  world.isDown = false;
  await look([ENDED], 13);
  expect(world.sent.map(({ begun }) => begun.length)).toEqual([1]);
  expect((await store.read()).get('mail')?.failure).toBeNull();
});

test('only one of several processes checks at a time', async () => {
  const { world, look, leases } = await open();
  const lease = await leases.tryTake('alerts');
  await look([ENDED], 4);
  expect(world.sent).toEqual([]);
  await lease?.release();
  await look([ENDED], 4);
  expect(world.sent).toHaveLength(1);
});

test('Redis that is away is reported by what the process remembers, from the second look on, and its end when it is back', async () => {
  const { world, look } = await open();
  await look(AWAY);
  expect(world.sent).toEqual([]);
  await look(AWAY, 5);
  expect(world.sent.map(({ begun }) => begun.length)).toEqual([1]);
  world.now += HOUR_MS;
  await look([], 3);
  expect(world.sent.map(({ over }) => over.length)).toEqual([0, 1]);
});

describe('each fault of the installation', () => {
  /** Answers of a Redis that refuses commands, or the error of its client. */
  const REFUSED: Readonly<Record<string, string>> = {
    'redis-unreachable': 'Connection is closed.',
    'redis-full': 'OOM command not allowed when used memory > maxmemory.',
    'redis-read-only': "READONLY You can't write against a read only replica.",
    'redis-no-replicas': 'NOREPLICAS Not enough good replicas to write.',
    'redis-snapshot-failed': 'MISCONF Redis is configured to save RDB snapshots, but is unable to persist on disk.',
    'redis-rights': "NOPERM User app has no permissions to run the 'set' command",
    'redis-login-refused': 'WRONGPASS invalid username-password pair or user is disabled.',
    'redis-database-missing': 'ERR DB index is out of range',
    'redis-loading': 'LOADING Redis is loading the dataset in memory',
    'redis-busy': 'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
    'redis-cluster-down': 'CLUSTERDOWN The cluster is down',
  };
  const { redis: well, state } = statusOf([]);
  const daemon = (host: string) => ({ host, pid: 7, hash: host, sinceAt: NOW - HOUR_MS });
  const directory = (directoryFailure: string): Partial<Status> => ({
    state: { ...state, directory: 'failed', directoryFailure },
  });
  const found = (code: string, installation: Partial<Status>) => [code, problems({}, installation)] as const;
  const lost = (code: 'state-lost' | 'state-went-back') => [code, problems({ loss: { code, sinceAt: NOW } })] as const;
  const FOUND: readonly (readonly [code: string, readonly Problem[]])[] = [
    found('clock-differs', { redis: { ...well, clockAheadMs: HOUR_MS } }),
    found('clock-differs', { redis: { ...well, clockAheadMs: -HOUR_MS } }),
    ...['ENOSPC', 'EROFS', 'EACCES', 'ENOENT'].map((failure) => found('data-directory-failed', directory(failure))),
    found('daemon-not-running', { redis: { ...well, daemonSeenAgoMs: 11 * MINUTE_MS } }),
    found('configurations-differ', { daemons: [daemon('a'), daemon('b')] }),
    ...[lost('state-lost'), lost('state-went-back')],
  ];
  const FAULTS: readonly (readonly [string, readonly Problem[] | MirrorError])[] = [
    ...Object.entries(REFUSED).map(([code, answer]) => [code, asMirrorError(new Error(answer))] as const),
    ...FOUND,
  ];

  test('has a fault below, so a new code without an alert is noticed', () => {
    expect(new Set(FAULTS.map(([code]) => code))).toEqual(INSTALLATION_CODES);
  });

  test.each(FAULTS)('%s is one alert with its next step, and its end is another', async (code, fault) => {
    const { world, look } = await open();
    await look(fault, 2);
    const told = world.sent.map(({ begun }) => begun.map((problem) => problem.code));
    expect(told).toEqual([[code]]);
    const { subject, text } = textOf(world.sent[0]!, world.now, 'en');
    expect(subject).toContain(code);
    expect(text).toMatch(new RegExp(`\\(${code}\\).*\\n  \\S`));
    await look(fault, 3);
    expect(world.sent).toHaveLength(1);
    await look([], 2);
    expect(world.sent.slice(1).map(({ begun, over }) => [begun, over.map((problem) => problem.code)])).toEqual([
      [[], [code]],
    ]);
  });
});

test('a watch without channels sends no request', async () => {
  const { look } = await open();
  let asked = 0;
  const problems = async () => {
    asked += 1;
    return [];
  };
  await look([], 1, { channels: new Map(), problems });
  expect(asked).toBe(0);
  await look([], 1, { problems });
  expect(asked).toBe(1);
});

test('a process that reported a problem checks again soon, until it has reported the end', async () => {
  const { world, store, leases } = await open();
  const watch = createAlertWatch();
  const parts = {
    channels: new Map([['mail', async (digest: Digest) => void world.sent.push(digest)]]),
    store,
    leases,
  };
  const check = async (problems: readonly Problem[]) => {
    const more = { clock: () => world.now, log: silentLogger, outageAfterMs: HOUR_MS, problems: async () => problems };
    const isAwaited = await watch.check({ ...parts, ...more }, NEVER);
    world.now += 5 * MINUTE_MS;
    return isAwaited;
  };
  const problems = [[ENDED], [ENDED], [ENDED], [], [], []];
  const awaited: boolean[] = [];
  for (const each of problems) awaited.push(await check(each));
  expect(awaited).toEqual([false, true, true, true, false, false]);
  expect(world.sent.map(({ begun, over }) => [begun.length, over.length])).toEqual([
    [1, 0],
    [0, 1],
  ]);
});
