/** One line of the table of answered requests. `status` 0 means that the socket was cut before an answer existed. */
export interface RequestCount {
  method: string;
  route: string;
  status: number;
  count: number;
}

/** All figures at one moment, as `GET /__sandbox/counts` answers them. */
export interface CountsSnapshot {
  requests: RequestCount[];
  total: number;
  counters: Record<string, number>;
  inFlight: Record<string, number>;
  maxInFlight: Record<string, number>;
}

/** Counts requests by method, route pattern and status; named counters; and how many of something run at once, per key. */
export class Counts {
  readonly #requests = new Map<string, RequestCount>();
  readonly #counters = new Map<string, number>();
  readonly #inFlight = new Map<string, number>();
  readonly #maxInFlight = new Map<string, number>();

  countRequest(method: string, route: string, status: number): void {
    const key = `${method} ${route} ${status}`;
    const line = this.#requests.get(key);
    if (line) {
      line.count += 1;
    } else {
      this.#requests.set(key, { method, route, status, count: 1 });
    }
  }

  /** How many requests ended so far, of those that fit the filter. */
  requests(filter: { method?: string; route?: string | ((route: string) => boolean); status?: number } = {}): number {
    let total = 0;
    for (const line of this.#requests.values()) {
      const fits =
        (filter.method === undefined || filter.method === line.method) &&
        isRoute(line.route, filter.route) &&
        (filter.status === undefined || filter.status === line.status);
      total += fits ? line.count : 0;
    }
    return total;
  }

  /** Adds to a named counter. */
  add(name: string, amount = 1): void {
    this.#counters.set(name, this.value(name) + amount);
  }

  /** A named counter; 0 when nothing was added yet. */
  value(name: string): number {
    return this.#counters.get(name) ?? 0;
  }

  /** Notes that one more of `key` runs; the returned function notes its end and may be called once only. */
  enter(key: string): () => void {
    const now = this.inFlight(key) + 1;
    this.#inFlight.set(key, now);
    this.#maxInFlight.set(key, Math.max(now, this.maxInFlight(key)));
    return () => {
      const left = this.inFlight(key) - 1;
      if (left === 0) {
        this.#inFlight.delete(key);
      } else {
        this.#inFlight.set(key, left);
      }
    };
  }

  inFlight(key: string): number {
    return this.#inFlight.get(key) ?? 0;
  }

  maxInFlight(key: string): number {
    return this.#maxInFlight.get(key) ?? 0;
  }

  snapshot(): CountsSnapshot {
    return {
      requests: [...this.#requests.values()].map((line) => ({ ...line })),
      total: this.requests(),
      counters: Object.fromEntries(this.#counters),
      inFlight: Object.fromEntries(this.#inFlight),
      maxInFlight: Object.fromEntries(this.#maxInFlight),
    };
  }

  /** Forgets everything but what is in flight just now. */
  reset(): void {
    this.#requests.clear();
    this.#counters.clear();
    this.#maxInFlight.clear();
    for (const [key, running] of this.#inFlight) {
      this.#maxInFlight.set(key, running);
    }
  }
}

function isRoute(route: string, wanted: string | ((route: string) => boolean) | undefined): boolean {
  return typeof wanted === 'function' ? wanted(route) : wanted === undefined || wanted === route;
}
