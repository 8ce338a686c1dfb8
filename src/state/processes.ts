import { randomUUID } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { MINUTE_MS, SECOND_MS } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** Part of a time after which others succeed us that we don't use: for a timer that rings late, and for a call that is just going out. */
export const MARGIN_SHARE = 0.1;

/** A time in which a process lives to all others. What it took in one life is lost with it. */
export interface Life {
  /** Leases, and places in their lines, begin with it. It never comes again. */
  readonly id: string;
  /**
   * Aborted when the life ends, before anybody else can know. Read it again before each use: that looks at the time, also where no timer
   * could ring since the process stood still.
   */
  readonly over: AbortSignal;
}

/** The life of this process. */
interface OwnLife extends Life {
  /** Prolongs it: Redis has answered a beat. @param sentAt when that was sent: whoever saw it did so no earlier */
  wasHeard(sentAt: number): void;
}

/** For what never ends. */
const ENDLESS = new AbortController().signal;

/** A life that begins when it is first heard of. @param silentMs others take over when they have seen no beat for so long */
export function createLife(id: string, silentMs: number): OwnLife {
  const ended = new AbortController();
  /** Null before it is heard of. */
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
      // An answer that comes too late prolongs nothing: others may have taken over.
      if (look().aborted) return;
      until = Math.max(until ?? 0, sentAt + silentMs * (1 - MARGIN_SHARE));
      clearTimeout(timer);
      timer = setTimeout(end, Math.max(0, until - performance.now())).unref();
    },
  };
}

/** What tells others that a process lives or died. */
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
  /** Without a beat for so long it has died to all others, and has given up before. */
  silentMs: number;
  /** It gave this life up itself. */
  isOver?: boolean;
}

/** The processes that work on one state, and which of their lives have ended. */
export interface Processes {
  /** The life that this process is in; registers a new one first where there is none. */
  join(): Promise<Life>;
  /** Ids of lives that ended and left something. */
  dead(): readonly string[];
  /** Names a worker of this process. */
  addWorker(id: string): Promise<void>;
  /** Has each death told once, with the ids of the workers that died. @param listener never throws */
  onDeath(listener: (workers: readonly string[]) => Promise<void>): void;
  /** Leaves nothing behind. */
  leave(): Promise<void>;
}

const BEAT_MS = SECOND_MS;
const LOOK_MS = SECOND_MS;
/** Looks that saw no beat before a process has died without a proof: when Redis comes back, a look may be there before the beats are. */
const SILENT_LOOKS = 4;
/** No lease lives longer: `leases.ttlMs` is ten minutes at most. */
const FORGOTTEN_AFTER_MS = 15 * MINUTE_MS;

/** For leases of which nobody needs to learn that their holder died: each of these is a process that never does. */
export function unregistered(): Pick<Processes, 'join' | 'dead'> {
  const life = { id: randomUUID(), over: ENDLESS };
  return { join: async () => life, dead: () => [] };
}

/**
 * Opens the register. Nothing is written before the first `join`.
 * @param silentMs without a beat for so long this process has died to all others; it gives up a little earlier
 */
export function openProcesses(redis: RedisClient, silentMs: number): Processes {
  return new RegisteredProcesses(redis, silentMs);
}

/** When the beat of another process was seen to change last, by a clock that does not jump, and how many looks saw it since. */
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
  /** Kept until it is known that it was registered, so that no life is left that nobody lives. */
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
    // A life that is beginning may have been told before.
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

  /** Begins a life, and says that the one before is over: what was held in it is free, but the workers go on. */
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

  /** One look at a time: those that waited for Redis would all be answered when it comes back, before the beats are. */
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
      const entry = JSON.parse(value) as Entry;
      const { at, looks } = this.#record(id, entry.beat);
      // A beat that was heard while this look was on its way may be missing in it.
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
    // Whoever beats lives: it stood still together with its clocks, and knows of no death.
    if (before !== undefined && before.beat !== beat) this.#dead.delete(id);
    const seen =
      before?.beat === beat ? { ...before, looks: before.looks + 1 } : { beat, at: performance.now(), looks: 0 };
    this.#seen.set(id, seen);
    return seen;
  }

  /** A copy of this machine has the same boot: its processes beat, so whoever beats lives, whatever the kernel says. */
  #hasDied(entry: Entry, silentMs: number, looks: number): boolean {
    if (entry.isOver === true) return true;
    if (silentMs >= BEAT_MS && this.#isGone(entry)) return true;
    return looks >= SILENT_LOOKS && silentMs >= entry.silentMs;
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
