import { expect, test } from 'vitest';
import { compare } from '../../demo/compare.ts';
import { readOutlookEvents } from '../../demo/read-targets.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { startDaemon } from '../../src/main.ts';
import { auditNow } from '../../src/operator/control/audit.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import type { SmallTarget, SmallTenant, SmallWorldOptions } from './support/small-configuration.ts';
import type { SmallWorld } from './support/small-world.ts';
import { cycleUntil, EXACT, expectExact, isExact, useSmallWorld } from './support/small-world.ts';
import { BATCHES, writesAt } from './support/traffic.ts';

const redis = useRedis();
const OTHER = 'locum@clinic-1.example';
const CALENDARS_TOO = { calendars: true };
const UNTOUCHED = { edited: 0, removed: 0 };

test('after connecting another account its mailbox is filled and the old one is unchanged, and the same in reverse', async () => {
  const { world, target, clinicId } = await syncedWorld();
  world.graph.addMailbox(OTHER);
  const left = contentOf(world, target.account);
  const inOther = () => {
    const read = () => readOutlookEvents(world.graph, OTHER, `Calendar of ${target.target}`);
    return compare(world, { ...target, read });
  };

  await world.logIn({ connections: [target.target], account: OTHER });
  world.clinic.simulate(clinicId, { booked: 3, moved: 3, cancelled: 3 });
  await cycleUntil(world, async () => isExact(await inOther()));

  expect(contentOf(world, target.account)).toEqual(left);
  target.proxy.forget();
  await world.cycle();
  expect(writesAt(target.proxy)).toEqual([]);

  const filled = contentOf(world, OTHER);
  await world.logIn({ connections: [target.target] });
  world.clinic.simulate(clinicId, { booked: 2, moved: 2, cancelled: 2 });
  await cycleUntil(world, async () => (await world.compareAll()).every(isExact));
  expect(contentOf(world, OTHER)).toEqual(filled);
  expect(world.graph.calendars(target.account)).toHaveLength(2);
});

test('another account is connected while nothing is to be written: an audit notices', async () => {
  const { world, target } = await syncedWorld();
  world.graph.addMailbox(OTHER);
  const left = contentOf(world, target.account);
  await world.logIn({ connections: [target.target], account: OTHER });

  expect(await audit(world)).toMatchObject({ calendarReplaced: true });
  await world.cycle();

  const read = () => readOutlookEvents(world.graph, OTHER, `Calendar of ${target.target}`);
  expect(await compare(world, { ...target, read })).toMatchObject(EXACT);
  expect(contentOf(world, target.account)).toEqual(left);
});

test('another account is connected while nothing is to be written: the running daemon notices at once', async () => {
  const schedule = { pullEverySeconds: 86_400, auditEverySeconds: 604_800 };
  const { world, target } = await syncedWorld({ settings: { operator: { port: 0 }, schedule } });
  world.graph.addMailbox(OTHER);
  const daemon = await startDaemon(world.open().configuration, silentLogger, new AbortController().signal);
  try {
    await world.logIn({ connections: [target.target], account: OTHER });
    const read = () => readOutlookEvents(world.graph, OTHER, `Calendar of ${target.target}`);
    const isFilled = async () => isExact(await compare(world, { ...target, read }));
    await waitFor(() => isFilled().catch(() => false), {
      what: 'the calendar of the other account to be filled',
    });
  } finally {
    await daemon.close();
  }
});

test('a calendar that was deleted is made again with the next change, and holds everything once', async () => {
  const { world, target, clinicId } = await syncedWorld();
  const [calendar] = ownCalendars(world, target.account);
  world.graph.deleteCalendar(target.account, calendar?.id ?? '');
  world.clinic.simulate(clinicId, { booked: 2, moved: 2, cancelled: 2 });

  await cycleUntil(world, async () => (await world.compareAll()).every(isExact));

  expect(ownCalendars(world, target.account).map(({ name }) => name)).toEqual([calendar?.name]);
  expect(ownCalendars(world, target.account)[0]?.id).not.toBe(calendar?.id);
});

test('a connection revoked during a write and granted again leads to no duplicate and no gap', async () => {
  const { world, target, clinicId } = await syncedWorld();
  for (let count = 0; count < 30; count += 1) world.clinic.book(clinicId);
  world.clinic.simulate(clinicId, { moved: 10, cancelled: 5 });
  // Outlook executes the first batch, the answer is lost, and the administrator revokes the connection.
  target.proxy.add({ url: BATCHES, fault: { kind: 'lost-answer' } });
  const revoke = () => {
    world.graph.revokeConsent(target.account);
    world.graph.expireAccessTokens();
  };
  target.proxy.add({
    url: BATCHES,
    fault: {
      kind: 'rewrite',
      request(request) {
        revoke();
        return request;
      },
    },
  });
  await cycleUntil(world, async () => (await credentialStateOf(world, target)) === 'needs-login');

  await world.logIn({ connections: [target.target] });

  await cycleUntil(world, async () => (await world.compareAll()).every(isExact));
  expect(doubled(world, target.account)).toEqual([]);
});

test.each([
  ['events', {}],
  ['events and calendars', CALENDARS_TOO],
])(
  'the ids of %s change, as with a moved mailbox: found by key, nothing is made twice',
  async (_what, renewed) => {
    const { world, target, clinicId } = await syncedWorld();
    const before = contentOf(world, target.account);
    world.graph.renewIds(target.account, renewed);
    world.clinic.simulate(clinicId, { moved: 5, cancelled: 3 });

    await cycleUntil(world, async () => (await world.compareAll()).every(isExact));

    expect(doubled(world, target.account)).toEqual([]);
    // Moved and cancelled ones were found: none was created, not even to be deleted again.
    expect(contentOf(world, target.account)).toHaveLength(before.length - 3);
    expect(everMade(world, target.account)).toBe(before.length);

    world.graph.renewIds(target.account, renewed);
    target.proxy.forget();
    expect(await audit(world)).toMatchObject(CALENDARS_TOO === renewed ? { calendarReplaced: true } : UNTOUCHED);
    await world.cycle();
    expect(writesAt(target.proxy)).toEqual([]);
    await expectExact(world);
  },
  60_000,
);

async function syncedWorld(
  more: Partial<SmallWorldOptions> = {},
): Promise<{ world: SmallWorld; target: SmallTarget; clinicId: string }> {
  const world = await useSmallWorld({ redisUrl: redis.url, targets: ['outlook-calendar'], ...more });
  await world.cycle();
  await expectExact(world);
  const { clinicId } = world.tenants[0] as SmallTenant;
  return { world, target: world.targets[0] as SmallTarget, clinicId };
}

/** In the process whose cycles the test makes, as the daemon's own audit. */
async function audit(world: SmallWorld) {
  const { targets } = await auditNow(world.opened().installation, 'clinic-1', () => {}, new AbortController().signal);
  return targets[0]?.drift;
}

async function credentialStateOf(world: SmallWorld, { target }: SmallTarget) {
  return (await world.opened().composed.get('clinic-1')?.credentials.read(target))?.state;
}

function ownCalendars({ graph }: SmallWorld, mailbox: string) {
  return graph.calendars(mailbox).filter(({ id }) => id !== graph.defaultCalendar(mailbox));
}

/** Every event of our calendars, with ids and versions. */
function contentOf(world: SmallWorld, mailbox: string) {
  return ownCalendars(world, mailbox).flatMap(({ id }) => world.graph.events(mailbox, id));
}

/** Events of our calendars that were ever made, deleted ones included. */
function everMade(world: SmallWorld, mailbox: string): number {
  return ownCalendars(world, mailbox).flatMap(({ id }) => world.graph.events(mailbox, id, { includeDeleted: true }))
    .length;
}

/** Locators that more than one event carries. */
function doubled(world: SmallWorld, mailbox: string): string[] {
  const locators = contentOf(world, mailbox).map(
    ({ singleValueExtendedProperties }) =>
      singleValueExtendedProperties.find(({ id }) => id.endsWith('MirrorLocator'))?.value ?? '',
  );
  return locators.filter((sealedRecordId, index) => locators.indexOf(sealedRecordId) !== index);
}
