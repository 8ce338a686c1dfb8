import { AsyncLocalStorage } from 'node:async_hooks';
import { SECOND_MS } from '../model/time.ts';

/** What some turns have in common, such as a clinic client, a vendor or a gateway, and how much of it they may take at once. */
export interface Share {
  name: string;
  /** Turns under way. */
  most: number;
  /** Those of them that wait in line for a budget: while there are so many, nobody else begins. Any number when absent. */
  mostInLine?: number;
}

/** Whoever wants a turn. */
export interface Comer {
  /** Names the work: the same work needs one turn. */
  work: string;
  /** Names the job that brings it. */
  job: string;
  shares: readonly Share[];
  /** Fetches the job once places are kept for it. */
  call(): Promise<void>;
}

/**
 * `begin`: there is room; `run` has the places until the work has ended. `wait`: there is none; so many are ahead. `leave`: another job is
 * waiting to do the same.
 */
export type Admission =
  | { turn: 'begin'; run<Result>(work: () => Promise<Result>): Promise<Result> }
  | { turn: 'wait'; ahead: number }
  | { turn: 'leave' };

/** Places are kept for whoever was called for this long: another process may have taken the job, and then they stand empty. */
const RESERVED_MS = SECOND_MS;
/** Whoever had room in one share and none in another this often keeps its places from then on, so that busy shares can't pass it for ever. */
const PASSED_OVER = 4;

interface Pool {
  turns: number;
  /** Turns that wait in line for a budget. */
  inLine: number;
  /** Who waits for a turn, in the order of coming. */
  line: Waiter[];
}

interface Waiter extends Comer {
  /** Number in the order of coming, kept from line to line. */
  came: number;
  renewal: NodeJS.Timeout | null;
  /** Times that it had room in one share and found another one full. */
  passedOver: number;
  /** Names of the shares that keep a place for it while it waits for another one. */
  holds: Set<string>;
}

interface Turn {
  shares: readonly Share[];
  /** Its requests that wait in line for a budget. */
  waits: number;
}

/**
 * Who of one process may work now. A turn has a place in each of its shares; who finds one of them full waits outside, without taking anything,
 * and is called in the order of coming. One waiter at a time, who was passed over too often, keeps places while it waits: two who did would wait
 * for each other.
 */
export class Turns {
  readonly #pools = new Map<string, Pool>();
  readonly #waiting = new Map<string, Waiter>();
  readonly #current = new AsyncLocalStorage<Turn>();
  #came = 0;
  #holder: Waiter | null = null;

  /** Asks for a turn. Whoever was told to wait comes again when called. */
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

  /** Waits in line for a budget. Whatever turn asks for it counts there meanwhile; it goes on without asking. */
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

  /** Calls whoever waits for a share as long as there is room in it; who finds another of its shares full goes on waiting there. */
  #serve(share: Share): void {
    const { name } = share;
    const { line } = this.#pool(name);
    while (line.length > 0 && !this.#isFull(share)) {
      const waiter = line.shift() as Waiter;
      const full = waiter.shares.find((one) => !waiter.holds.has(one.name) && this.#isFull(one));
      if (full === undefined) this.#call(waiter);
      else {
        this.#passOver(waiter, share);
        this.#line(full, waiter);
      }
    }
    const { turns } = this.#pool(name);
    if (turns === 0 && line.length === 0) this.#pools.delete(name);
  }

  /** @param share has room, and another one that the waiter needs has none */
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
