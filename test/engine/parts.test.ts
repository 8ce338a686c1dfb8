import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { DAY_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { pull } from '../tenant/cycle.ts';
import { book, held, lateWorld, NEAR, STEADY_MS, untilWhole } from '../tenant/late-cycles.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { readingOf, tryNearHistories } from '../tenant/near-histories.ts';
import type { TenantChoice } from '../tenant/open-tenant.ts';

const redis = useRedis({ appendOnly: false });

const tightWorld = (more?: Partial<TenantChoice>, near?: readonly number[]) => lateWorld(redis, more, near);

test('a calendar without write access does not delay the others; a calendar to be refilled requires a full fetch', async () => {
  const [other, away] = [
    createModelTarget(),
    new MirrorError('x', { actor: 'authorization', code: 'x', retry: 'never' }),
  ];
  other.wholeTargetError = away;
  const model = createModelTarget();
  const targets = [{ model }, { id: 'room', model: createModelTarget() }, { id: 'other', model: other }];
  const { tenant, clinic, next } = await tightWorld({ targets });
  book(clinic, 'new', 40);
  expect(readingOf(await next())).toBe('near');
  expect([model, other].map((each) => each.objects().length)).toEqual([13, 0]);
  await tenant.targetStore.write('doctor', { adoptedAt: null });
  expect(readingOf(await next())).toBe('whole');
});

describe('a case that a two-day fetch cannot decide is decided by a full fetch in the cycle', () => {
  test('a record outside its expected place: it was moved', async () => {
    const world = await tightWorld();
    book(world.clinic, 'near-0', 400);
    expect(readingOf(await world.next())).toBe('whole');
    expect(held(world)).toMatchObject({ 'near-0': 400 });
    expect(world.clinic.counts.lookups).toBe(0);
  });

  test('a missing record: two full fetches miss it and it is queried singly', async () => {
    const world = await tightWorld();
    world.clinic.appointments.delete('near-0');
    expect(readingOf(await world.next())).toBe('whole');
    expect(held(world)).toHaveProperty('near-0');
    expect(readingOf(await world.next())).toBe('whole');
    expect(held(world)).not.toHaveProperty('near-0');
    expect(world.clinic.counts.lookups).toBe(2);
    expect(readingOf(await world.next())).toBe('whole');
    expect(readingOf(await world.next())).toBe('near');
  });

  test('a cancellation', async () => {
    const world = await tightWorld();
    book(world.clinic, 'near-0', 2, 'cancelled');
    expect(await world.next()).toMatchObject({ soon: null, targets: [{ planned: { cancelled: 1 } }] });
    expect(held(world)).not.toHaveProperty('near-0');
  });

  test('rows of another clinic, under other or equal ids, are never written', async () => {
    for (const own of [false, true]) {
      await redis.connect().flushall();
      const world = await tightWorld();
      const before = held(world);
      const theirs = [...world.clinic.appointments.keys()].map((id, index) => (own ? id : `theirs-${index}`));
      world.clinic.appointments.clear();
      theirs.forEach((id, index) => void book(world.clinic, id, 3 + index * index * 6));
      expect(await world.next()).toMatchObject({ soon: null });
      expect(held(world)).toEqual(before);
      expect(await world.tenant.holds.list()).toMatchObject([{ kind: 'replaced', state: 'open' }]);
      expect(readingOf(await world.next())).toBe('whole');
    }
  });

  test('rows of another clinic in the two-day fetch only: other ids, equal ids, and an empty part of the calendar', async () => {
    const others = NEAR.map((inHours, index) => appointmentOf(`theirs-${index}`, { inHours }));
    const moved = NEAR.map((inHours, index) => appointmentOf(`near-${index}`, { inHours: inHours + 1 }));
    for (const [rows, isEmpty] of [
      [others, false],
      [moved, false],
      [others, true],
    ] as const) {
      await redis.connect().flushall();
      const world = await tightWorld({}, isEmpty ? [] : NEAR);
      const before = held(world);
      const theirs = { completeness: 'complete', records: new Map(rows.map((one) => [one.id, one])) } as const;
      const { readAppointments } = world.clinic;
      world.clinic.readAppointments = async (query, signal) => {
        const snapshot = await readAppointments(query, signal);
        return query.window.toAt < world.clock.now + 3 * DAY_MS ? { ...snapshot, ...theirs } : snapshot;
      };
      expect(readingOf(await world.next())).toBe('whole');
      expect(held(world)).toEqual(before);
    }
  });

  test('a list that breaks off, or is empty', async () => {
    const world = await tightWorld();
    const before = held(world);
    world.clinic.truncatedAfter = 3;
    expect(await world.next()).toMatchObject({ soon: null, snapshot: { completeness: 'partial' } });
    world.clinic.truncatedAfter = null;
    expect(readingOf(await world.next())).toBe('whole');
    const all = [...world.clinic.appointments];
    expect(readingOf(await world.next())).toBe('near');
    world.clinic.appointments.clear();
    expect(readingOf(await world.next())).toBe('whole');
    expect(held(world)).toEqual(before);
    for (const [id, appointment] of all) world.clinic.appointments.set(id, appointment);
  });

  test('every cycle after a failure, and an undecided hold', async () => {
    const world = await tightWorld();
    world.clinic.listError = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later' });
    expect(await world.next()).toMatchObject({ error: { code: 'server-error' } });
    world.clinic.listError = null;
    expect(readingOf(await world.next())).toBe('whole');
    expect(readingOf(await world.next())).toBe('near');
    const hold = { linkCount: 12, now: world.clock.now, expiresAt: world.clock.now + DAY_MS };
    await world.tenant.holds.cover('doctor', 'vanished', ['far-0'], hold);
    const { lists } = world.clinic.counts;
    expect(readingOf(await world.next())).toBe('whole');
    expect(world.clinic.counts.lists).toBe(lists + 1);
  });
});

describe('the plan over two days', () => {
  test('a change after two days is not written by a plan that did not read it', async () => {
    const world = await tightWorld();
    const { model, tenant, clinic, clock, next } = world;
    const lasting = tenant.targetStore;
    model.fault = ({ recordId }) => (recordId === 'far-0' ? 'unavailable' : null);
    book(clinic, 'far-0', 150);
    await untilWhole(next);
    expect((await tenant.outbox.counts('doctor')).pending).toBe(1);
    const { lastPlannedAt } = await lasting.read('doctor');
    expect(readingOf(await next())).toBe('near');
    expect((await lasting.read('doctor')).lastPlannedAt).toBe(lastPlannedAt);
    // Well before the plan is too old, everything is fetched regardless of the pace.
    clock.now += tenant.planLifeMs / 2;
    expect(readingOf(await next())).toBe('whole');
    expect((await lasting.read('doctor')).lastPlannedAt).toBeGreaterThan(lastPlannedAt ?? 0);
  });

  test('a change after two days, or outside the window by now, is dropped by full fetches only', async () => {
    const world = await tightWorld();
    const { tenant, clinic, clock, next } = world;
    const planOnly = (afterMs: number) => {
      clock.now += afterMs;
      return pull(tenant);
    };
    book(clinic, 'old', 2 * 24 - 7 * 24);
    await untilWhole(next);
    book(clinic, 'far-0', 150);
    await untilWhole(() => planOnly(STEADY_MS));
    expect(readingOf(await planOnly(NOW + 2 * DAY_MS + 50 * MINUTE_MS - clock.now))).toBe('whole');
    book(clinic, 'old', 300);
    expect(readingOf(await planOnly(10 * MINUTE_MS))).toBe('near');
    expect([...(await tenant.outbox.pending('doctor')).keys()]).toEqual(['far-0']);
    expect(await tenant.links.read('doctor')).toHaveProperty('size', 13);
    await untilWhole(next);
    expect(held(world)).toMatchObject({ 'far-0': 150, old: 300 });
  });
});

// More cases: near-histories.test.ts.
test('in any history the next two days equal those of full fetches, no existing record is removed, and the final states are equal', async () => {
  await tryNearHistories(redis, 3);
});
