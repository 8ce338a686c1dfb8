import { MirrorError } from '../../core/model/errors.ts';
import type { ItemKey } from '../../core/model/operations.ts';
import type { RecentObject } from '../../core/model/plan.ts';
import type { StorageUse, Uncertainty } from '../../core/model/state-schemas.ts';
import { type Clock, HOUR_MS, type Instant } from '../../core/model/time.ts';
import { message } from '../../messages/message.ts';
import {
  type ErasedPersons,
  type LeaseTable,
  type PinTable,
  type RecentObjects,
  type Safeguard,
  type Store,
  SUPERSEDED,
  type UnansweredKeys,
} from '../store.ts';
import { MemoryHolds } from './holds.ts';
import { MemoryLeases } from './leases.ts';
import { MemoryLinks } from './links.ts';
import { MemoryOutbox } from './outbox.ts';
import { MemoryTargets } from './targets.ts';

/** Time for which a creation, and what users added to a removed object, are stored. */
const CREATED_RETENTION_MS = 2 * HOUR_MS;
const REMOVED_RETENTION_MS = 24 * HOUR_MS;
/** A larger number of creations is a first sync, not a move of some records. */
const MOST_CREATED = 100;

/** Pins in memory. */
export class MemoryPins implements PinTable {
  /** Ends of pins by target and record. */
  readonly #ends = new Map<string, Map<string, Instant>>();

  readonly pinned = async (target: string, now: Instant): Promise<ReadonlySet<string>> =>
    new Set([...(this.#ends.get(target) ?? [])].filter(([, untilAt]) => untilAt > now).map(([recordId]) => recordId));

  readonly pinnedByTarget = async (targets: readonly string[], now: Instant) => {
    const all = targets.map(async (target) => [target, await this.pinned(target, now)] as const);
    return new Map((await Promise.all(all)).filter(([, pinned]) => pinned.size > 0));
  };

  readonly confirmPins = async (target: string, now: Instant): Promise<ReadonlySet<string>> => {
    const remaining = await this.pinned(target, now);
    for (const recordId of this.#ends.get(target)?.keys() ?? [])
      if (!remaining.has(recordId)) this.#ends.get(target)?.delete(recordId);
    return remaining;
  };

  async pin(target: string, recordIds: readonly string[], untilAt: Instant): Promise<void> {
    const ends = this.#ends.get(target) ?? new Map<string, Instant>();
    this.#ends.set(target, ends);
    for (const recordId of recordIds) ends.set(recordId, Math.max(untilAt, ends.get(recordId) ?? 0));
  }

  async unpin(target: string, recordIds: readonly string[]): Promise<void> {
    for (const recordId of recordIds) this.#ends.get(target)?.delete(recordId);
  }
}

/** Recently created and removed objects in memory. */
export class MemoryRecentObjects implements RecentObjects {
  readonly #objects = new Map<string, Map<string, RecentObject>>();

  async read(target: string, now: Instant): Promise<ReadonlyMap<string, RecentObject>> {
    return new Map([...(this.#objects.get(target) ?? [])].filter(([, object]) => !isOver(object, now)));
  }

  async recordCreated(target: string, recordIds: readonly string[], now: Instant): Promise<void> {
    if (recordIds.length > MOST_CREATED) return;
    const objects = this.#tableOf(target, now);
    for (const recordId of recordIds) if (!objects.has(recordId)) objects.set(recordId, { at: now });
  }

  /** Records a removed object before its removal is acknowledged. */
  async recordRemoved(
    target: string,
    recordId: string,
    removed: NonNullable<RecentObject['removed']>,
    now: Instant,
  ): Promise<void> {
    this.#tableOf(target, now).set(recordId, { at: now, removed });
  }

  /** Returns additions of users to a record's removed object; null for nothing. */
  async additionsOf(target: string, recordId: string): Promise<string | null> {
    return this.#objects.get(target)?.get(recordId)?.removed?.additions ?? null;
  }

  /** Removes a record's removed object: another one took over what users had added. */
  async remove(target: string, recordId: string): Promise<void> {
    this.#objects.get(target)?.delete(recordId);
  }

  #tableOf(target: string, now: Instant): Map<string, RecentObject> {
    const objects = this.#objects.get(target) ?? new Map<string, RecentObject>();
    this.#objects.set(target, objects);
    for (const [recordId, object] of objects) if (isOver(object, now)) objects.delete(recordId);
    return objects;
  }
}

function isOver({ at, removed }: RecentObject, now: Instant): boolean {
  return at < now - (removed === undefined ? CREATED_RETENTION_MS : REMOVED_RETENTION_MS);
}

/** Completeness of the list of erased people, in memory. */
export class MemorySafeguard implements Safeguard {
  readonly #clock: Clock;
  #uncertainty: Uncertainty | null = null;
  #wentBackAt: Instant | null = null;
  #hasSeenAll = false;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async uncertainty(): Promise<Uncertainty | null> {
    return this.#uncertainty;
  }

  async wentBackAt(): Promise<Instant | null> {
    return this.#wentBackAt;
  }

  async copyOut(): Promise<void> {}

  /** Records a write to a target before the write is sent. */
  async recordWriting(): Promise<void> {}

  async foundObjects(): Promise<void> {
    if (!this.#hasSeenAll) this.lose('state-lost');
  }

  async cycleEnded({ allSeen }: { allSeen: boolean }): Promise<void> {
    this.#hasSeenAll ||= allSeen;
  }

  /** The list may be incomplete from now on. */
  lose(code: Uncertainty['code']): void {
    this.#uncertainty = { code, sinceAt: this.#clock() };
    if (code === 'state-went-back') this.#wentBackAt = this.#clock();
  }

  /** An operator ends the uncertainty. */
  accept(): void {
    this.#uncertainty = null;
  }
}

/** Keys of unanswered writes in memory, with the time of their check. */
export class MemoryUnanswered implements UnansweredKeys {
  readonly #tables = new Map<string, Map<ItemKey, Instant>>();

  async record(target: string, times: ReadonlyMap<ItemKey, Instant>): Promise<void> {
    const table = this.#tables.get(target) ?? new Map<ItemKey, Instant>();
    for (const [key, at] of times) table.set(key, Math.max(at, table.get(key) ?? at));
    this.#tables.set(target, table);
  }

  async due(target: string, now: Instant, limit: number): Promise<ItemKey[]> {
    const due = [...(this.#tables.get(target) ?? [])].filter(([, at]) => at <= now);
    return due.slice(0, limit).map(([key]) => key);
  }

  async done(target: string, keys: readonly ItemKey[]): Promise<void> {
    for (const key of keys) this.#tables.get(target)?.delete(key);
  }

  async nextAt(target: string): Promise<Instant | null> {
    const times = [...(this.#tables.get(target)?.values() ?? [])];
    return times.length === 0 ? null : Math.min(...times);
  }
}

/** Starts of cycles in memory, newest first. */
export class MemoryRuns {
  readonly #starts: { startedAt: Instant }[] = [];

  add(startedAt: Instant): void {
    this.#starts.unshift({ startedAt });
  }

  async list(limit: number): Promise<readonly { startedAt: Instant }[]> {
    return this.#starts.slice(0, limit);
  }
}

/** What all processes of one tenant store. */
export interface MemoryState extends Omit<Store, 'configVersion' | 'leases'> {
  clock: Clock;
  leases: MemoryLeases;
  links: MemoryLinks;
  outbox: MemoryOutbox;
  targetStore: MemoryTargets;
  holds: MemoryHolds;
  journal: MemoryPins;
  recentObjects: MemoryRecentObjects;
  unanswered: MemoryUnanswered;
  runs: MemoryRuns;
  protection: MemorySafeguard;
  /** Ids of erased people. */
  erased: Set<string>;
  /** The newest configuration. */
  newest: { number: number; configuration: string | null };
}

/** The store of one process. */
export type MemoryStore = Omit<MemoryState, 'leases'> & Pick<Store, 'leases' | 'configVersion'>;

/** Creates an empty state. @param limitBytes memory above which no objects are created */
export function createMemoryState(clock: Clock, limitBytes = Number.POSITIVE_INFINITY): MemoryState {
  const leases = new MemoryLeases(clock);
  const links = new MemoryLinks(leases);
  const countPending = (target: string) => outbox.countOf(target);
  const targetStore = new MemoryTargets({ leases, links, countPending, now: clock });
  const outbox: MemoryOutbox = new MemoryOutbox({ leases, links, targets: targetStore });
  const erased = new Set<string>();
  let use: StorageUse = { bytes: null, addedBytes: 0, countedAt: null, limitBytes };
  return {
    ...{ clock, leases, links, targetStore, outbox, erased },
    holds: new MemoryHolds(),
    journal: new MemoryPins(),
    recentObjects: new MemoryRecentObjects(),
    unanswered: new MemoryUnanswered(),
    runs: new MemoryRuns(),
    protection: new MemorySafeguard(clock),
    newest: { number: 0, configuration: null },
    tombstones: { load: async () => erasedPersons(erased) },
    storage: {
      read: async () => use,
      add: async (bytes) => {
        use = { ...use, addedBytes: use.addedBytes + bytes };
      },
      // The memory of maps is unknown, so a count ends the estimate.
      count: async (now) => {
        use = { ...use, bytes: null, addedBytes: 0, countedAt: now };
      },
    },
  };
}

function erasedPersons(erased: ReadonlySet<string>): ErasedPersons {
  const persons = new Set(erased);
  return Object.assign((personId: string) => persons.has(personId), { version: [...persons].sort().join('\n') });
}

/**
 * Opens the store of a process. A process with a new configuration ends the leases of earlier ones, which then plan and write nothing.
 * @param configuration name of all settings that affect plans
 */
export function openMemoryStore(state: MemoryState, configuration: string): MemoryStore {
  let joined: number | null = null;
  function join(): number {
    if (joined !== null) return joined;
    if (state.newest.configuration !== configuration) {
      state.newest = { number: state.newest.number + 1, configuration };
      state.leases.endAll();
    }
    joined = state.newest.number;
    return joined;
  }
  const leases: LeaseTable = {
    async tryTake(name, comesAgainAs) {
      join();
      if (state.newest.configuration !== configuration) throw superseded();
      joined = state.newest.number;
      return state.leases.tryTake(name, comesAgainAs);
    },
  };
  const configVersion: Store['configVersion'] = {
    join: async () => join(),
    newest: async () => {
      const { number, configuration: newest } = state.newest;
      return { number, isOurs: newest === null || newest === configuration };
    },
  };
  return { ...state, leases, configVersion };
}

function superseded(): MirrorError {
  return new MirrorError(message('newer-configuration'), {
    actor: 'settings',
    code: SUPERSEDED,
    retry: 'later',
    remedy: message('newer-configuration.remedy'),
  });
}
