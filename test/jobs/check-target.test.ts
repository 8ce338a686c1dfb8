import { Queue } from 'bullmq';
import { afterEach, describe, expect, test } from 'vitest';
import { checkTarget } from '../../src/jobs/audit.ts';
import { neverNeedless } from '../../src/jobs/job-catalogue.ts';
import { laneLease } from '../../src/jobs/lanes.ts';
import { pushTarget } from '../../src/jobs/push.ts';
import { openQueues, type WorkQueues } from '../../src/jobs/queues.ts';
import type { OpenTenant } from '../../src/jobs/tenant.ts';
import type { JobHandlers } from '../../src/jobs/workers.ts';
import { MirrorError } from '../../src/model/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/model/time.ts';
import type { TargetConfiguration } from '../../src/settings/configuration.ts';
import { QUEUE_PREFIX } from '../../src/state/keys.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { cycle, NEVER, targetOf } from './cycle.ts';
import { createModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelTarget } from './model-target.ts';
import { openTenant } from './open-tenant.ts';
import { startSomeWorkers } from './some-workers.ts';

const redis = useRedis();
const opened: { close(graceMs: number): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close(1_000);
});

interface World {
  tenant: OpenTenant;
  model: ModelTarget;
  clock: { now: number };
  /** What the change feed was asked with. */
  cursors: (string | null)[];
}

async function filled(configuration: Partial<TargetConfiguration> = {}): Promise<World> {
  const clinic = createModelClinic();
  for (let index = 0; index < 3; index += 1) clinic.appointments.set(`${index}`, appointmentOf(`${index}`));
  const model = createModelTarget();
  const cursors: World['cursors'] = [];
  const open = model.open;
  model.open = (ownerTag) => {
    const connector = open(ownerTag);
    return {
      ...connector,
      changes(container, query, signal) {
        cursors.push(query.cursor);
        return connector.changes(container, query, signal);
      },
    };
  };
  const clock = { now: NOW };
  const targets = [{ model, configuration }];
  const tenant = openTenant({ redis: redis.connect(), clinic, targets, clock: () => clock.now });
  await cycle(tenant);
  return { tenant, model, clock, cursors };
}

function retitle({ model }: World): void {
  const [object] = model.objects();
  if (object === undefined) throw new Error('the calendar is empty');
  object.item.title = 'By hand';
  object.version += 1;
}

function check({ tenant }: World, whole = false) {
  return checkTarget(tenant, targetOf(tenant), { whole }, NEVER);
}

describe('a check of a target', () => {
  test('finds what was changed by hand, and nothing else', async () => {
    const world = await filled();
    expect(await check(world)).toEqual({ restore: false, againInMs: null });
    retitle(world);
    expect(await check(world)).toEqual({ restore: true, againInMs: null });
  });

  test('at our own writes finds nothing to do', async () => {
    const world = await filled();
    expect(await check(world)).toEqual({ restore: false, againInMs: null });
    await cycle(world.tenant);
    expect(world.model.calls.operations).toBe(3);
  });

  test('asks for what changed only, and reads the whole target when the vendor lost count', async () => {
    const world = await filled();
    await check(world);
    await check(world);
    await check(world, true);
    expect(world.cursors.map((cursor) => cursor !== null)).toEqual([false, true, false]);
  });

  test('leaves alone what is only to be reported', async () => {
    const world = await filled({ audit: { drift: 'report', rewritesPerDay: 10 } });
    retitle(world);
    expect(await check(world)).toEqual({ restore: false, againInMs: null });
  });

  test('comes again shortly while the lane is at work', async () => {
    const world = await filled();
    retitle(world);
    const lane = await world.tenant.leases.tryTake(laneLease('doctor'));
    expect(await check(world)).toEqual({ restore: false, againInMs: 1_000 });
    await lane?.release();
    expect(await check(world)).toEqual({ restore: true, againInMs: null });
  });

  test('and writing go by turns: whichever of the two is begun again and again, the other has its turn in between', async () => {
    const { tenant, ...world } = await filled();
    const target = targetOf(tenant);
    const push = () => pushTarget(tenant, target, { stop: NEVER, abort: NEVER }, { comesAgain: true });
    const isBusy = { idle: true, nextInMs: 1_000 };
    const writing = await tenant.leases.tryTake(laneLease('doctor'));
    expect(await check({ tenant, ...world })).toMatchObject({ againInMs: 1_000 });
    await writing?.release();
    expect(await push()).toMatchObject(isBusy);
    expect(await check({ tenant, ...world })).toMatchObject({ againInMs: null });
    expect(await push()).toMatchObject({ idle: false });
    const checking = await tenant.leases.tryTake(laneLease('doctor'));
    expect(await push()).toMatchObject(isBusy);
    await checking?.release();
    expect(await check({ tenant, ...world })).toMatchObject({ againInMs: 1_000 });
    expect(await push()).toMatchObject({ idle: false });
    expect(await check({ tenant, ...world })).toMatchObject({ againInMs: null });
  });

  test('in its turn leaves the lane to others when it is busy, and does not come again', async () => {
    const { tenant } = await filled();
    const writing = await tenant.leases.tryTake(laneLease('doctor'));
    const options = { whole: false, once: true };
    expect(await checkTarget(tenant, targetOf(tenant), options, NEVER)).toEqual({ restore: false, againInMs: null });
    await writing?.release();
    expect(await tenant.leases.tryTake(laneLease('doctor'))).not.toBeNull();
  });

  test('comes again when the target has rested, and at least each minute', async () => {
    const world = await filled();
    const { tenant, clock } = world;
    await tenant.targetStore.write('doctor', { pausedUntil: clock.now + 20_000 });
    expect(await check(world)).toEqual({ restore: false, againInMs: 20_000 });
    await tenant.targetStore.write('doctor', { pausedUntil: clock.now + 60 * MINUTE_MS });
    expect(await check(world)).toEqual({ restore: false, againInMs: MINUTE_MS });
  });

  test('that the target refuses makes it rest, and comes again', async () => {
    const world = await filled();
    world.model.wholeTargetError = new MirrorError('no', { actor: 'remote', code: 'server-error', retry: 'later' });
    const { againInMs } = await check(world);
    expect(againInMs).toBeGreaterThan(0);
    expect((await world.tenant.targetStore.read('doctor')).failure?.code).toBe('server-error');
  });

  test('does not come again for a target that was never filled: a cycle reads it whole', async () => {
    const model = createModelTarget();
    const clinic = createModelClinic();
    const tenant = openTenant({ redis: redis.connect(), clinic, targets: [{ model }], clock: () => NOW });
    expect(await check({ tenant, model, clock: { now: NOW }, cursors: [] })).toEqual({
      restore: false,
      againInMs: null,
    });
  });
});

describe('hints', () => {
  function queues(): WorkQueues {
    const open = openQueues(redis.url, neverNeedless);
    opened.push(open);
    return open;
  }

  function workers(handlers: Partial<JobHandlers>): { close(graceMs: number): Promise<void> } {
    const started = startSomeWorkers(redis.url, handlers, { inFlight: { 'check-target': 4 } });
    opened.push(started);
    return started;
  }

  test('that the end of a daemon cut off is taken up by the next one', async () => {
    const waking = queues();
    let begun = false;
    const ending = workers({
      'check-target': async (_, { stop }) => {
        begun = true;
        if (!stop.aborted) await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }));
        stop.throwIfAborted();
      },
    });
    await waking.checkTarget('studio-rossi', 'doctor', { delayMs: 0, whole: true });
    await waitFor(() => begun, { what: 'the check' });
    await ending.close(1_000);
    const seen: unknown[] = [];
    workers({ 'check-target': async (data) => void seen.push(data) });
    await waitFor(() => seen.length === 1, { what: 'the check again' });
    expect(seen).toEqual([{ tenant: 'studio-rossi', target: 'doctor', whole: true, once: false }]);
  });

  test('a thousand at once make one check that is under way and one after it', async () => {
    const waking = queues();
    const gate = Promise.withResolvers<void>();
    const seen: string[] = [];
    workers({
      'check-target': async ({ target }) => {
        seen.push(target);
        if (seen.length === 1) await gate.promise;
      },
    });
    const hint = () => waking.checkTarget('studio-rossi', 'doctor', { delayMs: 0 });
    await hint();
    await waitFor(() => seen.length === 1, { what: 'the first check' });
    await Promise.all(Array.from({ length: 1_000 }, hint));
    gate.resolve();
    await waitFor(() => seen.length === 2, { what: 'the second check' });
    await waking.checkTarget('studio-rossi', 'nurse', { delayMs: 0 });
    await waitFor(() => seen.includes('nurse'), { what: 'the check of another target' });
    expect(seen).toEqual(['doctor', 'doctor', 'nurse']);
  });

  test('within the time to settle make one check together', async () => {
    const waking = queues();
    const seen: string[] = [];
    workers({ 'check-target': async ({ target }) => void seen.push(target) });
    for (let index = 0; index < 100; index += 1)
      await waking.checkTarget('studio-rossi', 'doctor', { delayMs: HOUR_MS });
    const queue = new Queue('check-target', { connection: redis.connect(), prefix: QUEUE_PREFIX });
    const [settling, ...more] = await queue.getDelayed();
    expect(more).toEqual([]);
    await settling?.promote();
    await waitFor(() => seen.length > 0, { what: 'the check' });
    await waking.checkTarget('studio-rossi', 'nurse', { delayMs: 0 });
    await waitFor(() => seen.includes('nurse'), { what: 'the check that was asked for last' });
    expect(seen).toEqual(['doctor', 'nurse']);
    await queue.close();
  });

  test('about subscriptions make one round that is under way and one after it', async () => {
    const waking = queues();
    const gate = Promise.withResolvers<void>();
    let rounds = 0;
    workers({
      subscriptions: async () => {
        rounds += 1;
        if (rounds === 1) await gate.promise;
      },
    });
    await waking.renewSubscriptions('studio-rossi');
    await waitFor(() => rounds === 1, { what: 'the first round' });
    await Promise.all(Array.from({ length: 100 }, () => waking.renewSubscriptions('studio-rossi')));
    gate.resolve();
    await waking.renewSubscriptions('other');
    await waitFor(() => rounds === 3, { what: 'all rounds' });
    expect(rounds).toBe(3);
  });
});
