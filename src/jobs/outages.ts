import { AsyncLocalStorage } from 'node:async_hooks';
import type { Logger } from '../core/log/logger.ts';
import { MirrorError } from '../core/model/errors.ts';
import { type Clock, MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import {
  type HostOutage,
  type OtherWork,
  type OutageStore,
  PROBE_EVERY_MS,
  type WaitingWork,
} from '../state/outages.ts';

/** Error of work that waits for a host; the texts may be unknown. */
type Failure = Pick<MirrorError, 'code'> & Partial<Pick<MirrorError, 'texts'>>;

/** Answers and failures of hosts during one unit of work. */
interface Heard {
  /** The last failed host. */
  failed: string | null;
  answered: Set<string>;
}

/** Result of a request: `named-wait` if the host asked only this account to wait. */
export type HostState = 'answered' | 'failed' | 'named-wait';

/** Period over which waiting work is restarted, to avoid a load peak on the host. */
const WAKE_OVER_MS = 3 * SECOND_MS;

/** Dependencies of outage handling. */
export interface OutagesOptions {
  store: OutageStore;
  clock: Clock;
  /** Starts waiting work after the delay. */
  wake(work: WaitingWork, host: string, delayMs: number): Promise<void>;
  random(): number;
  log: Logger;
  /** Delay before a lasting outage is reported. */
  lastsAfterMs(): number;
}

/**
 * Records which host blocks work of any tenant: the first success with the host restarts all of this work. Otherwise each target would wait
 * for its own delay, up to five minutes after the outage. During the outage, one unit of work tries the host every few seconds for all.
 */
export class Outages {
  readonly #options: OutagesOptions;
  readonly #current = new AsyncLocalStorage<Heard>();
  /** Work that sent no request may receive the same error: a token refresh is shared, and its failure is cached. */
  readonly #hosts = new WeakMap<MirrorError, string>();
  /** Last error codes of other work in this process. */
  readonly #codes = new Map<string, string>();

  constructor(options: OutagesOptions) {
    this.#options = options;
  }

  /** Receives each answer and failure from the HTTP client. */
  heard = (host: string, state: HostState): void => {
    const heard = this.#current.getStore();
    if (heard === undefined) return;
    if (state === 'answered') heard.answered.add(host);
    if (state === 'failed') heard.failed = host;
  };

  /** Runs work for one target or one source, and records which hosts answered. */
  watch<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#current.run({ failed: null, answered: new Set() }, work);
  }

  /** Returns the host that failed last in the current work, or null. */
  failed(): string | null {
    return this.#current.getStore()?.failed ?? null;
  }

  /** Returns the host that caused an error for all of its clients; null for another cause, or a rate limit of one account. */
  causeOf(error: MirrorError): string | null {
    const { actor, status, code, retryAfterMs, growsToMs } = error;
    const isAnswer = status !== undefined && status < 500 && status !== 408;
    const isNamed = retryAfterMs !== undefined && growsToMs === undefined;
    if (actor !== 'remote' || isAnswer || isNamed || code === 'aborted' || code === 'rate-limited') return null;
    const host = this.failed() ?? this.#hosts.get(error) ?? null;
    if (host !== null) this.#hosts.set(error, host);
    return host;
  }

  /**
   * Records that work waits for a host. If the host answered before it failed, the failure may be specific to this work and permanent, so
   * no other work waits.
   * @returns the longest delay before the next attempt; null for the work's own delay
   */
  async wait(host: string, work: WaitingWork, { code, texts }: Failure): Promise<number | null> {
    const { store, clock, log, lastsAfterMs } = this.#options;
    const mayTry = this.#current.getStore()?.answered.has(host) !== true;
    const facts = { now: clock(), code, texts, mayTry, lastsAfterMs: lastsAfterMs() };
    const { isChosen, became } = await store.wait(host, work, facts);
    if (became === 'began') log.warn({ host, code }, 'server is unreachable: work waits until the server answers');
    if (became === 'lasts')
      log.warn({ host, code, minutes: minutesOf(facts.lastsAfterMs) }, 'server is still unreachable');
    return isChosen ? PROBE_EVERY_MS : null;
  }

  /** Returns whether a host answered the current work without any failure. */
  hasAnswered(host: string): boolean {
    const { answered, failed } = this.#current.getStore() ?? { answered: new Set(), failed: null };
    return answered.has(host) && failed === null;
  }

  /**
   * Restarts work that waits for a host.
   * @param reader tenant whose cycle reached the host and needs no other cycle
   */
  async end(host: string, reader: string | null = null): Promise<void> {
    const { store, clock, log } = this.#options;
    const now = clock();
    const { works, outage } = await store.end(host, now);
    if (outage !== null) {
      const tenants = new Set(outage.works.map(({ tenant }) => tenant)).size;
      log.info(
        { host, code: outage.code, tenants, minutes: minutesOf(now - outage.sinceAt) },
        'server is reachable again',
      );
    }
    await this.#wakeAll(
      host,
      works.filter(({ tenant, target, other }) => target !== null || other !== undefined || tenant !== reader),
    );
  }

  /** Returns the unavailable hosts, with waiting work of each. */
  list(): Promise<HostOutage[]> {
    return this.#options.store.list(this.#options.clock());
  }

  /**
   * Starts waiting work of some tenants immediately.
   * @returns amount of work
   */
  async tryNow(host: string, isWanted: (tenant: string) => boolean): Promise<WaitingWork[]> {
    const works = (await this.#options.store.works(host)).filter(({ tenant }) => isWanted(tenant));
    await this.#wakeAll(host, works);
    return works;
  }

  async #wakeAll(host: string, works: readonly WaitingWork[]): Promise<void> {
    const { wake, random } = this.#options;
    await Promise.all(works.map((work) => wake(work, host, Math.floor(random() * WAKE_OVER_MS))));
  }

  /** Restarts work that waits for any host that answered this tenant's cycle. */
  async endByCycle(tenant: string): Promise<void> {
    for (const host of this.#current.getStore()?.answered ?? []) await this.end(host, tenant);
  }

  /**
   * Records the result of other work within {@link Outages.watch}: the work waits for the failed host, or restarts work that waits for
   * answering hosts. If other work already refreshed a connection's tokens, its host also answers.
   * @param error null without a failure
   * @returns `host`: the unavailable host; `longestMs`: the longest delay, null for the work's own; `isNews`: the code is new for this work
   * in this process
   */
  async recordOther(
    tenant: string,
    other: OtherWork,
    error: Failure | null,
  ): Promise<{ host: string | null; longestMs: number | null; isNews: boolean }> {
    const isNews = this.#recordCode(`${tenant}/${other.kind}/${other.id}`, error?.code ?? null);
    const host = error instanceof MirrorError ? this.causeOf(error) : this.failed();
    if (error !== null && host !== null)
      return { host, longestMs: await this.wait(host, { tenant, target: null, other }, error), isNews };
    if (error === null) {
      for (const { host: away, works } of await this.list()) {
        const isRefreshed = other.kind === 'connection' && works.some((work) => isSame(work, tenant, other));
        if (this.hasAnswered(away) || isRefreshed) await this.end(away);
      }
    }
    return { host: null, longestMs: null, isNews };
  }

  /**
   * Records a code and returns whether it is new.
   * @param code null for a success
   */
  #recordCode(work: string, code: string | null): boolean {
    const isNews = code !== null && this.#codes.get(work) !== code;
    if (code === null) this.#codes.delete(work);
    else this.#codes.set(work, code);
    return isNews;
  }

  /** Schedules a retry of a cycle that failed because of its source's host, if the cycle tries the host for all work. */
  async waitCycle(tenant: string, error: MirrorError): Promise<void> {
    const host = this.causeOf(error);
    if (host === null) return;
    const work = { tenant, target: null };
    const delayMs = await this.wait(host, work, error);
    if (delayMs !== null) await this.#options.wake(work, host, delayMs);
  }
}

function isSame(work: WaitingWork, tenant: string, { kind, id }: OtherWork): boolean {
  return work.tenant === tenant && work.other?.kind === kind && work.other.id === id;
}

function minutesOf(ms: number): number {
  return Math.round(ms / MINUTE_MS);
}
