import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { CalendarItem } from '../../src/core/model/items.ts';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, pull, targetOf } from './cycle.ts';
import { dyingBefore, tryDriftHistories } from './drift-histories.ts';
import {
  auditOf,
  type CalendarWorld,
  editByHand,
  giveHabits,
  objectIn,
  objectOf,
  openDriftWorld,
  POLICIES,
  type Policy,
  removeByHand,
  shownBy,
} from './world.ts';

const redis = useRedis({ appendOnly: false });

async function synced(booked: number, drift: Policy = 'repair') {
  const world = openDriftWorld(redis.connect(), booked, drift);
  await cycle(world.tenant);
  return world;
}

/** Records the mode and the result of each read. */
function watchReadings({ tenant }: CalendarWorld) {
  const target = targetOf(tenant);
  const { connector } = target;
  const readings: { asked: 'whole' | 'since'; scope: string; named: number }[] = [];
  target.connector = {
    ...connector,
    async changes(container, query, signal) {
      const answer = await connector.changes(container, query, signal);
      const named = answer.items.length + answer.removed.length;
      readings.push({ asked: query.cursor === null ? 'whole' : 'since', scope: answer.scope, named });
      return answer;
    },
  };
  return readings;
}

describe('an audit', () => {
  test('queries the feed for changes, and reads everything at first, once a day, and after the feed lost its cursor', async () => {
    const world = await synced(5);
    const readings = watchReadings(world);
    const look = async () => {
      await auditOf(world.tenant);
      return readings.at(-1);
    };
    expect(await look()).toEqual({ asked: 'whole', scope: 'whole', named: 5 });
    expect(await look()).toEqual({ asked: 'since', scope: 'since', named: 0 });
    world.clock.now += DAY_MS - 1;
    expect(await look()).toMatchObject({ asked: 'since' });
    world.clock.now += 1;
    expect(await look()).toMatchObject({ asked: 'whole' });
    world.model.expireCursors();
    expect(await look()).toMatchObject({ asked: 'since', scope: 'whole' });
    await auditOf(world.tenant, { whole: true });
    expect(readings.at(-1)).toMatchObject({ asked: 'whole' });
    world.clock.now -= 2 * DAY_MS;
    expect(await look()).toMatchObject({ asked: 'whole' });
  });

  test('reads everything when the calendar was replaced or the links were rebuilt', async () => {
    const world = await synced(5);
    const readings = watchReadings(world);
    await auditOf(world.tenant);
    world.model.replaceCalendar();
    await auditOf(world.tenant);
    expect(await world.tenant.targetStore.read('doctor')).toMatchObject({ cursor: null });
    await cycle(world.tenant);
    await auditOf(world.tenant);
    expect(readings.at(-1)).toMatchObject({ asked: 'whole', named: 5 });

    await redis.connect().hdel('cm:{studio-rossi}:target:doctor', 'adoptedAt');
    await cycle(world.tenant);
    await auditOf(world.tenant);
    expect(readings.at(-1)).toMatchObject({ asked: 'whole', named: 5 });
  });

  test('recognises its own writes in the feed', async () => {
    const world = await synced(3);
    const readings = watchReadings(world);
    await auditOf(world.tenant);
    world.clinic.appointments.set('0', appointmentOf('0', { inHours: 100 }));
    world.clinic.appointments.set('new', appointmentOf('new', { inHours: 101 }));
    world.clinic.appointments.set('1', appointmentOf('1', { status: 'cancelled' }));
    await cycle(world.tenant);
    expect(await auditOf(world.tenant)).toMatchObject({ checked: 3, edited: 0, removed: 0, unlinked: 0 });
    expect(readings.at(-1)).toEqual({ asked: 'since', scope: 'since', named: 3 });
  });

  test.for(['drift', 'cursor'] as const)(
    'that dies before it stored its %s finds the same once more',
    async (field) => {
      const world = await synced(4);
      await auditOf(world.tenant);
      const before = shownBy(world);
      editByHand(world, '0', { title: 'Lunch' });
      removeByHand(world, '1');
      await dyingBefore(world, field, async () => expect(await auditOf(world.tenant)).toBeNull());
      expect(await auditOf(world.tenant)).toMatchObject({ edited: 1, removed: 1, churning: 0 });
      await cycle(world.tenant);
      expect(shownBy(world)).toEqual(before);
    },
  );

  test('that dies before it marked the links queries the same changes again', async () => {
    const world = await synced(2);
    await auditOf(world.tenant);
    editByHand(world, '0', { title: 'Lunch' });
    const { writeAll } = world.tenant.links;
    world.tenant.links.writeAll = async () => {
      throw new Error('the process was killed');
    };
    await auditOf(world.tenant);
    world.tenant.links.writeAll = writeAll;
    await world.tenant.targetStore.write('doctor', { failure: null, pausedUntil: null });
    expect(await auditOf(world.tenant)).toMatchObject({ edited: 1 });
  });

  test('distinguishes events moved out of the window from deleted events', async () => {
    const world = await synced(3, 'keep');
    const time = { kind: 'all-day', startDate: '2020-01-01', endDate: '2020-01-02' } as const;
    editByHand(world, '0', { time });
    removeByHand(world, '1');
    const target = targetOf(world.tenant);
    const { connector } = target;
    target.connector = {
      ...connector,
      async changes(...given) {
        const answer = await connector.changes(...given);
        return {
          ...answer,
          items: answer.items.filter(({ item }) => (item as CalendarItem | null)?.time.kind !== 'all-day'),
        };
      },
    };
    expect(await auditOf(world.tenant)).toMatchObject({ edited: 1, removed: 1, fields: { time: 1 } });
  });

  test('does not lose an edit that the feed names while a change is on its way and given up again', async () => {
    const world = await synced(2);
    await auditOf(world.tenant);
    const before = shownBy(world);
    world.clinic.appointments.set('0', appointmentOf('0', { inHours: 200 }));
    await pull(world.tenant);
    editByHand(world, '0', { title: 'Lunch' });
    expect(await auditOf(world.tenant)).toMatchObject({ checked: 1, edited: 0 });
    world.clinic.appointments.set('0', appointmentOf('0', { inHours: 24 }));
    await cycle(world.tenant);
    expect(shownBy(world)).toEqual(before);
  });
});

/** The feed lists existing objects, and none that were created and deleted between two queries, as RFC 6578 allows. */
function forgetsWhatCameAndWent({ tenant, model }: CalendarWorld) {
  const target = targetOf(tenant);
  const { connector } = target;
  let before = new Set<string>();
  target.connector = {
    ...connector,
    async changes(...given) {
      const answer = await connector.changes(...given);
      const removed = answer.removed.filter((key) => before.has(key));
      before = new Set(model.objects().map(({ key }) => key));
      return { ...answer, removed };
    },
  };
}

describe('an event created by clinic-mirror and deleted by a user before the next feed query', () => {
  async function madeAndDeleted(count = 1) {
    const world = await synced(3);
    forgetsWhatCameAndWent(world);
    await auditOf(world.tenant);
    for (let index = 0; index < count; index += 1) {
      world.clinic.appointments.set(`new-${index}`, appointmentOf(`new-${index}`, { inHours: 100 + index }));
    }
    await cycle(world.tenant);
    for (let index = 0; index < count; index += 1) removeByHand(world, `new-${index}`);
    return world;
  }

  test('is found by the next audit, and restored', async () => {
    const world = await madeAndDeleted();
    const readings = watchReadings(world);
    world.clock.now += HOUR_MS;
    expect(await auditOf(world.tenant)).toMatchObject({ removed: 1 });
    expect(readings).toMatchObject([{ scope: 'since' }]);
    await cycle(world.tenant);
    expect(objectIn(world, 'new-0')).toBeDefined();
    expect(await auditOf(world.tenant)).toMatchObject({ removed: 0 });
  });

  test('is not reported as deleted while a slow server may not show it yet', async () => {
    const world = await madeAndDeleted();
    expect(await auditOf(world.tenant)).toMatchObject({ removed: 0 });
    world.clock.now += HOUR_MS;
    expect(await auditOf(world.tenant)).toMatchObject({ removed: 1 });
  });

  test('is found by one full read when there are very many such events', async () => {
    const world = await madeAndDeleted(101);
    const readings = watchReadings(world);
    world.clock.now += HOUR_MS;
    expect(await auditOf(world.tenant)).toMatchObject({ removed: 101 });
    expect(readings.map(({ asked }) => asked)).toEqual(['since', 'whole']);
  });

  test('costs no more looking for what the feed did name', async () => {
    const world = await synced(3);
    await auditOf(world.tenant);
    world.clinic.appointments.set('new', appointmentOf('new', { inHours: 100 }));
    await cycle(world.tenant);
    await auditOf(world.tenant);
    expect(await world.tenant.links.unseen('doctor')).toEqual(new Map());
  });
});

test('an unreadable feed is restarted, and the target continues', async () => {
  const world = await synced(3);
  await auditOf(world.tenant);
  editByHand(world, '0', { title: 'Lunch' });
  const target = targetOf(world.tenant);
  const { connector } = target;
  target.connector = {
    ...connector,
    async changes(container, query, signal) {
      if (query.cursor === null) return connector.changes(container, query, signal);
      throw new MirrorError('not a page', { actor: 'contract', code: 'unexpected-answer', retry: 'never' });
    },
  };
  expect(await auditOf(world.tenant)).toMatchObject({ edited: 1 });
  expect(await world.tenant.targetStore.read('doctor')).toMatchObject({ failure: null, pausedUntil: null });
});

test('two objects for one record are counted from the last full read', async () => {
  const world = await synced(3);
  const { connector, supports } = targetOf(world.tenant);
  // A user may have created the second object, so clinic-mirror must not remove it.
  targetOf(world.tenant).supports = { ...supports, duplicatesAreOurs: false };
  const twin = { ...objectOf(world, '0'), key: targetOf(world.tenant).identity.key('0', 1) };
  targetOf(world.tenant).connector = {
    ...connector,
    async changes(...given) {
      const answer = await connector.changes(...given);
      const remote = {
        key: twin.key,
        sealedRecordId: twin.sealedRecordId,
        remoteId: twin.key,
        versionTag: 'v1',
        item: twin.item,
      };
      return { ...answer, items: [...answer.items, remote] };
    },
  };
  await auditOf(world.tenant, { whole: true });
  await auditOf(world.tenant, { whole: true });
  expect(await world.tenant.targetStore.read('doctor')).toMatchObject({ ambiguous: 1 });
  targetOf(world.tenant).connector = connector;
  await auditOf(world.tenant, { whole: true });
  expect(await world.tenant.targetStore.read('doctor')).toMatchObject({ ambiguous: 0 });
});

describe('drift', () => {
  test.for(POLICIES)('lasts although the feed names an edit only once (%s)', async (policy) => {
    const world = await synced(4, policy);
    await auditOf(world.tenant);
    editByHand(world, '0', { title: 'Lunch' });
    removeByHand(world, '1');
    for (let looks = 0; looks < 3; looks += 1) {
      world.clock.now += HOUR_MS;
      expect(await auditOf(world.tenant)).toMatchObject({ checked: 4, edited: 1, removed: 1, fields: { title: 1 } });
    }
    const { targets } = await cycle(world.tenant);
    const planned = policy === 'repair' ? { 'edited-by-hand': 1, 'removed-by-hand': 1 } : {};
    expect(targets).toMatchObject([{ planned }]);
    const left = policy === 'repair' ? 0 : 1;
    expect(await auditOf(world.tenant)).toMatchObject({ edited: left, removed: left });
    expect(objectIn(world, '1') === undefined).toBe(policy !== 'repair');
  });

  test.for(['keep', 'report'] as const)(
    'ends when a user undoes the edit, and nothing is written (%s)',
    async (policy) => {
      const world = await synced(2, policy);
      const { title } = objectOf(world, '0').item;
      editByHand(world, '0', { title: 'Lunch' });
      const trashed = removeByHand(world, '1');
      await auditOf(world.tenant);
      editByHand(world, '0', { title });
      trashed.deleted = false;
      trashed.version += 1;
      expect(await auditOf(world.tenant)).toMatchObject({ edited: 0, removed: 0 });
      const writes = world.model.calls.operations;
      await cycle(world.tenant);
      expect(world.model.calls.operations).toBe(writes);
      expect(await world.tenant.links.drifted('doctor')).toEqual([]);
    },
  );

  test('is acted upon when the policy becomes to repair', async () => {
    const world = await synced(3, 'keep');
    const before = shownBy(world);
    editByHand(world, '0', { title: 'Lunch' });
    removeByHand(world, '1');
    await auditOf(world.tenant);
    await cycle(world.tenant);
    targetOf(world.tenant).configuration.audit = { drift: 'repair', rewritesPerDay: 3, changesEverySeconds: 300 };
    await cycle(world.tenant);
    expect(shownBy(world)).toEqual(before);
  });

  test('is still known while a change of its appointment waits', async () => {
    const world = await synced(3, 'report');
    editByHand(world, '0', { title: 'Lunch' });
    await auditOf(world.tenant);
    world.clinic.appointments.set('0', appointmentOf('0', { inHours: 200 }));
    await pull(world.tenant);
    await auditOf(world.tenant);
    expect(await world.tenant.links.drifted('doctor')).toHaveLength(1);
  });

  test('survives a rebuild of some of the links', async () => {
    const world = await synced(4, 'keep');
    editByHand(world, '0', { title: 'Lunch' });
    removeByHand(world, '1');
    const left = shownBy(world);
    await redis.connect().hdel('cm:{studio-rossi}:target:doctor', 'adoptedAt');
    await cycle(world.tenant);
    expect(shownBy(world)).toEqual(left);
    expect(await world.tenant.links.drifted('doctor')).toHaveLength(2);
  });
});

describe('what a provider stores differently is never rewritten, and a real edit is still found', () => {
  const rounded = (item: CalendarItem): CalendarItem =>
    item.time.kind === 'timed' ? { ...item, time: { ...item.time, end: item.time.start } } : item;
  const habits: [string, (item: CalendarItem) => CalendarItem][] = [
    ['respells titles', (item) => ({ ...item, title: `${item.title.toUpperCase()} ` })],
    ['drops descriptions', (item) => ({ ...item, description: null })],
    ['rounds times', rounded],
    ['keeps everything', (item) => item],
  ];
  const tags = ['keeps tags', 'moves tags by itself', 'gives no tags'] as const;
  const providers = habits.flatMap(([name, spell]) => tags.map((tag) => ({ name, spell, tag })));
  test.for(providers)('$name, $tag', async ({ spell, tag }) => {
    const world = openDriftWorld(redis.connect(), 4, 'repair');
    giveHabits(world.tenant, { spell, withoutTags: tag === 'gives no tags' });
    await cycle(world.tenant);
    const writes = world.model.calls.operations;
    for (let audits = 0; audits < 8; audits += 1) {
      world.clock.now += 6 * HOUR_MS;
      if (tag === 'moves tags by itself') for (const object of world.model.objects()) object.version += 1;
      expect(await auditOf(world.tenant)).toMatchObject({ checked: 4, edited: 0, removed: 0 });
      await cycle(world.tenant);
    }
    expect(world.model.calls.operations).toBe(writes);

    const before = shownBy(world);
    editByHand(world, '2', { busy: !objectOf(world, '2').item.busy });
    expect(await auditOf(world.tenant)).toMatchObject({ edited: 1, fields: { busy: 1 } });
    await cycle(world.tenant);
    expect(shownBy(world)).toEqual(before);
  });
});

// More cases: drift-histories.test.ts.
describe.for(POLICIES)('whatever people, the clinic, the feed and crashes do (%s)', (policy) => {
  test('one whole audit and one cycle lead to what the policy promises', () => tryDriftHistories(redis, policy, 12));
});
