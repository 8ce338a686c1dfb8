import { AsyncLocalStorage } from 'node:async_hooks';
import { SECOND_MS } from '../core/model/time.ts';

/** A resource that several jobs share, such as a client's request budget, a vendor or a gateway, with its limit. */
export interface Share {
  name: string;
  /** Maximum running jobs. */
  most: number;
  /** Maximum running jobs that queue for a request budget: at the limit no other job starts. Unlimited if absent. */
  mostInLine?: number;
  /** Part of one tenant: a job that waits for it reserves nothing of what tenants share. */
  isOwn?: boolean;
}

/** A job that requests admission. */
export interface Comer {
  /** Identifies the work: identical work is admitted once. */
  work: string;
  /** Identifies the queue's job. */
  job: string;
  shares: readonly Share[];
  /** Fetches the job after capacity is reserved. */
  call(): Promise<void>;
}

/**
 * `begin`: capacity is available, and `run` uses it until the work ends. `wait`: no capacity, with the number of jobs ahead. `leave`:
 * another job waits for the same work.
 */
export type Admission =
  | { turn: 'begin'; run<Result>(work: () => Promise<Result>): Promise<Result> }
  | { turn: 'wait'; ahead: number }
  | { turn: 'leave' };

/** How long capacity is reserved for a called job: another process may have taken the job. */
const RESERVED_MS = SECOND_MS;
/** After this number of missed starts, a job reserves its capacity, so that busy resources cannot delay it forever. */
const PASSED_OVER = 4;

interface Pool {
  turns: number;
  /** Running jobs that queue for a request budget. */
  inLine: number;
  /** Waiting jobs in the order of arrival. */
  line: Waiter[];
}

interface Waiter extends Comer {
  /** Position in the order of arrival, kept from queue to queue. */
  came: number;
  renewal: NodeJS.Timeout | null;
  /** How often one resource had capacity while another had none. */
  passedOver: number;
  /** Resources that reserve capacity for the job while it waits for another one. */
  holds: Set<string>;
}

interface Turn {
  shares: readonly Share[];
  /** The job's requests that queue for a budget. */
  waits: number;
}

/**
 * Admits jobs of one process. A job uses capacity of each of its resources. Without capacity in one of them, the job waits outside, uses
 * none, and is called in the order of arrival. Only one overtaken job at a time reserves capacity, because two of them could deadlock.
 */
export class Turns {
  readonly #pools = new Map<string, Pool>();
  readonly #waiting = new Map<string, Waiter>();
  readonly #current = new AsyncLocalStorage<Turn>();
  #came = 0;
  #holder: Waiter | null = null;

  /** Requests admission. A job that must wait returns when called. */
  admit(comer: Comer): Admission {
    const { work, job, shares } = comer;
    const waiting = this.#waiting.get(work);
    if (waiting !== undefined && waiting.job !== job) return { turn: 'leave' };
    if (waiting?.renewal != null) {
      clearTimeout(waiting.renewal);
      this.#waiting.delete(work);
      return this.#begin(shares);
    }
    if (waiting !== undefined) return { turn: 'wait', ahead: this.#ahead(waiting) };
    const full = shares.find((share) => this.#isFull(share));
    if (full === undefined) {
      this.#occupy(shares);
      return this.#begin(shares);
    }
    this.#came += 1;
    const waiter = { ...comer, came: this.#came, renewal: null, passedOver: 0, holds: new Set<string>() };
    this.#waiting.set(work, waiter);
    this.#line(full, waiter);
    return { turn: 'wait', ahead: this.#ahead(waiter) };
  }

  /** Queues for a request budget. The current job is counted as queued meanwhile, and continues without a new admission. */
  inLine = async <Answer>(wait: () => Promise<Answer>): Promise<Answer> => {
    const turn = this.#current.getStore();
    if (turn === undefined) return wait();
    turn.waits += 1;
    if (turn.waits === 1) for (const { name } of turn.shares) this.#pool(name).inLine += 1;
    try {
      return await wait();
    } finally {
      turn.waits -= 1;
      if (turn.waits === 0) this.#leaveLine(turn.shares);
    }
  };

  #begin(shares: readonly Share[]): Admission {
    const turn = { shares, waits: 0 };
    return {
      turn: 'begin',
      run: async (work) => {
        try {
          return await this.#current.run(turn, work);
        } finally {
          this.#vacate(shares);
        }
      },
    };
  }

  #leaveLine(shares: readonly Share[]): void {
    for (const { name } of shares) this.#pool(name).inLine -= 1;
    for (const share of shares) this.#serve(share);
  }

  #occupy(shares: readonly Share[]): void {
    for (const { name } of shares) this.#pool(name).turns += 1;
  }

  #vacate(shares: readonly Share[]): void {
    for (const { name } of shares) this.#pool(name).turns -= 1;
    for (const share of shares) this.#serve(share);
  }

  /** Calls waiting jobs of a resource while it has capacity; a job without capacity elsewhere remains queued there. */
  #serve(share: Share): void {
    const { name } = share;
    const { line } = this.#pool(name);
    while (line.length > 0 && !this.#isFull(share)) {
      const waiter = line.shift() as Waiter;
      const full = waiter.shares.find((one) => !waiter.holds.has(one.name) && this.#isFull(one));
      if (full === undefined) this.#call(waiter);
      else {
        if (!full.isOwn || share.isOwn) this.#passOver(waiter, share);
        this.#line(full, waiter);
      }
    }
    const { turns } = this.#pool(name);
    if (turns === 0 && line.length === 0) this.#pools.delete(name);
  }

  /**
   * Counts a missed start.
   * @param share has capacity, while another required resource has none
   */
  #passOver(waiter: Waiter, share: Share): void {
    waiter.passedOver += 1;
    if (waiter.passedOver < PASSED_OVER) return;
    this.#holder ??= waiter;
    if (this.#holder !== waiter) return;
    this.#occupy([share]);
    waiter.holds.add(share.name);
  }

  #call(waiter: Waiter): void {
    this.#occupy(waiter.shares.filter(({ name }) => !waiter.holds.has(name)));
    if (this.#holder === waiter) this.#holder = null;
    const giveUp = () => {
      if (this.#waiting.get(waiter.work) !== waiter) return;
      clearTimeout(waiter.renewal ?? undefined);
      this.#waiting.delete(waiter.work);
      this.#vacate(waiter.shares);
    };
    waiter.renewal = setTimeout(giveUp, RESERVED_MS).unref();
    waiter.call().catch(giveUp);
  }

  #line({ name }: Share, waiter: Waiter): void {
    const { line } = this.#pool(name);
    line.splice(line.findLastIndex(({ came }) => came < waiter.came) + 1, 0, waiter);
  }

  #ahead(waiter: Waiter): number {
    const line = waiter.shares.map(({ name }) => this.#pools.get(name)?.line ?? []).find((one) => one.includes(waiter));
    return line?.indexOf(waiter) ?? 0;
  }

  #isFull({ name, most, mostInLine = most }: Share): boolean {
    const { turns, inLine } = this.#pool(name);
    return turns >= most || inLine >= mostInLine;
  }

  #pool(name: string): Pool {
    const pool = this.#pools.get(name) ?? { turns: 0, inLine: 0, line: [] };
    this.#pools.set(name, pool);
    return pool;
  }
}
