import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { keys } from '../../src/state/keys.ts';
import { createLeases } from '../../src/state/leases.ts';
import { createLife, openProcesses, type Processes } from '../../src/state/processes.ts';
import { untilSeen, useFakeTime } from '../support/fake-time.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis({ appendOnly: false });

const HOLDER = fileURLToPath(new URL('lease-holder.ts', import.meta.url));

const TEN_MINUTES_MS = 600_000;

const SILENT_MS = 6_000;

/** Seconds, each with a check of the register, that see more than an unproved death requires. */
const MANY_LOOKS = 9;

/** Fewer than that. */
const SOME_LOOKS = 3;

/** A lease that another process holds, and this process's request for it. */
async function held() {
  const holder = spawn(process.execPath, [HOLDER, redis.url], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void holder.kill('SIGKILL'));
  const [said] = await once(holder.stdout, 'data');
  expect(String(said)).toBe('held');
  const client = redis.connect();
  const processes = openProcesses(client, SILENT_MS);
  onTestFinished(() => processes.leave());
  const tryTake = () => createLeases(client, 'studio', TEN_MINUTES_MS, processes).tryTake('lane');
  return { holder, client, processes, tryTake };
}

async function kill(holder: ChildProcess): Promise<void> {
  holder.kill('SIGKILL');
  await once(holder, 'exit');
}

/** Lets the seconds of this process pass, each with its beat and its check of the register; the holder stays on real time. */
function stopTime(client: ReturnType<typeof redis.connect>) {
  const time = useFakeTime();
  const [beats, checks] = [vi.spyOn(client, 'hset'), vi.spyOn(client, 'hgetall')];
  const second = async () => {
    const before = [settled(beats), settled(checks)] as const;
    await time.pass(1_000);
    await untilSeen(() => settled(beats) > before[0] && settled(checks) > before[1], 'the beat and the check');
    await time.pass(0);
  };
  return {
    second,
    async seconds(count: number) {
      for (let seconds = 0; seconds < count; seconds += 1) await second();
    },
    /** @returns the first value that is not null, within some seconds more than an unproved death requires */
    async until<Value>(condition: () => Promise<Value | null>): Promise<Value> {
      for (let seconds = 0; seconds < MANY_LOOKS; seconds += 1) {
        const value = await condition();
        if (value !== null) return value;
        await second();
      }
      throw new Error(`nothing after ${MANY_LOOKS} s`);
    },
  };
}

test('a lease of a process that was killed is free long before it expires', async () => {
  const { holder, tryTake } = await held();
  expect(await tryTake()).toBeNull();
  await kill(holder);
  const lease = await waitFor(tryTake, { what: 'the lease', intervalMs: 100 });
  // The token distinguishes a late write of the dead process.
  expect(lease.token).toMatch(/^2:/);
});

test.each(['x', 'null', '{}', '[1'])('a damaged entry of the register, %s, is removed', async (garbage) => {
  const { client, holder, processes, tryTake } = await held();
  await client.hset(keys.processes(), 'foreign', garbage);
  await kill(holder);
  expect(await waitFor(tryTake, { what: 'the lease', intervalMs: 100 })).not.toBeNull();
  expect(processes.dead()).not.toContain('foreign');
  expect(await client.hexists(keys.processes(), 'foreign')).toBe(0);
});

test('a queue position of a killed process is free too', async () => {
  const { holder, client, processes, tryTake } = await held();
  await tryTake();
  const { id: own } = await processes.join();
  const [dead = ''] = (await client.hkeys(keys.processes())).filter((id) => id !== own);
  await kill(holder);
  await waitFor(() => processes.dead().includes(dead), { what: 'the death' });
  const [seconds] = await client.time();
  const asked = `${seconds}000000`;
  await client.hset(keys.leaseWaiting('studio', 'lane'), `${dead}/waiter`, `1 ${asked}`);
  expect(await tryTake()).not.toBeNull();
});

test('a suspended process is not dead; after a long silence it is replaced, and notices this when it resumes', async () => {
  const { holder, client, processes, tryTake } = await held();
  const checks = vi.spyOn(client, 'hgetall');
  holder.kill('SIGSTOP');
  await tryTake();
  await waitFor(() => settled(checks) > SOME_LOOKS, { what: 'checks of the register' });
  expect(processes.dead()).toEqual([]);
  const lease = await waitFor(tryTake, { what: 'the lease', intervalMs: 100 });
  expect(lease.token).toMatch(/^2:/);
  const said = once(holder.stdout, 'data');
  holder.kill('SIGCONT');
  expect(String((await said)[0])).toBe('lost');
});

test.each([
  ['another kernel', { kernel: 'another' }],
  ['a kernel that is not known', { kernel: null }],
])('a process of %s, whose death nothing proves, has died when it was not heard of for long', async (_, change) => {
  const { holder, client, processes, tryTake } = await held();
  await kill(holder);
  await changeEntry(client, change);
  const time = stopTime(client);
  await tryTake();
  await time.seconds(SOME_LOOKS);
  expect(processes.dead()).toEqual([]);
  const lease = await time.until(tryTake);
  expect(lease.token).toMatch(/^2:/);
});

/** Changes what the register says of the only process in it. */
async function changeEntry(client: ReturnType<typeof redis.connect>, change: object): Promise<string> {
  const [[id = '', entry = '{}'] = []] = Object.entries(await client.hgetall(keys.processes()));
  await client.hset(keys.processes(), id, JSON.stringify({ ...JSON.parse(entry), ...change }));
  return id;
}

test('a process whose id another one has by now has died', async () => {
  const { holder, client, processes, tryTake } = await held();
  await kill(holder);
  const id = await changeEntry(client, { pid: process.pid });
  await tryTake();
  await waitFor(() => processes.dead().includes(id), { what: 'the death' });
});

test('a copy of a process that continues elsewhere is alive: it sends heartbeats', async () => {
  const { holder, client, processes, tryTake } = await held();
  await kill(holder);
  const [[id = '', entry = '{}'] = []] = Object.entries(await client.hgetall(keys.processes()));
  const time = stopTime(client);
  await tryTake();
  for (let beat = 1_000; beat < 1_000 + MANY_LOOKS; beat += 1) {
    await client.hset(keys.processes(), id, JSON.stringify({ ...JSON.parse(entry), beat }));
    await time.second();
    expect(processes.dead()).toEqual([]);
  }
});

const BEATLESS_MS = 10_000;

function heardOf() {
  const time = useFakeTime();
  const life = createLife('first', BEATLESS_MS);
  life.wasHeard(performance.now());
  return { time, life };
}

test('a life ends a tenth before others may take over, even without a check', async () => {
  const { time, life } = heardOf();
  const { over } = life;
  await time.pass(8_999);
  expect(over.aborted).toBe(false);
  await time.pass(1);
  expect(over.aborted).toBe(true);
});

test('a confirmed life continues, measured from the sending of the heartbeat', async () => {
  const { time, life } = heardOf();
  for (let beat = 0; beat < 5; beat += 1) {
    const sentAt = performance.now();
    await time.pass(4_000);
    life.wasHeard(sentAt);
  }
  await time.pass(4_999);
  expect(life.over.aborted).toBe(false);
  await time.pass(1);
  expect(life.over.aborted).toBe(true);
});

test('an answer to an earlier beat that comes later shortens nothing', async () => {
  const { time, life } = heardOf();
  const first = performance.now();
  await time.pass(3_000);
  life.wasHeard(performance.now());
  life.wasHeard(first);
  await time.pass(8_999);
  expect(life.over.aborted).toBe(false);
});

test('a suspended process notices the end of its life before any of its timers fires', () => {
  const { time, life } = heardOf();
  const before = life.over;
  time.jump(8_999);
  expect(life.over.aborted).toBe(false);
  time.jump(1);
  expect(life.over.aborted).toBe(true);
  expect(before.aborted).toBe(true);
});

test('an answer that waited while the process was suspended revives nothing', () => {
  const { time, life } = heardOf();
  const { over } = life;
  time.jump(9_000);
  life.wasHeard(performance.now());
  expect(over.aborted).toBe(true);
});

test('a life whose first beat was answered too late never was', () => {
  const time = useFakeTime();
  const life = createLife('first', BEATLESS_MS);
  const sentAt = performance.now();
  time.jump(9_000);
  life.wasHeard(sentAt);
  expect(life.over.aborted).toBe(true);
});

const NEVER = new AbortController().signal;

/** Two processes of one kernel that live, so nothing proves a death: a holder with a worker, and another one. */
async function twoProcesses() {
  const [client, otherClient] = [redis.connect(), redis.connect()];
  await Promise.all([client.flushall(), otherClient.ping()]);
  const time = useFakeTime();
  const processes = openProcesses(client, SILENT_MS);
  const other = openProcesses(otherClient, SILENT_MS);
  onTestFinished(async () => {
    vi.restoreAllMocks();
    await Promise.all([processes.leave(), other.leave()]);
  });
  await processes.addWorker('holder-worker');
  const told: (readonly string[])[] = [];
  other.onDeath(async (workers) => void told.push(workers));
  await other.join();
  const take = (of: Processes, connection: typeof client) =>
    createLeases(connection, 'studio', TEN_MINUTES_MS, of).tryTake('lane');
  const looked = vi.spyOn(otherClient, 'hgetall');
  const otherBeats = vi.spyOn(otherClient, 'hset');
  /** Time passes, and Redis answers the beat of the other process, which would give itself up else. */
  const passBeat = async (ms: number) => {
    const before = settled(otherBeats);
    await time.pass(ms);
    await untilSeen(() => settled(otherBeats) > before, 'the beat of the other process');
    await time.pass(0);
  };
  /** A second passes, with the look of the other process at its end. */
  const second = async (midway = () => {}) => {
    const before = settled(looked);
    await time.pass(500);
    midway();
    await passBeat(500);
    await untilSeen(() => settled(looked) > before, 'the look');
  };
  return {
    ...{ client, processes, other, told, looked, time, second, passBeat },
    take: () => take(processes, client),
    takeOther: () => take(other, otherClient),
  };
}

function settled(spy: { mock: { settledResults: readonly { type: string }[] } }): number {
  return spy.mock.settledResults.filter(({ type }) => type !== 'incomplete').length;
}

test('a silent holder gives up before another process can take its lease, and the other then takes it', async () => {
  const { client, take, takeOther, second } = await twoProcesses();
  const lease = await take();
  vi.spyOn(client, 'hset').mockRejectedValue(new Error('away'));
  let seconds = 0;
  for (let next = null; next === null; seconds += 1) {
    let hadGivenUp = false;
    await second(() => {
      hadGivenUp = lease?.signal.aborted === true;
    });
    next = await takeOther();
    if (next !== null) {
      expect(hadGivenUp).toBe(true);
      expect(next.token).toMatch(/^2:/);
    }
  }
  expect(lease?.signal.reason).toMatchObject({ code: 'lease-lost' });
  expect(seconds).toBeLessThanOrEqual(SILENT_MS / 1_000 + 1);
});

test('a holder that is heard of keeps its lease, whatever time passes', async () => {
  const { client, take, takeOther, time, second } = await twoProcesses();
  const beats = vi.spyOn(client, 'hset');
  const lease = await take();
  for (let seconds = 0; seconds < 20; seconds += 1) {
    const before = settled(beats);
    await second();
    await untilSeen(() => settled(beats) > before, 'the beat');
    await time.pass(0);
  }
  expect(lease?.signal.aborted).toBe(false);
  expect(await takeOther()).toBeNull();
});

test('a suspended process begins another life: its leases are free for all, its workers continue', async () => {
  const { client, processes, other, told, take, takeOther, time, second } = await twoProcesses();
  const before = await processes.join();
  const lease = await take();
  time.jump(SILENT_MS);
  expect(lease?.signal.aborted).toBe(true);
  const after = await processes.join();
  expect(after.id).not.toBe(before.id);
  await second();
  await untilSeen(() => other.dead().includes(before.id), 'the end of the first life');
  const next = await takeOther();
  expect(next?.token).toMatch(/^2:/);
  expect(told.flat()).toEqual([]);
  expect(JSON.parse((await client.hget(keys.processes(), after.id)) ?? '')).toMatchObject({
    workers: ['holder-worker'],
  });
  await next?.release();
  expect((await take())?.token).toMatch(new RegExp(`^3:${after.id}/`));
});

test('a suspended process takes its leases again at once, although they were not released', async () => {
  const { take, time } = await twoProcesses();
  const lease = await take();
  time.jump(SILENT_MS);
  const again = await take();
  expect(again?.token).toMatch(/^2:/);
  expect(again?.signal.aborted).toBe(false);
  await lease?.release();
  expect(again?.signal.aborted).toBe(false);
});

test('a suspended waiter keeps waiting, with a queue position of its new life', async () => {
  const { client, processes, takeOther, time } = await twoProcesses();
  const held = await takeOther();
  const waiting = createLeases(client, 'studio', TEN_MINUTES_MS, processes).take('lane', TEN_MINUTES_MS, NEVER);
  const place = async () => (await client.hkeys(keys.leaseWaiting('studio', 'lane')))[0];
  await untilSeen(async () => (await place()) !== undefined, 'the place');
  const first = await place();
  await untilSeen(() => vi.getTimerCount() > 0, 'a pause');
  await held?.release();
  time.jump(SILENT_MS);
  await time.pass(1_000);
  const lease = await waiting;
  expect(lease.signal.aborted).toBe(false);
  expect(lease.token).not.toContain(first?.split('/')[0]);
});

test('after Redis returns no process is dead before the heartbeats had time to arrive', async () => {
  const { client, processes, other, told, looked, second } = await twoProcesses();
  const { id } = await processes.join();
  const beats = vi.spyOn(client, 'hset').mockRejectedValue(new Error('away'));
  looked.mockRejectedValue(new Error('away'));
  for (let seconds = 0; seconds < 20; seconds += 1) await second();
  looked.mockReset();
  for (let seconds = 0; seconds < 3; seconds += 1) await second();
  expect(other.dead()).not.toContain(id);
  beats.mockReset();
  await second();
  await untilSeen(async () => (await processes.join()).id !== id, 'the next life');
  for (let seconds = 0; seconds < 10; seconds += 1) await second();
  expect(told.flat()).toEqual([]);
});

test('delayed checks report no death if Redis answers each check before the heartbeats', async () => {
  const { client, other, told, looked, time, passBeat } = await twoProcesses();
  const register = await client.hgetall(keys.processes());
  const back = Promise.withResolvers<void>();
  vi.spyOn(client, 'hset').mockRejectedValue(new Error('away'));
  looked.mockClear().mockImplementation(() => back.promise.then(() => register));
  for (let seconds = 0; seconds < 9; seconds += 1) await passBeat(1_000);
  expect(looked).toHaveBeenCalled();
  back.resolve();
  await untilSeen(() => settled(looked) === looked.mock.calls.length, 'the looks');
  await time.pass(0);
  expect(other.dead()).toEqual([]);
  expect(told).toEqual([]);
});

test('a process whose clocks stopped too is alive again at its next heartbeat, and keeps leases taken after it', async () => {
  const { client, processes, other, told, take, takeOther, second } = await twoProcesses();
  const { id } = await processes.join();
  const entry = JSON.parse((await client.hget(keys.processes(), id)) ?? '');
  const frozen = JSON.stringify({ ...entry, beat: 1_000 });
  const beats = vi.spyOn(client, 'hset').mockResolvedValue(0);
  for (let seconds = 0; !other.dead().includes(id) && seconds < 20; seconds += 1) await second();
  expect(other.dead()).toContain(id);
  beats.mockRestore();
  await client.hset(keys.processes(), id, frozen);
  await second();
  await untilSeen(() => !other.dead().includes(id), 'the life');
  const lease = await take();
  expect(lease?.token).toContain(`:${id}/`);
  expect(await takeOther()).toBeNull();
  expect(told.flat()).toEqual(['holder-worker']);
});

test('workers that are registered together, in the first life, are all informed before one takes a job', async () => {
  const client = redis.connect();
  const processes = openProcesses(client, SILENT_MS);
  onTestFinished(() => processes.leave());
  useFakeTime();
  await Promise.all(['one', 'two', 'three'].map((name) => processes.addWorker(name)));
  const own = await processes.join();
  expect(JSON.parse((await client.hget(keys.processes(), own.id)) ?? '').workers).toEqual(['one', 'two', 'three']);
});
