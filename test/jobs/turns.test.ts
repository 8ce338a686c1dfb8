import { Queue } from 'bullmq';
import { afterEach, describe, expect, test } from 'vitest';
import { neverNeedless } from '../../src/jobs/job-kinds.ts';
import { type Share, Turns } from '../../src/jobs/turns.ts';
import { QUEUE_PREFIX } from '../../src/state/keys.ts';
import type { JobHandlers, JobName, SharesOf } from '../../src/tenant/job-catalogue.ts';
import { sharesOf } from '../../src/tenant/job-shares.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { openWorkQueues, type WorkQueues } from '../../src/tenant/work-queues.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { startSomeWorkers } from './some-workers.ts';

/** Turns whose work ends on request, and that come again when called. */
function open() {
  const turns = new Turns();
  const working = new Map<string, PromiseWithResolvers<void>>();
  const begun: string[] = [];
  const ended: Promise<void>[] = [];
  const come = (work: string, shares: readonly Share[], job = work): string => {
    const admission = turns.admit({ work, job, shares, call: async () => void come(work, shares, job) });
    if (admission.turn !== 'begin') return admission.turn;
    begun.push(work);
    const gate = Promise.withResolvers<void>();
    working.set(work, gate);
    ended.push(admission.run(() => gate.promise).catch(() => {}));
    return 'begin';
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));
  return {
    ...{ turns, begun, come },
    async end(work: string, error?: Error) {
      if (error === undefined) working.get(work)?.resolve();
      else working.get(work)?.reject(error);
      await settle();
    },
  };
}

const two: Share = { name: 'two at once', most: 2 };

const other: Share = { name: 'another', most: 2 };

describe('a share', () => {
  test('that is full does not block the other shares', () => {
    const { come, begun } = open();
    for (const work of ['a', 'b', 'c']) come(work, [two]);
    come('d', [other]);
    expect(begun).toEqual(['a', 'b', 'd']);
  });

  test('has a free slot after each end, failed or not, for the first waiter', async () => {
    const { come, begun, end } = open();
    for (const work of ['a', 'b', 'c', 'd', 'e']) come(work, [two]);
    await end('b', new Error('failed'));
    await end('c');
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
  });

  test('is not taken by a newcomer from the waiter that was called', async () => {
    const turns = new Turns();
    const one: Share = { name: 'one at once', most: 1 };
    const gate = Promise.withResolvers<void>();
    const called: string[] = [];
    const ask = (work: string) =>
      turns.admit({ work, job: work, shares: [one], call: async () => void called.push(work) });
    const first = ask('first');
    const ended = first.turn === 'begin' ? first.run(() => gate.promise) : null;
    expect(ask('second')).toEqual({ turn: 'wait', ahead: 0 });
    gate.resolve();
    await ended;
    expect(called).toEqual(['second']);
    expect(ask('third')).toEqual({ turn: 'wait', ahead: 0 });
    expect(ask('second').turn).toBe('begin');
  });

  test('goes to the next waiter when the called one cannot come', async () => {
    const { turns, come, begun, end } = open();
    come('a', [two]);
    come('b', [two]);
    turns.admit({
      work: 'gone',
      job: 'gone',
      shares: [two],
      call: () => Promise.reject(new Error('taken by another')),
    });
    come('c', [two]);
    await end('a');
    expect(begun).toEqual(['a', 'b', 'c']);
  });
});

describe('a turn', () => {
  test('waits for each of its shares without taking of one while it waits for another', async () => {
    const { come, begun, end } = open();
    come('a', [two]);
    come('b', [two]);
    come('both', [other, two]);
    come('c', [other]);
    come('d', [other]);
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    await end('a');
    expect(begun).not.toContain('both');
    come('later', [two]);
    expect(begun).toContain('later');
    await end('c');
    expect(begun).not.toContain('both');
    await end('b');
    expect(begun).toContain('both');
  });

  test('comes to a waiter with two shares that are never free together', async () => {
    const one: Share = { name: 'one at once', most: 1 };
    const only: Share = { name: 'only one', most: 1 };
    const { come, begun, end } = open();
    come('a 0', [one]);
    come('b 0', [only]);
    for (const work of ['both', 'both as well']) come(work, [one, only]);
    let ends = 0;
    for (; ends < 100 && !begun.includes('both as well'); ends += 1) {
      come(`a ${ends + 1}`, [one]);
      come(`b ${ends + 1}`, [only]);
      for (const work of begun.slice()) if (work.startsWith(ends % 2 === 0 ? 'a' : 'b')) await end(work);
      await end('both');
    }
    expect(begun.filter((work) => work.startsWith('both'))).toEqual(['both', 'both as well']);
    expect(ends).toBeLessThan(20);
    for (let index = 0; index < begun.length; index += 1) await end(begun[index] as string);
    expect(begun).toHaveLength(2 * ends + 4);
  });

  test('is one for the same work, by the job that came first', () => {
    const { come, begun } = open();
    come('a', [two]);
    come('b', [two]);
    expect(come('c', [two], 'one job')).toBe('wait');
    expect(come('c', [two], 'another job')).toBe('leave');
    expect(come('c', [two], 'one job')).toBe('wait');
    expect(begun).toEqual(['a', 'b']);
  });

  test('that waits for a budget blocks others from starting, and not from continuing', async () => {
    const turns = new Turns();
    const share: Share = { name: 'client', most: 4, mostInLine: 1 };
    const answers = new Map<string, PromiseWithResolvers<void>>();
    const steps: string[] = [];
    const answerTo = async (work: string) => {
      const answer = Promise.withResolvers<void>();
      answers.set(work, answer);
      await answer.promise;
    };
    const come = (work: string): void => {
      const admission = turns.admit({ work, job: work, shares: [share], call: async () => come(work) });
      if (admission.turn !== 'begin') return;
      void admission.run(async () => {
        steps.push(`${work} begins`);
        await answerTo(`${work}, at once`);
        await turns.inLine(() => answerTo(`${work}, in line`));
        steps.push(`${work} ends`);
      });
    };
    const settle = () => new Promise((resolve) => setImmediate(resolve));
    const answer = async (name: string) => {
      answers.get(name)?.resolve();
      await settle();
    };
    come('a');
    come('b');
    await answer('a, at once');
    come('c');
    come('d');
    await answer('b, at once');
    expect(steps).toEqual(['a begins', 'b begins']);
    await answer('a, in line');
    expect(steps.slice(2)).toEqual(['a ends']);
    await answer('b, in line');
    expect(steps.slice(3).toSorted()).toEqual(['b ends', 'c begins', 'd begins']);
  });

  test('is not held by a waiter outside of a turn', async () => {
    expect(await new Turns().inLine(async () => 'an answer')).toBe('an answer');
  });
});

const redis = useRedis({ appendOnly: false });

const opened: { close(graceMs: number): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close(1_000);
});

/** More than any share holds. */
const MANY = 40;

const IN_FLIGHT = {
  pull: 16,
  'read-streams': 16,
  push: 16,
  audit: 4,
  'check-target': 16,
  subscriptions: 4,
  remind: 32,
  triggers: 16,
  'refresh-tokens': 4,
};

/** Data that determines the shares of a job, of a clinic whose targets, channels and client have the given names. */
function clinicOf(id: string, { client = 'main', vendor = 'google', gateway = 'sms', records = 10 } = {}): OpenTenant {
  const target = (id: string) => [id, { configuration: { connector: vendor, connection: vendor } }] as const;
  const known = {
    id,
    configuration: { clinic: { client }, reminders: { channels: new Map([['channel', { kind: gateway }]]) } },
    targets: new Map(Array.from({ length: MANY }, (_, index) => target(`calendar-${index}`))),
    runs: { list: async () => [{ snapshot: null }, { snapshot: { records } }] },
    links: { count: async () => records },
    reminders: { ledger: { read: async () => ({ channel: 'channel' }) } },
  };
  return known as unknown as OpenTenant;
}

/** Workers whose every turn for a tenant called `stuck…` waits for an answer until `release` is called. */
function stuckWorkers(tenants: ReadonlyMap<string, OpenTenant>) {
  const gate = Promise.withResolvers<void>();
  const turns = new Turns();
  const done: string[] = [];
  let stuck = 0;
  const work = async ({ tenant }: { tenant: string }) => {
    if (tenant.startsWith('stuck')) {
      stuck += 1;
      await gate.promise;
    }
    done.push(tenant);
  };
  const all: Partial<JobHandlers> = { pull: work, push: work, 'check-target': work, remind: work, triggers: work };
  const shares: SharesOf = sharesOf(tenants, IN_FLIGHT);
  const workers = startSomeWorkers(redis.url, all, { inFlight: IN_FLIGHT, sharesOf: shares, turns });
  // Closed in the opposite order: no work waits for an answer then.
  opened.push(workers, { close: async () => gate.resolve() });
  const queues = openWorkQueues(redis.url, neverNeedless);
  opened.push(queues);
  return { queues, done, stuck: () => stuck, release: () => gate.resolve() };
}

async function waitingIn(name: JobName): Promise<number> {
  const queue = new Queue(name, { connection: redis.connect(), prefix: QUEUE_PREFIX });
  const { wait = 0, delayed = 0 } = await queue.getJobCounts('wait', 'delayed');
  await queue.close();
  // A job that is still in the queue has not been told to wait outside.
  return wait > 0 ? Number.NaN : delayed;
}

interface Case {
  name: JobName;
  /** The stuck resource, and its requests. */
  stuck: Parameters<typeof clinicOf>[1];
  stuckTenants: number;
  /** Number of these that run at once. */
  underWay: number;
  ask(queues: WorkQueues, tenant: string, index: number): Promise<void>;
}

const pullNow: Case['ask'] = (queues, tenant) => queues.pullNow(tenant);

const wake: Case['ask'] = (queues, tenant, index) => queues.wake(tenant, `calendar-${index}`, 0);

const check: Case['ask'] = (queues, tenant, index) =>
  queues.checkTarget(tenant, `calendar-${index}`, { delayMs: 0, once: true });

const ring: Case['ask'] = (queues, tenant, index) =>
  queues.reminderAlarms(tenant, Date.now).set([{ id: `${index}`, wakeAt: 0 }]);

const tell: Case['ask'] = (queues, tenant) => queues.wakeTriggers(tenant, 0, { read: true });

const CASES: Record<string, Case> = {
  'cycles of clinics of another client': {
    ...{ name: 'pull', stuck: { client: 'slow' }, stuckTenants: MANY, underWay: 8, ask: pullNow },
  },
  'large readings': { name: 'pull', stuck: { records: 50_000 }, stuckTenants: MANY, underWay: 4, ask: pullNow },
  'writes of another vendor': {
    ...{ name: 'push', stuck: { vendor: 'slow' }, stuckTenants: MANY, underWay: 8, ask: wake },
  },
  "writes into one tenant's calendars": { name: 'push', stuck: {}, stuckTenants: 1, underWay: 2, ask: wake },
  "audits of one tenant's calendars": { name: 'check-target', stuck: {}, stuckTenants: 1, underWay: 2, ask: check },
  'audits of large calendars': {
    name: 'check-target',
    stuck: { records: 50_000 },
    stuckTenants: MANY,
    underWay: 4,
    ask: check,
  },
  "reminders at one tenant's gateway": { name: 'remind', stuck: {}, stuckTenants: 1, underWay: 4, ask: ring },
  'reminders at another gateway': {
    ...{ name: 'remind', stuck: { gateway: 'webhook', client: 'other' }, stuckTenants: MANY, underWay: 16, ask: ring },
  },
  'triggers of another client': {
    ...{ name: 'triggers', stuck: { client: 'slow' }, stuckTenants: MANY, underWay: 8, ask: tell },
  },
};

test.each(Object.entries(CASES))('while %s get no answer, a healthy one is done', async (_, given) => {
  const { name, stuck, stuckTenants, underWay, ask } = given;
  const names = Array.from({ length: stuckTenants }, (_tenant, index) => `stuck-${index}`);
  const all = [...names.map((id) => [id, clinicOf(id, stuck)] as const), ['healthy', clinicOf('healthy')] as const];
  const world = stuckWorkers(new Map(all));
  for (let index = 0; index < MANY; index += 1) await ask(world.queues, names[index % stuckTenants] ?? '', index);
  await waitFor(async () => (await waitingIn(name)) === MANY - underWay, { what: 'the rest to wait outside' });
  expect(world.stuck()).toBe(underWay);
  await ask(world.queues, 'healthy', 0);
  await waitFor(() => world.done.includes('healthy'), { what: 'the healthy one' });
  expect(world.done).toEqual(['healthy']);
  world.release();
  await waitFor(() => world.done.length === MANY + 1, { what: 'all others, when they are answered' });
});

test('while four cycles of a clinic client wait for its budget no other begins, and half of the turns may wait for anything else', async () => {
  const tenants = new Map(Array.from({ length: MANY }, (_, index) => [`clinic-${index}`, clinicOf(`clinic-${index}`)]));
  const turns = new Turns();
  const [started, budget, answer] = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
  const steps = { begun: 0, asked: 0, done: 0 };
  const pull: JobHandlers['pull'] = async () => {
    steps.begun += 1;
    if (steps.begun > 4) await started?.promise;
    await turns.inLine(() => budget?.promise ?? Promise.resolve());
    steps.asked += 1;
    await answer?.promise;
    steps.done += 1;
  };
  const options = { inFlight: IN_FLIGHT, sharesOf: sharesOf(tenants, IN_FLIGHT), turns };
  opened.push(startSomeWorkers(redis.url, { pull }, options));
  const queues = openWorkQueues(redis.url, neverNeedless);
  opened.push(queues);
  for (const tenant of tenants.keys()) await queues.pullNow(tenant);
  await waitFor(async () => (await waitingIn('pull')) === MANY - 4, { what: 'the rest to wait outside' });
  expect(steps).toEqual({ begun: 4, asked: 0, done: 0 });
  budget?.resolve();
  await waitFor(() => steps.begun === 8, { what: 'half of the turns to be taken' });
  expect(steps).toEqual({ begun: 8, asked: 4, done: 0 });
  started?.resolve();
  answer?.resolve();
  await waitFor(() => steps.done === MANY, { what: 'all' });
});

test('a repeated job that waits outside is not heaped up by its next times', async () => {
  const names = Array.from({ length: 9 }, (_, index) => `stuck-${index}`);
  const tenants = new Map(names.map((name) => [name, clinicOf(name)]));
  const world = stuckWorkers(tenants);
  await world.queues.repeat('pull', new Map(names.map((name) => [name, 1_000])));
  const queue = new Queue('pull', { connection: redis.connect(), prefix: QUEUE_PREFIX });
  await waitFor(async () => (await queue.getCompletedCount()) > tenants.size, { what: 'further times of each' });
  // Of each tenant one that waits, and the next time.
  const { delayed = 0 } = await queue.getJobCounts('delayed');
  expect(delayed).toBeLessThanOrEqual(2 * tenants.size);
  world.release();
  await waitFor(() => world.done.length >= tenants.size, { what: 'all' });
  await world.queues.repeat('pull', new Map());
  await queue.close();
});
