import { AsyncLocalStorage } from 'node:async_hooks';
import type { Logger } from '../log/logger.ts';
import { MirrorError } from '../model/errors.ts';
import type { LedgerEntry } from '../model/reminders.ts';
import { type Clock, type Instant, MINUTE_MS, SECOND_MS } from '../model/time.ts';
import {
  type HostOutage,
  type OtherWork,
  type OutageStore,
  PROBE_EVERY_MS,
  type WaitingWork,
} from '../state/outages.ts';
import type { Outbox } from '../state/outbox.ts';
import type { TargetStore } from '../state/targets.ts';
import type { ReminderAlarms } from './queues.ts';

/** Codes that entries and cycles keep of failures that a host causes to whoever asks it. */
export const OUTAGE_CODES: ReadonlySet<string> = new Set([
  ...['connection-failed', 'timeout', 'server-error', 'server-unavailable', 'unavailable'],
  ...['token-endpoint-unavailable', 'batch-dependency', 'webhook-unavailable', 'smtp-busy'],
]);

/** What hosts did while some work was under way. */
interface Heard {
  /** The host that failed last. */
  failed: string | null;
  answered: Set<string>;
}

/** What a host did: `named-wait` when it asked this account to wait, which says nothing of others. */
export type HostState = 'answered' | 'failed' | 'named-wait';

/** How those that wait are woken; each wake is spread over so long, so that the host is not stormed. */
const WAKE_OVER_MS = 3 * SECOND_MS;

/** What outages are followed with. */
export interface OutagesOptions {
  store: OutageStore;
  clock: Clock;
  /** Gives a waiting work its turn after the delay. */
  wake(work: WaitingWork, host: string, delayMs: number): Promise<void>;
  random(): number;
  log: Logger;
  /** After how long it is told that a host is still away. */
  lastsAfterMs(): number;
}

/**
 * Follows which host kept work of any tenant from going on: the first success at that host wakes all of it. Otherwise each target would
 * sleep through its own wait, up to five minutes after the end. While the host fails, one work tries it every few seconds for all others.
 */
export class Outages {
  readonly #options: OutagesOptions;
  readonly #current = new AsyncLocalStorage<Heard>();
  /** An error may be met again by work that did not ask: a refresh of tokens is shared, and its failure kept for a while. */
  readonly #hosts = new WeakMap<MirrorError, string>();
  /** Codes with which other work fails, as this process saw them last. */
  readonly #codes = new Map<string, string>();

  constructor(options: OutagesOptions) {
    this.#options = options;
  }

  /** Told by the HTTP client of each answer and each failure. */
  heard = (host: string, state: HostState): void => {
    const heard = this.#current.getStore();
    if (heard === undefined) return;
    if (state === 'answered') heard.answered.add(host);
    if (state === 'failed') heard.failed = host;
  };

  /** Does work of one target, or the reading of one clinic, and remembers which hosts answered it. */
  watch<Result>(work: () => Promise<Result>): Promise<Result> {
    return this.#current.run({ failed: null, answered: new Set() }, work);
  }

  /** The host that failed the work under way last; null for none. */
  failed(): string | null {
    return this.#current.getStore()?.failed ?? null;
  }

  /** The host that caused an error of the work under way to whoever asks it; null where it is another cause, or a wait for one account. */
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
   * Notes that a work waits for a host. One that the host answered before it failed speaks for nobody: it may fail so for ever.
   * @returns the longest wait before it tries again; null: its own
   */
  async wait(host: string, work: WaitingWork, { code }: Pick<MirrorError, 'code'>): Promise<number | null> {
    const { store, clock, log, lastsAfterMs } = this.#options;
    const mayTry = this.#current.getStore()?.answered.has(host) !== true;
    const facts = { now: clock(), code, mayTry, lastsAfterMs: lastsAfterMs() };
    const { isChosen, became } = await store.wait(host, work, facts);
    if (became === 'began') log.warn({ host, code }, 'a server is away: what waits for it is woken when it answers');
    if (became === 'lasts') log.warn({ host, code, minutes: minutesOf(facts.lastsAfterMs) }, 'a server is still away');
    return isChosen ? PROBE_EVERY_MS : null;
  }

  /** Whether a host has answered the work under way, and failed it in nothing. */
  hasAnswered(host: string): boolean {
    const { answered, failed } = this.#current.getStore() ?? { answered: new Set(), failed: null };
    return answered.has(host) && failed === null;
  }

  /** Wakes what waits for a host. @param reader the tenant whose cycle found it back, and needs no other cycle for that */
  async end(host: string, reader: string | null = null): Promise<void> {
    const { store, clock, log } = this.#options;
    const now = clock();
    const { works, outage } = await store.end(host, now);
    if (outage !== null) {
      const clinics = new Set(outage.works.map(({ tenant }) => tenant)).size;
      log.info({ host, code: outage.code, clinics, minutes: minutesOf(now - outage.sinceAt) }, 'a server is back');
    }
    await this.#wakeAll(
      host,
      works.filter(({ tenant, target, other }) => target !== null || other !== undefined || tenant !== reader),
    );
  }

  /** The hosts that are away, with what waits for each. */
  list(): Promise<HostOutage[]> {
    return this.#options.store.list(this.#options.clock());
  }

  /** Has what waits for a host try it now, of some tenants. @returns how much that is */
  async tryNow(host: string, isWanted: (tenant: string) => boolean): Promise<WaitingWork[]> {
    const works = (await this.#options.store.works(host)).filter(({ tenant }) => isWanted(tenant));
    await this.#wakeAll(host, works);
    return works;
  }

  async #wakeAll(host: string, works: readonly WaitingWork[]): Promise<void> {
    const { wake, random } = this.#options;
    await Promise.all(works.map((work) => wake(work, host, Math.floor(random() * WAKE_OVER_MS))));
  }

  /** Wakes what waits for any host that answered this tenant's cycle. */
  async endByCycle(tenant: string): Promise<void> {
    for (const host of this.#current.getStore()?.answered ?? []) await this.end(host, tenant);
  }

  /**
   * Notes how other work went, within {@link Outages.watch}: it waits for the host that failed it, or wakes what waits for those that answered.
   * A login whose tokens are not due was refreshed by other work: its host answers too.
   * @param error null where nothing failed
   * @returns `host`: the one that it waits for; `longestMs`: the longest wait before it tries again, null for its own; `isNews`: in this
   * process the work did not fail with this code before
   */
  async recordOther(
    tenant: string,
    other: OtherWork,
    error: Pick<MirrorError, 'code'> | null,
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

  /** @param code null for a success */
  #recordCode(work: string, code: string | null): boolean {
    const isNews = code !== null && this.#codes.get(work) !== code;
    if (code === null) this.#codes.delete(work);
    else this.#codes.set(work, code);
    return isNews;
  }

  /** Has a cycle that failed by its clinic's host try again soon, if it tries for all others. */
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

/** A tenant, of which other work is woken. */
interface Woken {
  clock: Clock;
  reminders: {
    alarms: Pick<ReminderAlarms, 'set'>;
    ledger: { open(): Promise<readonly Pick<LedgerEntry, 'id' | 'channel' | 'lastCode'>[]> };
  } | null;
  triggers: {
    store: { endRest(endpoint: string, now: Instant, codes: ReadonlySet<string>): Promise<boolean> };
    wake(delayMs: number, options: { read: boolean }): Promise<void>;
  } | null;
}

/** Has what a server's outage kept other work from try again. The refresh of tokens is looked at often enough by itself. */
export async function wakeOther(
  { clock, reminders, triggers }: Woken,
  { kind, id }: OtherWork,
  delayMs: number,
): Promise<void> {
  if (kind === 'endpoint' && (await triggers?.store.endRest(id, clock(), OUTAGE_CODES)))
    await triggers?.wake(delayMs, { read: false });
  if (kind !== 'channel' || reminders === null) return;
  const open = await reminders.ledger.open();
  const waiting = open.filter(({ channel, lastCode }) => channel === id && OUTAGE_CODES.has(lastCode ?? ''));
  await reminders.alarms.set(waiting.map((entry) => ({ id: entry.id, wakeAt: clock() + delayMs })));
}

/** Ends the wait of a target for a host that answers again. @returns whether its lane should have a turn */
export async function endWait(
  { targetStore, outbox, clock }: { targetStore: TargetStore; outbox: Outbox; clock: Clock },
  target: string,
  host: string,
): Promise<boolean> {
  const record = await targetStore.read(target);
  // What it waits for by now may be something else.
  if (record.outage !== host) return false;
  await targetStore.write(target, { pausedUntil: null });
  await outbox.hurry(target, clock(), OUTAGE_CODES);
  return true;
}
