import { Queue, Worker } from 'bullmq';
import { afterEach, describe, expect, test } from 'vitest';
import { type Logger, silentLogger } from '../../src/core/log/logger.ts';
import { pushTarget } from '../../src/engine/push.ts';
import { neverNeedless } from '../../src/jobs/job-kinds.ts';
import { ForAnotherProcess, type Workers } from '../../src/jobs/workers.ts';
import { QUEUE_PREFIX } from '../../src/state/keys.ts';
import type { JobHandlers } from '../../src/tenant/job-catalogue.ts';
import { pullTenant } from '../../src/tenant/pull.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { openWorkQueues, type WorkQueues } from '../../src/tenant/work-queues.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget, type ModelTarget } from '../tenant/model-target.ts';
import { openTenant } from '../tenant/open-tenant.ts';
import { startSomeWorkers } from './some-workers.ts';

const redis = useRedis();
const opened: { close(graceMs: number): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close(1_000);
});

function queues(): WorkQueues {
  const open = openWorkQueues(redis.url, neverNeedless);
  opened.push(open);
  return open;
}

function workers(
  handlers: Partial<JobHandlers>,
  options: { log?: Logger; push?: number; lockMs?: number } = {},
): Workers {
  const { push = 4, ...others } = options;
  const started = startSomeWorkers(redis.url, handlers, {
    ...others,
    inFlight: { pull: 2, push, 'check-target': 2, remind: 2 },
  });
  opened.push(started);
  return started;
}

/** Collects log messages at the level of errors. */
function listeningLogger() {
  const errors: { data: object; message: string }[] = [];
  const log: Logger = { ...silentLogger, error: (data, message) => errors.push({ data, message }), child: () => log };
  return { log, errors };
}

interface Clinic {
  tenant: OpenTenant;
  model: ModelTarget;
}

function clinicOf(id: string, booked: number): Clinic {
  const clinic = createModelClinic();
  for (let index = 0; index < booked; index += 1) {
    clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: 24 + (index % 500) }));
  }
  const model = createModelTarget({ batchSize: 50, concurrency: 1 });
  const tenant = openTenant({
    redis: redis.connect(),
    id,
    clinic,
    targets: [{ model }],
    clock: () => NOW,
    slice: { operations: 100, durationMs: 20_000 },
  });
  return { tenant, model };
}

/** The handlers of the daemon, as its composer joins them. */
function handlersFor(tenants: ReadonlyMap<string, OpenTenant>, waking: WorkQueues): Partial<JobHandlers> {
  return {
    async pull({ tenant: id }, { stop }) {
      const tenant = tenants.get(id);
      if (tenant === undefined) return;
      await pullTenant(tenant, stop);
      for (const target of tenant.targets.keys()) {
        if ((await tenant.outbox.nextDueAt(target)) !== null) await waking.wake(id, target, 0);
      }
    },
    async push({ tenant: id, target: targetId }, signals) {
      const tenant = tenants.get(id);
      const target = tenant?.targets.get(targetId);
      if (tenant === undefined || target === undefined) return;
      const { nextInMs } = await pushTarget(tenant, target, signals);
      if (nextInMs !== null && !signals.stop.aborted) await waking.wake(id, targetId, nextInMs);
    },
  };
}

describe('the workers', () => {
  test('bring a clinic into its calendar, slice by slice', async () => {
    const waking = queues();
    const { tenant, model } = clinicOf('studio-rossi', 350);
    workers(handlersFor(new Map([[tenant.id, tenant]]), waking));
    await waking.pullNow(tenant.id);
    await waitFor(async () => (await tenant.links.count('doctor')) === 350, { what: 'all appointments to be written' });
    expect(model.objects()).toHaveLength(350);
    expect(model.calls.operations).toBe(350);
  });

  test('let twenty small tenants be done long before a large one', async () => {
    const waking = queues();
    const large = clinicOf('large', 5_000);
    const small = Array.from({ length: 20 }, (_, index) => clinicOf(`small-${index}`, 3));
    const tenants = new Map([large, ...small].map(({ tenant }) => [tenant.id, tenant]));
    workers(handlersFor(tenants, waking), { push: 1 });
    await waking.pullNow('large');
    await waitFor(() => large.model.calls.apply > 0, { what: 'the large tenant to be under way' });
    for (const { tenant } of small) await waking.pullNow(tenant.id);
    const isDone = ({ model }: Clinic) => model.objects().length === 3;
    await waitFor(() => small.every(isDone), {
      what: 'the small tenants to be done',
      intervalMs: 1,
    });
    expect(large.model.objects().length).toBeLessThan(4_500);
  });

  test('drop a job whose data cannot be used, and continue with the next', async () => {
    const { log, errors } = listeningLogger();
    const seen: string[] = [];
    const queue = new Queue('push', { connection: redis.connect(), prefix: QUEUE_PREFIX });
    workers({ push: async ({ target }) => void seen.push(target) }, { log });
    await queue.add('push', { tenant: 4711 }, { attempts: 3 });
    await queue.add('push', { tenant: 'studio-rossi', target: 'doctor', added: 'by a later version' });
    await waitFor(() => seen.length > 0, { what: 'the sound job to be done' });
    expect(seen).toEqual(['doctor']);
    expect(errors).toMatchObject([{ message: 'job without usable data was dropped' }]);
    expect(await queue.getJobCounts('failed', 'wait', 'delayed')).toEqual({ failed: 0, wait: 0, delayed: 0 });
    await queue.close();
  });

  test('leave a job that is another process’s in the queue until one does it', async () => {
    const { log, errors } = listeningLogger();
    const seen: number[] = [];
    const handOn: JobHandlers['read-streams'] = async (_, { taken }) => {
      seen.push(taken);
      if (taken < 3) throw new ForAnotherProcess();
    };
    workers({ 'read-streams': handOn }, { log });
    await queues().readStreams('studio-rossi');
    await waitFor(() => seen.length === 3, { what: 'the job to be done' });
    expect([seen, errors]).toEqual([[1, 2, 3], []]);
  });

  test('report a failed job with its known data, and keep it for another attempt', async () => {
    const { log, errors } = listeningLogger();
    workers({ push: () => Promise.reject(new Error('Mario Rossi')) }, { log });
    const waking = queues();
    await waking.wake('studio-rossi', 'doctor', 0);
    await waitFor(() => errors.length > 0, { what: 'the failure to be reported' });
    expect(errors[0]).toMatchObject({
      data: { job: 'push', tenant: 'studio-rossi', target: 'doctor', code: 'unexpected' },
    });
    const queue = new Queue('push', { connection: redis.connect(), prefix: QUEUE_PREFIX });
    await waitFor(async () => (await queue.getJobCounts('delayed')).delayed === 1, {
      what: 'another try to be planned',
    });
    const [job] = await queue.getJobs('delayed');
    expect(JSON.stringify(job?.data)).toBe('{"tenant":"studio-rossi","target":"doctor"}');
    await queue.close();
  });
});

describe('the end', () => {
  test('comes when the running work has ended', async () => {
    const gate = Promise.withResolvers<void>();
    let ended = false;
    const started = workers({
      push: async (_, { stop }) => {
        gate.resolve();
        await new Promise((resolve) => stop.addEventListener('abort', resolve, { once: true }));
        ended = true;
      },
    });
    await queues().wake('studio-rossi', 'doctor', 0);
    await gate.promise;
    // Longer than this test may take: the end does not wait for it.
    await started.close(600_000);
    expect(ended).toBe(true);
  });

  test('comes within the grace time when running work ignores its signal', async () => {
    const { log, errors } = listeningLogger();
    const gate = Promise.withResolvers<void>();
    const started = workers(
      {
        push: async (_, { abort }) => {
          gate.resolve();
          await new Promise((_resolve, reject) =>
            abort.addEventListener('abort', () => reject(abort.reason), { once: true }),
          );
        },
      },
      { log },
    );
    await queues().wake('studio-rossi', 'doctor', 0);
    await gate.promise;
    await started.close(200);
    expect(errors).toEqual([]);
  });
});

describe('a pull', () => {
  test('that is requested during a run follows that run', async () => {
    const gate = Promise.withResolvers<void>();
    let pulls = 0;
    workers({
      pull: async () => {
        pulls += 1;
        if (pulls === 1) await gate.promise;
      },
    });
    const waking = queues();
    await waking.pullNow('studio-rossi');
    await waitFor(() => pulls === 1, { what: 'the first pull' });
    await waking.pullNow('studio-rossi');
    await waking.pullNow('studio-rossi');
    gate.resolve();
    await waitFor(() => pulls === 2, { what: 'the second pull' });
  });

  test('repeats for each tenant at a separate moment, and not for a removed tenant', async () => {
    const waking = queues();
    const tenants = Array.from({ length: 12 }, (_, index) => `tenant-${index}`);
    const everyMs = new Map(tenants.map((tenant) => [tenant, 300_000]));
    await waking.repeat('pull', everyMs);
    await waking.repeat('pull', everyMs);
    const queue = new Queue('pull', { connection: redis.connect(), prefix: QUEUE_PREFIX });
    const moments = (await queue.getJobSchedulers()).map(({ next }) => (next ?? 0) % 300_000);
    expect(moments).toHaveLength(12);
    expect(new Set(moments).size).toBeGreaterThan(10);
    expect(Math.max(...moments) - Math.min(...moments)).toBeGreaterThan(60_000);
    await waking.repeat('pull', new Map([['tenant-3', 300_000]]));
    expect((await queue.getJobSchedulers()).map(({ key }) => key)).toEqual(['pull-tenant-3']);
    await queue.close();
  });
});

test.each([1_000, 1_001])('a job of a dead worker is taken over by another one (a lock of %i ms)', async (lockMs) => {
  const waking = queues();
  const left = new Worker('push', null, { connection: redis.connect(), prefix: QUEUE_PREFIX, autorun: false });
  opened.push({ close: () => left.close(true) });
  await waking.wake('aurora', 'doctor', 0);
  const taken = await left.getNextJob('dead', { block: false });
  expect(taken?.data).toMatchObject({ target: 'doctor' });
  await redis.connect().del(`${QUEUE_PREFIX}:push:${taken?.id}:lock`);

  const done: string[] = [];
  workers({ push: async ({ target }) => void done.push(target) }, { lockMs });
  await waitFor(async () => done.length > 0, { what: 'the job to be taken up' });
  expect(done).toEqual(['doctor']);
});
