import { expect, onTestFinished, test } from 'vitest';
import { SharedState } from '../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { SECOND_MS } from '../../src/core/model/time.ts';
import type { ContractTarget } from '../contract/contract-target.ts';
import { openGoogleTarget } from '../contract/google-calendar-target.ts';
import { ACCOUNT, openOutlookTarget } from '../contract/outlook-calendar-target.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import { paced } from '../support/pace.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, targetOf } from './cycle.ts';
import { auditOf, openCalendarWorld, stateOf } from './world.ts';

const redis = useRedis();
const BOOKED = 3;

/** A tenant that has written its appointments to a calendar at a vendor. */
async function openWorld<Place extends ContractTarget>(place: Place) {
  onTestFinished(() => place.close());
  const world = openCalendarWorld(redis, BOOKED);
  const target = targetOf(world.tenant);
  target.supports = place.supports;
  target.connector = place.open({
    ownerTag: target.identity.ownerTag,
    authorizer: place.authorizer,
    http: createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now, timeoutMs: paced(5 * SECOND_MS) }),
    shared: new SharedState(),
    log: silentLogger,
    createCalendar: null,
  });
  await cycle(world.tenant);
  const events = () => place.server.objects();
  expect(await events()).toHaveLength(BOOKED);
  return { ...world, events };
}

/** The cancellation of every appointment leaves nothing. */
async function expectNoneLeft({ clinic, tenant, events }: Awaited<ReturnType<typeof openWorld>>) {
  expect(await events()).toHaveLength(BOOKED);
  expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', ambiguous: 0 });
  for (let id = 0; id < BOOKED; id += 1)
    clinic.appointments.set(String(id), { ...appointmentOf(String(id)), status: 'cancelled' });
  await cycle(tenant);
  expect(await events()).toEqual([]);
}

test.each([
  ['google-calendar', openGoogleTarget],
  ['outlook-calendar', openOutlookTarget],
])('copies of events with our marks are removed by the audit, and no other event is (%s)', async (_, open) => {
  const place = await open();
  const world = await openWorld<ContractTarget>(place);
  const [first, second] = await world.events();
  const copies = [first!, first!, second!].map(({ remoteId }) => place.server.copyByHand!(remoteId));
  await Promise.all(copies);
  await place.server.putForeign('Dentist');
  expect(await auditOf(world.tenant, { whole: true })).toMatchObject({ duplicatesRemoved: 3, removed: 0 });
  const foreign = (await world.events()).find(({ title }) => title === 'Dentist');
  await place.server.deleteByHand(foreign!.remoteId);
  await expectNoneLeft(world);
});

test('an event that was moved to another calendar, made again and moved back is one event (outlook-calendar)', async () => {
  const place = await openOutlookTarget();
  const world = await openWorld(place);
  const [moved] = await world.events();
  const elsewhere = place.sandbox.createCalendar(ACCOUNT, 'Private');
  const away = place.sandbox.moveByHand(ACCOUNT, moved!.remoteId, elsewhere);
  expect(await auditOf(world.tenant, { whole: true })).toMatchObject({ removed: 1 });
  await cycle(world.tenant);
  expect(await world.events()).toHaveLength(BOOKED);
  place.sandbox.moveByHand(ACCOUNT, away.id, place.container);
  expect(await world.events()).toHaveLength(BOOKED + 1);
  expect(await auditOf(world.tenant, { whole: true })).toMatchObject({ duplicatesRemoved: 1, removed: 0 });
  await expectNoneLeft(world);
});
