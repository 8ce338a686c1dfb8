import { MINUTE_MS, SECOND_MS } from '../model/time.ts';
import { asksForPlan, auditTarget, type TargetAuditor } from './audit.ts';
import type { OpenTarget } from './tenant.ts';

/** How the check of one target ended. */
export interface TargetCheck {
  /** Something is to be restored: a cycle should follow at once. */
  restore: boolean;
  /** The target could not be checked now: when it should be tried again. Null when nothing is left to look for. */
  againInMs: number | null;
}

/** The lane has a turn of at most `push.sliceSeconds`; nobody waits for the answer. */
const BUSY_MS = SECOND_MS;
/** Asking again costs two reads of Redis, so a target that needs a person may rest for long. */
const LONGEST_WAIT_MS = MINUTE_MS;

/**
 * Reads back one target because somebody said that it changed. A hint is never lost: while the target is written to or rests, the
 * check is to come again.
 * @param options.once nothing is known to have changed: it need not come again
 * @param options.whole read all of it: the vendor lost count of what it told
 */
export async function checkTarget(
  tenant: TargetAuditor,
  target: OpenTarget,
  { whole, once = false }: { whole: boolean; once?: boolean },
  signal: AbortSignal,
): Promise<TargetCheck> {
  const later = (againInMs: number): TargetCheck => ({ restore: false, againInMs: once ? null : againInMs });
  const { container, adoptedAt, pausedUntil } = await tenant.targetStore.read(target.id);
  // A target whose links are not built yet is read whole by the cycle that builds them.
  if (container === null || adoptedAt === null) return { restore: false, againInMs: null };
  const restsForMs = (pausedUntil ?? 0) - tenant.clock();
  if (restsForMs > 0) return later(Math.min(restsForMs, LONGEST_WAIT_MS));
  const report = await auditTarget(tenant, target, signal, { whole, comesAgain: !once });
  return report === null ? later(BUSY_MS) : { restore: asksForPlan(target, report), againInMs: null };
}
