import { Queue } from 'bullmq';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { asksForPlan } from '../../src/engine/audit-target.ts';
import { checkTarget } from '../../src/engine/check-target.ts';
import { pushTarget } from '../../src/engine/push.ts';
import { laneLease } from '../../src/engine/store.ts';
import { neverNeedless } from '../../src/jobs/job-kinds.ts';
import type { TargetConfiguration } from '../../src/settings/configuration.ts';
import { keys, QUEUE_PREFIX } from '../../src/state/keys.ts';
import type { JobHandlers } from '../../src/tenant/job-catalogue.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { openWorkQueues, type WorkQueues } from '../../src/tenant/work-queues.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { startSomeWorkers } from '../jobs/some-workers.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { cycle, NEVER, pull, targetOf } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget, type ModelObject, type ModelTarget } from '../tenant/model-target.ts';
import { openTenant } from '../tenant/open-tenant.ts';
import {
  auditOf,
  type CalendarWorld,
  editByHand,
  objectOf,
  openDriftWorld,
  POLICIES,
  type Policy,
  removeByHand,
} from '../tenant/world.ts';

const redis = useRedis();
/** A world whose target shows everything. */
async function synced(booked: number, drift: Policy = 'repair', changes: Partial<TargetConfiguration> = {}) {
  const world = open(booked, drift, changes);
  await cycle(world.tenant);
  return world;
}

function open(booked: number, drift: Policy, changes: Partial<TargetConfiguration> = {}): CalendarWorld {
  return openDriftWorld(redis.connect(), booked, drift, changes);
}

function own({ model }: CalendarWorld): ModelObject[] {
  return model.objects().filter(({ ownerTag }) => ownerTag !== null);
}

function titlesOf(world: CalendarWorld): string[] {
  return own(world).map(({ item }) => item.title);
}

function writesOf({ model }: CalendarWorld): number {
  return model.calls.operations;
}

describe('an event that lost its marks', () => {
  test('exists once through three audits at a calendar that drops all marks, and costs no write', async () => {
    const world = open(20, 'repair');
    world.model.dropsMarks = true;
    await cycle(world.tenant);
    const writes = writesOf(world);
    for (let audits = 0; audits < 3; audits += 1) {
      world.clock.now += DAY_MS / 4;
      expect(await auditOf(world.tenant)).toMatchObject({ checked: 20, edited: 0, removed: 0, unmarked: 20 });
      await cycle(world.tenant);
    }
    expect(own(world)).toHaveLength(20);
    expect(writesOf(world)).toBe(writes);

    world.model.dropsMarks = false;
    world.clinic.appointments.set('3', appointmentOf('3', { status: 'cancelled' }));
    world.clinic.appointments.set('4', appointmentOf('4', { inHours: 100 }));
    await cycle(world.tenant);
    expect(own(world)).toHaveLength(19);
    expect(own(world).filter(({ unmarked }) => unmarked !== true)).toHaveLength(1);
    world.clock.now += DAY_MS;
    expect(await auditOf(world.tenant)).toMatchObject({ checked: 19, removed: 0, unmarked: 18 });
  });

  test('and was moved by a user is one event, written again with its marks', async () => {
    const world = await synced(6);
    const { title } = objectOf(world, '0').item;
    editByHand(world, '0', { title: 'Lunch' });
    objectOf(world, '0').unmarked = true;
    expect(await auditOf(world.tenant)).toMatchObject({ edited: 1, removed: 0, unmarked: 1 });
    await cycle(world.tenant);
    expect(own(world)).toHaveLength(6);
    expect(objectOf(world, '0')).toMatchObject({ item: { title } });
    expect(objectOf(world, '0').unmarked).toBeUndefined();
    expect(await auditOf(world.tenant)).not.toHaveProperty('unmarked');
  });

  test('is not removed by a full read that misses more events than one lookup takes', async () => {
    const world = await synced(130);
    for (let id = 0; id < 120; id += 1) objectOf(world, String(id)).unmarked = true;
    world.clock.now += DAY_MS;
    expect(await auditOf(world.tenant)).toMatchObject({ removed: 0, unmarked: 120 });
  });
});

test('an event that cannot be read is there, named once, and the others are audited', async () => {
  const world = await synced(4);
  objectOf(world, '0').unreadable = true;
  removeByHand(world, '1');
  const warn = vi.spyOn(world.tenant.log, 'warn');
  for (let audits = 0; audits < 2; audits += 1) {
    world.clock.now += DAY_MS;
    expect(await auditOf(world.tenant)).toMatchObject({ edited: 0, removed: 1, unreadable: 1 });
  }
  const named = warn.mock.calls.filter(([, text]) => text === 'objects cannot be read and were skipped');
  expect(named.map(([told]) => told)).toMatchObject([{ count: 1, objects: [objectOf(world, '0').key] }]);
  await cycle(world.tenant);
  expect(own(world)).toHaveLength(4);
});

describe('a user’s change to a calendar', () => {
  test('is restored by the next cycle under the repair policy', async () => {
    const world = await synced(6);
    const before = structuredClone(own(world).map(({ key, item }) => ({ key, item })));
    editByHand(world, '0', { title: 'Lunch' });
    editByHand(world, '1', { location: 'Elsewhere', busy: false });
    removeByHand(world, '2');

    const report = await auditOf(world.tenant);
    const { targets } = await cycle(world.tenant);

    expect(report).toMatchObject({ checked: 6, edited: 2, removed: 1, churning: 0 });
    expect(report?.fields).toEqual({ title: 1, location: 1, busy: 1 });
    expect(targets).toMatchObject([{ planned: { 'edited-by-hand': 2, 'removed-by-hand': 1 }, unchanged: 3 }]);
    expect(own(world).map(({ key, item }) => ({ key, item }))).toEqual(before);
    expect(await auditOf(world.tenant)).toMatchObject({ checked: 6, edited: 0, removed: 0 });
  });

  test.for(['keep', 'report'] as const)('remains under the policy %s until the appointment changes', async (policy) => {
    const world = await synced(4, policy);
    const right = structuredClone(objectOf(world, '0').item.title);
    editByHand(world, '0', { title: 'Lunch' });
    removeByHand(world, '1');
    const writes = writesOf(world);

    for (let day = 0; day < 2; day += 1) {
      world.clock.now += HOUR_MS;
      expect(await auditOf(world.tenant)).toMatchObject({ checked: 4, edited: 1, removed: 1, fields: { title: 1 } });
      await cycle(world.tenant);
    }
    expect(writesOf(world)).toBe(writes);
    expect(titlesOf(world).sort()).toEqual([right, right, 'Lunch'].sort());

    for (const id of ['0', '1']) world.clinic.appointments.set(id, appointmentOf(id, { inHours: 100 + Number(id) }));
    await cycle(world.tenant);
    expect(titlesOf(world)).toEqual([right, right, right, right]);
    expect(await auditOf(world.tenant)).toMatchObject({ edited: 0, removed: 0 });
  });

  test('goes with its appointment, whatever the policy', async () => {
    for (const policy of POLICIES) {
      const world = await synced(4, policy);
      editByHand(world, '0', { title: 'Lunch' });
      removeByHand(world, '1');
      await auditOf(world.tenant);
      for (const id of ['0', '1']) world.clinic.appointments.set(id, appointmentOf(id, { status: 'cancelled' }));
      await cycle(world.tenant);
      expect(own(world)).toHaveLength(2);
      expect(await auditOf(world.tenant)).toMatchObject({ checked: 2, edited: 0, removed: 0 });
      await redis.connect().flushall();
    }
  });

  test('that the user undid costs one write at most', async () => {
    const world = await synced(2);
    const { title } = objectOf(world, '0').item;
    editByHand(world, '0', { title: 'Lunch' });
    await auditOf(world.tenant);
    editByHand(world, '0', { title });
    await auditOf(world.tenant);
    await cycle(world.tenant);
    const writes = writesOf(world);
    expect(await auditOf(world.tenant)).toMatchObject({ edited: 0 });
    await cycle(world.tenant);
    expect(writesOf(world)).toBe(writes);
  });

  test('is reported by status and stored', async () => {
    const world = await synced(3, 'report');
    editByHand(world, '0', { description: 'Bring cake' });
    const report = await auditOf(world.tenant);
    expect((await world.tenant.targetStore.read('doctor')).drift).toEqual(report);
    expect(report).toMatchObject({ checkedAt: NOW, fields: { description: 1 } });
  });

  test('to the user’s own events is ignored', async () => {
    const world = await synced(2);
    const foreign = world.model.objects().filter(({ ownerTag }) => ownerTag === null);
    const before = structuredClone(foreign);
    const [dentist] = foreign;
    dentist!.item = { ...dentist!.item, title: 'Dentist, moved' };
    expect(await auditOf(world.tenant)).toMatchObject({ checked: 2, edited: 0, removed: 0, unlinked: 0 });
    await cycle(world.tenant);
    const after = world.model.objects().filter(({ ownerTag }) => ownerTag === null);
    expect(after).toEqual([{ ...before[0], item: { ...before[0]?.item, title: 'Dentist, moved' } }]);
  });
});

describe('the churn breaker', () => {
  test('stops restoring an object for the day after too many restorations, and reports the field', async () => {
    const world = await synced(3);
    const right = objectOf(world, '0').item.title;
    for (let restored = 1; restored <= 3; restored += 1) {
      editByHand(world, '0', { title: 'Written by another program' });
      expect(await auditOf(world.tenant)).toMatchObject({ edited: 1, churning: 0 });
      await cycle(world.tenant);
      expect(objectOf(world, '0').item.title).toBe(right);
    }
    editByHand(world, '0', { title: 'Written by another program' });
    editByHand(world, '1', { location: 'Elsewhere' });
    const writes = writesOf(world);

    expect(await auditOf(world.tenant)).toMatchObject({ edited: 2, churning: 1, churningFields: ['title'] });
    await cycle(world.tenant);
    expect(objectOf(world, '0').item.title).toBe('Written by another program');
    expect(writesOf(world)).toBe(writes + 1);

    world.clock.now += DAY_MS;
    expect(await auditOf(world.tenant)).toMatchObject({ edited: 1, churning: 0 });
    await cycle(world.tenant);
    expect(objectOf(world, '0').item.title).toBe(right);
  });

  test('reports objects that keep disappearing as removed', async () => {
    const world = await synced(2, 'repair', {
      audit: { drift: 'repair', rewritesPerDay: 1, changesEverySeconds: 300 },
    });
    for (const churning of [0, 1]) {
      removeByHand(world, '0');
      expect(await auditOf(world.tenant, { whole: true })).toMatchObject({
        removed: 1,
        churning,
        churningFields: churning === 0 ? [] : ['removed'],
      });
      await cycle(world.tenant);
    }
    expect(own(world)).toHaveLength(1);
  });

  test('counts restorations, not checks: a change that waits for its cycle is counted once', async () => {
    const world = await synced(3);
    editByHand(world, '0', { title: 'Lunch' });
    removeByHand(world, '1');
    for (let looks = 0; looks < 6; looks += 1) {
      expect(await auditOf(world.tenant)).toMatchObject({ edited: 1, removed: 1, churning: 0 });
    }
    await cycle(world.tenant);
    expect(await auditOf(world.tenant)).toMatchObject({ edited: 0, removed: 0 });
    expect(new Set(titlesOf(world)).size).toBe(1);
    expect(own(world)).toHaveLength(3);
  });
});

describe('a calendar', () => {
  test.for(POLICIES)('that was replaced is noticed and filled again (%s)', async (policy) => {
    const world = await synced(7, policy);
    world.model.replaceCalendar();
    await cycle(world.tenant);
    expect(own(world)).toHaveLength(0);

    const report = await auditOf(world.tenant);
    expect(report).toMatchObject({ calendarReplaced: true, edited: 0, removed: 0 });
    expect((await world.tenant.targetStore.read('doctor')).drift).toEqual(report);
    await cycle(world.tenant);
    expect(own(world)).toHaveLength(7);
    expect(await auditOf(world.tenant)).toMatchObject({ checked: 7, removed: 0 });
  });

  test('that is permanently gone stops the target with the reason', async () => {
    const world = await synced(2);
    world.model.wholeTargetError = new MirrorError('the calendar is gone', {
      actor: 'settings',
      code: 'calendar-gone',
      retry: 'never',
    });
    expect(await auditOf(world.tenant)).toBeNull();
    expect((await world.tenant.targetStore.read('doctor')).failure).toMatchObject({ code: 'calendar-gone' });
  });

  test('with objects of clinic-mirror without a link gets a plan for them like any other', async () => {
    const world = await synced(5);
    const lane = await world.tenant.leases.tryTake(laneLease('doctor'));
    await world.tenant.links.release('doctor', ['0', '1', '2'], lane!);
    await lane!.release();
    editByHand(world, '1', { title: 'Lunch' });
    world.clinic.appointments.delete('2');

    expect(await auditOf(world.tenant)).toMatchObject({ checked: 2, unlinked: 3, edited: 0, removed: 0 });
    expect((await cycle(world.tenant)).targets).toMatchObject([{ planned: { 'content-changed': 1 } }]);
    expect((await cycle(world.tenant)).targets).toMatchObject([{ planned: { vanished: 1 } }]);
    expect(own(world)).toHaveLength(4);
    expect(new Set(titlesOf(world)).size).toBe(1);
    expect(await auditOf(world.tenant)).toMatchObject({ checked: 4, unlinked: 0 });
  });
});

describe('an audit', () => {
  test('skips records that are being written, paused or new', async () => {
    const fresh = open(2, 'repair');
    expect(await auditOf(fresh.tenant)).toBeNull();
    expect(fresh.model.calls).toMatchObject({ prepare: 0, read: 0 });

    await cycle(fresh.tenant);
    const lane = await fresh.tenant.leases.tryTake(laneLease('doctor'));
    expect(await auditOf(fresh.tenant)).toBeNull();
    await lane?.release();

    await fresh.tenant.targetStore.write('doctor', { pausedUntil: NOW + 1 });
    expect(await auditOf(fresh.tenant)).toBeNull();
    await fresh.tenant.targetStore.write('doctor', { pausedUntil: null });
    expect(fresh.model.calls.read).toBe(1);
  });

  test('reports nothing about records with a pending change', async () => {
    const world = await synced(3);
    editByHand(world, '0', { title: 'Lunch' });
    world.clinic.appointments.set('0', appointmentOf('0', { inHours: 200 }));
    await pull(world.tenant);
    expect(await auditOf(world.tenant)).toMatchObject({ checked: 2, edited: 0 });
    await cycle(world.tenant);
    expect(new Set(titlesOf(world)).size).toBe(1);
  });

  test('that failed while reading reports nothing, marks nothing, and pauses the target', async () => {
    const world = await synced(4);
    removeByHand(world, '0');
    const connector = targetOf(world.tenant).connector;
    targetOf(world.tenant).connector = {
      ...connector,
      async changes() {
        throw new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later', status: 503 });
      },
    };
    expect(await auditOf(world.tenant)).toBeNull();
    const record = await world.tenant.targetStore.read('doctor');
    expect(record).toMatchObject({ drift: null, failure: { code: 'server-error' } });
    const links = await world.tenant.links.read('doctor');
    expect([...links.values()].every(({ drift }) => drift === null)).toBe(true);
  });

  test('whose lane was taken over writes nothing and calls it no failure', async () => {
    const world = await synced(3);
    removeByHand(world, '0');
    const connector = targetOf(world.tenant).connector;
    targetOf(world.tenant).connector = {
      ...connector,
      async changes(...given) {
        const changes = await connector.changes(...given);
        await redis.connect().set(keys.lease(world.tenant.id, laneLease('doctor')), '999:somebody-else');
        return changes;
      },
    };
    expect(await auditOf(world.tenant)).toBeNull();
    const { drift, failure, pausedUntil } = await world.tenant.targetStore.read('doctor');
    expect({ drift, failure, pausedUntil }).toEqual({ drift: null, failure: null, pausedUntil: null });
    expect((await world.tenant.links.read('doctor')).get('0')?.drift).toBeNull();
  });

  test('requests a cycle only when it found a difference', async () => {
    const world = await synced(2);
    const asks = async () => {
      const report = await auditOf(world.tenant);
      return report !== null && asksForPlan(targetOf(world.tenant), report);
    };
    expect(await asks()).toBe(false);
    removeByHand(world, '0');
    expect(await asks()).toBe(true);
    await cycle(world.tenant);
    world.model.replaceCalendar();
    expect(await asks()).toBe(true);
  });
});

const opened: { close(graceMs: number): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close(1_000);
});

interface World {
  tenant: OpenTenant;
  model: ModelTarget;
  clock: { now: number };
  /** Cursors of the queries to the change feed. */
  cursors: (string | null)[];
}

async function filled(configuration: Partial<TargetConfiguration> = {}): Promise<World> {
  const clinic = createModelClinic();
  for (let index = 0; index < 3; index += 1) clinic.appointments.set(`${index}`, appointmentOf(`${index}`));
  const model = createModelTarget();
  const cursors: World['cursors'] = [];
  const open = model.open;
  model.open = (ownerTag) => {
    const connector = open(ownerTag);
    return {
      ...connector,
      changes(container, query, signal) {
        cursors.push(query.cursor);
        return connector.changes(container, query, signal);
      },
    };
  };
  const clock = { now: NOW };
  const targets = [{ model, configuration }];
  const tenant = openTenant({ redis: redis.connect(), clinic, targets, clock: () => clock.now });
  await cycle(tenant);
  return { tenant, model, clock, cursors };
}

function retitle({ model }: World): void {
  const [object] = model.objects();
  if (object === undefined) throw new Error('the calendar is empty');
  object.item.title = 'By hand';
  object.version += 1;
}

function check({ tenant }: World, whole = false) {
  return checkTarget(tenant, targetOf(tenant), { whole }, NEVER);
}

describe('a check of a target', () => {
  test('finds only changes that a user made', async () => {
    const world = await filled();
    expect(await check(world)).toEqual({ restore: false, againInMs: null });
    retitle(world);
    expect(await check(world)).toEqual({ restore: true, againInMs: null });
  });

  test('at our own writes finds nothing to do', async () => {
    const world = await filled();
    expect(await check(world)).toEqual({ restore: false, againInMs: null });
    await cycle(world.tenant);
    expect(world.model.calls.operations).toBe(3);
  });

  test('queries only changes, and reads the whole target when the vendor lost the cursor', async () => {
    const world = await filled();
    await check(world);
    await check(world);
    await check(world, true);
    expect(world.cursors.map((cursor) => cursor !== null)).toEqual([false, true, false]);
  });

  test('does not restore differences that are only reported', async () => {
    const world = await filled({ audit: { drift: 'report', rewritesPerDay: 10, changesEverySeconds: 300 } });
    retitle(world);
    expect(await check(world)).toEqual({ restore: false, againInMs: null });
  });

  test('comes again shortly while the lane is at work', async () => {
    const world = await filled();
    retitle(world);
    const lane = await world.tenant.leases.tryTake(laneLease('doctor'));
    expect(await check(world)).toEqual({ restore: false, againInMs: 1_000 });
    await lane?.release();
    expect(await check(world)).toEqual({ restore: true, againInMs: null });
  });

  test('and writes alternate: when one of the two restarts repeatedly, the other runs in between', async () => {
    const { tenant, ...world } = await filled();
    const target = targetOf(tenant);
    const push = () => pushTarget(tenant, target, { stop: NEVER, abort: NEVER }, { comesAgain: true });
    const isBusy = { idle: true, nextInMs: 1_000 };
    const writing = await tenant.leases.tryTake(laneLease('doctor'));
    expect(await check({ tenant, ...world })).toMatchObject({ againInMs: 1_000 });
    await writing?.release();
    expect(await push()).toMatchObject(isBusy);
    expect(await check({ tenant, ...world })).toMatchObject({ againInMs: null });
    expect(await push()).toMatchObject({ idle: false });
    const checking = await tenant.leases.tryTake(laneLease('doctor'));
    expect(await push()).toMatchObject(isBusy);
    await checking?.release();
    expect(await check({ tenant, ...world })).toMatchObject({ againInMs: 1_000 });
    expect(await push()).toMatchObject({ idle: false });
    expect(await check({ tenant, ...world })).toMatchObject({ againInMs: null });
  });

  test('in its turn leaves the lane to others when it is busy, and does not come again', async () => {
    const { tenant } = await filled();
    const writing = await tenant.leases.tryTake(laneLease('doctor'));
    const options = { whole: false, once: true };
    expect(await checkTarget(tenant, targetOf(tenant), options, NEVER)).toEqual({ restore: false, againInMs: null });
    await writing?.release();
    expect(await tenant.leases.tryTake(laneLease('doctor'))).not.toBeNull();
  });

  test('comes again when the target has rested, and at least each minute', async () => {
    const world = await filled();
    const { tenant, clock } = world;
    await tenant.targetStore.write('doctor', { pausedUntil: clock.now + 20_000 });
    expect(await check(world)).toEqual({ restore: false, againInMs: 20_000 });
    await tenant.targetStore.write('doctor', { pausedUntil: clock.now + 60 * MINUTE_MS });
    expect(await check(world)).toEqual({ restore: false, againInMs: MINUTE_MS });
  });

  test('that the target refuses pauses the target, and is repeated', async () => {
    const world = await filled();
    world.model.wholeTargetError = new MirrorError('no', { actor: 'remote', code: 'server-error', retry: 'later' });
    const { againInMs } = await check(world);
    expect(againInMs).toBeGreaterThan(0);
    expect((await world.tenant.targetStore.read('doctor')).failure?.code).toBe('server-error');
  });

  test('does not come again for a target that was never filled: a cycle reads it whole', async () => {
    const model = createModelTarget();
    const clinic = createModelClinic();
    const tenant = openTenant({ redis: redis.connect(), clinic, targets: [{ model }], clock: () => NOW });
    expect(await check({ tenant, model, clock: { now: NOW }, cursors: [] })).toEqual({
      restore: false,
      againInMs: null,
    });
  });
});

describe('hints', () => {
  function queues(): WorkQueues {
    const open = openWorkQueues(redis.url, neverNeedless);
    opened.push(open);
    return open;
  }

  function workers(handlers: Partial<JobHandlers>): { close(graceMs: number): Promise<void> } {
    const started = startSomeWorkers(redis.url, handlers, { inFlight: { 'check-target': 4 } });
    opened.push(started);
    return started;
  }

  test('that a stopping daemon interrupted are handled by the next daemon', async () => {
    const waking = queues();
    let begun = false;
    const ending = workers({
      'check-target': async (_, { stop }) => {
        begun = true;
        if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }));
        stop.throwIfAborted();
      },
    });
    await waking.checkTarget('studio-rossi', 'doctor', { delayMs: 0, whole: true });
    await waitFor(() => begun, { what: 'the check' });
    await ending.close(1_000);
    const seen: unknown[] = [];
    workers({ 'check-target': async (data) => void seen.push(data) });
    await waitFor(() => seen.length === 1, { what: 'the check again' });
    expect(seen).toEqual([{ tenant: 'studio-rossi', target: 'doctor', whole: true, once: false }]);
  });

  test('in a burst of a thousand cause one running check and one after it', async () => {
    const waking = queues();
    const gate = Promise.withResolvers<void>();
    const seen: string[] = [];
    workers({
      'check-target': async ({ target }) => {
        seen.push(target);
        if (seen.length === 1) await gate.promise;
      },
    });
    const hint = () => waking.checkTarget('studio-rossi', 'doctor', { delayMs: 0 });
    await hint();
    await waitFor(() => seen.length === 1, { what: 'the first check' });
    await Promise.all(Array.from({ length: 1_000 }, hint));
    gate.resolve();
    await waitFor(() => seen.length === 2, { what: 'the second check' });
    await waking.checkTarget('studio-rossi', 'nurse', { delayMs: 0 });
    await waitFor(() => seen.includes('nurse'), { what: 'the check of another target' });
    expect(seen).toEqual(['doctor', 'doctor', 'nurse']);
  });

  test('within the time to settle make one check together', async () => {
    const waking = queues();
    const seen: string[] = [];
    workers({ 'check-target': async ({ target }) => void seen.push(target) });
    for (let index = 0; index < 100; index += 1)
      await waking.checkTarget('studio-rossi', 'doctor', { delayMs: HOUR_MS });
    const queue = new Queue('check-target', { connection: redis.connect(), prefix: QUEUE_PREFIX });
    const [settling, ...more] = await queue.getDelayed();
    expect(more).toEqual([]);
    await settling?.promote();
    await waitFor(() => seen.length > 0, { what: 'the check' });
    await waking.checkTarget('studio-rossi', 'nurse', { delayMs: 0 });
    await waitFor(() => seen.includes('nurse'), { what: 'the check that was asked for last' });
    expect(seen).toEqual(['doctor', 'nurse']);
    await queue.close();
  });

  test('about subscriptions cause one running round and one after it', async () => {
    const waking = queues();
    const gate = Promise.withResolvers<void>();
    let rounds = 0;
    workers({
      subscriptions: async () => {
        rounds += 1;
        if (rounds === 1) await gate.promise;
      },
    });
    await waking.renewSubscriptions('studio-rossi');
    await waitFor(() => rounds === 1, { what: 'the first round' });
    await Promise.all(Array.from({ length: 100 }, () => waking.renewSubscriptions('studio-rossi')));
    gate.resolve();
    await waking.renewSubscriptions('other');
    await waitFor(() => rounds === 3, { what: 'all rounds' });
    expect(rounds).toBe(3);
  });
});
