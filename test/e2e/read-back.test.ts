import { describe, expect, test } from 'vitest';
import {
  type CalendarHands,
  caldavHands,
  googleHands,
  type HandledEvent,
  outlookHands,
} from '../../bench/calendar-hands.ts';
import { auditTarget } from '../../src/engine/audit-target.ts';
import { tenantVariable } from '../../src/settings/tenant-secrets.ts';
import { paced } from '../support/pace.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import type { SmallTarget, SmallTenant } from './support/small-configuration.ts';
import { RADICALE_USERS } from './support/small-targets.ts';
import type { SmallWorld } from './support/small-world.ts';
import { EXACT, useSmallWorld } from './support/small-world.ts';
import { writesAt } from './support/traffic.ts';

interface FoundView {
  targets: { policy: string; drift: Record<string, unknown> | null }[];
}

const redis = useRedis();
const DAY_MS = 86_400_000;

describe('Google, read back', () => {
  behaves(async (target) => {
    const world = await useSmallWorld({ redisUrl: redis.url, target });
    const { account } = world.targets[0] as SmallTarget;
    return { world, hands: googleHands(world.google, account) };
  });
});

describe('Outlook, read back', () => {
  behaves(async (target) => {
    const world = await useSmallWorld({ redisUrl: redis.url, target, targets: ['outlook-calendar'] });
    const { account } = world.targets[0] as SmallTarget;
    return { world, hands: outlookHands(world.graph, account) };
  });
});

describe('CalDAV, read back', () => {
  const radicale = useRadicale({ users: RADICALE_USERS });
  behaves(async (target) => {
    const world = await useSmallWorld({ redisUrl: redis.url, target, targets: ['caldav'], davServer: radicale() });
    const { tenant } = world.targets[0] as SmallTarget;
    const login = { username: tenant, password: world.env[tenantVariable(tenant, 'DAV_PASSWORD')] ?? '' };
    return { world, hands: caldavHands(`${radicale().url}/${tenant}/`, login) };
  });
});

function behaves(open: (target: object) => Promise<{ world: SmallWorld; hands: CalendarHands }>) {
  test('restores manual changes, and does not change a user’s own events', async () => {
    const { world, hands } = await open({ audit: { drift: 'repair' } });
    await world.cycle();
    await hands.add('Dentist');
    const before = await hands.events();
    const [edited, removed] = before.filter(({ own }) => own);
    await hands.retitle(edited?.id ?? '', 'Lunch');
    await hands.remove(removed?.id ?? '');

    const drift = await audit(world);
    expect(drift).toMatchObject({ edited: 1, removed: 1, fields: { title: 1 }, churning: 0 });
    expect(drift.checked).toBe(before.length - 1);
    await world.cycle();

    expect(sorted(await hands.events())).toEqual(sorted(before));
    const { proxy } = world.targets[0] as SmallTarget;
    proxy.forget();
    expect(await audit(world)).toMatchObject({ edited: 0, removed: 0 });
    await world.cycle();
    expect(writesAt(proxy)).toEqual([]);
  });

  test('keeps a user’s changes until the appointment changes, if that is the policy', async () => {
    const { world, hands } = await open({ audit: { drift: 'keep' } });
    const { clinicId, agendaIds } = world.tenants[0] as SmallTenant;
    const lastAt = Math.max(...[...world.clinic.appointments(clinicId)].map(({ end }) => end));
    const slot = (days: number) => ({ agendaId: agendaIds[0] ?? '', start: lastAt + days * DAY_MS });
    const appointments = [1, 2].map((days) => world.clinic.book(clinicId, slot(days)).id);
    const [edited = '', removed = ''] = appointments.map((id) => eventOf(world, hands, id));
    await world.cycle();
    const title = (await hands.events()).find(({ id }) => id === edited)?.title;
    await hands.retitle(edited, 'Lunch');
    await hands.remove(removed);
    const after = sorted(await hands.events());

    expect(await audit(world)).toMatchObject({ edited: 1, removed: 1, fields: { title: 1 } });
    await world.cycle();
    expect(sorted(await hands.events())).toEqual(after);

    for (const [index, id] of appointments.entries()) world.clinic.move(clinicId, id, slot(3 + index));
    await world.cycle();
    const titles = new Map((await hands.events()).map((event) => [event.id, event.title]));
    expect([titles.get(edited), titles.get(removed)]).toEqual([title, title]);
    expect(await world.compareAll()).toEqual([expect.objectContaining(EXACT)]);
  });

  test('finds manual changes by the change feed, reports them once and never forgets them', async () => {
    const { world, hands } = await open({ audit: { drift: 'keep' } });
    await world.cycle();
    const { tenant } = world.open().composed.get('clinic-1') ?? {};
    const target = tenant?.targets.get(world.targets[0]?.target ?? '');
    if (tenant === undefined || target === undefined) throw new Error('the world has one target');
    const look = () => auditTarget(tenant, target, AbortSignal.timeout(paced(60_000)));
    const own = (await hands.events()).filter((event) => event.own);
    const checked = own.length;
    const [edited, removed] = own;
    expect(await look()).toMatchObject({ checked, edited: 0, removed: 0 });
    expect((await tenant.targetStore.read(target.id)).cursor).not.toBeNull();

    await hands.retitle(edited?.id ?? '', 'Lunch');
    await hands.remove(removed?.id ?? '');
    for (let looks = 0; looks < 2; looks += 1) {
      expect(await look()).toMatchObject({ checked, edited: 1, removed: 1, fields: { title: 1 }, unlinked: 0 });
    }
    await hands.retitle(edited?.id ?? '', edited?.title ?? '');
    expect(await look()).toMatchObject({ checked, edited: 0, removed: 1 });
    const { readWholeAt } = await tenant.targetStore.read(target.id);
    expect(await look()).toMatchObject({ checked, edited: 0, removed: 1 });
    expect((await tenant.targetStore.read(target.id)).readWholeAt).toBe(readWholeAt);
  });

  test('creates a deleted calendar of clinic-mirror again, and fills it', async () => {
    const { world, hands } = await open({ audit: { drift: 'report' } });
    await world.cycle();
    const before = await hands.events();
    await hands.removeCalendar();

    expect(await audit(world)).toMatchObject({ calendarReplaced: true });
    await world.cycle();

    expect(sorted(await hands.events())).toEqual(sorted(before));
    expect(await audit(world)).toMatchObject({ checked: before.length, edited: 0, removed: 0 });
  });
}

/** Id of the event that an appointment has in the one target. */
function eventOf(world: SmallWorld, hands: CalendarHands, appointmentId: string): string {
  const target = world
    .open()
    .composed.get('clinic-1')
    ?.tenant.targets.get(world.targets[0]?.target ?? '');
  return target === undefined ? '' : hands.idOf(target.identity, appointmentId);
}

/** Runs an audit as an operator does; the automatic cycle after it is left to the test. */
async function audit(world: SmallWorld) {
  const { code, out, err } = await world.cli('audit', 'clinic-1', '--json');
  expect({ code, err }).toMatchObject({ code: 0 });
  const { targets } = JSON.parse(out) as FoundView;
  const drift = targets[0]?.drift;
  if (drift == null) throw new Error('the target was not read back');
  return drift;
}

function sorted(events: readonly HandledEvent[]): HandledEvent[] {
  return [...events].sort((one, other) => (one.id < other.id ? -1 : 1));
}
