import { expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { renderStatus } from '../../src/operator/cli/render-status.ts';
import { status } from '../../src/operator/control/status.ts';
import { pullTenant } from '../../src/tenant/pull.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, NEVER, wholeCycle } from './cycle.ts';
import { createModelTarget } from './model-target.ts';
import { type Clinic, openClinic, put, startProcess, tryRereadings, WHOLE_EVERY_MS } from './rereading-histories.ts';

const redis = useRedis({ appendOnly: false });

/** Requests for lists, and bytes that came with them, of one cycle. */
async function costsOf(clinic: Clinic, tenant: OpenTenant): Promise<{ requests: number; bytes: number }> {
  const costs = { requests: 0, bytes: 0 };
  const { answer } = clinic.world;
  clinic.world.answer = (usual, request) => {
    const given = answer(usual, request);
    costs.requests += 1;
    costs.bytes += given.json === undefined ? 0 : JSON.stringify(given.json).length;
    return given;
  };
  expect(await pullTenant(tenant, NEVER)).toMatchObject({ error: null });
  clinic.world.answer = answer;
  return costs;
}

test('a cycle without changes fetches no byte from a clinic that reports unmodified lists', async () => {
  await using clinic = await openClinic({ filter: false });
  const { tenant } = startProcess(redis.connect(), clinic, 'quiet');
  const first = await costsOf(clinic, tenant);
  clinic.world.now += 5 * MINUTE_MS;
  await cycle(tenant);
  clinic.world.now += 5 * MINUTE_MS;
  expect(await costsOf(clinic, tenant)).toEqual({ requests: first.requests, bytes: 0 });
  put(clinic, 'stays-11', { inHours: 50 });
  const { bytes } = await costsOf(clinic, tenant);
  expect(bytes).toBeGreaterThan(0);
  expect(bytes).toBeLessThan(first.bytes / 2);
});

test('a cycle without changes sends one query to a clinic that reports changes, however many pages it has', async () => {
  const costs = [];
  for (const more of [0, 120]) {
    await using clinic = await openClinic({ etags: false });
    for (let index = 0; index < more; index += 1) put(clinic, `more-${index}`, { inHours: 40 });
    clinic.world.now += HOUR_MS;
    put(clinic, 'newest', { inHours: 30 });
    const { tenant } = startProcess(redis.connect(), clinic, `changes-${more}`);
    await wholeCycle(tenant);
    clinic.world.now += 5 * MINUTE_MS;
    costs.push(await costsOf(clinic, tenant));
  }
  expect(costs[1]).toEqual(costs[0]);
  expect(costs[0]).toMatchObject({ requests: 1 });
});

test('a deleted record is removed once a full fetch misses it a second time; status reports the time of that knowledge', async () => {
  await using clinic = await openClinic();
  const { world } = clinic;
  const { tenant, models } = startProcess(redis.connect(), clinic, 'deletes');
  const startedAt = world.now;
  await wholeCycle(tenant);
  world.now += 5 * MINUTE_MS;
  world.rows.shift();
  put(clinic, 'new', { inHours: 20 });
  await cycle(tenant);
  expect(models[0]?.objects()).toHaveLength(13);
  const told = await status(openInstallation({ tenants: [tenant] }));
  expect(renderStatus(told).replaceAll(/\s+/g, ' ')).toContain('changes since the last full read');
  expect(told.tenants[0]?.targets[0]).toMatchObject({ sync: 'in-sync', inSyncAsOf: startedAt });
  world.now = startedAt + WHOLE_EVERY_MS;
  await cycle(tenant);
  // A process that missed a record fetches everything until the record is decided.
  world.now += MINUTE_MS;
  expect(await pullTenant(tenant, NEVER)).toMatchObject({ snapshot: { completeness: 'complete' } });
  await cycle(tenant);
  expect(models[0]?.objects()).toHaveLength(12);
});

test('a requested cycle fetches everything', async () => {
  await using clinic = await openClinic();
  const { tenant } = startProcess(redis.connect(), clinic, 'asked');
  await wholeCycle(tenant);
  clinic.world.now += MINUTE_MS;
  expect(await pullTenant(tenant, NEVER)).toMatchObject({ snapshot: { completeness: 'changes' } });
  clinic.asked();
  const asked = await pullTenant(tenant, NEVER, { asked: true });
  expect(asked).toMatchObject({ snapshot: { completeness: 'complete' } });
  expect(new Set(clinic.asked())).toEqual(new Set([null]));
});

test('a first cycle that had to query names first fetches everything after them too', async () => {
  await using clinic = await openClinic();
  const targets = [{ model: createModelTarget(), configuration: { title: 'full' as const } }];
  const { tenant } = startProcess(redis.connect(), clinic, 'names', [], targets);
  expect(await pullTenant(tenant, NEVER)).toMatchObject({ snapshot: { completeness: 'complete' } });
  expect(tenant.memory.lacksNames).toBe(true);
});

// More cases: rereading-histories.test.ts.
test('in any history calendars equal those of full fetches; deleted records are removed in the end', () =>
  tryRereadings(redis, { least: 5, most: 5, forMs: 60_000 }));
