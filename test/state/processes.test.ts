import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test, vi } from 'vitest';
import { keys } from '../../src/state/keys.ts';
import { createLeases } from '../../src/state/leases.ts';
import { createLife, openProcesses } from '../../src/state/processes.ts';
import { useFakeTime } from '../support/fake-time.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis({ appendOnly: false });
const HOLDER = fileURLToPath(new URL('lease-holder.ts', import.meta.url));
const TEN_MINUTES_MS = 600_000;
const SILENT_MS = 6_000;
/** Looks at the register, each of which sees every process: more than a death without a proof needs. */
const MANY_LOOKS = 9;
/** Fewer than that. */
const SOME_LOOKS = 3;

/** A lease that another process holds, and how this one asks for it. */
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

/** Waits until the register was looked at so many times. */
async function looks(client: ReturnType<typeof redis.connect>, times = MANY_LOOKS): Promise<void> {
  const count = async () => Number(/cmdstat_hgetall:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0);
  const before = await count();
  await waitFor(async () => (await count()) >= before + times, { what: 'looks at the register' });
}

test('a lease of a process that was killed is free long before it expires', async () => {
  const { holder, tryTake } = await held();
  expect(await tryTake()).toBeNull();
  await kill(holder);
  const lease = await waitFor(tryTake, { what: 'the lease', intervalMs: 100 });
  // A late write of the dead one is told apart.
  expect(lease.token).toMatch(/^2:/);
});

test('a place in the line of a process that was killed is free too', async () => {
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

test('a process that stands still has not died; unheard of for long it is succeeded, and knows it when it goes on', async () => {
  const { holder, client, processes, tryTake } = await held();
  holder.kill('SIGSTOP');
  await tryTake();
  await looks(client, SOME_LOOKS);
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
  await tryTake();
  await looks(client, SOME_LOOKS);
  expect(processes.dead()).toEqual([]);
  const lease = await waitFor(tryTake, { what: 'the lease', intervalMs: 100 });
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

test('a copy of a process, which goes on elsewhere, lives: it beats', async () => {
  const { holder, client, processes, tryTake } = await held();
  await kill(holder);
  const [[id = '', entry = '{}'] = []] = Object.entries(await client.hgetall(keys.processes()));
  let beat = 1_000;
  const timer = setInterval(() => {
    beat += 1;
    void client.hset(keys.processes(), id, JSON.stringify({ ...JSON.parse(entry), beat }));
  }, 100);
  onTestFinished(() => clearInterval(timer));
  await tryTake();
  await looks(client);
  expect(processes.dead()).toEqual([]);
});

const BEATLESS_MS = 10_000;

function heardOf() {
  const time = useFakeTime();
  const life = createLife('first', BEATLESS_MS);
  life.wasHeard(performance.now());
  return { time, life };
}

test('a life ends a tenth before others may take over, though nobody looks', async () => {
  const { time, life } = heardOf();
  const { over } = life;
  await time.pass(8_999);
  expect(over.aborted).toBe(false);
  await time.pass(1);
  expect(over.aborted).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});

test('a life that is heard of goes on, counted from when the beat was sent', async () => {
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

test('a process that stood still sees before any of its timers rings that its life is over', () => {
  const { time, life } = heardOf();
  const before = life.over;
  time.jump(8_999);
  expect(life.over.aborted).toBe(false);
  time.jump(1);
  expect(life.over.aborted).toBe(true);
  expect(before.aborted).toBe(true);
});

test('an answer that waited while the process stood still revives nothing', () => {
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
