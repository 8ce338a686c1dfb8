import { describe, expect, test, vi } from 'vitest';
import type { Operation } from '../../src/core/model/operations.ts';
import { DAY_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { STILL_ON_ITS_WAY_MS } from '../../src/engine/late-writes.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, drain, NEVER, pull, targetOf } from '../tenant/cycle.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenant } from '../tenant/open-tenant.ts';
import {
  auditOf,
  type CalendarWorld,
  objectIn,
  objectOf,
  openDriftWorld,
  POLICIES,
  type Policy,
  shownBy,
  wantedOf,
} from '../tenant/world.ts';

const redis = useRedis();

async function synced(booked: number, policy: Policy = 'repair'): Promise<CalendarWorld> {
  const world = openDriftWorld(redis.connect(), booked, policy);
  await cycle(world.tenant);
  return world;
}

function move(world: CalendarWorld, recordId: string, inHours: number): void {
  world.clinic.appointments.set(recordId, appointmentOf(recordId, { inHours }));
}

/** Sends an operation as a worker that lost its lease would, past the lane. */
async function sendLate({ model, tenant }: CalendarWorld, operation: Operation): Promise<string> {
  const { ownerTag } = targetOf(tenant).identity;
  const [outcome] = await model.open(ownerTag).apply('calendar-1', [operation], NEVER);
  return outcome!.result;
}

/** What the lane sends while this is awaited. */
async function sentBy(world: CalendarWorld, work: () => Promise<unknown>): Promise<Operation[]> {
  const sent: Operation[] = [];
  world.model.beforeApply = (operations) => void sent.push(...operations);
  await work();
  world.model.beforeApply = () => {};
  return sent;
}

const linkOf = async ({ tenant }: CalendarWorld, recordId: string) =>
  (await tenant.links.readSome('doctor', [recordId])).get(recordId);

describe('a write that is older than the existing object', () => {
  test('gives way, and the link knows the later one', async () => {
    const world = await synced(2);
    move(world, '0', 30);
    const [late] = await sentBy(world, () => cycle(world.tenant));
    move(world, '0', 31);
    await cycle(world.tenant);
    expect(await sendLate(world, late!)).toBe('superseded');
    expect(objectOf(world, '0').revision).toBe((await linkOf(world, '0'))?.revision);
  });

  test.for(POLICIES)('that a target took all the same is no edit, and is written over under %s', async (policy) => {
    const world = await synced(2, policy);
    const before = structuredClone(objectOf(world, '0'));
    move(world, '0', 30);
    await cycle(world.tenant);
    const newest = structuredClone(objectOf(world, '0'));
    Object.assign(objectOf(world, '0'), { item: before.item, revision: before.revision, version: 9 });
    world.clock.now += SECOND_MS;
    expect(await auditOf(world.tenant, { whole: true })).toMatchObject({ edited: 0, overwritten: 1 });
    await cycle(world.tenant);
    expect(objectOf(world, '0').item).toEqual(newest.item);
    expect(await auditOf(world.tenant, { whole: true })).toMatchObject({ edited: 0 });
  });

  test('that gives way while a cycle plans leaves nothing in sync', async () => {
    const world = await synced(1);
    const { links, targetStore } = world.tenant;
    move(world, '0', 30);
    await pull(world.tenant);
    objectOf(world, '0').revision = 77;
    objectOf(world, '0').version = 9;
    const read = links.read.bind(links);
    vi.spyOn(links, 'read').mockImplementationOnce(async (target) => {
      const known = await read(target);
      await drain(world.tenant, targetOf(world.tenant));
      return known;
    });
    world.clock.now += SECOND_MS;
    expect((await pull(world.tenant)).error).toBeNull();
    expect(shownBy(world)).not.toEqual([wantedOf(world, '0')]);
    expect(await targetStore.read('doctor')).toMatchObject({ plannedAsOf: null, overtaken: 1 });
    await cycle(world.tenant);
    expect(shownBy(world)).toEqual([wantedOf(world, '0')]);
    expect((await targetStore.read('doctor')).plannedAsOf).toBe(world.clock.now);
  });

  test('is never settled: nothing is in sync before the next plan', async () => {
    const world = await synced(1, 'keep');
    objectOf(world, '0').item.title = 'Late';
    objectOf(world, '0').revision = 77;
    objectOf(world, '0').version = 9;
    await auditOf(world.tenant, { whole: true });
    expect((await world.tenant.targetStore.read('doctor')).plannedAsOf).toBeNull();
  });
});

describe('a write without an answer that arrives after a later one, where the target compares no versions', () => {
  async function late(): Promise<{ world: CalendarWorld; newest: unknown }> {
    const world = await synced(2, 'keep');
    world.model.fault = () => 'unavailable';
    move(world, '0', 30);
    const [older] = await sentBy(world, () => cycle(world.tenant));
    world.model.fault = () => null;
    move(world, '0', 31);
    world.clock.now += 30 * SECOND_MS;
    await cycle(world.tenant);
    const newest = structuredClone(objectOf(world, '0').item);
    expect(newest).not.toEqual((older as { item: unknown }).item);
    const { item, revision } = older as Extract<Operation, { item: unknown }>;
    Object.assign(objectOf(world, '0'), { item: structuredClone(item), revision, version: 9 });
    return { world, newest };
  }

  test('is found ten minutes after it was sent, and written over, whatever is done about changes by hand', async () => {
    const { world, newest } = await late();
    world.clock.now += STILL_ON_ITS_WAY_MS;
    await drain(world.tenant, targetOf(world.tenant));
    expect((await world.tenant.targetStore.read('doctor')).plannedAsOf).toBeNull();
    await cycle(world.tenant);
    expect(objectOf(world, '0').item).toEqual(newest);
    expect(await auditOf(world.tenant, { whole: true })).toMatchObject({ edited: 0 });
    expect((await world.tenant.targetStore.read('doctor')).drift).not.toHaveProperty('overwritten');
  });

  test('is left to the pending operation of its record', async () => {
    const { world, newest } = await late();
    move(world, '0', 32);
    await pull(world.tenant);
    world.clock.now += STILL_ON_ITS_WAY_MS;
    await drain(world.tenant, targetOf(world.tenant));
    expect(objectOf(world, '0').item).not.toEqual(newest);
    expect((await world.tenant.targetStore.read('doctor')).plannedAsOf).not.toBeNull();
  });
});

describe('a state that went back', () => {
  test('keeps newer objects, and continues above their revisions', async () => {
    const world = await synced(1);
    Object.assign(objectOf(world, '0'), { revision: 500, version: 9 });
    move(world, '0', 30);
    await cycle(world.tenant);
    const given = await world.tenant.targetStore.read('doctor');
    expect(given.plannedAsOf).toBeNull();
    expect(await linkOf(world, '0')).toMatchObject({ revision: 500 });
    await cycle(world.tenant);
    expect(objectOf(world, '0').revision).toBeGreaterThan(500);
    expect(await world.tenant.outbox.counts('doctor')).toMatchObject({ pending: 0 });
    expect((await world.tenant.targetStore.read('doctor')).idleAsOf).not.toBeNull();
  });

  test('and was lost whole is built from the objects, above the highest revision of them', async () => {
    const world = await synced(3);
    Object.assign(objectOf(world, '1'), { revision: 900 });
    await redis.connect().flushall();
    // An administrator confirms that no patient was forgotten, since the state cannot.
    await world.tenant.protection.accept();
    move(world, '0', 40);
    const operations = await sentBy(world, () => cycle(world.tenant));
    expect(operations).toHaveLength(1);
    expect(operations[0]!.revision).toBeGreaterThan(900);
    expect(objectOf(world, '0').revision).toBe(operations[0]!.revision);
  });
});

describe('a create whose answer was lost', () => {
  test('and that arrives after the deletion of its record is found by its name, and removed', async () => {
    const world = openDriftWorld(redis.connect(), 1, 'repair');
    world.model.fault = () => 'unavailable';
    const [create] = await sentBy(world, () => cycle(world.tenant));
    world.model.fault = () => null;
    world.clinic.appointments.set('0', appointmentOf('0', { inHours: 24, status: 'cancelled' }));
    world.clock.now += SECOND_MS * 30;
    await cycle(world.tenant);
    expect(objectIn(world, '0')).toBeUndefined();
    expect(await sendLate(world, create!)).toBe('written');
    expect(objectIn(world, '0')).toBeDefined();
    world.clock.now += STILL_ON_ITS_WAY_MS;
    await drain(world.tenant, targetOf(world.tenant));
    expect((await world.tenant.targetStore.read('doctor')).plannedAsOf).toBeNull();
    await cycle(world.tenant);
    expect(objectIn(world, '0')).toBeUndefined();
    expect(await world.tenant.unanswered.nextAt('doctor')).toBeNull();
  });

  describe('at a server that drops marks', () => {
    /** The create of a record that was deleted before the create arrived; another event shows that marks are dropped. */
    async function deletedBefore() {
      const world = openDriftWorld(redis.connect(), 2, 'repair');
      world.model.dropsMarks = true;
      await cycle(world.tenant);
      world.model.fault = () => 'unavailable';
      world.clinic.appointments.set('9', appointmentOf('9', { inHours: 24 }));
      const [create] = await sentBy(world, () => cycle(world.tenant));
      world.model.fault = () => null;
      world.clinic.appointments.set('9', appointmentOf('9', { inHours: 24, status: 'cancelled' }));
      world.clock.now += SECOND_MS * 30;
      await cycle(world.tenant);
      return { world, create: create! };
    }
    const ours = ({ model }: CalendarWorld) =>
      model.objects().flatMap(({ key, ownerTag }) => (ownerTag === null ? [] : key));

    test.each([
      ['soon', 0],
      ['after the first look', 1],
    ])('is removed by its name if it arrives %s', async (_, looks) => {
      const { world, create } = await deletedBefore();
      const look = async (afterMs: number) => {
        world.clock.now += afterMs;
        await cycle(world.tenant);
      };
      for (let count = 0; count < looks; count += 1) await look(STILL_ON_ITS_WAY_MS);
      const before = ours(world);
      await sendLate(world, create);
      expect(ours(world)).toEqual([...before, create.key]);
      await look(looks === 0 ? STILL_ON_ITS_WAY_MS : DAY_MS);
      expect(ours(world)).toEqual(before);
    });

    test('a past event stays, since it may have lost its link by age', async () => {
      const { world, create } = await deletedBefore();
      const { item } = create as Extract<Operation, { kind: 'create' }>;
      const time = { kind: 'all-day', startDate: '2020-06-15', endDate: '2020-06-16' } as const;
      await sendLate(world, { ...create, item: { ...item, time } } as Operation);
      world.clock.now += STILL_ON_ITS_WAY_MS;
      await cycle(world.tenant);
      expect(ours(world)).toContain(create.key);
    });

    test('the object of a record that exists stays', async () => {
      const { world, create } = await deletedBefore();
      await sendLate(world, create);
      world.clinic.appointments.set('9', appointmentOf('9', { inHours: 25 }));
      await pull(world.tenant);
      for (const afterMs of [STILL_ON_ITS_WAY_MS, DAY_MS]) {
        world.clock.now += afterMs;
        await cycle(world.tenant);
      }
      expect(ours(world)).toContain(create.key);
      expect(shownBy(world)).toContain(wantedOf(world, '9'));
      expect(await world.tenant.unanswered.nextAt('doctor')).toBeNull();
    });
  });

  test('and that succeeded is queried once, and left unchanged', async () => {
    const world = openDriftWorld(redis.connect(), 1, 'repair');
    world.model.fault = () => 'lost';
    await cycle(world.tenant);
    world.model.fault = () => null;
    world.clock.now += 30 * SECOND_MS;
    const turn = await drain(world.tenant, targetOf(world.tenant));
    expect(turn.nextInMs).toBeGreaterThan(0);
    const link = await linkOf(world, '0');
    world.clock.now += STILL_ON_ITS_WAY_MS;
    expect(await drain(world.tenant, targetOf(world.tenant))).toMatchObject({ nextInMs: null });
    expect(await linkOf(world, '0')).toEqual(link);
    expect(world.model.objects().filter(({ ownerTag }) => ownerTag !== null)).toHaveLength(1);
  });
});

describe('a write without an answer in a target that searches for keys', () => {
  const LAG_MS = 60 * SECOND_MS;

  async function lagging() {
    const world = openDriftWorld(redis.connect(), 1, 'repair');
    const target = targetOf(world.tenant);
    const looked = { ...target.supports, keys: { lookedUp: { lagMs: LAG_MS } } };
    target.supports = looked;
    return { world, looked };
  }

  test('is not repeated before a search would show it', async () => {
    const { world } = await lagging();
    world.model.fault = () => 'lost';
    await cycle(world.tenant);
    world.model.fault = () => null;
    const early = await sentBy(world, async () => {
      for (let seconds = 0; seconds < 59; seconds += 5) {
        world.clock.now += 5 * SECOND_MS - (seconds === 55 ? 4 * SECOND_MS : 0);
        await drain(world.tenant, targetOf(world.tenant));
        await world.tenant.outbox.hurry('doctor', world.clock.now);
      }
    });
    expect(early).toEqual([]);
    world.clock.now += LAG_MS;
    const again = await sentBy(world, () => drain(world.tenant, targetOf(world.tenant)));
    expect(again).toMatchObject([{ kind: 'create', mayExist: true }]);
    expect(await world.tenant.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
  });

  test('is not sent earlier where the clock jumps ahead', async () => {
    const steady = { now: 0 };
    const { world, looked } = await lagging();
    const { clinic, model, clock } = world;
    const tenant = openTenant({
      ...{ redis: redis.connect(), clinic, targets: [{ model }] },
      ...{ clock: () => clock.now, steady: () => steady.now },
    });
    targetOf(tenant).supports = looked;
    model.fault = () => 'lost';
    await cycle(tenant);
    model.fault = () => null;
    const sentOnceDue = () =>
      sentBy(world, async () => {
        await tenant.outbox.hurry('doctor', clock.now);
        await drain(tenant, targetOf(tenant));
      });
    clock.now += 3_600 * SECOND_MS;
    steady.now += LAG_MS - 1;
    expect(await sentOnceDue()).toEqual([]);
    clock.now += 1;
    steady.now += 1;
    expect(await sentOnceDue()).toMatchObject([{ kind: 'create', mayExist: true }]);
  });

  test('is not sent by another worker either, nor is its deletion taken for done', async () => {
    const { world, looked } = await lagging();
    world.model.fault = () => 'lost';
    await cycle(world.tenant);
    world.model.fault = () => null;
    const { clinic, model, clock } = world;
    const other = openTenant({ redis: redis.connect(), clinic, targets: [{ model }], clock: () => clock.now });
    targetOf(other).supports = looked;
    clinic.appointments.set('0', appointmentOf('0', { inHours: 24, status: 'cancelled' }));
    clock.now += 30 * SECOND_MS;
    const early = await sentBy(world, async () => {
      await pull(other);
      await drain(other, targetOf(other));
    });
    expect(early).toEqual([]);
    expect(await other.outbox.counts('doctor')).toMatchObject({ pending: 1 });
    clock.now += 31 * SECOND_MS;
    const late = await sentBy(world, () => drain(other, targetOf(other)));
    expect(late).toMatchObject([{ kind: 'delete' }]);
    expect(objectIn(world, '0')).toBeUndefined();
  });

  test('and that arrives after the deletion of its record is searched for when a search can show it', async () => {
    const { world } = await lagging();
    world.model.fault = () => 'unavailable';
    const [create] = await sentBy(world, () => cycle(world.tenant));
    world.model.fault = () => null;
    world.clinic.appointments.set('0', appointmentOf('0', { inHours: 24, status: 'cancelled' }));
    world.clock.now += LAG_MS + SECOND_MS;
    await cycle(world.tenant);
    const deletedAt = world.clock.now;
    expect(await sendLate(world, create!)).toBe('written');
    const lookAt = await world.tenant.unanswered.nextAt('doctor');
    expect(lookAt).toBe(deletedAt - SECOND_MS + STILL_ON_ITS_WAY_MS);
    world.clock.now = lookAt!;
    await drain(world.tenant, targetOf(world.tenant));
    await cycle(world.tenant);
    expect(objectIn(world, '0')).toBeUndefined();
  });

  test('waits for no time that a clock ahead noted', async () => {
    const { world } = await lagging();
    world.model.fault = () => 'lost';
    await cycle(world.tenant);
    world.model.fault = () => null;
    world.clock.now -= 3_600 * SECOND_MS;
    await world.tenant.outbox.hurry('doctor', world.clock.now);
    const sent = await sentBy(world, () => drain(world.tenant, targetOf(world.tenant)));
    expect(sent).toHaveLength(1);
  });

  test('goes again at once where the target enforces keys', async () => {
    const world = openDriftWorld(redis.connect(), 1, 'repair');
    world.model.fault = () => 'lost';
    await cycle(world.tenant);
    world.model.fault = () => null;
    world.clock.now += 5 * SECOND_MS;
    expect(await sentBy(world, () => drain(world.tenant, targetOf(world.tenant)))).toHaveLength(1);
  });
});

describe('a second object of a record', () => {
  test.for([true, false])(
    'is removed by a full read if only clinic-mirror can have created it (%s)',
    async (duplicatesAreOurs) => {
      const model = createModelTarget({ duplicatesAreOurs });
      const world = openDriftWorld(redis.connect(), 2, 'keep');
      const tenant = openTenant({
        redis: redis.connect(),
        clinic: world.clinic,
        targets: [{ model, configuration: { audit: { drift: 'keep', rewritesPerDay: 3, changesEverySeconds: 300 } } }],
        clock: () => world.clock.now,
      });
      await cycle(tenant);
      const { identity } = targetOf(tenant);
      const [first] = model.objects().filter(({ ownerTag }) => ownerTag !== null);
      const recordId = identity.recordIdOf(first!.sealedRecordId!)!;
      const key = identity.key(recordId, 1);
      const create = {
        kind: 'create',
        recordId,
        key,
        sealedRecordId: first!.sealedRecordId!,
        item: first!.item,
        revision: 1,
      } as const;
      await model.open(identity.ownerTag).apply('calendar-1', [create], NEVER);
      const report = await auditOf(tenant, { whole: true });
      expect(report?.duplicatesRemoved).toBe(duplicatesAreOurs ? 1 : undefined);
      const left = model.objects().filter(({ sealedRecordId }) => sealedRecordId === first!.sealedRecordId);
      expect(left.map((object) => object.key)).toEqual(duplicatesAreOurs ? [first!.key] : [first!.key, key]);
      expect((await tenant.targetStore.read('doctor')).ambiguous).toBe(duplicatesAreOurs ? 0 : 1);
    },
  );
});
