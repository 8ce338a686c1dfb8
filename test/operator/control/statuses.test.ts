import { expect, test } from 'vitest';
import { redisFaultOf, storedError } from '../../../src/core/model/errors.ts';
import { MINUTE_MS } from '../../../src/core/model/time.ts';
import { createMetrics } from '../../../src/operator/control/metrics.ts';
import { createStateFigures, openStatuses } from '../../../src/operator/control/statuses.ts';
import { openOverview } from '../../../src/operator/control/tenant-list.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { openInstallation } from './open-installation.ts';

const redis = useRedis();

/** Opens `count` tenants and counts the checks of each; `rest` can delay a tenant's check. */
function openMany(count: number, rest: (tenant: string) => Promise<void> = async () => {}) {
  const connection = redis.connect();
  const clock = { now: NOW };
  const tenants = Array.from({ length: count }, (_, index) =>
    openTenant({
      ...{ redis: connection, id: `clinic-${index}`, clinic: createModelClinic() },
      ...{ targets: [{ model: createModelTarget() }], clock: () => clock.now },
    }),
  );
  const looks = new Map<string, number>();
  const installation = {
    ...openInstallation({ tenants }),
    async connections({ id }: { id: string }) {
      looks.set(id, (looks.get(id) ?? 0) + 1);
      await rest(id);
      return [];
    },
  };
  return { installation, looks, clock };
}

test('two hundred readers of metrics, probes and pages cost one check of each clinic', async () => {
  const { installation, looks, clock } = openMany(3);
  const statuses = openStatuses();
  const metrics = createMetrics(() => installation, { statuses });
  const overview = openOverview(installation, statuses);
  const everybody = () =>
    Promise.all(
      Array.from({ length: 200 }, (_, reader) => [metrics.render, metrics.problems, overview.read][reader % 3]?.()),
    );
  await everybody();
  await everybody();
  expect([...looks.values()]).toEqual([1, 1, 1]);
  clock.now += 5_000;
  await everybody();
  expect([...looks.values()]).toEqual([2, 2, 2]);
});

test('the first reader of many clinics sees some with the number of missing ones, and soon all', async () => {
  const late = Promise.withResolvers<void>();
  const { installation } = openMany(60, (tenant) => (tenant === 'clinic-30' ? late.promise : Promise.resolve()));
  const overview = openOverview(installation, openStatuses());
  const first = await overview.read();
  expect([first.clinics.length, first.unread.length]).toEqual([25, 35]);
  expect(first.problems.length).toBe(0);
  late.resolve();
  await expect.poll(async () => (await overview.read()).unread.length).toBe(0);
  expect((await overview.read()).clinics.length).toBe(60);
});

test('a reader after ten idle minutes sees the last state during the new check', async () => {
  const { installation, clock } = openMany(3);
  const statuses = openStatuses();
  const { status: before } = await statuses.read(installation);
  clock.now += 11 * MINUTE_MS;
  const late = Promise.withResolvers<void>();
  const outlook = async () => {
    await late.promise;
    return installation.forecast();
  };
  expect(await statuses.readSoFar({ ...installation, forecast: outlook }, 1)).toBe(before);
  late.resolve();
  await expect.poll(async () => (await statuses.readSoFar(installation, 1)).at).toBe(clock.now);
});

test('a failed check hides the last good state from every reader, also while the next check runs', async () => {
  const { installation, clock } = openMany(1);
  const late = Promise.withResolvers<never>();
  let failing: (() => Promise<never>) | null = null;
  const open = { ...installation, redis: () => failing?.() ?? installation.redis() };
  const statuses = openStatuses();
  const overview = openOverview(open, statuses);
  expect(await overview.read()).toMatchObject({ clinics: [{ health: 'ok' }] });
  const refused = redisFaultOf(new Error('WRONGPASS invalid username-password pair'))!;
  failing = async () => Promise.reject(refused);
  clock.now += MINUTE_MS;
  await expect(overview.read()).rejects.toBe(refused);
  failing = () => late.promise;
  for (const reader of [overview.read, () => statuses.read(open, 1), () => statuses.readSoFar(open, 1)]) {
    await expect(reader()).rejects.toBe(refused);
  }
  failing = null;
  late.reject(refused);
  await expect.poll(() => overview.read().catch(() => null)).toMatchObject({ clinics: [{ health: 'ok' }] });
});

test('readers of the Overview learn the end and the duration of a problem from the statuses of the process', async () => {
  const { installation, clock } = openMany(1);
  const found = await installation.redis();
  let refusal: typeof found.refusal = storedError(redisFaultOf(new Error('OOM command not allowed'))!);
  const overview = openOverview({ ...installation, redis: async () => ({ ...found, refusal }) }, openStatuses());
  expect(await overview.read()).toMatchObject({ problems: [{ code: 'redis-full' }], ended: [] });
  refusal = null;
  clock.now += MINUTE_MS;
  const end = { code: 'redis-full', sinceAt: NOW, endedAt: NOW + MINUTE_MS };
  await expect.poll(overview.read).toMatchObject({ problems: [], ended: [end] });
});

test('a query of one clinic is never older than the request, for any number of requests', async () => {
  const waiting: (() => void)[] = [];
  const { installation, looks } = openMany(1, () => new Promise((resolve) => waiting.push(resolve)));
  const { ofTenant } = openStatuses();
  const first = ofTenant(installation, 'clinic-0');
  await expect.poll(() => waiting.length).toBe(1);
  const later = Array.from({ length: 50 }, () => ofTenant(installation, 'clinic-0'));
  waiting[0]?.();
  const before = await first;
  await expect.poll(() => waiting.length).toBe(2);
  waiting[1]?.();
  const [second, ...same] = await Promise.all(later);
  expect(second).not.toBe(before);
  expect(new Set([second, ...same]).size).toBe(1);
  expect(looks.get('clinic-0')).toBe(2);
});

test('every reader is told that Redis does not answer, and the next reader tries again', async () => {
  let isAway = true;
  const { installation } = openMany(1, async () => {
    if (isAway) throw new Error('Redis does not answer');
  });
  const statuses = openStatuses();
  const overview = openOverview(installation, statuses);
  await expect(overview.read()).rejects.toThrow('Redis does not answer');
  await expect(statuses.ofTenant(installation, 'clinic-0')).rejects.toThrow('Redis does not answer');
  isAway = false;
  expect((await overview.read()).clinics.length).toBe(1);
  expect((await statuses.ofTenant(installation, 'clinic-0')).tenants.length).toBe(1);
});

test('a clinic that is removed during the check of all is skipped', async () => {
  let isThere = true;
  const { installation, clock } = openMany(30, async () => {
    isThere = false;
  });
  const { size, keys, values, get } = installation.tenants;
  const tenants = {
    ...{ size, keys: keys.bind(installation.tenants), values: values.bind(installation.tenants) },
    get: (id: string) => (isThere || id !== 'clinic-29' ? get.call(installation.tenants, id) : undefined),
  };
  const { status } = await openStatuses().read({ ...installation, tenants });
  expect([status.at, status.tenants.length]).toEqual([clock.now, 29]);
});

const LONGEST_WAIT_MS = 10;

/** An installation by a clock that is set by hand. */
function openAt(clock: { now: number }) {
  return { ...openInstallation({ tenants: [] }), clock: () => clock.now };
}

test('scrapes within five seconds share one result', async () => {
  const clock = { now: 1_000_000 };
  const installation = openAt(clock);
  let computed = 0;
  const figures = createStateFigures(async () => {
    computed += 1;
  });
  expect(await Promise.all([figures.refresh(installation), figures.refresh(installation)])).toEqual([0, 0]);
  clock.now += 4_999;
  expect(await figures.refresh(installation)).toBe(4_999);
  expect(computed).toBe(1);
  clock.now += 1;
  expect(await figures.refresh(installation)).toBe(0);
  expect(computed).toBe(2);
});

test('a clock set back extends no cached result', async () => {
  const clock = { now: 1_000_000 };
  let computed = 0;
  const figures = createStateFigures(async () => {
    computed += 1;
  });
  await figures.refresh(openAt(clock));
  clock.now -= 3_600_000;
  await figures.refresh(openAt(clock));
  expect(computed).toBe(2);
});

test('a slow scrape gets the previous result with its age, and the next one gets the new result', async () => {
  const clock = { now: 1_000_000 };
  const installation = openAt(clock);
  const ready = [Promise.resolve()];
  const figures = createStateFigures(() => ready.at(-1) ?? Promise.resolve(), LONGEST_WAIT_MS);
  await figures.refresh(installation);
  const slow = Promise.withResolvers<void>();
  ready.push(slow.promise);
  clock.now += 60_000;
  expect(await figures.refresh(installation)).toBe(60_000);
  slow.resolve();
  expect(await figures.refresh(installation)).toBe(0);
});

test('the first scrape waits for any duration, and a failure is reported and retried', async () => {
  const installation = openAt({ now: 1_000_000 });
  const first = Promise.withResolvers<void>();
  const attempts = [first.promise, Promise.resolve()];
  const figures = createStateFigures(() => attempts.shift() ?? Promise.resolve(), LONGEST_WAIT_MS);
  const waiting = figures.refresh(installation);
  first.reject(new Error('Redis does not answer'));
  await expect(waiting).rejects.toThrow('Redis does not answer');
  expect(await figures.refresh(installation)).toBe(0);
  expect(attempts).toEqual([]);
});
