import { setTimeout as pause } from 'node:timers/promises';
import { type Instant, MINUTE_MS, SECOND_MS } from '../model/time.ts';
import type { Installation } from './installation.ts';
import { status, statusByAndBy } from './status.ts';
import type { Status } from './status-view.ts';

/** What was computed counts for so long at least, however often it is asked for. */
const CACHE_MS = 5 * SECOND_MS;
/** It counts so many times as long as it took: with thousands of tenants the daemon must have time for them too. */
const CACHE_FACTOR = 10;
/** A scrape that would take longer gets what was computed before. Prometheus gives up after ten seconds (`scrape_timeout`). */
export const LONGEST_WAIT_MS = 5 * SECOND_MS;

/** Figures that are computed from the state of all tenants. */
interface StateFigures {
  /**
   * Computes them anew when they are too old, once for all who ask meanwhile.
   * @param waitMs how long whoever asks waits for it, once there are figures at all; by default what was said when they were created
   * @returns how old they are, in milliseconds
   * @throws MirrorError as the state does, Redis not answering among it
   */
  refresh(installation: Installation, waitMs?: number): Promise<number>;
}

/**
 * @param compute reads the state and tells the figures
 * @param longestWaitMs how long whoever asks waits for it where they don't say otherwise
 */
export function createStateFigures(
  compute: (installation: Installation) => Promise<void>,
  longestWaitMs = LONGEST_WAIT_MS,
): StateFigures {
  let computed: { at: Instant; tookMs: number } | null = null;
  let computing: Promise<void> | null = null;
  async function computeNow(installation: Installation): Promise<void> {
    const at = installation.clock();
    const begunAt = performance.now();
    await compute(installation);
    computed = { at, tookMs: performance.now() - begunAt };
  }
  function isOld(now: Instant): boolean {
    if (computed === null) return true;
    const ageMs = now - computed.at;
    return ageMs < 0 || ageMs >= Math.max(CACHE_MS, CACHE_FACTOR * computed.tookMs);
  }
  return {
    async refresh(installation, waitMs = longestWaitMs) {
      if (isOld(installation.clock())) {
        computing ??= computeNow(installation).finally(() => {
          computing = null;
        });
        // Whoever stopped waiting leaves nobody who hears of a failure; the next one asks again.
        computing.catch(() => {});
        await (computed === null ? computing : Promise.race([computing, pause(waitMs, undefined, { ref: false })]));
      }
      return installation.clock() - (computed?.at ?? installation.clock());
    },
  };
}

/** Where clinics stand, for all of a process who look: however many look, it is computed once. */
export interface Statuses {
  /**
   * All clinics, some seconds old at most, or ten times as old as computing them took.
   * @param waitMs how long it is waited for what is computed anew, before what was known before is told
   * @throws MirrorError as the state does, Redis not answering among it
   */
  read(installation: Installation, waitMs?: number): Promise<{ status: Status; ageMs: number }>;
  /**
   * The same for whoever would rather see some clinics than wait for all: at first, and when nobody looked for ten minutes, those that were
   * looked at after `waitMs`.
   */
  readSoFar(installation: Installation, waitMs: number): Promise<Status>;
  /** One clinic as it is now: who asks while that is computed shares the next computing, which begins after they asked, with all others. */
  ofTenant(installation: Installation, tenant: string): Promise<Status>;
}

/** What is older counts as not known: nobody has looked for a while. */
const OLDEST_MS = 10 * MINUTE_MS;

/** Opens them. Nothing is computed before it is asked for. */
export function openStatuses(): Statuses {
  let newest: Status | null = null;
  let soFar: Status | null = null;
  const figures = createStateFigures(async (open) => {
    soFar = null;
    for await (const found of statusByAndBy(open)) soFar = found;
    newest = soFar;
  });
  const requireStatus = (found: Status | null): Status => {
    if (found === null) throw new Error('what was computed is known');
    return found;
  };
  return {
    ofTenant: sharingNext(status),
    async read(open, waitMs) {
      const ageMs = await figures.refresh(open, waitMs);
      return { status: requireStatus(newest), ageMs };
    },
    async readSoFar(open, waitMs) {
      const whole = figures.refresh(open, waitMs);
      await Promise.race([whole, pause(waitMs, undefined, { ref: false })]);
      const isRecent = newest !== null && open.clock() - newest.at <= OLDEST_MS;
      if (isRecent) return requireStatus(newest);
      if (soFar === null) await whole;
      // What is looked at anew may have been begun just now; whoever asks gave up waiting for it.
      return requireStatus(soFar ?? newest);
    },
  };
}

/** Has one computing of a thing under way, and one that follows it: whoever comes meanwhile shares that. */
function sharingNext<Value>(
  compute: (open: Installation, id: string) => Promise<Value>,
): (open: Installation, id: string) => Promise<Value> {
  const underWay = new Map<string, { now: Promise<Value>; next: Promise<Value> | null }>();
  const begin = (open: Installation, id: string): Promise<Value> => {
    const entry: { now: Promise<Value>; next: Promise<Value> | null } = { now: compute(open, id), next: null };
    underWay.set(id, entry);
    const end = () => {
      if (entry.next === null) underWay.delete(id);
    };
    entry.now.then(end, end);
    return entry.now;
  };
  return (open, id) => {
    const entry = underWay.get(id);
    if (entry === undefined) return begin(open, id);
    const follow = () => begin(open, id);
    entry.next ??= entry.now.then(follow, follow);
    return entry.next;
  };
}
