/** Records the Redis content of this version for the tests of later versions: `npm run record-upgrade`, at each release. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import manifest from '../../package.json' with { type: 'json' };
import { DAY_MS, SECOND_MS } from '../../src/core/model/time.ts';
import { neverNeedless } from '../../src/jobs/job-kinds.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { openWorkQueues } from '../../src/tenant/work-queues.ts';
import { startRedis } from '../../tools/redis.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { cycle, pull } from '../tenant/cycle.ts';
import { createModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget, type ModelTarget } from '../tenant/model-target.ts';
import { openTenant } from '../tenant/open-tenant.ts';

/** A key of Redis as text: its value by its type. */
interface KeptKey {
  key: string;
  type: string;
  value: unknown;
}

/** What a version left behind: the state of a tenant, and jobs of every kind that wait. */
export interface LeftBehind {
  keys: KeptKey[];
}

/** Jobs of every kind, with all that their data may hold: what a process of the next version finds in the queues. */
const WAITING_JOBS = 9;

/** A clinic that was brought into its calendar once. Names and keys are the same each time. */
export async function openUpgradeWorld(redis: Redis): Promise<{
  tenant: OpenTenant;
  model: ModelTarget;
  /** Opens the tenant as another process does. */
  open(): OpenTenant;
  /** What the clinic shows after it: one moved, two are new. */
  change(): void;
}> {
  const clinic = createModelClinic();
  const book = (id: string, inHours: number) => clinic.appointments.set(id, appointmentOf(id, { inHours }));
  book('stays', 24);
  book('moves', 48);
  const model = createModelTarget();
  const open = () => openTenant({ redis, clinic, targets: [{ model }], clock: () => NOW });
  const tenant = open();
  await cycle(tenant);
  const change = () => {
    book('moves', 50);
    book('new-1', 72);
    book('new-2', 73);
  };
  return { tenant, model, change, open };
}

/** Leaves behind what a version that ends in the middle of its work does. */
export async function leaveBehind(redis: Redis, url: string): Promise<LeftBehind> {
  const { tenant, change } = await openUpgradeWorld(redis);
  change();
  await pull(tenant);
  const { holds, journal, id } = tenant;
  const stamp = { linkCount: 2, now: NOW, expiresAt: NOW + DAY_MS };
  const hold = await holds.cover('doctor', 'vanished', ['kept-by-a-person'], stamp);
  await holds.decide(hold?.id ?? '', { state: 'rejected', now: NOW, expiresAt: NOW + 7 * DAY_MS });
  await journal.pin('doctor', ['put-back'], NOW + 30 * DAY_MS);
  const queues = openWorkQueues(url, neverNeedless);
  await queues.pullNow(id);
  await queues.readStreams(id);
  await queues.wake(id, 'doctor', 0);
  await queues.checkTarget(id, 'doctor', { delayMs: 0, whole: true, once: true });
  await queues.renewSubscriptions(id, { hurry: true });
  await queues.wakeTriggers(id, 0, { read: true });
  await queues.reminderAlarms(id, () => NOW).set([{ id: 'a-reminder', wakeAt: NOW }]);
  await queues.repeat('audit', new Map([[id, SECOND_MS]]));
  await queues.repeat('refresh-tokens', new Map([[id, SECOND_MS]]));
  await queues.close();
  return { keys: await readAll(redis) };
}

/** When the last of the jobs that were left behind is due, in milliseconds. */
export function dueAtIn({ keys }: LeftBehind): number {
  const dueAt = keys.flatMap(({ type, value }) => {
    const { timestamp, delay } = type === 'hash' ? (value as { timestamp?: string; delay?: string }) : {};
    return timestamp === undefined ? [] : [Number(timestamp) + Number(delay ?? 0)];
  });
  return Math.max(...dueAt);
}

/** Returns the jobs in the recorded content. */
export function jobsIn({ keys }: LeftBehind): { name: string; data: unknown }[] {
  const jobs = keys.flatMap(({ type, value }) => {
    const { name, data } = type === 'hash' ? (value as { name?: string; data?: string }) : {};
    return name === undefined || data === undefined ? [] : [{ name, data: JSON.parse(data) as unknown }];
  });
  if (jobs.length < WAITING_JOBS) throw new Error(`only ${jobs.length} jobs were left behind`);
  return jobs;
}

/** Reads everything except leases, which expire, and the events of BullMQ. */
async function readAll(redis: Redis): Promise<KeptKey[]> {
  const kept: KeptKey[] = [];
  for (const key of (await redis.keys('*')).toSorted()) {
    const type = await redis.type(key);
    const value = /:lease(-waiting)?:/.test(key) ? null : await READ[type]?.(redis, key);
    if (value != null) kept.push({ key, type, value });
  }
  return kept;
}

const READ: Readonly<Record<string, (redis: Redis, key: string) => Promise<unknown>>> = {
  string: (redis, key) => redis.get(key),
  hash: (redis, key) => redis.hgetall(key),
  set: (redis, key) => redis.smembers(key),
  list: (redis, key) => redis.lrange(key, 0, -1),
  zset: (redis, key) => redis.zrange(key, '0', '-1', 'WITHSCORES'),
};

/** Writes the recorded content into an empty Redis. */
export async function putBehind(redis: Redis, { keys }: LeftBehind): Promise<void> {
  for (const { key, type, value } of keys) {
    if (type === 'string') await redis.set(key, value as string);
    else if (type === 'hash') await redis.hset(key, value as Record<string, string>);
    else if (type === 'set') await redis.sadd(key, ...(value as string[]));
    else if (type === 'list') await redis.rpush(key, ...(value as string[]));
    else if (type === 'zset') await redis.zadd(key, ...scored(value as string[]));
    else throw new Error(`no such type: ${type}`);
  }
}

/** Members with their scores, the other way round. */
function scored(pairs: readonly string[]): string[] {
  return pairs.flatMap((_, index) => (index % 2 === 0 ? [pairs[index + 1] ?? '0', pairs[index] ?? ''] : []));
}

async function record(): Promise<void> {
  const folder = join(import.meta.dirname, '../fixtures/upgrade', manifest.version);
  const server = await startRedis();
  const redis = new Redis(server.url, { maxRetriesPerRequest: null });
  try {
    const left = await leaveBehind(redis, server.url);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'redis.json'), `${JSON.stringify(left, null, 2)}\n`);
    process.stdout.write(`${left.keys.length} keys, ${jobsIn(left).length} jobs: ${folder}\n`);
  } finally {
    redis.disconnect();
    await server.stop();
  }
}

if (import.meta.main) await record();
