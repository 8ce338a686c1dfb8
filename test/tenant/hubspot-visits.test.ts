import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type HubSpotSandbox, startHubSpotSandbox } from '../../sandbox/hubspot/index.ts';
import { type FaultProxy, startFaultProxy } from '../../sandbox/kit/fault-proxy.ts';
import { SECOND_MS } from '../../src/core/model/time.ts';
import { pushTarget } from '../../src/engine/push.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, drain, NEVER, pull, targetOf } from './cycle.ts';
import { writeToHubSpot } from './hubspot-targets.ts';
import { type CrmWorld, openCrmWorld, patientOf } from './world.ts';

/** How late the account's search shows a write. */
const LAG_SECONDS = 60;
/** The request that makes meetings. */
const CREATES = { method: /^POST$/, url: /\/meetings\/batch\/create$/ };

const redis = useRedis();

let world: CrmWorld;
let sandbox: HubSpotSandbox;
let proxy: FaultProxy;

beforeEach(async () => {
  world = openCrmWorld(redis, {
    contacts: { mapping: { firstname: 'firstName', lastname: 'lastName' } },
    activities: { mapping: { hs_meeting_title: { value: 'Visit' } } },
  });
  const { clock } = world;
  sandbox = await startHubSpotSandbox({
    now: () => clock.now,
    searchLagMs: LAG_SECONDS * SECOND_MS,
    searchesPerSecond: Number.POSITIVE_INFINITY,
    tenSecondlyPrivate: Number.POSITIVE_INFINITY,
  });
  proxy = await startFaultProxy(sandbox.apiUrl);
  write(world.tenant);
  world.clinic.patientList.push(patientOf('1'));
  world.clinic.appointments.set('a', appointmentOf('a', { patientId: '1' }));
});

afterEach(async () => {
  await proxy.close();
  await sandbox.close();
});

function write(tenant: OpenTenant): void {
  const settings = { searchLagSeconds: LAG_SECONDS };
  writeToHubSpot(tenant, ['contacts', 'activities'], { sandbox, apiUrl: proxy.url, settings });
}

const meetings = () => sandbox.records('meetings');

/** Makes a process retry every second; there are never two processes. */
async function tryFor(tenant: OpenTenant, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    world.clock.now += SECOND_MS;
    await tenant.outbox.hurry('activities', world.clock.now);
    await drain(tenant, targetOf(tenant, 'activities'));
    expect(meetings().length).toBeLessThanOrEqual(1);
  }
}

async function expectSettled(tenant: OpenTenant): Promise<void> {
  expect(await tenant.outbox.counts('activities')).toEqual({ pending: 0, failing: 0 });
  expect((await tenant.links.read('activities')).get('a')?.remoteId).toBe(meetings()[0]!.id);
  expect(sandbox.associated('meetings', meetings()[0]!.id, 'contacts')).toEqual([sandbox.records('contacts')[0]!.id]);
}

describe('a visit in HubSpot, whose search shows it a minute late', () => {
  test('is made once although the answer to its creation was lost', async () => {
    proxy.add({ ...CREATES, fault: { kind: 'lost-answer' } });
    await cycle(world.tenant);
    await cycle(world.tenant);
    expect(meetings()).toHaveLength(1);
    await tryFor(world.tenant, LAG_SECONDS + 5);
    await expectSettled(world.tenant);
  });

  test('is written when its contact exists: the earlier refusal causes no pause', async () => {
    await pull(world.tenant);
    await drain(world.tenant, targetOf(world.tenant, 'activities'));
    expect(await world.tenant.outbox.counts('activities')).toEqual({ pending: 1, failing: 1 });
    await drain(world.tenant, targetOf(world.tenant, 'contacts'));
    world.clock.now += SECOND_MS;
    await world.tenant.outbox.hurry('activities', world.clock.now);
    await drain(world.tenant, targetOf(world.tenant, 'activities'));
    await expectSettled(world.tenant);
  });

  test('is written when HubSpot answers again: a failed query causes no pause', async () => {
    await pull(world.tenant);
    await drain(world.tenant, targetOf(world.tenant, 'contacts'));
    proxy.add({ method: /^POST$/, url: /\/meetings\/search$/, fault: { kind: 'html' }, times: 10 });
    await drain(world.tenant, targetOf(world.tenant, 'activities'));
    expect(meetings()).toEqual([]);
    proxy.clear();
    await tryFor(world.tenant, 20);
    await expectSettled(world.tenant);
  });

  test('is paused despite a failed query, while an earlier creation has no answer', async () => {
    await pull(world.tenant);
    await drain(world.tenant, targetOf(world.tenant, 'contacts'));
    proxy.add({ ...CREATES, fault: { kind: 'lost-answer' } });
    await drain(world.tenant, targetOf(world.tenant, 'activities'));
    expect(meetings()).toHaveLength(1);
    proxy.add({ method: /^POST$/, url: /\/(search|read)$/, fault: { kind: 'html' }, times: 20 });
    await tryFor(world.tenant, LAG_SECONDS + 5);
    proxy.clear();
    await tryFor(world.tenant, LAG_SECONDS + 5);
    await expectSettled(world.tenant);
  });

  test('is made once by two processes, of which the first was killed between its creation and the link', async () => {
    // The contact first: visits wait for it.
    await pull(world.tenant);
    await drain(world.tenant, targetOf(world.tenant, 'contacts'));
    const abort = new AbortController();
    proxy.add({ ...CREATES, fault: { kind: 'stall' } });
    await pull(world.tenant);
    const killed = pushTarget(world.tenant, targetOf(world.tenant, 'activities'), { stop: NEVER, abort: abort.signal });
    await expect.poll(meetings).toHaveLength(1);
    abort.abort();
    await killed;
    const other = world.again();
    write(other);
    await pull(other);
    await tryFor(other, LAG_SECONDS + 5);
    await expectSettled(other);
  });

  test('is found by the next process after the whole state was lost, and not made again', async () => {
    await cycle(world.tenant);
    await cycle(world.tenant);
    const [before] = meetings();
    await redis.connect().flushall();
    const other = world.again();
    write(other);
    await cycle(other);
    await cycle(other);
    await tryFor(other, LAG_SECONDS + 5);
    expect(meetings().map(({ id }) => id)).toEqual([before!.id]);
  });
});
