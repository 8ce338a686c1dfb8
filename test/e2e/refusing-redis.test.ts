import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { disagreements, readSurfaces, type Told } from './support/agreement.ts';
import { runUntilInSync, start } from './support/daemons.ts';
import type { SmallTenant } from './support/small-configuration.ts';
import { expectExact, logged, type SmallWorld, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();

/** Changes in each fault. */
const CHANGES = { booked: 10, moved: 10, cancelled: 10 };
/** Lines of a daemon's log during a fault and after it. */
const MOST_LINES = 200;

const FAULTS: readonly [
  code: string,
  begin: (tester: Redis) => Promise<unknown>,
  end: (tester: Redis) => Promise<unknown>,
][] = [
  ['redis-full', (tester) => tester.config('SET', 'maxmemory', 1), (tester) => tester.config('SET', 'maxmemory', 0)],
  ['redis-read-only', (tester) => tester.replicaof('127.0.0.1', 1), (tester) => tester.replicaof('NO', 'ONE')],
];

/** A clinic with a running daemon, in sync. */
async function open() {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'clinic-mirror-data-'));
  onTestFinished(() => rm(dataDirectory, { recursive: true }));
  const world = await useSmallWorld({
    ...{ redisUrl: redis.url, appointments: 90 },
    settings: { dataDirectory, operator: { port: 0 } },
  });
  const daemon = start(world);
  await runUntilInSync(world, [daemon]);
  const [{ operatorPort }] = logged(world, 'daemon started') as [{ operatorPort: number }];
  const composition = world.open();
  const views = {
    ...{ composition, tenant: 'clinic-1' },
    async operator(path: string) {
      const answer = await fetch(`http://127.0.0.1:${operatorPort}${path}`);
      return { status: answer.status, body: await answer.text() };
    },
  };
  /** Waits until all surfaces agree on the codes of problems; ports keep their figures for some seconds. */
  const untilAgreed = async (codes: readonly string[]): Promise<Told> => {
    let told: Told | null = null;
    await waitFor(
      async () => {
        told = await readSurfaces(views);
        expect(told['status --json'].codes).toEqual(codes);
        expect(disagreements(told)).toEqual([]);
        return true;
      },
      { what: `the surfaces to agree on ${codes.join() || 'no problem'}`, intervalMs: 200, timeoutMs: 20_000 },
    );
    return told!;
  };
  return { world, daemon, untilAgreed };
}

async function linesOf({ dir }: SmallWorld): Promise<string[]> {
  return (await readFile(join(dir, 'daemon.log'), 'utf8')).split('\n');
}

test('a Redis that is full, and then read-only, is one problem on every surface, and no change is lost', async () => {
  const { world, daemon, untilAgreed } = await open();
  const { clinicId } = world.tenants[0] as SmallTenant;
  await untilAgreed([]);
  const tester = redis.connect();
  onTestFinished(async () => void (await Promise.all(FAULTS.map(([, , end]) => end(tester)))));
  for (const [code, begin, end] of FAULTS) {
    const before = (await linesOf(world)).length;
    await begin(tester);
    const changedAt = Date.now();
    world.clinic.simulate(clinicId, CHANGES);
    const told = await untilAgreed([code]);
    expect(told['status --json'].health).toBe('action-required');
    const [clinic] = JSON.parse((await world.cli('status', '--json')).out).tenants as { inSyncAsOf: string }[];
    expect(Date.parse(clinic?.inSyncAsOf ?? '')).toBeLessThanOrEqual(changedAt);
    await end(tester);
    await runUntilInSync(world, [daemon]);
    await untilAgreed([]);
    await expectExact(world, code);
    const lines = (await linesOf(world)).slice(before);
    expect(lines.length, lines.join('\n')).toBeLessThan(MOST_LINES);
  }
});

test('an emptied Redis names the restore on every surface and no sign-in, and a restore ends it', async () => {
  const { world, daemon, untilAgreed } = await open();
  const { clinicId } = world.tenants[0] as SmallTenant;
  const { out: backup } = await world.cli('credentials', 'backup', 'clinic-1');
  const file = join(world.dir, 'clinic-1.backup');
  await writeFile(file, backup);
  const before = (await linesOf(world)).length;
  await redis.connect().flushall();
  world.clinic.simulate(clinicId, CHANGES);
  const told = await untilAgreed(['state-lost']);
  expect(told['status --json'].sync).not.toBe('in-sync');
  const { out } = await world.cli('status');
  expect(out).toContain('restore a backup');
  expect(out).not.toContain('clinic-mirror login');
  expect(await world.cli('credentials', 'restore', 'clinic-1', file)).toMatchObject({ code: 0 });
  await runUntilInSync(world, [daemon]);
  await untilAgreed([]);
  await expectExact(world);
  const lines = (await linesOf(world)).slice(before);
  expect(lines.length, lines.join('\n')).toBeLessThan(MOST_LINES);
});
