import type { Instant } from '../model/time.ts';
import type { RefusedChange } from '../settings/configuration.ts';
import type { RefusedFiles } from '../state/reports.ts';

/** Faults of one refusal that are told: settings may be at odds with every tenant. */
export const MOST_REPORTED = 20;

/** What is refused as it is told. @param before what was refused already, with the time since when */
export function refusedFiles(
  refused: readonly RefusedChange[],
  before: readonly RefusedFiles[],
  now: Instant,
): RefusedFiles[] {
  return refused.map(({ tenant, faults }) => ({
    tenant,
    sinceAt: before.find((one) => one.tenant === tenant)?.sinceAt ?? now,
    faults: faults.slice(0, MOST_REPORTED).map(({ file, line, path, message }) => ({ file, line, path, message })),
    more: Math.max(0, faults.length - MOST_REPORTED),
  }));
}
