import { MirrorError } from '../../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { commitCycle } from '../../../src/engine/commit.ts';
import { planCycle } from '../../../src/engine/cycle.ts';
import type { Cycle } from '../../../src/engine/memo.ts';
import {
  type MemoryEngine,
  type MemoryEngineOptions,
  type MemoryTargetOptions,
  openMemoryEngine,
} from '../../../src/engine/memory/engine.ts';
import type { MemoryRecord } from '../../../src/engine/memory/items.ts';
import type { MemoryReading } from '../../../src/engine/memory/reading.ts';
import { MemorySource, type MemorySourceOptions } from '../../../src/engine/memory/source.ts';
import { createMemoryState } from '../../../src/engine/memory/store.ts';
import { MemoryTarget } from '../../../src/engine/memory/target.ts';
import { pushTarget } from '../../../src/engine/push.ts';
import type { TargetPlan } from '../../../src/engine/target-plan.ts';

/** Start of each world. */
export const START = Date.UTC(2026, 5, 15, 8);
/** A signal that never comes. */
const NEVER = new AbortController().signal;

/** The only stream and target of a world without own ones. */
export const STREAM = 'rows';
export const TARGET = 'shelf';

/** One tenant in memory, with everything that outlives a process. */
export interface MemoryWorld {
  clock: { now: number };
  source: MemorySource;
  state: ReturnType<typeof createMemoryState>;
  connector: MemoryTarget;
  /** Opens a process. */
  open(changes?: Partial<MemoryEngineOptions>): MemoryEngine;
}

/** Opens a tenant with one target. */
export function openMemoryWorld(
  rules: Partial<MemoryTargetOptions> = {},
  { limitBytes, ...sourceOptions }: MemorySourceOptions & { limitBytes?: number } = {},
): MemoryWorld {
  const clock = { now: START };
  const read = () => clock.now;
  const source = new MemorySource(read, [STREAM], sourceOptions);
  const state = createMemoryState(read, limitBytes);
  const connector = new MemoryTarget();
  const targets = [{ id: TARGET, stream: STREAM, connector, ...rules }];
  return {
    clock,
    source,
    state,
    connector,
    open: (changes) => openMemoryEngine({ state, source, targets, ...changes }),
  };
}

/** A record that starts some hours after the start of the world. */
export function recordOf(id: string, changes: Partial<MemoryRecord> & { inHours?: number } = {}): MemoryRecord {
  const { inHours = 24, ...fields } = changes;
  return { id, title: `title of ${id}`, startAt: START + inHours * HOUR_MS, ...fields };
}

/** Replaces the records of the world by these many. */
export function fill({ source }: MemoryWorld, count: number): void {
  const { records } = source.stream(STREAM);
  records.clear();
  for (let index = 0; index < count; index += 1) {
    const id = `r${String(index).padStart(2, '0')}`;
    records.set(id, recordOf(id, { inHours: 24 + index }));
  }
}

/** Another process holds the lease, or died with it. */
function busy(): MirrorError {
  return new MirrorError('lease is held', { actor: 'remote', code: 'lease-busy', retry: 'later' });
}

type MemoryCycle = Cycle<ReturnType<MemoryEngine['targets']['get']> & object, MemoryReading>;

/** Plans and commits one cycle, as its process does. */
export async function runCycle(engine: MemoryEngine, options: { pacedAt?: number } = {}): Promise<MemoryCycle> {
  const lease = await engine.leases.tryTake('plan');
  if (lease === null) throw busy();
  try {
    const now = engine.clock();
    await engine.holds.expire(now, now + 7 * DAY_MS);
    const cycle = await planCycle(engine, { lease, progress: () => {}, ...options }, NEVER);
    await commitCycle(engine, cycle, lease, { run: `run-${now}`, wake: async () => {} });
    return cycle;
  } finally {
    await lease.release();
  }
}

/** Plans a cycle without any effect. */
export function look(engine: MemoryEngine): Promise<MemoryCycle> {
  return planCycle(engine, { lease: null, progress: () => {} }, NEVER);
}

/** An operator decides the oldest open hold. */
export async function decide({ holds, clock }: MemoryEngine, state: 'approved' | 'rejected'): Promise<void> {
  const [open] = (await holds.list()).filter((hold) => hold.state === 'open');
  await holds.decide(open?.id ?? '', { state, now: clock(), expiresAt: clock() + 7 * DAY_MS });
}

/** The plan of the only target. */
export function planIn({ plans }: { plans: readonly TargetPlan[] }): TargetPlan {
  const [plan] = plans;
  if (plan === undefined) throw new Error('there is no plan');
  return plan;
}

/** Planned changes in short: what is wanted, and why. */
export function changesIn({ permitted }: Pick<TargetPlan, 'permitted'>): string[] {
  return permitted.map(({ recordId, reason, wanted }) => `${wanted.want} ${recordId} ${reason}`).sort();
}

/** Writes all due changes of a target in its lane. */
export async function settle(engine: MemoryEngine, target = TARGET): Promise<void> {
  const opened = engine.targets.get(target);
  if (opened === undefined) throw new Error(`no target ${target}`);
  const { idle, nextInMs } = await pushTarget(engine, opened, { stop: NEVER, abort: NEVER });
  if (idle && nextInMs !== null) throw busy();
}

/** A cycle whose changes are written, and the time until the next one. */
export async function turn(world: MemoryWorld, engine: MemoryEngine): Promise<MemoryCycle> {
  const cycle = await runCycle(engine);
  for (const target of engine.targets.keys()) await settle(engine, target);
  world.clock.now += 5 * MINUTE_MS;
  return cycle;
}

/** A world whose target holds all of its records. */
export async function settledWorld(
  count: number,
  ...options: Parameters<typeof openMemoryWorld>
): Promise<{ world: MemoryWorld; engine: MemoryEngine }> {
  const world = openMemoryWorld(...options);
  fill(world, count);
  const engine = world.open();
  await turn(world, engine);
  return { world, engine };
}
