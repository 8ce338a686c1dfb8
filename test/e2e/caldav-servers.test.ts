import { describe, expect, onTestFinished, test } from 'vitest';
import { auditTarget } from '../../src/engine/audit-target.ts';
import type { PrivateDavServer } from '../../tools/dav-server.ts';
import { DavHands } from '../connectors/caldav/dav-hands.ts';
import { firstAccount } from '../connectors/caldav/dav-target.ts';
import { useCyrus, useXandikos } from '../support/dav-servers.ts';
import { paced } from '../support/pace.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { killAt, loseState } from './support/daemons.ts';
import type { SmallTarget } from './support/small-configuration.ts';
import { RADICALE_USERS } from './support/small-targets.ts';
import type { SmallWorld } from './support/small-world.ts';
import { cycleUntil, expectExact, isExact, useSmallWorld } from './support/small-world.ts';
import { writesAt } from './support/traffic.ts';

const redis = useRedis();

describe('Radicale', () => {
  const radicale = useRadicale({ users: RADICALE_USERS });
  journeyOfClients(radicale);
  // `crashes.test.ts` and `read-back.test.ts` cover the other journeys with Radicale.
});
describe('Xandikos', () => everyJourney(useXandikos(RADICALE_USERS)));
describe('Cyrus IMAP', () => everyJourney(useCyrus(RADICALE_USERS)));

async function open(server: PrivateDavServer, appointments = 30) {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    davServer: server,
    targets: ['caldav'],
    appointments,
    target: { audit: { drift: 'repair' } },
  });
  const { proxy } = world.targets[0] as SmallTarget;
  return { world, proxy, hands: new DavHands(firstAccount(server)) };
}

/** Changes by users and clients to a calendar, tested through the whole product on a real server. */
function journeyOfClients(server: () => PrivateDavServer): void {
  test('an event that a client renamed, moved to another calendar or deleted is restored, each appointment once', async () => {
    const { world, hands } = await open(server());
    await world.cycle();
    const before = await hands.ownEvents();
    const [renamed, moved, deleted] = before.map(({ path }) => path) as [string, string, string];
    const calendar = renamed.slice(0, renamed.lastIndexOf('/') + 1);
    const other = `${server().homePathOf(world.tenants[0]!.id)}private/`;
    await hands.createCalendar(other);
    onTestFinished(async () => void (await hands.send('DELETE', other)));
    await hands.move(renamed, `${calendar}renamed-by-a-client.ics`);
    await hands.move(moved, `${other}moved-by-hand.ics`);
    await hands.send('DELETE', deleted);

    expect(await audit(world)).toMatchObject({ removed: 2 });
    await world.cycle();
    await world.cycle();

    const after = await hands.ownEvents();
    const inCalendar = after.filter(({ path }) => path.startsWith(calendar));
    expect(timesOf(inCalendar)).toEqual(timesOf(before));
    // An event that a user moved to another calendar belongs to the user.
    expect(after.length - inCalendar.length).toBe(1);
    expect(await audit(world)).toMatchObject({ edited: 0, removed: 0 });
  });
}

function everyJourney(server: () => PrivateDavServer): void {
  journeyOfClients(server);

  test('a deleted calendar of clinic-mirror is created again and filled', async () => {
    const { world, hands } = await open(server());
    await world.cycle();
    const path = (await hands.ownEvents())[0]?.path ?? '';
    await hands.send('DELETE', path.slice(0, path.lastIndexOf('/') + 1));

    const { targets } = await world.cycle();
    expect(targets.map(({ reason }) => reason)).not.toContain('writes-failed');
    await audit(world);
    await world.cycle();

    await expectExact(world);
  });

  test('a kill in the middle of the writes leaves no duplicate and no gap', async () => {
    const { world, proxy } = await open(server(), 60);
    await killAt(world, (strike) =>
      proxy.add({ method: /PUT/, after: 3, fault: { kind: 'rewrite', answer: (answer) => strike(answer) } }),
    );
    await cycleUntil(world, async () => (await world.compareAll()).every(isExact));
  });

  test('after the whole state is lost nothing is written and nothing is doubled', async () => {
    const { world, proxy } = await open(server());
    await world.cycle();
    await loseState(world, redis.connect());
    proxy.forget();
    const { targets } = await world.cycle();
    expect(targets.map(({ sync }) => sync)).toEqual(['in-sync']);
    expect(writesAt(proxy)).toEqual([]);
    await expectExact(world);
  });
}

async function audit(world: SmallWorld) {
  const { tenant } = world.open().composed.get('clinic-1') ?? {};
  const target = tenant?.targets.get(world.targets[0]?.target ?? '');
  if (tenant === undefined || target === undefined) throw new Error('the world has one target');
  return await auditTarget(tenant, target, AbortSignal.timeout(paced(60_000)));
}

function timesOf(events: Awaited<ReturnType<DavHands['ownEvents']>>): string[] {
  return events.map(({ event }) => String(event.getFirstPropertyValue('dtstart'))).sort();
}
