import { setTimeout as pause } from 'node:timers/promises';
import { type Instant, SECOND_MS } from '../model/time.ts';
import type { Installation } from './installation.ts';

/** What was computed counts for so long at least, however often it is asked for. */
const CACHE_MS = 5 * SECOND_MS;
/** It counts so many times as long as it took: with thousands of tenants the daemon must have time for them too. */
const CACHE_FACTOR = 10;
/** A scrape that would take longer gets what was computed before. Prometheus gives up after ten seconds (`scrape_timeout`). */
export const LONGEST_WAIT_MS = 5 * SECOND_MS;

/** Figures that are computed from the state of all tenants. */
export interface StateFigures {
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
