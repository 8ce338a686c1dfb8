import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { z } from 'zod';
import { MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import { openPlain } from './damaged.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** Unused share of a time limit for succession, as a reserve for late timers and calls that are being sent. */
export const MARGIN_SHARE = 0.1;

/** Period in which other processes consider a process alive. Leases of a life are lost with the life. */
export interface Life {
  /** Unique prefix of leases and queue positions. */
  readonly id: string;
  /**
   * Aborted when the life ends, before other processes can notice. Read the property again before each use: the getter checks the time,
   * even if no timer could fire in a stopped process.
   */
  readonly over: AbortSignal;
}

interface OwnLife extends Life {
  /** Extends the life after Redis answered a beat. @param sentAt time of sending: observers see the beat later */
  wasHeard(sentAt: number): void;
}

const ENDLESS = new AbortController().signal;

/** Creates a life that starts with the first answered beat. @param silentMs time without a beat after which other processes take over */
export function createLife(id: string, silentMs: number): OwnLife {
  const ended = new AbortController();
  /** Null before the first beat. */
  let until: number | null = null;
  let timer: NodeJS.Timeout | undefined;
  const end = () => {
    clearTimeout(timer);
    ended.abort();
  };
  const look = () => {
    if (until !== null && performance.now() >= until) end();
    return ended.signal;
  };
  return {
    id,
    get over() {
      return look();
    },
    wasHeard(sentAt) {
      // A late answer extends nothing: other processes may have taken over.
      if (look().aborted) return;
      until = Math.max(until ?? 0, sentAt + silentMs * (1 - MARGIN_SHARE));
      clearTimeout(timer);
      timer = setTimeout(end, Math.max(0, until - performance.now())).unref();
    },
  };
}

const entryForm = z.object({
  /** Boot id of the kernel, with the namespaces of process ids and time; null if unknown. */
  kernel: z.string().nullable(),
  pid: z.number(),
  /** Start time, in ticks since boot. */
  startedAt: z.string().nullable(),
  /** Ids of workers, which prefix their job locks. */
  workers: z.array(z.string()).readonly(),
  /** Grows while the process is alive. */
  beat: z.number(),
  /** Time without a beat after which the process is considered dead; the process itself stops earlier. */
  silentMs: z.number(),
  /** Whether the process itself ended this life. */
  isOver: z.boolean().optional(),
});
/** Data that shows other processes whether a process is alive. */
type Entry = z.infer<typeof entryForm>;

/** Processes that share one state, and their ended lives. */
export interface Processes {
  /** Returns the current life of this process; registers a new life if necessary. */
  join(): Promise<Life>;
  /** Ids of ended lives with remains. */
  dead(): readonly string[];
  /** Registers a worker of this process. */
  addWorker(id: string): Promise<void>;
  /** Reports each death once, with the ids of the dead workers. @param listener never throws */
  onDeath(listener: (workers: readonly string[]) => Promise<void>): void;
  /** Removes the registration. */
  leave(): Promise<void>;
}

const BEAT_MS = SECOND_MS;
const LOOK_MS = SECOND_MS;
/**
 * Checks without a new beat before a process without proof of death is considered dead: after a return of Redis, a check may precede the
 * beats.
 */
const SILENT_LOOKS = 4;
/** Longer than any lease: `leases.ttlMs` is at most ten minutes. */
const FORGOTTEN_AFTER_MS = 15 * MINUTE_MS;

/** Provides a life that never ends, for leases whose holder's death need not be detected. */
export function unregistered(): Pick<Processes, 'join' | 'dead'> {
  const life = { id: randomUUID(), over: ENDLESS };
  return { join: async () => life, dead: () => [] };
}

/**
 * Opens the register without writing before the first `join`.
 * @param silentMs time without a beat after which this process is considered dead; the process itself stops slightly earlier
 */
export function openProcesses(redis: RedisClient, silentMs: number): Processes {
  return new RegisteredProcesses(redis, silentMs);
}

/** Last change of a process's beat by a monotonic clock, and the number of checks since. */
interface Seen {
  beat: number;
  at: number;
  looks: number;
}

class RegisteredProcesses implements Processes {
  readonly #redis: RedisClient;
  readonly #silentMs: number;
  readonly #entry: Entry;
  readonly #seen = new Map<string, Seen>();
  /** With the ids of their workers. */
  readonly #dead = new Map<string, readonly string[]>();
  readonly #listeners: ((workers: readonly string[]) => Promise<void>)[] = [];
  #life: OwnLife | null = null;
  /** Kept until the registration is confirmed, so that no unused life remains. */
  #nextId = randomUUID();
  #beginning: Promise<Life> | null = null;
  #timers: NodeJS.Timeout[] = [];
  #isLooking = false;

  constructor(redis: RedisClient, silentMs: number) {
    this.#redis = redis;
    this.#silentMs = silentMs;
    this.#entry = { ...identify(), workers: [], beat: 0, silentMs };
  }

  async join(): Promise<Life> {
    if (this.#life !== null && !this.#life.over.aborted) return this.#life;
    this.#beginning ??= this.#begin().finally(() => {
      this.#beginning = null;
    });
    return await this.#beginning;
  }

  dead(): readonly string[] {
    return [...this.#dead.keys()];
  }

  async addWorker(id: string): Promise<void> {
    this.#entry.workers = [...this.#entry.workers, id];
    // A life that is starting may already be announced.
    const isAnnounced = this.#life === null && this.#beginning === null;
    await this.join();
    if (!isAnnounced) await this.#beat();
  }

  onDeath(listener: (workers: readonly string[]) => Promise<void>): void {
    this.#listeners.push(listener);
    for (const workers of this.#dead.values()) void listener(workers);
  }

  async leave(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    await this.#beginning?.catch(() => {});
    if (this.#life !== null) await this.#redis.hdel(keys.processes(), this.#life.id).catch(() => {});
  }

  /** Starts a life and ends the previous one: its leases become free, but workers continue. */
  async #begin(): Promise<Life> {
    const life = createLife(this.#nextId, this.#silentMs);
    const before = this.#life;
    const sentAt = performance.now();
    this.#entry.beat += 1;
    const over = { ...this.#entry, workers: [], isOver: true };
    await this.#redis.hset(keys.processes(), {
      [life.id]: JSON.stringify(this.#entry),
      ...(before === null ? {} : { [before.id]: JSON.stringify(over) }),
    });
    this.#nextId = randomUUID();
    life.wasHeard(sentAt);
    this.#life = life;
    if (before !== null) this.#dead.set(before.id, []);
    else {
      const beat = setInterval(() => void this.#beat().catch(() => {}), BEAT_MS).unref();
      const look = setInterval(() => void this.#lookAlone().catch(() => {}), LOOK_MS).unref();
      this.#timers = [beat, look];
      await this.#look();
    }
    return life;
  }

  async #beat(): Promise<void> {
    const life = this.#life;
    if (life === null || life.over.aborted) {
      await this.join();
      return;
    }
    const sentAt = performance.now();
    this.#entry.beat += 1;
    await this.#redis.hset(keys.processes(), life.id, JSON.stringify(this.#entry));
    life.wasHeard(sentAt);
  }

  /** One check at a time: checks that wait for Redis would otherwise all complete on its return, before the beats. */
  async #lookAlone(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    await this.#look().finally(() => {
      this.#isLooking = false;
    });
  }

  async #look(): Promise<void> {
    const sentAt = performance.now();
    const all = await this.#redis.hgetall(keys.processes());
    for (const [id, value] of Object.entries(all)) {
      if (id === this.#life?.id) continue;
      const entry = openPlain(value, { owner: '{processes}', kind: 'processes' }, entryForm);
      if (entry === null) {
        // A process that is alive registers again with its next beat.
        await this.#redis.hdel(keys.processes(), id);
        continue;
      }
      const { at, looks } = this.#record(id, entry.beat);
      // A beat that was received during this check may be missing in its result.
      const silentMs = sentAt - at;
      if (!this.#dead.has(id) && this.#hasDied(entry, silentMs, looks)) {
        this.#dead.set(id, entry.workers);
        await Promise.all(this.#listeners.map((listener) => listener(entry.workers)));
      }
      if (silentMs > FORGOTTEN_AFTER_MS) await this.#redis.hdel(keys.processes(), id);
    }
    for (const id of this.#seen.keys()) {
      if (all[id] !== undefined) continue;
      this.#seen.delete(id);
      this.#dead.delete(id);
    }
  }

  #record(id: string, beat: number): Seen {
    const before = this.#seen.get(id);
    // A process with a beat is alive: a stopped process and its clocks resumed together.
    if (before !== undefined && before.beat !== beat) this.#dead.delete(id);
    const seen =
      before?.beat === beat ? { ...before, looks: before.looks + 1 } : { beat, at: performance.now(), looks: 0 };
    this.#seen.set(id, seen);
    return seen;
  }

  /** A copy of this virtual host has an equal boot id: its processes send beats, so a beat outweighs the kernel's data. */
  #hasDied(entry: Entry, silentMs: number, looks: number): boolean {
    if (entry.isOver === true) return true;
    if (silentMs >= BEAT_MS && this.#isGone(entry)) return true;
    return looks >= SILENT_LOOKS && silentMs >= entry.silentMs;
  }

  /** Decides whether a process provably ended: this kernel has no process with the id, or a different one. */
  #isGone({ kernel, pid, startedAt }: Entry): boolean {
    if (kernel === null || kernel !== this.#entry.kernel || startedAt === null || !(pid > 0)) return false;
    try {
      // Signal 0 has no effect; a permission error proves that the process exists.
      process.kill(pid, 0);
    } catch (error) {
      return error instanceof Error && 'code' in error && error.code === 'ESRCH';
    }
    const startedNow = startOf(pid);
    return startedNow !== null && startedNow !== startedAt;
  }
}

/** Returns data that identifies this process within this kernel. Without Linux or `/proc`, a death cannot be proved. */
function identify(): Pick<Entry, 'kernel' | 'pid' | 'startedAt'> {
  const { pid } = process;
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // Start times use the clock of the namespace.
    const spaces = ['pid', 'time'].map((space) => readlinkSync(`/proc/self/ns/${space}`));
    // In the `/proc` of a different namespace, this process has a different id.
    const isOurs = readlinkSync('/proc/self') === String(pid);
    return { kernel: isOurs ? [boot, ...spaces].join(' ') : null, pid, startedAt: startOf(pid) };
  } catch {
    return { kernel: null, pid, startedAt: null };
  }
}

/** Reads field 22 of `proc_pid_stat(5)`; the preceding name may contain spaces and brackets. Null if unreadable. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
