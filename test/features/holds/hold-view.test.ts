import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { TargetHoldKind } from '../../../src/core/model/plan.ts';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { secondPersonAbove, viewHold } from '../../../src/features/holds/hold-view.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { openActing } from '../../operator/control/acting.ts';
import { openBooked } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER } from '../../tenant/cycle.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';

/** A calendar with three appointments, of which a hold keeps back some. */
async function openHeld(kind: TargetHoldKind, records: readonly string[] = ['2', '0']) {
  const world = openBooked(redis, 3);
  await cycle(world.tenant);
  const times = { linkCount: 3, now: NOW, expiresAt: NOW + DAY_MS };
  const hold = await world.tenant.holds.cover('doctor', kind, [...records], times);
  const view = () => viewHold(world.installation, TENANT, hold?.id ?? '', NEVER);
  return { ...world, view };
}

describe('a hold of removals', () => {
  test('shows its records by time, with what the target holds of each, what is usual, and the limit', async () => {
    const { tenant, view } = await openHeld('vanished');
    const { hold, items, usual, isDivisible, unread, connector } = await view();
    expect(items.map(({ record, status, agenda }) => [record, status, agenda])).toEqual([
      ['0', 'booked', { id: 'a1', name: 'Agenda a1' }],
      ['2', 'booked', { id: 'a1', name: 'Agenda a1' }],
    ]);
    const startAt = NOW + DAY_MS;
    expect(items[0]?.fieldChanges).toContainEqual({
      ...{ field: 'time', after: { kind: 'none' } },
      before: { kind: 'time', startAt, endAt: startAt + 3_600_000 },
    });
    expect(usual?.days.map(({ count }) => count)).toEqual([...Array.from({ length: 29 }, () => null), 0]);
    expect(usual?.range).toEqual({ least: 0, most: 0, days: 1 });
    expect(hold.limit).toEqual(tenant.targets.get('doctor')?.configuration.guard.vanished);
    expect([isDivisible, unread, connector]).toEqual([true, null, 'model']);
  });

  test('shows what the target holds also where the clinic cannot be read, with the code', async () => {
    const { clinic, view } = await openHeld('cancelled');
    clinic.listError = new MirrorError('x', { actor: 'remote', code: 'timeout', retry: 'later' });
    const { items, unread } = await view();
    expect(unread).toBe('timeout');
    expect(items.map(({ record, startAt, status }) => [record, startAt !== null, status])).toEqual([
      ['0', true, null],
      ['2', true, null],
    ]);
  });

  test('has a record last of which no time is known', async () => {
    const { items } = await (await openHeld('vanished', ['unknown', '1'])).view();
    expect(items.map(({ record, startAt }) => [record, startAt === null])).toEqual([
      ['1', false],
      ['unknown', true],
    ]);
  });
});

test('a hold of removed objects shows what would be written, the limit of the guard, and is decided as a whole', async () => {
  const { model, tenant, view } = await openHeld('manual-changes', ['0']);
  for (const object of model.objects()) object.deleted = true;
  const { hold, items, usual, isDivisible } = await view();
  expect(items[0]?.fieldChanges).toContainEqual(
    expect.objectContaining({
      field: 'time',
      before: { kind: 'none' },
      after: expect.objectContaining({ kind: 'time' }),
    }),
  );
  expect(hold.limit).toEqual(tenant.targets.get('doctor')?.configuration.guard.vanished);
  expect([usual?.range, isDivisible]).toEqual([{ least: 0, most: 0, days: 1 }, false]);
});

test('a hold of changes shows the new values, has no limit, and is decided as a whole', async () => {
  const { clinic, view } = await openHeld('first-run', ['0', 'gone']);
  clinic.appointments.set('0', appointmentOf('0', { inHours: 26 }));
  const { hold, items, usual, isDivisible } = await view();
  const before = NOW + DAY_MS;
  expect(items[0]?.fieldChanges).toContainEqual({
    ...{ field: 'time', before: { kind: 'time', startAt: before, endAt: before + 3_600_000 } },
    after: { kind: 'time', startAt: before + 7_200_000, endAt: before + 10_800_000 },
  });
  expect(items[1]).toMatchObject({ record: 'gone', fieldChanges: [] });
  expect([usual, hold.limit, isDivisible]).toEqual([null, null, false]);
});

test('no-such-hold: a hold that is not there, or whose target is configured no more, is not shown', async () => {
  const { installation, tenant } = await openHeld('vanished');
  const gone = await tenant.holds.cover('removed', 'vanished', ['1'], {
    linkCount: 1,
    now: NOW,
    expiresAt: NOW + DAY_MS,
  });
  for (const id of ['unknown', gone?.id ?? '']) {
    await expect(viewHold(installation, TENANT, id, NEVER)).rejects.toMatchObject({ code: 'no-such-hold' });
  }
});

test('a second approval is required above the limit of the tenant, if it has one', () => {
  expect(secondPersonAbove(openActing({ policy: { holdsAbove: 20 } }), TENANT)).toBe(20);
  expect(secondPersonAbove(openActing(), TENANT)).toBeNull();
});
