import { Queue } from 'bullmq';
import { afterEach, expect, test } from 'vitest';
import { type CalendarHands, googleHands, outlookHands } from '../../bench/calendar-hands.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { type Daemon, startDaemon } from '../../src/main.ts';
import { status } from '../../src/operator/control/status.ts';
import type { TargetStatus } from '../../src/operator/control/status-schemas.ts';
import { QUEUE_PREFIX } from '../../src/state/keys.ts';
import { freePort } from '../../tools/free-port.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { dumpRedis } from './support/dump-redis.ts';
import type { SmallTarget } from './support/small-configuration.ts';
import type { SmallWorld } from './support/small-world.ts';
import { useSmallWorld } from './support/small-world.ts';
import { callsAt } from './support/traffic.ts';

const redis = useRedis();
const daemons: Daemon[] = [];

afterEach(async () => {
  for (const daemon of daemons.splice(0)) await daemon.close();
});

/** No polling happens during a test: every noticed change was notified. */
const NO_POLLING = { pullEverySeconds: 86_400, auditEverySeconds: 604_800, subscriptionCheckEverySeconds: 3_600 };
const FAMILIES = ['google-calendar', 'outlook-calendar'] as const;

interface Told {
  world: SmallWorld;
  start(): Promise<Daemon>;
  statuses(): Promise<TargetStatus[]>;
}

/** A small world in sync, and a daemon that vendors can reach. */
async function told({ settleMs = 50 } = {}): Promise<Told> {
  const port = await freePort();
  const publicUrl = `http://127.0.0.1:${port}`;
  const world = await useSmallWorld({
    redisUrl: redis.url,
    targets: FAMILIES,
    appointments: 40,
    settings: {
      http: { port },
      schedule: NO_POLLING,
      notifications: { url: publicUrl, settleMs },
    },
  });
  await world.cycle();
  return {
    world,
    async start() {
      const { configuration } = world.opened();
      const http = { ...configuration.settings.http, port, publicUrl };
      const settings = { ...configuration.settings, http };
      const daemon = await startDaemon({ ...configuration, settings }, silentLogger, new AbortController().signal);
      daemons.push(daemon);
      return daemon;
    },
    async statuses() {
      const { tenants } = await status(world.opened().installation);
      return tenants.flatMap(({ targets }) => targets);
    },
  };
}

/** Number of channels at Google and of subscriptions at Microsoft. */
function openAt({ google, graph }: SmallWorld): [number, number] {
  return [google.channels().length, graph.subscriptions().length];
}

async function bothAreTold({ world, statuses }: Told): Promise<void> {
  await waitFor(async () => (await statuses()).every(({ notifications }) => notifications.untilAt !== null), {
    what: 'both vendors to notify of changes',
  });
  expect(openAt(world)).toEqual([1, 1]);
}

/** No notification covers changes before a sign-in or before a subscription was opened, so a check follows each of them. */
async function firstChecksAreOver({ statuses }: Told): Promise<void> {
  await waitFor(async () => (await statuses()).every(({ drift }) => drift !== null), {
    what: 'the first check of both targets',
  });
  const queue = new Queue('check-target', { connection: redis.connect(), prefix: QUEUE_PREFIX });
  const isEmpty = async () => (await queue.getJobCountByTypes('delayed', 'wait', 'active')) === 0;
  await waitFor(isEmpty, { what: 'no check to wait' });
  await queue.close();
}

/** Checks that wait for the time to settle go at once. */
async function settle(queue: Queue): Promise<void> {
  await waitFor(
    async () => {
      const delayed = await queue.getDelayed();
      await Promise.all(delayed.map((job) => job.promote().catch(() => {})));
      return (await queue.getJobCountByTypes('delayed', 'wait', 'active')) === 0;
    },
    { what: 'the checks to be over' },
  );
}

function handsOf(world: SmallWorld, { family, account }: SmallTarget): CalendarHands {
  return family === 'google-calendar' ? googleHands(world.google, account) : outlookHands(world.graph, account);
}

/** Waits until a calendar says again what it said. */
async function restored(hands: CalendarHands, before: unknown): Promise<void> {
  await waitFor(async () => JSON.stringify(contentsOf(await hands.events())) === JSON.stringify(before), {
    what: 'the calendar to be as before',
    intervalMs: 50,
  });
}

function contentsOf(events: Awaited<ReturnType<CalendarHands['events']>>): string[] {
  return events.map(({ title, content }) => `${title} ${content}`).sort();
}

test('manual edits and deletions in Google and Outlook are restored without waiting for an audit', async () => {
  const here = await told();
  await here.start();
  await bothAreTold(here);
  for (const target of here.world.targets) {
    const hands = handsOf(here.world, target);
    const events = await hands.events();
    const before = contentsOf(events);
    expect(events.length).toBeGreaterThan(2);
    await hands.retitle(events[0]?.id ?? '', 'By hand');
    await restored(hands, before);
    await hands.remove(events[1]?.id ?? '');
    await restored(hands, before);
  }
});

test('a restart keeps the open channels and receives their notifications', async () => {
  const here = await told();
  const first = await here.start();
  await bothAreTold(here);
  const [channel] = here.world.google.channels();
  const [subscription] = here.world.graph.subscriptions();
  await first.close();
  daemons.length = 0;
  await here.start();
  const [google] = here.world.targets as [SmallTarget];
  const hands = handsOf(here.world, google);
  const events = await hands.events();
  const before = contentsOf(events);
  await hands.retitle(events[0]?.id ?? '', 'By hand');
  await restored(hands, before);
  expect(here.world.google.channels().map(({ id }) => id)).toEqual([channel?.id]);
  expect(here.world.graph.subscriptions().map(({ id }) => id)).toEqual([subscription?.id]);
});

test('a notification that gets lost costs time only: the next audit finds what it would have told', async () => {
  const here = await told();
  await here.start();
  await bothAreTold(here);
  await firstChecksAreOver(here);
  for (const vendor of [here.world.google, here.world.graph]) {
    vendor.faults.add({ times: 1, fault: { kind: 'lost-notification' } });
  }
  const before = new Map<CalendarHands, string[]>();
  for (const target of here.world.targets) {
    const hands = handsOf(here.world, target);
    const events = await hands.events();
    before.set(hands, contentsOf(events));
    await hands.retitle(events[0]?.id ?? '', 'By hand');
  }
  const { out } = await here.world.cli('audit', 'clinic-1');
  expect(out).toMatch(/doctor-1 +repair +\d+ +1 /);
  expect(out).toMatch(/doctor-2 +repair +\d+ +1 /);
  for (const [hands, contents] of before) await restored(hands, contents);
});

test('a logout ends the subscriptions of its connection before the connection itself', async () => {
  const here = await told();
  await here.start();
  await bothAreTold(here);
  for (const { target } of here.world.targets) {
    expect(await here.world.cli('logout', 'clinic-1', target)).toMatchObject({ code: 0 });
  }
  expect(openAt(here.world)).toEqual([0, 0]);
});

test('a thousand genuine hints within the time to settle are acknowledged at once and make one check', async () => {
  // Longer than a thousand requests take.
  const here = await told({ settleMs: 60_000 });
  await here.start();
  await bothAreTold(here);
  const queue = new Queue('check-target', { connection: redis.connect(), prefix: QUEUE_PREFIX });
  await waitFor(async () => (await queue.getCompletedCount()) + (await queue.getDelayedCount()) >= 2, {
    what: 'the first check of both targets to be requested',
  });
  await settle(queue);
  const [channel] = here.world.google.channels();
  const headers = {
    'x-goog-channel-id': channel?.id ?? '',
    'x-goog-channel-token': channel?.token ?? '',
    'x-goog-resource-id': channel?.resourceId ?? '',
    'x-goog-resource-state': 'exists',
    'x-goog-message-number': '7',
  };
  const checksBefore = await queue.getCompletedCount();
  for (let round = 0; round < 20; round += 1) {
    const post = () => fetch(channel?.address ?? '', { method: 'POST', headers });
    const answers = await Promise.all(Array.from({ length: 50 }, post));
    expect(answers.every(({ status: code }) => code === 202)).toBe(true);
  }
  expect(await queue.getDelayedCount()).toBe(1);
  await settle(queue);
  const checks = (await queue.getCompletedCount()) - checksBefore;
  expect(checks).toBe(1);
  await queue.close();
});

test('no secret of a subscription is in Redis', async () => {
  const here = await told();
  await here.start();
  await bothAreTold(here);
  const secrets = [here.world.google.channels()[0]?.token, here.world.graph.subscriptions()[0]?.clientState];
  const kept = [...(await dumpRedis(redis.connect()))].flat().join('\n');
  for (const secret of secrets) {
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(kept).not.toContain(secret);
  }
});

test('posts of strangers are acknowledged alike and do nothing', async () => {
  const here = await told();
  const daemon = await here.start();
  await bothAreTold(here);
  await firstChecksAreOver(here);
  const [channel] = here.world.google.channels();
  const [subscription] = here.world.graph.subscriptions();
  for (const { proxy } of here.world.targets) proxy.forget();
  const googleHeaders = (token: string) => ({
    'x-goog-channel-id': channel?.id ?? '',
    'x-goog-channel-token': token,
    'x-goog-resource-id': channel?.resourceId ?? '',
    'x-goog-resource-state': 'exists',
    'x-goog-message-number': '7',
  });
  const graphBody = (clientState: string) =>
    JSON.stringify({
      value: [{ subscriptionId: subscription?.id, clientState, changeType: 'updated', resource: 'x', tenantId: 'y' }],
    });
  const root = `http://127.0.0.1:${daemon.publicPort}/notifications`;
  const unknown = '0'.repeat(32);
  const answers = await Promise.all([
    fetch(channel?.address ?? '', { method: 'POST', headers: googleHeaders('guessed') }),
    fetch(`${root}/google-calendar/${unknown}`, { method: 'POST', headers: googleHeaders('guessed') }),
    fetch(subscription?.notificationUrl ?? '', { method: 'POST', body: graphBody('guessed') }),
    fetch(`${root}/outlook-calendar/${unknown}`, { method: 'POST', body: graphBody('guessed') }),
    fetch(`${subscription?.notificationUrl}?validationToken=echo`, { method: 'POST' }),
    fetch(`${root}/no-such-vendor/${unknown}`, { method: 'POST', body: 'x' }),
  ]);
  expect(await Promise.all(answers.map(async (answer) => [answer.status, await answer.text()]))).toEqual(
    answers.map(() => [202, '']),
  );
  const metrics = await (await fetch(`http://127.0.0.1:${daemon.operatorPort}/metrics`)).text();
  const count = (connector: string, result: string) =>
    metrics.includes(`clinic_mirror_notifications_total{connector="${connector}",result="${result}"}`);
  expect(count('google-calendar', 'wrong-secret') && count('outlook-calendar', 'wrong-secret')).toBe(true);
  expect(count('google-calendar', 'unknown') && count('outlook-calendar', 'unknown')).toBe(true);
  expect(here.world.targets.flatMap(({ proxy }) => callsAt(proxy))).toEqual([]);
});

test('a subscription that Microsoft reports as removed is replaced at once', async () => {
  const here = await told();
  await here.start();
  await bothAreTold(here);
  const [subscription] = here.world.graph.subscriptions();
  here.world.graph.sendLifecycleEvent(subscription?.id ?? '', 'subscriptionRemoved');
  const other = await waitFor(() => here.world.graph.subscriptions().find(({ id }) => id !== subscription?.id), {
    what: 'another subscription',
  });
  expect(other.notificationUrl).not.toBe(subscription?.notificationUrl);
});
