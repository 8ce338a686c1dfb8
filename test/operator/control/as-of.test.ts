import { expect, test } from 'vitest';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { readRedis, timeByRedis, timeOf } from '../../../src/daemon/redis-readings.ts';
import { withoutFuture } from '../../../src/operator/control/as-of.ts';
import { status } from '../../../src/operator/control/status.ts';
import type { TenantStatus } from '../../../src/operator/control/status-schemas.ts';
import { pullTenant } from '../../../src/tenant/pull.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER } from '../../tenant/cycle.ts';
import { openBooked } from './open-installation.ts';

const redis = useRedis();

const NOW = 1_800_000_000_000;

/** A tenant with one target, both in sync as of a time. */
function inSyncAsOf(at: number | null): TenantStatus {
  const proof = { inSyncAsOf: at, sync: 'in-sync' };
  return {
    ...proof,
    targets: [{ ...proof, soonAsOf: at, exceptGapsAsOf: at, lastWrittenAt: at }],
  } as unknown as TenantStatus;
}

test.each([
  ['of the past stays', NOW - 1_000, NOW - 1_000, 'in-sync'],
  ['a little ahead of Redis is cut off', NOW + 30_000, NOW, 'in-sync'],
  ['in the future proves nothing', NOW + 30_001, null, 'unknown'],
  ['that is unknown stays unknown', null, null, 'in-sync'],
])('a time %s', (_, at, shown, sync) => {
  const tenant = withoutFuture(inSyncAsOf(at), NOW);
  expect(tenant).toMatchObject({ inSyncAsOf: shown, sync });
  expect(tenant.targets).toMatchObject([
    { inSyncAsOf: shown, sync, soonAsOf: shown, exceptGapsAsOf: shown, lastWrittenAt: shown },
  ]);
});

test.each([
  ['ahead', 3 * HOUR_MS],
  ['a little ahead', 20_000],
  ['behind', -3 * HOUR_MS],
])('a host %s stamps a good read by the clock of Redis, and shows it so', async (_how, aheadMs) => {
  const connection = redis.connect();
  const clock = () => Date.now() + aheadMs;
  const { tenant, installation: base } = openBooked(redis, 3, { clock });
  const installation = { ...base, clock, redis: () => readRedis(connection, clock) };
  Object.assign(tenant, { sharedTime: timeByRedis(connection, clock) });
  const beganAt = await timeOf(connection);
  await cycle(tenant);
  const [endedAt, shown] = [await timeOf(connection), await status(installation)];
  const asOf = shown.tenants[0]?.inSyncAsOf ?? 0;
  expect(asOf).toBeGreaterThanOrEqual(beganAt - 5_000);
  expect(asOf).toBeLessThanOrEqual(endedAt);
  expect(shown.at).toBeLessThanOrEqual((await timeOf(connection)) + 5);
  await pullTenant(tenant, NEVER);
  const { plannedAsOf, soonAsOf } = await tenant.targetStore.read('doctor');
  const ended = await timeOf(connection);
  expect([plannedAsOf, soonAsOf].filter((at) => at !== null && at > ended)).toEqual([]);
});
