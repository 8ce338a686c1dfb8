import { describe, expect, test } from 'vitest';
import { atOnce } from '../../src/core/model/pieces.ts';
import type { PlannedChange } from '../../src/core/model/plan.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { countAgain, TENANT_TOO_LARGE, withinStorage } from '../../src/engine/storage-limit.ts';
import { NOTHING_PLANNED, type TargetPlan } from '../../src/engine/target-plan.ts';
import { renderStatus } from '../../src/operator/cli/render-status.ts';
import { createMetrics } from '../../src/operator/control/metrics.ts';
import { status } from '../../src/operator/control/status.ts';
import { keys } from '../../src/state/keys.ts';
import { pullTenant } from '../../src/tenant/pull.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { NEVER, wholeCycle } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenantWorld, stateOf } from '../tenant/world.ts';

const redis = useRedis({ appendOnly: false });
const KIB = 1_024;

function change(recordId: string, reason: PlannedChange['reason'], title: string | null): PlannedChange {
  const time = { startAt: NOW, endAt: NOW };
  const item = { title } as never;
  const wanted =
    title === null
      ? ({ want: 'absent', ...time } as const)
      : ({ want: 'present', item, fingerprint: 'f', ...time } as const);
  return { recordId, reason, wanted, fields: [] };
}

function planOf(permitted: PlannedChange[]): TargetPlan {
  return { ...NOTHING_PLANNED, target: { id: 'room' } as never, permitted, unchanged: 0, linkCount: 0 };
}

function left(bytes: number | null, addedBytes = 0): string[][] {
  const permitted = [
    change('new', 'new', 'x'.repeat(KIB)),
    change('changed', 'content-changed', 'x'.repeat(KIB)),
    change('gone', 'vanished', null),
  ];
  const use = { bytes, addedBytes, countedAt: NOW, limitBytes: 100 * KIB };
  const plans = atOnce(withinStorage([planOf(permitted), planOf([])], use));
  expect(plans.map((plan) => plan.permitted.length + (plan.omitted[TENANT_TOO_LARGE] ?? 0))).toEqual([3, 0]);
  return plans.map(({ omittedRecords }) => [...omittedRecords.keys()]);
}

describe('a plan leaves out', () => {
  test('nothing with room for all of it, or with an unknown memory', () => {
    expect(left(50 * KIB)).toEqual([[], []]);
    expect(left(null)).toEqual([[], []]);
  });

  test('new objects above the limit, of the count and of the estimate together', () => {
    expect(left(99 * KIB)).toEqual([['new'], []]);
    expect(left(50 * KIB, 49 * KIB)).toEqual([['new'], []]);
    expect(left(null, 99 * KIB)).toEqual([['new'], []]);
  });

  test('changes too above twice the limit, and never a deletion', () => {
    expect(left(199 * KIB)).toEqual([['new', 'changed'], []]);
    expect(left(9_999 * KIB)).toEqual([['new', 'changed'], []]);
  });

  test('the new objects for which the room is used up', () => {
    const permitted = Array.from({ length: 100 }, (_, index) => change(`${index}`, 'new', 'x'.repeat(9 * KIB)));
    const use = { bytes: 50 * KIB, addedBytes: 0, countedAt: NOW, limitBytes: 100 * KIB };
    const [plan] = atOnce(withinStorage([planOf(permitted)], use));
    expect(plan?.permitted.map(({ recordId }) => recordId)).toEqual(['0', '1', '2']);
  });
});

test('a tenant with left-out changes is counted again after five minutes, and no other', async () => {
  const counted: number[] = [];
  const use = { bytes: 1, addedBytes: 0, countedAt: NOW, limitBytes: 1 };
  const storage = { read: async () => use, add: async () => {}, count: async (at: number) => void counted.push(at) };
  const over = [planOf([]), { ...planOf([]), omitted: { [TENANT_TOO_LARGE]: 3 } }];
  const clock = () => NOW + 5 * MINUTE_MS;
  await countAgain({ clock: () => clock() - 1, storage }, over);
  await countAgain({ clock, storage }, [planOf([])]);
  expect(counted).toEqual([]);
  await countAgain({ clock, storage }, over);
  expect(counted).toEqual([clock()]);
});

/** Two clinics on one Redis; the first may use 120 KiB. */
function openTwo() {
  const open = (id: string, limitBytes?: number) => {
    const model = createModelTarget();
    const choice = limitBytes === undefined ? { id } : { id, limitBytes };
    return { model, ...openTenantWorld(redis, createModelClinic(300), [{ model }], choice) };
  };
  const large = open('aurora', 120 * KIB);
  const other = open('bellini');
  const told = () => status(openInstallation({ tenants: [large.tenant, other.tenant] }));
  return { large, other, told };
}

describe('a tenant above its limit', () => {
  test('gets no new objects; changes and deletions continue, and the other tenant is unaffected', async () => {
    const { large, other, told } = openTwo();
    await wholeCycle(large.tenant);
    await wholeCycle(other.tenant);
    const written = large.model.objects().length;
    expect(written).toBeGreaterThan(100);
    expect(written).toBeLessThan(300);
    expect(other.model.objects()).toHaveLength(300);

    const ids = large.model.objects().map(({ key }) => key);
    large.clinic.appointments.set('0', { ...appointmentOf('0', { inHours: 25 }) });
    large.clinic.appointments.set('1', { ...appointmentOf('1', { inHours: 25 }), status: 'cancelled' });
    large.clock.now += MINUTE_MS;
    await wholeCycle(large.tenant);
    expect(await large.tenant.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
    expect(large.model.objects().length).toBeGreaterThanOrEqual(written - 1);
    expect(ids.length - large.model.objects().filter(({ key }) => ids.includes(key)).length).toBeLessThanOrEqual(1);

    const { tenants, problems } = await told();
    const [one] = problems;
    expect(problems).toHaveLength(1);
    expect(one).toMatchObject({ tenant: 'aurora', code: 'tenant-too-large', health: 'action-required' });
    expect(one?.sentence).toMatch(/\d+ changes left out/);
    expect(one?.next).toContain('tenants/aurora.yaml');
    expect(tenants.map(({ health }) => health)).toEqual(['action-required', 'ok']);
    const [target] = tenants[0]?.targets ?? [];
    expect(target).toMatchObject({ reason: 'incomplete-data', inSyncAsOf: null });
    expect(tenants[1]?.targets[0]?.sync).toBe('in-sync');
  });

  test('stores only the newest report of a run while changes wait', async () => {
    const { large, other } = openTwo();
    for (let round = 0; round < 3; round += 1) {
      for (const { tenant, clock } of [large, other]) {
        clock.now += MINUTE_MS;
        await pullTenant(tenant, NEVER, { asked: true });
      }
    }
    const reports = await Promise.all([large, other].map(({ tenant }) => tenant.runs.list(10)));
    expect(reports.map((all) => all.length)).toEqual([1, 3]);
    expect(reports[0]?.[0]?.startedAt).toBe(large.clock.now);
  });

  test('continues by itself when there is room again', async () => {
    const { large } = openTwo();
    await wholeCycle(large.tenant);
    const before = large.model.objects().length;
    // The outbox is empty now, and the estimate was too high.
    large.clock.now += HOUR_MS;
    await wholeCycle(large.tenant);
    large.clock.now += MINUTE_MS;
    await wholeCycle(large.tenant);
    expect(large.model.objects().length).toBeGreaterThan(before);
    const raised = large.again({ id: 'aurora' });
    await wholeCycle(raised);
    expect(large.model.objects()).toHaveLength(300);
    expect((await stateOf(raised)).gaps).toEqual([]);
    expect((await stateOf(raised)).sync).toBe('in-sync');
  });

  test('is shown with the memory at the last count, or as unknown', async () => {
    const { large, told } = openTwo();
    await wholeCycle(large.tenant);
    const shown = async () => renderStatus({ ...(await told()), tenants: (await told()).tenants.slice(0, 1) });
    await redis.connect().del(keys.storage('aurora'));
    expect(await shown()).toContain('memory in Redis: unknown');
    await redis.connect().set(keys.pins('aurora', 'other'), 'x'.repeat(3 * KIB * KIB));
    await large.tenant.storage.count(NOW);
    expect(await shown()).toMatch(/memory in Redis: [34] MiB of at most 0 MiB/);
    const metrics = createMetrics(() => openInstallation({ tenants: [large.tenant] }));
    expect(await metrics.render()).toMatch(/^clinic_mirror_tenant_redis_bytes\{tenant="aurora"\} [34]\d{6}$/m);
  });
});
