import type { Hold, HoldKind } from '../../core/model/plan.ts';
import type { Instant } from '../../core/model/time.ts';
import type { HoldTable } from '../store.ts';

/** A decision of an operator. */
export interface Decision {
  state: 'approved' | 'rejected';
  now: Instant;
  expiresAt: Instant;
}

/** Holds in memory. At most one open hold per target and kind. */
export class MemoryHolds implements HoldTable {
  readonly #holds = new Map<string, Hold>();
  #born = 0;

  async list(): Promise<Hold[]> {
    return [...this.#holds.values()];
  }

  async cover(
    target: string,
    kind: HoldKind,
    recordIds: readonly string[],
    { now, expiresAt, ...seen }: Parameters<HoldTable['cover']>[3],
  ): Promise<void> {
    const open = [...this.#holds.values()].find(
      (hold) => hold.target === target && hold.kind === kind && hold.state === 'open',
    );
    if (open !== undefined && recordIds.length === 0) this.#holds.delete(open.id);
    else if (open !== undefined) this.#holds.set(open.id, { ...open, recordIds, ...seen });
    else if (recordIds.length > 0) this.#add({ target, kind, recordIds, ...seen, createdAt: now, expiresAt });
  }

  async expire(now: Instant, rejectedUntilAt: Instant): Promise<Hold[]> {
    const expired: Hold[] = [];
    for (const hold of this.#holds.values()) {
      if (hold.expiresAt > now) continue;
      // The next plan creates a new hold.
      if (hold.state !== 'open' || hold.kind === 'first-run' || hold.kind === 'people') {
        this.#holds.delete(hold.id);
        continue;
      }
      const rejected: Hold = { ...hold, state: 'rejected', decidedAt: now, expiresAt: rejectedUntilAt };
      this.#holds.set(hold.id, rejected);
      expired.push(rejected);
    }
    return expired;
  }

  /** Decides an open hold. @returns false if no hold of the id is open */
  async decide(id: string, { state, now, expiresAt }: Decision): Promise<boolean> {
    const hold = this.#holds.get(id);
    if (hold?.state !== 'open') return false;
    this.#holds.set(id, { ...hold, state, decidedAt: now, expiresAt });
    return true;
  }

  #add(hold: Omit<Hold, 'id' | 'state' | 'decidedAt'>): void {
    this.#born += 1;
    const id = `hold-${this.#born}`;
    this.#holds.set(id, { ...hold, id, state: 'open', decidedAt: null });
  }
}
