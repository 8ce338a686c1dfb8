import { describe, expect, test, vi } from 'vitest';
import { HOUR_MS } from '../../src/core/model/time.ts';
import { renderStatus } from '../../src/operator/cli/render-status.ts';
import { renderTime } from '../../src/operator/cli/table.ts';
import { status, targetStatus } from '../../src/operator/control/status.ts';
import { pullTenant, pullWhenFree } from '../../src/tenant/pull.ts';
import { createModelGateway, openModelReminders } from '../features/reminders/reminder-world.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, NEVER, pull, targetOf } from '../tenant/cycle.ts';
import { book, held, LATE_MS, lateWorld, NEAR, STEADY_MS, untilWhole } from '../tenant/late-cycles.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { EVERY_MS, readingOf } from '../tenant/near-histories.ts';
import { openTenant, type TenantChoice } from '../tenant/open-tenant.ts';
import { openCrmWorld, patientOf } from '../tenant/world.ts';
import { NOW } from './arbitraries.ts';

const redis = useRedis({ appendOnly: false });

const tightWorld = (more?: Partial<TenantChoice>) => lateWorld(redis, more);

function someReminders() {
  return openModelReminders({ redis: redis.connect(), gateway: createModelGateway(), alarms: { wakes: new Map() } });
}

describe('a cycle that comes late', () => {
  test('writes changes in the next two days, and later ones after a full fetch', async () => {
    const world = await tightWorld();
    const { clinic, next } = world;
    book(clinic, 'near-0', 4);
    book(clinic, 'new', 6);
    book(clinic, 'far-0', 150);
    book(clinic, 'far-1', 30);
    expect(await next()).toMatchObject({ soon: { records: 8, requests: 1 }, targets: [{ planned: { new: 1 } }] });
    expect(held(world)).toMatchObject({ 'near-0': 4, new: 6, 'far-0': 100, 'far-1': 30 });
    await untilWhole(next);
    expect(held(world)).toMatchObject({ 'far-0': 150 });
  });

  test('fetches everything in one of several cycles, and one list in the others', async () => {
    const { clinic, next } = await tightWorld();
    const read: string[] = [];
    const { lists } = clinic.counts;
    for (let cycles = 0; cycles < 12; cycles += 1) read.push(readingOf(await next()));
    expect(read.join(' ')).toBe('near near near whole near near near near whole near near near');
    expect(clinic.counts).toMatchObject({ lists: lists + 12, lookups: 0 });
  });

  test('fetches everything in each cycle when cycles start in time again', async () => {
    const { clock, tenant } = await tightWorld();
    const read: string[] = [];
    for (let cycles = 0; cycles < 20; cycles += 1) {
      clock.now += EVERY_MS;
      read.push(readingOf(await cycle(tenant)));
    }
    expect(read.slice(-5)).toEqual(Array(5).fill('whole'));
  });

  test('fetches everything on request, and for an administrator', async () => {
    const { clock, tenant } = await tightWorld();
    clock.now += STEADY_MS;
    expect(await pullTenant(tenant, NEVER, { asked: true })).toMatchObject({ soon: null });
    clock.now += STEADY_MS;
    expect(await pullWhenFree(tenant, () => {}, NEVER)).toMatchObject({ soon: null });
  });

  test('fetches everything in a process with another configuration, and continues in one with the current configuration', async () => {
    const world = await tightWorld();
    const { clinic, clock, model } = world;
    const open = (configuration: object) =>
      openTenant({
        ...{ redis: redis.connect(), clinic, clock: () => clock.now, pullEveryMs: EVERY_MS },
        ...{ targets: [{ model, configuration }], reminders: someReminders() },
      });
    clock.now += STEADY_MS;
    expect(readingOf(await pull(open({})))).toBe('near');
    clock.now += STEADY_MS;
    expect(readingOf(await pull(open({ window: { pastDays: 3, futureDays: 60 } })))).toBe('whole');
  });
});

describe('of a tenant whose cycles come late', () => {
  test('reminders of the next two days are planned and withdrawn with each cycle', async () => {
    const reminders = someReminders();
    const { clinic, next } = await tightWorld({ reminders });
    const planned = async () => {
      const open = await reminders.ledger.open();
      return open.map(({ appointmentId, startAt }) => `${appointmentId} ${(startAt - NOW) / HOUR_MS}`).sort();
    };
    expect(await planned()).toEqual(['near-4 27', 'near-5 33']);
    book(clinic, 'near-4', 28);
    book(clinic, 'new', 40);
    expect(readingOf(await next())).toBe('near');
    expect(await planned()).toEqual(['near-4 28', 'near-5 33', 'new 40']);
  });

  test('CRM objects follow the full fetches, and are not reported as fresher', async () => {
    const crm = openCrmWorld(redis);
    const model = createModelTarget();
    NEAR.forEach((inHours, index) => void book(crm.clinic, `near-${index}`, inHours));
    crm.clinic.patientList.push(patientOf('p1'));
    const read = vi.spyOn(crm.clinic, 'readAppointments');
    const tenant = crm.again({ pullEveryMs: EVERY_MS }, [{ model, configuration: { agendas: ['a1'] } }]);
    const next = (afterMs: number) => {
      crm.clock.now += afterMs;
      return cycle(tenant);
    };
    for (const afterMs of [0, LATE_MS, LATE_MS]) await next(afterMs);
    await untilWhole(() => next(STEADY_MS));
    const wholeAt = crm.clock.now;
    book(crm.clinic, 'new', 40);
    expect(readingOf(await next(STEADY_MS))).toBe('near');
    expect(read.mock.lastCall).toMatchObject([{ agendaIds: ['a1'] }, {}]);
    expect([model, crm.activities].map((each) => each.objects().length)).toEqual([7, 6]);
    expect(await targetStatus(tenant, targetOf(tenant, 'activities'), [])).toMatchObject({ soonAsOf: wholeAt });
    await untilWhole(() => next(STEADY_MS));
    expect(crm.activities.objects()).toHaveLength(7);
  });
});

describe('the age of the data', () => {
  test('in sync has the time of the last full fetch, and the next two days have their own time', async () => {
    const { tenant, clock, next } = await tightWorld();
    const wholeAt = clock.now - STEADY_MS;
    const look = () => targetStatus(tenant, targetOf(tenant), []);
    expect(await look()).toMatchObject({ sync: 'in-sync', inSyncAsOf: wholeAt, soonAsOf: clock.now });
    const run = await next();
    expect(run).toMatchObject({ snapshot: { completeness: 'complete', records: 12 }, soon: { records: 6 } });
    expect(await look()).toMatchObject({ inSyncAsOf: wholeAt, soonAsOf: clock.now });
  });

  test('is what the operator sees: how all and the next two days are read, and as of when these are known', async () => {
    const { tenant, clock, next } = await tightWorld();
    await next();
    clock.now += 20_000;
    const text = renderStatus(await status(openInstallation({ tenants: [tenant] })));
    expect(text).toContain('last cycle 20 s ago: the next 48 hours, 6 appointments, 1 requests');
    expect(text).toContain('cycles start late: one cycle in 5 is a full read, the other cycles read the next 48 hours');
    const { inSyncAsOf } = await targetStatus(tenant, targetOf(tenant), []);
    expect(text).toMatch(new RegExp(`doctor +in sync +ok +${renderTime(inSyncAsOf)}`));
    expect(text).toMatch(/doctor: the next 48 hours as of .* \(20 s ago\)/);
  });
});
