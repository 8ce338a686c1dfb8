import type { Redis } from 'ioredis';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { redisFaultOf, storedError } from '../../../src/core/model/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { readRedis, timeOf } from '../../../src/daemon/redis-readings.ts';
import { acceptLoss } from '../../../src/features/backup/backups.ts';
import { render } from '../../../src/messages/message.ts';
import { notConnected } from '../../../src/oauth/errors.ts';
import { renderStatus } from '../../../src/operator/cli/render-status.ts';
import { withoutFuture } from '../../../src/operator/control/as-of.ts';
import { examine, type StateProbe } from '../../../src/operator/control/doctor.ts';
import { stopsInstallation, withLossAsCause } from '../../../src/operator/control/installation-problems.ts';
import { createMetrics } from '../../../src/operator/control/metrics.ts';
import { status } from '../../../src/operator/control/status.ts';
import type { TenantStatus } from '../../../src/operator/control/status-schemas.ts';
import { createOperatorServer } from '../../../src/operator/http-server/operator-server.ts';
import { TENANT_OPERATIONS } from '../../../src/operator/operations/tenants.ts';
import { keys } from '../../../src/state/keys.ts';
import { connectRedis, DAEMON_SEEN_LIFE_MS, proveWrites, watchRedis } from '../../../src/state/redis.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { paced } from '../../support/pace.ts';
import { useRedis } from '../../support/redis.ts';
import { waitFor } from '../../support/wait-for.ts';
import { cycle } from '../../tenant/cycle.ts';
import { openBooked } from './open-installation.ts';
import { loginOf, problems, statusOf, targetOf, tenantOf } from './status-of.ts';

const redis = useRedis();

/** An installation of one clinic with a Redis that may fail. Its clock may differ from the clock of Redis. */
function open({ aheadMs = 0 } = {}) {
  const client = connectRedis(redis.url);
  onTestFinished(() => client.disconnect());
  const clock = () => Date.now() + aheadMs;
  const { installation: base, tenant } = openBooked(redis);
  const installation = { ...base, clock, redis: () => readRedis(client, clock) };
  const probe: StateProbe = {
    ...{ check: async () => {}, requireRights: async () => {}, requireWrites: () => proveWrites(client) },
    ...{ requireIdentity: async () => {}, unopened: async () => [], openSecrets: () => [], hosts: () => [] },
    ...{ lacksTrustedProxies: () => false, time: () => timeOf(client), resolve: null },
    view: () => base.stateCounter.view(),
  };
  return { client, tenant, installation, probe };
}

type World = ReturnType<typeof open>;

/** Returns the codes and sentences that each interface shows. */
const SURFACES: Readonly<Record<string, (world: World) => Promise<string>>> = {
  'status as text': async ({ installation }) => renderStatus(await status(installation)).replaceAll(/\s+/g, ' '),
  'status as JSON': async ({ installation }) => JSON.stringify((await status(installation)).problems),
  async '/metrics'({ installation }) {
    const lines = (await createMetrics(() => installation).render()).split('\n');
    return lines.filter((line) => line.startsWith('clinic_mirror_problems') && !line.endsWith(' 0')).join('\n');
  },
  async doctor({ installation, probe }) {
    const findings = await Array.fromAsync(examine(installation, probe, {}, AbortSignal.timeout(paced(20_000))));
    return findings.map(({ code, what }) => `${code} ${render(what)}`).join('\n');
  },
};

/** How each fault begins and ends, and what an interface with sentences shows. */
const FAULTS: readonly [code: string, sentence: string, change: (redis: Redis, isOn: boolean) => Promise<unknown>][] = [
  [
    ...(['redis-full', 'Redis has reached its memory limit'] as const),
    (tester, isOn) => tester.config('SET', 'maxmemory', isOn ? 1 : 0),
  ],
  [
    ...(['redis-no-replicas', 'too few replicas'] as const),
    (tester, isOn) => tester.config('SET', 'min-replicas-to-write', isOn ? 1 : 0),
  ],
  [
    ...(['redis-read-only', 'is a replica'] as const),
    (tester, isOn) => (isOn ? tester.replicaof('127.0.0.1', 1) : tester.replicaof('NO', 'ONE')),
  ],
];

describe.each(FAULTS)('%s', (code, sentence, change) => {
  test.each(Object.entries(SURFACES))('is shown by %s, and no longer when it ended', async (name, show) => {
    const tester = redis.connect();
    const world = open();
    await proveWrites(world.client);
    await change(tester, true);
    onTestFinished(() => change(tester, false).then(() => {}));
    expect(await show(world)).toContain(name === 'status as text' ? sentence : code);
    await change(tester, false);
    expect(await show(world)).not.toMatch(new RegExp(`${code}|${sentence}`));
  });

  test('makes /readyz 503 with the code', async () => {
    const tester = redis.connect();
    const { client } = open();
    const watch = watchRedis(client, silentLogger, { everyMs: 5 });
    onTestFinished(() => watch.stop());
    await change(tester, true);
    onTestFinished(() => change(tester, false).then(() => {}));
    await waitFor(() => watch.failure()?.error.code === code, { what: 'the failure' });
    const failure = watch.failure();
    const missing = failure === null ? [] : [{ what: 'redis', why: render(failure.why), code: failure.error.code }];
    const verbs = { readiness: async () => missing, problems: async () => [], metrics: async () => '' };
    const app = await createOperatorServer(verbs, { token: null, log: silentLogger });
    onTestFinished(() => app.close());
    const answer = await app.inject({ url: '/readyz' });
    expect([answer.statusCode, answer.json()]).toMatchObject([
      503,
      { ready: false, missing: [{ what: 'redis', code }] },
    ]);
  });
});

test.each([
  ['ahead', 3 * HOUR_MS],
  ['behind', -MINUTE_MS],
])('a clock of this host %s of the clock of Redis is one problem', async (_how, aheadMs) => {
  const { installation } = open({ aheadMs });
  const found = (await status(installation)).problems.filter(stopsInstallation);
  expect(found).toMatchObject([{ code: 'clock-differs', health: 'action-required' }]);
  expect(found[0]?.next).toContain('timedatectl');
});

describe('a missing daemon', () => {
  const told = (daemonSeenAgoMs: number | null, ranAgoMs: number | null) => {
    const lastRun = ranAgoMs === null ? null : ({ finishedAt: NOW - ranAgoMs, error: null, gaps: {} } as never);
    return problems(
      { lastRun },
      { redis: { refusal: null, clockAheadMs: 0, daemonSeenAgoMs, answerMs: 1, memory: null } },
    );
  };

  test.each([
    ['two intervals after the last daemon', 11 * MINUTE_MS, null, ['daemon-not-running']],
    ['two intervals after the last cycle', null, 11 * MINUTE_MS, ['daemon-not-running']],
    ['hours later, as the only problem', 7 * HOUR_MS, 7 * HOUR_MS, ['daemon-not-running']],
    ['not within two intervals', 9 * MINUTE_MS, 9 * MINUTE_MS, []],
    ['not if a command runs cycles', 11 * MINUTE_MS, MINUTE_MS, []],
    ['not in a new installation', null, null, []],
  ])('is reported %s', (_when, seenAgoMs, ranAgoMs, codes) => {
    expect(told(seenAgoMs, ranAgoMs).map(({ code }) => code)).toEqual(codes);
  });

  test('is not reported while Redis refuses the sign of a running daemon', () => {
    const refusal = storedError(
      redisFaultOf(Object.assign(new Error('OOM command not allowed'), { name: 'ReplyError' }))!,
    );
    const found = problems(
      {},
      { redis: { refusal, clockAheadMs: 0, daemonSeenAgoMs: 11 * MINUTE_MS, answerMs: 1, memory: null } },
    );
    expect(found.map(({ code }) => code)).toEqual(['redis-full']);
    expect(found[0]?.tenants).toEqual([{ tenant: expect.any(String), waiting: 0 }]);
  });

  test('has the time of the last daemon, which the clock of Redis measures', async () => {
    const { client } = open();
    await client.set(keys.daemonSeen(), '1', 'PX', DAEMON_SEEN_LIFE_MS - 20 * MINUTE_MS);
    const { daemonSeenAgoMs } = await readRedis(client, Date.now);
    expect(daemonSeenAgoMs).toBeGreaterThanOrEqual(20 * MINUTE_MS);
    expect(daemonSeenAgoMs).toBeLessThan(21 * MINUTE_MS);
  });
});

describe('daemons with different configurations', () => {
  const daemon = (host: string, hash: string, agoMs: number) => ({ host, pid: 7, hash, sinceAt: NOW - agoMs });

  test('are one problem with hosts and process ids, and the newest configuration is named first', () => {
    const daemons = [daemon('a', 'old', 9 * MINUTE_MS), daemon('b', 'new', 2 * MINUTE_MS), daemon('c', 'new', 60_000)];
    const [found, ...others] = problems({}, { daemons });
    expect(others).toEqual([]);
    expect(found).toMatchObject({ tenant: null, code: 'configurations-differ', sinceAt: NOW - 2 * MINUTE_MS });
    expect(found?.sentence).toMatch(/: b \(pid 7\), c \(pid 7\) since then, a \(pid 7\) with an older one$/);
    expect(found !== undefined && stopsInstallation(found)).toBe(true);
  });

  test.each([
    ['with equal configurations', [daemon('a', 'new', HOUR_MS), daemon('b', 'new', 2 * HOUR_MS)]],
    ['while they read a changed file', [daemon('a', 'old', HOUR_MS), daemon('b', 'new', 59_000)]],
    ['alone', [daemon('a', 'old', HOUR_MS)]],
  ])('are not reported %s', (_how, daemons) => {
    expect(problems({}, { daemons })).toEqual([]);
  });
});

test('a data directory that is not writable is one problem, with the cause', () => {
  const failed = { ...statusOf([]).state, directory: 'failed', directoryFailure: 'ENOSPC' } as const;
  expect(problems({}, { state: failed })).toMatchObject([
    { tenant: null, code: 'data-directory-failed', sentence: expect.stringContaining('the disk is full') },
  ]);
});

test('the command "status" exits with 1 for a problem of the installation, not for a problem of a tenant', () => {
  const { endsWithOne } = TENANT_OPERATIONS.readStatus;
  const holds = (redisFields: object) => {
    const found = problems({}, { redis: { ...statusOf([]).redis, ...redisFields } });
    return endsWithOne?.holds({ problems: found } as never, { problems: false });
  };
  expect([holds({}), holds({ clockAheadMs: HOUR_MS }), holds({ daemonSeenAgoMs: HOUR_MS })]).toEqual([
    false,
    true,
    true,
  ]);
});

test('a time in the future is never shown as the time of the sync', () => {
  const target = (inSyncAsOf: number) => ({ ...targetOf(null), inSyncAsOf, soonAsOf: inSyncAsOf });
  const tenant = tenantOf({ targets: [target(NOW + 3 * HOUR_MS), target(NOW + 1_000), target(NOW - 1_000)] });
  const { targets } = withoutFuture(tenant, NOW);
  expect(targets.map(({ inSyncAsOf, soonAsOf, sync }) => [inSyncAsOf, soonAsOf, sync])).toEqual([
    [null, null, 'unknown'],
    [NOW, NOW, 'in-sync'],
    [NOW - 1_000, NOW - 1_000, 'in-sync'],
  ]);
});

describe('a lost state', () => {
  const never = loginOf('never', { connection: 'clinic' });
  const lost = (tenant: string, code: 'state-lost' | 'state-went-back', changes: Partial<TenantStatus> = {}) =>
    tenantOf({ tenant, connections: [never], loss: { code, sinceAt: NOW }, ...changes });
  const found = (...tenants: TenantStatus[]) => problems({}, { tenants });

  test('is one problem of all its tenants that names the backup first, and asks no one to sign in', () => {
    const uncertainty = { code: 'state-lost', sinceAt: NOW } as const;
    const all = found(lost('aurora', 'state-went-back'), lost('brera', 'state-lost', { uncertainty }), tenantOf());
    expect(all).toMatchObject([
      { tenant: null, code: 'state-lost', tenants: [{ tenant: 'aurora' }, { tenant: 'brera' }], sinceAt: NOW },
    ]);
    expect(all[0]?.next).toMatch(/^restore a backup, .*each of these clinics: clinic-mirror accept-loss aurora$/);
    expect(all.every(stopsInstallation)).toBe(true);
  });

  test('is the cause of a failure that had no login; a failure of another kind remains', () => {
    const failed = (code: string) =>
      ({ code, sinceAt: NOW, texts: { message: 'sign in', remedy: 'clinic-mirror login' } }) as never;
    const loss = { code: 'state-went-back', sinceAt: NOW } as const;
    const told = withLossAsCause(failed('not-connected'), { tenant: 'aurora', loss });
    expect(told).toMatchObject({ sinceAt: NOW });
    expect(told).toMatchObject({ code: 'state-went-back', remedy: expect.stringMatching(/accept-loss aurora$/) });
    expect(JSON.stringify(told)).not.toMatch(/clinic-mirror login|sign in/);
    expect(withLossAsCause(failed('html-answer'), { tenant: 'aurora', loss })).toEqual(failed('html-answer'));
    expect(withLossAsCause(failed('not-connected'), { tenant: 'aurora', loss: null })).toEqual(failed('not-connected'));
    expect(withLossAsCause(null, { tenant: 'aurora', loss })).toBeNull();
  });

  test('of one tenant names its command; a forged record does not explain a missing login', () => {
    expect(found(lost('aurora', 'state-lost'))[0]?.next).toBe(
      'restore a backup, or run: clinic-mirror accept-loss aurora',
    );
    const forged = tenantOf({ connections: [never], uncertainty: { code: 'state-damaged', sinceAt: NOW } });
    expect(found(forged).map(({ code }) => code)).toEqual(['state-damaged', 'not-connected']);
  });

  test.each(Object.entries(SURFACES))('has no line about a sign-in on the surface %s', async (_name, show) => {
    const world = open();
    const { tenant } = world;
    await cycle(tenant);
    await redis.connect().flushall();
    expect(await tenant.protection.uncertainty()).toMatchObject({ code: 'state-lost' });
    world.installation.connections = async () => [never, loginOf('never')];
    // A lane finds the missing login before or after a status is read.
    for (const { id } of tenant.targets.values()) {
      const failure = { ...storedError(notConnected('doctor-1'), tenant.id), sinceAt: NOW };
      await tenant.targetStore.write(id, { failure });
    }
    const shown = await show(world);
    expect(shown).toMatch(/state-lost|forgotten and opted-out/);
    expect(shown).not.toMatch(/not-connected|clinic-mirror login|signed in/);
    await acceptLoss(world.installation, tenant.id);
    expect(await show(world)).toMatch(/not-connected|clinic-mirror login|signed in/);
  });
});
