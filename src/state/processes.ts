import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { MINUTE_MS, SECOND_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** What proves that a process lives or died, to others of the same kernel. */
interface Entry {
  /** Boot of the kernel, with the namespaces of process ids and of time; null where they are not known. */
  kernel: string | null;
  pid: number;
  /** When it started, in ticks since the boot. */
  startedAt: string | null;
  /** Ids of its workers, which its locks of jobs begin with. */
  workers: readonly string[];
  /** Grows as long as the process lives. */
  beat: number;
}

/** The processes that work on one state, and which of them are proved to have died. */
export interface Processes {
  /** Leases, and places in their lines, begin with it. */
  readonly id: string;
  /** Registers this process; only the first call does. */
  join(): Promise<void>;
  /** Ids of processes that died and left something. */
  dead(): readonly string[];
  /** Names a worker of this process. */
  addWorker(id: string): Promise<void>;
  /** Has each death told once, with the ids of the workers that died. @param tell never throws */
  onDeath(tell: (workers: readonly string[]) => Promise<void>): void;
  /** Leaves nothing behind. */
  leave(): Promise<void>;
}

const BEAT_MS = SECOND_MS;
/** A copy of this machine has the same boot: its processes beat, so that whoever beats between two looks lives. */
const LOOK_MS = 2 * SECOND_MS;
/** No lease lives longer: `leases.ttlMs` is ten minutes at most. */
const FORGOTTEN_AFTER_MS = 15 * MINUTE_MS;

/** For leases of which nobody needs to prove anything: each of these is a process that never dies. */
export function unregistered(): Pick<Processes, 'id' | 'join' | 'dead'> {
  return { id: randomUUID(), join: async () => {}, dead: () => [] };
}

/** Opens the register. Nothing is written before the first `join`. */
export function openProcesses(redis: RedisClient): Processes {
  return new RegisteredProcesses(redis);
}

class RegisteredProcesses implements Processes {
  readonly id = randomUUID();
  readonly #redis: RedisClient;
  readonly #entry: Entry = { ...identify(), workers: [], beat: 0 };
  /** When the beat of each other one was seen to change last, by a clock that does not jump. */
  readonly #seen = new Map<string, { beat: number; at: number }>();
  /** With the ids of their workers. */
  readonly #dead = new Map<string, readonly string[]>();
  readonly #told: ((workers: readonly string[]) => Promise<void>)[] = [];
  #joined: Promise<void> | null = null;
  #timers: NodeJS.Timeout[] = [];

  constructor(redis: RedisClient) {
    this.#redis = redis;
  }

  join(): Promise<void> {
    this.#joined ??= this.#begin().catch((error) => {
      this.#joined = null;
      throw error;
    });
    return this.#joined;
  }

  dead(): readonly string[] {
    return [...this.#dead.keys()];
  }

  async addWorker(id: string): Promise<void> {
    this.#entry.workers = [...this.#entry.workers, id];
    await (this.#joined === null ? this.join() : this.#beat());
  }

  onDeath(tell: (workers: readonly string[]) => Promise<void>): void {
    this.#told.push(tell);
    for (const workers of this.#dead.values()) void tell(workers);
  }

  async leave(): Promise<void> {
    for (const timer of this.#timers.splice(0)) clearInterval(timer);
    if (this.#joined !== null) await this.#redis.hdel(keys.processes(), this.id).catch(() => {});
  }

  async #begin(): Promise<void> {
    await this.#beat();
    await this.#look();
    const beat = setInterval(() => void this.#beat().catch(() => {}), BEAT_MS).unref();
    const look = setInterval(() => void this.#look().catch(() => {}), LOOK_MS).unref();
    this.#timers = [beat, look];
  }

  async #beat(): Promise<void> {
    this.#entry.beat += 1;
    await this.#redis.hset(keys.processes(), this.id, JSON.stringify(this.#entry));
  }

  async #look(): Promise<void> {
    const all = await this.#redis.hgetall(keys.processes());
    const now = performance.now();
    for (const [id, value] of Object.entries(all)) {
      if (id === this.id) continue;
      const entry = JSON.parse(value) as Entry;
      const seen = this.#seen.get(id);
      if (seen?.beat !== entry.beat) {
        this.#seen.set(id, { beat: entry.beat, at: now });
        continue;
      }
      if (!this.#dead.has(id) && now - seen.at >= BEAT_MS && this.#isGone(entry)) {
        this.#dead.set(id, entry.workers);
        await Promise.all(this.#told.map((tell) => tell(entry.workers)));
      }
      if (now - seen.at > FORGOTTEN_AFTER_MS) await this.#redis.hdel(keys.processes(), id);
    }
    for (const id of this.#seen.keys()) {
      if (all[id] !== undefined) continue;
      this.#seen.delete(id);
      this.#dead.delete(id);
    }
  }

  /** Whether it is proved that a process ended: this kernel has none of its id, or another one by now. */
  #isGone({ kernel, pid, startedAt }: Entry): boolean {
    if (kernel === null || kernel !== this.#entry.kernel || startedAt === null || !(pid > 0)) return false;
    try {
      // Signal 0 is sent to nobody; who may not send it learns so, and not that there is none.
      process.kill(pid, 0);
    } catch (error) {
      return error instanceof Error && 'code' in error && error.code === 'ESRCH';
    }
    const startedNow = startOf(pid);
    return startedNow !== null && startedNow !== startedAt;
  }
}

/** What others of this kernel know this process by. Not on Linux, or without `/proc`: nobody can prove its death. */
function identify(): Pick<Entry, 'kernel' | 'pid' | 'startedAt'> {
  const { pid } = process;
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    // Start times are told by the clock of the namespace.
    const spaces = ['pid', 'time'].map((space) => readlinkSync(`/proc/self/ns/${space}`));
    // In another namespace's `/proc`, this process has another id.
    const isOurs = readlinkSync('/proc/self') === String(pid);
    return { kernel: isOurs ? [boot, ...spaces].join(' ') : null, pid, startedAt: startOf(pid) };
  } catch {
    return { kernel: null, pid, startedAt: null };
  }
}

/** Field 22 of `proc_pid_stat(5)`; the name before it may hold spaces and brackets. Null when it can't be read. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}
