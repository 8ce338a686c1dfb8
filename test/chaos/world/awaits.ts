import type { ProxyFault } from '../../../sandbox/kit/fault-proxy.ts';

/** Servers that a daemon waits for. */
export const SERVICES = ['clinic', 'google', 'graph', 'caldav', 'hubspot', 'salesforce', 'sms', 'redis'] as const;

/** One of {@link SERVICES}. */
export type Service = (typeof SERVICES)[number];

/** A daemon waits here: a request or a Redis command is on its way. */
export interface Await {
  service: Service;
  /** Service and operation, without ids: `google POST /batch/calendar/v3`, `redis evalsha outbox`. */
  name: string;
  isWrite: boolean;
  /** Of a command to Redis: the target whose lane it is about. */
  lane?: string;
  /** Who waits; null when that can't be told. */
  pid(): number | null;
}

/** Which await something happens at; counted by events, so that a script strikes at the same place again. */
export interface Moment {
  /** Null: any. */
  service: Service | null;
  /** Writes only. */
  write: boolean;
  /** So many are let pass. */
  skip: number;
  /** Before the server carried it out, or after that and before the answer arrived. */
  side: 'before' | 'after';
  /** Awaits whose name was not struck at before in this run, so that rare operations have their turn. */
  fresh: boolean;
}

/** What is laid at a moment. */
export interface Snare {
  moment: Moment;
  /** How often it strikes. */
  times: number;
  strike?: (at: Await) => void | Promise<void>;
  /** What becomes of a request that is struck before the server saw it; passed on when absent. */
  fault?: ProxyFault | ((at: Await) => ProxyFault);
  /** For awaits that something else than the moment decides. */
  only?: (at: Await) => boolean;
}

/** A snare in its place. */
export interface LaidSnare {
  /** Names of the awaits that it struck at. */
  readonly struck: readonly string[];
  /** Settles when it struck for the last time. */
  readonly spent: Promise<void>;
  lift(): void;
}

interface Laid extends Snare {
  seen: number;
  struck: string[];
  spend: () => void;
}

/** Whoever works waits for something more often than this. */
const QUIET_MS = 400;

/** Where all awaits of all daemons pass. */
export class AwaitHub {
  /** How often each await was met. */
  readonly met = new Map<string, number>();
  /** How often something happened at each. */
  readonly hit = new Map<string, number>();
  total = 0;
  #busyUntil = 0;
  #laid: Laid[] = [];

  lay(snare: Snare): LaidSnare {
    const { promise: spent, resolve: spend } = Promise.withResolvers<void>();
    const laid: Laid = { ...snare, seen: 0, struck: [], spend };
    this.#laid.push(laid);
    return { struck: laid.struck, spent, lift: () => this.#lift(laid) };
  }

  /** Nobody waits for anything, and hasn't for a while. */
  get isQuiet(): boolean {
    return performance.now() > this.#busyUntil;
  }

  /** Something is about to happen within this time: a daemon starts, or was woken. */
  expect(withinMs: number): void {
    this.#busyUntil = Math.max(this.#busyUntil, performance.now() + withinMs);
  }

  /** Lifts everything. */
  clear(): void {
    this.#laid = [];
  }

  /** A daemon waits. @returns the snare that it ran into, or null */
  meet(at: Await): Snare | null {
    this.total += 1;
    this.expect(QUIET_MS);
    this.met.set(at.name, (this.met.get(at.name) ?? 0) + 1);
    for (const laid of this.#laid) {
      if (!fits(laid, at) || (laid.moment.fresh && this.hit.has(at.name))) continue;
      laid.seen += 1;
      if (laid.seen <= laid.moment.skip) continue;
      laid.struck.push(at.name);
      this.hit.set(at.name, (this.hit.get(at.name) ?? 0) + 1);
      if (laid.struck.length >= laid.times) this.#lift(laid);
      return laid;
    }
    return null;
  }

  #lift(laid: Laid): void {
    this.#laid = this.#laid.filter((each) => each !== laid);
    laid.spend();
  }
}

function fits({ moment, only }: Snare, at: Await): boolean {
  if (moment.service !== null && moment.service !== at.service) return false;
  if (moment.write && !at.isWrite) return false;
  return only?.(at) ?? true;
}

/** A path without what differs from record to record. */
export function operationOf(method: string, url: string): string {
  const [path = ''] = url.split('?');
  const parts = path
    .split('/')
    .map((part) => (/^[a-z$_.]{2,28}$/i.test(part) || /^v?\d(\.\d)?$/.test(part) ? part : '*'));
  return `${method} ${parts.join('/').replace(/^\*/, '')}`;
}
