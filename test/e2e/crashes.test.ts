import { expect, test } from 'vitest';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { killAt, loseState, runUntilInSync, start } from './support/daemons.ts';
import type { SmallTarget, SmallTenant } from './support/small-configuration.ts';
import { FAMILIES, RADICALE_USERS } from './support/small-targets.ts';
import { expectExact, useSmallWorld } from './support/small-world.ts';
import { BATCHES, callsAt, writesAt } from './support/traffic.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });

test('three kills in the middle of writing leave no duplicate and no gap', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    davServer: radicale(),
    targets: FAMILIES,
    appointments: 180,
  });
  const [google, outlook, caldav] = world.targets as [SmallTarget, SmallTarget, SmallTarget];
  // On its way to Google; carried out by Outlook and not yet answered; in the middle of the writes to CalDAV.
  await killAt(world, (strike) =>
    google.proxy.add({ url: BATCHES, fault: { kind: 'rewrite', request: (request) => strike(request) } }),
  );
  // A daemon that lived for long enough has written all by then.
  const bookMore = () => world.clinic.simulate(world.tenants[0]?.clinicId ?? '', { booked: 30 });
  bookMore();
  await killAt(world, (strike) =>
    outlook.proxy.add({ url: BATCHES, fault: { kind: 'rewrite', answer: (answer) => strike(answer) } }),
  );
  bookMore();
  await killAt(world, (strike) =>
    caldav.proxy.add({ method: /PUT/, after: 3, fault: { kind: 'rewrite', answer: (answer) => strike(answer) } }),
  );

  await runUntilInSync(world, [start(world)]);

  await expectExact(world);
});

test('after the loss of all state, restored connections are enough: no write and no duplicate follows', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    davServer: radicale(),
    targets: FAMILIES,
  });
  await world.cycle();
  await loseState(world, redis.connect());
  for (const { proxy } of world.targets) proxy.forget();

  const { targets } = await world.cycle();

  expect(targets.map(({ sync }) => sync)).toEqual(FAMILIES.map(() => 'in-sync'));
  expect(world.targets.flatMap(({ proxy }) => writesAt(proxy))).toEqual([]);
  await expectExact(world);
});

test('two daemons side by side do no work twice', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, appointments: 90 });
  const { clinicId } = world.tenants[0] as SmallTenant;
  const { proxy } = world.targets[0] as SmallTarget;
  const daemons = [start(world), start(world)];
  await runUntilInSync(world, daemons);
  const [{ records } = { records: 0 }] = await world.compareAll();
  // One creation for each event, and one for the calendar.
  expect(callsAt(proxy).filter((method) => method === 'POST')).toHaveLength(records + 1);

  proxy.forget();
  world.clinic.simulate(clinicId, { booked: 4, moved: 4, cancelled: 2 });
  await runUntilInSync(world, daemons);

  expect(writesAt(proxy)).toHaveLength(10);
  await expectExact(world);
  for (const daemon of daemons) expect(await daemon.stop()).toBe(0);
});
