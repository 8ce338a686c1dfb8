import { setTimeout as pause } from 'node:timers/promises';
import { type Instant, MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';
import { type EndedProblem, watchEnds } from './ended-problems.ts';
import type { Installation } from './installation.ts';
import { status, statusByAndBy } from './status.ts';
import type { Status } from './status-schemas.ts';

/** Shortest lifetime of cached figures. */
const CACHE_MS = 5 * SECOND_MS;
/** Cache lifetime as a multiple of the computing time, so that a daemon with thousands of tenants has time for other work. */
const CACHE_FACTOR = 10;
/** Longest wait of a scrape before cached figures are returned. Prometheus times out after ten seconds (`scrape_timeout`). */
export const LONGEST_WAIT_MS = 5 * SECOND_MS;

/** Figures computed from the state of all tenants. */
interface StateFigures {
  /**
   * Computes outdated figures again, once for all concurrent callers.
   * @param waitMs longest wait if older figures exist; default: the option given at creation
   * @returns age of the figures in ms
   * @throws MirrorError as the state does, including an unreachable Redis; also while the last computation failed and the next one runs
   */
  refresh(installation: Installation, waitMs?: number): Promise<number>;
}

/**
 * @param compute reads the state and publishes the figures
 * @param longestWaitMs default of `waitMs`
 */
export function createStateFigures(
  compute: (installation: Installation) => Promise<void>,
  longestWaitMs = LONGEST_WAIT_MS,
): StateFigures {
  let computed: { at: Instant; tookMs: number } | null = null;
  let computing: Promise<void> | null = null;
  /** Of the last computation. Older figures would hide, for example, a Redis that refuses commands. */
  let failure: { thrown: unknown } | null = null;
  async function computeNow(installation: Installation): Promise<void> {
    const at = installation.clock();
    const begunAt = performance.now();
    try {
      await compute(installation);
    } catch (thrown) {
      failure = { thrown };
      throw thrown;
    }
    failure = null;
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
        // A caller that stopped waiting does not handle a failure. The next caller computes again.
        computing.catch(() => {});
        await (computed === null ? computing : Promise.race([computing, pause(waitMs, undefined, { ref: false })]));
      }
      if (failure !== null) throw failure.thrown;
      return installation.clock() - (computed?.at ?? installation.clock());
    },
  };
}

/** Status of clinics for all callers in a process, computed once for concurrent callers. */
export interface Statuses {
  /**
   * Returns the status of all clinics. The age is at most a few seconds, or ten times the computing time.
   * @param waitMs longest wait for a new status before the previous status is returned
   * @throws MirrorError as the state does, including an unreachable Redis
   */
  read(installation: Installation, waitMs?: number): Promise<{ status: Status; ageMs: number }>;
  /** Returns a partial status after `waitMs` if no status is cached from the last ten minutes. */
  readSoFar(installation: Installation, waitMs: number): Promise<Status>;
  /** Returns the present status of one clinic. Callers during a computation share the next computation, which begins after their call. */
  ofTenant(installation: Installation, tenant: string): Promise<Status>;
  /** Returns problems that ended in the last hour, newest first, as of the last status of all clinics. */
  ended(): readonly EndedProblem[];
}

/** Older figures are discarded. */
const OLDEST_MS = 10 * MINUTE_MS;

/** Creates the cache. The first call computes the first status. */
export function openStatuses(): Statuses {
  let newest: Status | null = null;
  let soFar: Status | null = null;
  let ended: readonly EndedProblem[] = [];
  const endsOf = watchEnds();
  const figures = createStateFigures(async (open) => {
    soFar = null;
    for await (const found of statusByAndBy(open)) soFar = found;
    newest = soFar;
    ended = endsOf(requireStatus(newest));
  });
  const requireStatus = (found: Status | null): Status => {
    if (found === null) throw new Error('what was computed is known');
    return found;
  };
  return {
    ended: () => ended,
    ofTenant: sharingNext(status),
    async read(open, waitMs) {
      const ageMs = await figures.refresh(open, waitMs);
      return { status: requireStatus(newest), ageMs };
    },
    async readSoFar(open, waitMs) {
      const whole = figures.refresh(open, waitMs);
      // With an earlier status, the wait ends by itself.
      await (newest === null ? Promise.race([whole, pause(waitMs, undefined, { ref: false })]) : whole);
      const isRecent = newest !== null && open.clock() - newest.at <= OLDEST_MS;
      if (isRecent) return requireStatus(newest);
      if (soFar === null) await whole;
      // A new computation may have just begun, but the caller stopped waiting.
      return requireStatus(soFar ?? newest);
    },
  };
}

/** Runs at most one computation at a time, and one next computation for all concurrent callers. */
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
