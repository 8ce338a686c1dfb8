import { MirrorError } from '../../core/model/errors.ts';
import { type Clock, type Instant, SECOND_MS } from '../../core/model/time.ts';
import { message } from '../../messages/message.ts';
import type { Lease, LeaseTable } from '../store.ts';

/** Time without a question after which a place expires. */
const WAITER_LIFE_MS = 10 * SECOND_MS;

/** Life of a lease without a protected write. Own choice. */
const LEASE_LIFE_MS = 60 * SECOND_MS;

/** A held lease. */
interface Held {
  token: string;
  expiresAt: Instant;
}

/** The proof of a lease. */
type Proof = Pick<Lease, 'key' | 'token'>;

/**
 * Leases in memory. A protected write renews its lease, because only a living holder writes. There are no timers: a lost lease is noticed when
 * its signal is read.
 */
export class MemoryLeases implements LeaseTable {
  readonly #clock: Clock;
  readonly #held = new Map<string, Held>();
  /** Last fencing number of each lease. */
  readonly #fences = new Map<string, number>();
  /** Ends of places by name of the work, in order of arrival, for each lease. */
  readonly #waiting = new Map<string, Map<string, Instant>>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async tryTake(name: string, comesAgainAs = ''): Promise<Lease | null> {
    const now = this.#clock();
    const waiting = this.#waitersOf(name, now);
    const [first = comesAgainAs] = waiting.keys();
    if (this.#current(name) !== null || first !== comesAgainAs) {
      if (comesAgainAs !== '') waiting.set(comesAgainAs, now + WAITER_LIFE_MS);
      return null;
    }
    waiting.delete(comesAgainAs);
    const fence = (this.#fences.get(name) ?? 0) + 1;
    this.#fences.set(name, fence);
    const token = `${fence}:memory`;
    this.#held.set(name, { token, expiresAt: now + LEASE_LIFE_MS });
    return this.#leaseOf({ key: name, token });
  }

  /** Renews the lease of a protected write. @throws MirrorError `conflict`, code `lease-lost` */
  check(lease: Proof): void {
    if (!this.#holds(lease)) throw lost();
    this.#held.set(lease.key, { token: lease.token, expiresAt: this.#clock() + LEASE_LIFE_MS });
  }

  /** Ends all leases: their holders died, or have an older configuration. */
  endAll(): void {
    this.#held.clear();
  }

  #leaseOf(proof: Proof): Lease {
    const ended = new AbortController();
    const isLost = () => !this.#holds(proof);
    let isReleased = false;
    return {
      ...proof,
      name: proof.key,
      get signal() {
        if (!isReleased && isLost()) ended.abort(lost());
        return ended.signal;
      },
      release: async () => {
        isReleased = true;
        if (this.#holds(proof)) this.#held.delete(proof.key);
      },
    };
  }

  #holds({ key, token }: Proof): boolean {
    return this.#current(key)?.token === token;
  }

  #current(name: string): Held | null {
    const held = this.#held.get(name);
    return held === undefined || held.expiresAt <= this.#clock() ? null : held;
  }

  #waitersOf(name: string, now: Instant): Map<string, Instant> {
    const waiting = this.#waiting.get(name) ?? new Map<string, Instant>();
    for (const [work, untilAt] of waiting) if (untilAt <= now) waiting.delete(work);
    this.#waiting.set(name, waiting);
    return waiting;
  }
}

function lost(): MirrorError {
  return new MirrorError(message('lease-lost'), { actor: 'conflict', code: 'lease-lost', retry: 'later' });
}
