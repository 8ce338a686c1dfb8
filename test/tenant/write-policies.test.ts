import { describe, expect, test } from 'vitest';
import type { Operation } from '../../src/core/model/operations.ts';
import { HOUR_MS } from '../../src/core/model/time.ts';
import { eraseRecords } from '../../src/features/forget/erase.ts';
import { findRecords } from '../../src/features/forget/records.ts';
import { undoRun } from '../../src/features/undo/undo.ts';
import { renderStatus } from '../../src/operator/cli/render-status.ts';
import { explain } from '../../src/operator/control/explain.ts';
import { storePlan } from '../../src/operator/control/plan.ts';
import { status } from '../../src/operator/control/status.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { crashingRedis } from './crashing-redis.ts';
import { cycle, drain, NEVER, pull, targetOf, twoCycles } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget } from './model-target.ts';
import { openTenant, type TargetChoice } from './open-tenant.ts';
import { auditOf, editByHand, objectIn, objectOf, removeByHand, stateOf } from './world.ts';

const redis = useRedis();
type Configuration = NonNullable<TargetChoice['configuration']>;
type Policy = NonNullable<Configuration['policy']>;
const BOOKED = 12;

/** A filled calendar under a policy. Each start is a process with its own configuration. */
async function filled(policy: Policy, more: Configuration = {}, booked = BOOKED) {
  const clinic = createModelClinic(booked);
  const model = createModelTarget();
  const clock = { now: NOW };
  const operations: Operation[] = [];
  model.beforeApply = (sent) => void operations.push(...sent);
  const start = (changes: Configuration = {}, connection: RedisClient = redis.connect()) =>
    openTenant({
      ...{ redis: connection, clinic, clock: () => clock.now },
      targets: [{ model, configuration: { policy, ...more, ...changes } }],
    });
  const tenant = start();
  await cycle(tenant);
  expect(model.objects()).toHaveLength(booked);
  operations.length = 0;
  const kinds = () => [...new Set(operations.map(({ kind, recordId }) => `${kind} ${recordId}`))].sort();
  return { clinic, model, clock, start, tenant, operations, kinds };
}

type World = Awaited<ReturnType<typeof filled>>;
const cancel = ({ clinic }: World, id: string) =>
  clinic.appointments.set(id, appointmentOf(id, { inHours: 24 + Number(id), status: 'cancelled' }));
const move = ({ clinic }: World, id: string, inHours = 300) =>
  clinic.appointments.set(id, appointmentOf(id, { inHours }));
const book = ({ clinic }: World, id: string) => clinic.appointments.set(id, appointmentOf(id, { inHours: 400 }));

async function later(world: World, tenant = world.tenant): Promise<void> {
  world.clock.now += HOUR_MS;
  await auditOf(tenant, { whole: true });
  await twoCycles(tenant);
}

/** Cancels, deletes, excludes, moves and books. */
function changeAll(world: World): void {
  cancel(world, '0');
  world.clinic.appointments.delete('1');
  world.clinic.appointments.set('2', appointmentOf('2', { inHours: 26, agendaId: 'a2' }));
  move(world, '3');
  book(world, 'new');
}

async function policyOf(tenant: OpenTenant) {
  const { sync, pending, held, writePolicy } = await stateOf(tenant);
  return { sync, pending, held, ...writePolicy };
}

describe('upsert-only', () => {
  test('creates and updates, and keeps what was cancelled, vanished or excluded, however many cycles follow', async () => {
    const world = await filled('upsert-only', { agendas: ['a1'] });
    changeAll(world);
    for (let rounds = 0; rounds < 3; rounds += 1) {
      await later(world);
      expect(world.model.objects()).toHaveLength(BOOKED + 1);
      expect(await policyOf(world.tenant)).toMatchObject({
        ...{ sync: 'in-sync', pending: 0, held: 0 },
        ...{ name: 'upsert-only', notRemoved: 3, notUpdated: 0 },
      });
    }
    expect(world.kinds()).toEqual(['create new', 'update 3']);
    const [run] = await world.tenant.runs.list(1);
    expect(run?.targets[0]?.omitted).toMatchObject({ 'not-removed-by-policy': 3 });
  });

  test('opens no hold for removals that it never makes, also if the clinic loses nearly everything', async () => {
    const world = await filled('upsert-only');
    for (let id = 0; id < BOOKED - 1; id += 1) world.clinic.appointments.delete(String(id));
    await later(world);
    await later(world);
    expect(await world.tenant.holds.list()).toEqual([]);
    expect(await policyOf(world.tenant)).toMatchObject({ sync: 'in-sync', notRemoved: BOOKED - 1 });
    expect(world.kinds()).toEqual([]);
  });

  test('asks the clinic seldom about kept records', async () => {
    const world = await filled('upsert-only', {}, 60);
    world.clinic.appointments.clear();
    await later(world);
    await later(world);
    expect(await policyOf(world.tenant)).toMatchObject({ notRemoved: 60 });
    const { lookups } = world.clinic.counts;
    await pull(world.tenant);
    expect(world.clinic.counts.lookups - lookups).toBe(20);
  });

  test('restores manual changes, and accepts those of kept objects as they are', async () => {
    const world = await filled('upsert-only');
    cancel(world, '0');
    cancel(world, '1');
    await later(world);
    editByHand(world, '0', { title: 'cancelled!' });
    removeByHand(world, '1');
    editByHand(world, '2', { title: 'mine' });
    removeByHand(world, '3');
    await later(world);
    expect(objectIn(world, '2')?.item.title).not.toBe('mine');
    expect(objectIn(world, '3')).toBeDefined();
    expect(objectOf(world, '0').item.title).toBe('cancelled!');
    expect(objectIn(world, '1')).toBeUndefined();
    expect(await policyOf(world.tenant)).toMatchObject({ sync: 'in-sync', pending: 0, notRemoved: 1 });
  });

  test('withdraws a pending write of a record that is cancelled before the write', async () => {
    const world = await filled('upsert-only');
    world.model.fault = () => 'unavailable';
    move(world, '3');
    book(world, 'new');
    await cycle(world.tenant);
    cancel(world, '3');
    cancel(world, 'new');
    await pull(world.tenant);
    expect(await world.tenant.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
    world.model.fault = () => null;
    await later(world);
    expect(world.model.objects()).toHaveLength(BOOKED);
    expect(await policyOf(world.tenant)).toMatchObject({ sync: 'in-sync', notRemoved: 1 });
  });

  test('erases a forgotten patient', async () => {
    const world = await filled('upsert-only');
    cancel(world, '0');
    await later(world);
    const records = await findRecords(world.tenant, { patientId: 'p1' }, () => {}, NEVER);
    await eraseRecords(world.tenant, records, () => {}, NEVER);
    await drain(world.tenant, targetOf(world.tenant));
    expect(world.model.objects()).toEqual([]);
    expect(world.operations.every((one) => one.kind === 'delete' && one.erase === true)).toBe(true);
    expect((await world.tenant.targetStore.read('doctor')).notRemovedByPolicy).toEqual([]);
  });
});

describe('create-only', () => {
  test('creates, and neither changes, removes nor repairs an existing object', async () => {
    const world = await filled('create-only', { agendas: ['a1'] });
    changeAll(world);
    editByHand(world, '4', { title: 'mine' });
    removeByHand(world, '5');
    for (let rounds = 0; rounds < 3; rounds += 1) {
      await later(world);
      expect(await policyOf(world.tenant)).toMatchObject({
        ...{ sync: 'in-sync', pending: 0, held: 0 },
        ...{ name: 'create-only', notRemoved: 3, notUpdated: 1 },
      });
    }
    expect(world.kinds()).toEqual(['create new']);
    expect(objectOf(world, '4').item.title).toBe('mine');
    expect(objectIn(world, '5')).toBeUndefined();
  });

  test('is no foreign read, if most objects became outdated over time', async () => {
    const world = await filled('create-only');
    for (let id = 0; id < BOOKED; id += 1) {
      move(world, String(id), 100 + 7 * id);
      if (id % 4 === 3) await later(world);
    }
    expect(await world.tenant.holds.list()).toEqual([]);
    book(world, 'new');
    await later(world);
    expect(world.kinds()).toEqual(['create new']);
    expect(await policyOf(world.tenant)).toMatchObject({ notUpdated: BOOKED });
  });

  test('undo of a run restores its removed objects, and names changed ones that the policy leaves', async () => {
    const world = await filled('sync');
    move(world, '3');
    world.clinic.appointments.set('4', appointmentOf('4', { inHours: 28, agendaId: 'a2' }));
    const tenant = world.start({ agendas: ['a1'] });
    await cycle(tenant);
    const [run] = await tenant.journal.list(world.clock.now);
    const strict = world.start({ agendas: ['a1'], policy: 'create-only' });
    const installation = openInstallation({ tenants: [strict] });
    const signals = { stop: NEVER, abort: NEVER };
    const view = await undoRun(installation, run?.run ?? '', { dryRun: false }, { progress: () => {}, signals });
    expect(view.records.map(({ record, effect, result }) => [record, effect, result]).sort()).toEqual([
      ['3', 'updated', 'policy'],
      ['4', 'deleted', 'restored'],
    ]);
    expect(objectIn({ ...world, tenant: strict }, '4')).toBeDefined();
  });
});

describe('changes that wait when the policy is set', () => {
  async function waiting() {
    const world = await filled('sync');
    cancel(world, '0');
    move(world, '3');
    book(world, 'new');
    await pull(world.tenant);
    expect([...(await world.tenant.outbox.pending('doctor')).keys()].sort()).toEqual(['0', '3', 'new']);
    return world;
  }

  test.each([
    ['upsert-only', ['create new', 'update 3']],
    ['create-only', ['create new']],
  ] as const)('%s: are not written before the next plan, nor the forbidden ones after it', async (policy, written) => {
    const world = await waiting();
    const tenant = world.start({ policy });
    await tenant.configVersion.join();
    await drain(tenant, targetOf(tenant));
    expect(world.kinds()).toEqual([]);
    await cycle(tenant);
    expect(world.kinds()).toEqual(written);
    expect(await policyOf(tenant)).toMatchObject({ sync: 'in-sync', pending: 0, notRemoved: 1 });
  });

  test('are never written by a process that dies at every fifth command of the cycle and the lane', async () => {
    let hasDied = true;
    let deaths = 0;
    for (let after = 0; hasDied; after += 5) {
      const world = await waiting();
      const dying = world.start({ policy: 'create-only' }, crashingRedis(redis.connect(), after, after % 2 === 0));
      hasDied = await cycle(dying).then(
        () => false,
        () => true,
      );
      if (hasDied) deaths += 1;
      const connection = redis.connect();
      const leases = await connection.keys('cm:*:lease:*');
      if (leases.length > 0) await connection.del(...leases);
      const tenant = world.start({ policy: 'create-only' });
      await later(world, tenant);
      expect([after, world.kinds()]).toEqual([after, ['create new']]);
      await connection.flushdb();
    }
    expect(deaths).toBeGreaterThan(10);
  });

  test('a return to sync removes and updates everything', async () => {
    const world = await filled('create-only');
    changeAll(world);
    await later(world);
    const tenant = world.start({ policy: 'sync', agendas: ['a1'] });
    await later(world, tenant);
    await later(world, tenant);
    expect(world.kinds()).toEqual(['create new', 'delete 0', 'delete 1', 'delete 2', 'update 3']);
    expect(await policyOf(tenant)).toEqual({ sync: 'in-sync', pending: 0, held: 0 });
  });
});

test.each([null, 1])('a hold of removals ends when the policy withholds them, with a list up to %s', async (rows) => {
  const world = await filled('sync');
  for (let id = 0; id < BOOKED - 1; id += 1) world.clinic.appointments.delete(String(id));
  await twoCycles(world.tenant);
  expect((await world.tenant.holds.list()).map(({ kind }) => kind)).toEqual(['vanished']);
  book(world, 'new');
  world.clinic.truncatedAfter = rows;
  const tenant = world.start({ policy: 'upsert-only' });
  await cycle(tenant);
  expect(await tenant.holds.list()).toEqual([]);
  world.clinic.truncatedAfter = null;
  await later(world, tenant);
  expect(await policyOf(tenant)).toMatchObject({ sync: 'in-sync', notRemoved: BOOKED - 1 });
});

test('an audit leaves duplicates of events', async () => {
  const world = await filled('upsert-only');
  const sync = world.start({ policy: 'sync' });
  const { connector, identity } = targetOf(world.tenant);
  const { item } = objectOf(world, '0');
  const second = { key: identity.key('0', 1), sealedRecordId: identity.sealedRecordId('0'), item, revision: 1 };
  await connector.apply('calendar-1', [{ kind: 'create', recordId: '0', ...second }], NEVER);
  world.operations.length = 0;
  await auditOf(world.tenant, { whole: true });
  expect(world.kinds()).toEqual([]);
  await auditOf(sync, { whole: true });
  expect(world.kinds()).toEqual(['delete 0']);
});

test('plan, status and explanation name what the policy withholds', async () => {
  const world = await filled('create-only');
  cancel(world, '0');
  move(world, '3');
  const installation = openInstallation({ tenants: [world.tenant] });
  const plan = await storePlan(installation, world.tenant.id, () => {}, NEVER);
  expect(plan.targets[0]).toMatchObject({
    lines: [],
    writePolicy: { name: 'create-only', notRemoved: 1, notUpdated: 1 },
  });
  await cycle(world.tenant);
  expect(renderStatus(await status(installation))).toContain('policy create-only: 1 objects remain');
  const explained = async (id: string) =>
    (await explain(installation, world.tenant.id, id, NEVER)).targets[0]?.withheld;
  expect(await explained('0')).toEqual({ policy: 'create-only', change: 'delete' });
  expect(await explained('3')).toEqual({ policy: 'create-only', change: 'update' });
  expect(await explained('4')).toBeUndefined();
});
