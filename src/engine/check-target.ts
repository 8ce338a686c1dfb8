import { asMirrorError } from '../core/model/errors.ts';
import { MINUTE_MS, SECOND_MS } from '../core/model/time.ts';
import { type AuditOptions, asksForPlan, auditTarget, type TargetAuditor } from './audit-target.ts';
import type { EngineTarget } from './ports.ts';

/** Result of checking one target. */
interface TargetCheck {
  /** An object must be restored: a cycle must follow immediately. */
  restore: boolean;
  /** Delay until the next attempt for a target that could not be checked, or that needs a complete audit; null if no check is due. */
  againInMs: number | null;
}

/** A lane job lasts at most `push.sliceSeconds`, and no caller waits for the check. */
const BUSY_MS = SECOND_MS;
/** A check costs two reads of Redis, so a target that requires action may be checked rarely. */
const LONGEST_WAIT_MS = MINUTE_MS;

/**
 * Audits one target after a change notification. The notification is never lost: while the target is busy or paused, the check is repeated.
 * @param options.once no change is known: no repetition is needed
 * @param options.whole read all objects, because the vendor lost notifications
 * @param options.changesOnly ask only the change feed. If the container is gone, a complete audit is due at once
 */
export async function checkTarget(
  tenant: TargetAuditor,
  target: EngineTarget,
  { once = false, ...options }: Pick<AuditOptions, 'whole' | 'changesOnly'> & { once?: boolean },
  signal: AbortSignal,
): Promise<TargetCheck> {
  const later = (againInMs: number): TargetCheck => ({ restore: false, againInMs: once ? null : againInMs });
  const { container, adoptedAt, pausedUntil } = await tenant.targetStore.read(target.id);
  // The cycle that builds a target's links reads all its objects.
  if (container === null || adoptedAt === null) return { restore: false, againInMs: null };
  const restsForMs = (pausedUntil ?? 0) - tenant.clock();
  if (restsForMs > 0) return later(Math.min(restsForMs, LONGEST_WAIT_MS));
  try {
    const report = await auditTarget(tenant, target, signal, { ...options, comesAgain: !once });
    return report === null ? later(BUSY_MS) : { restore: asksForPlan(target, report), againInMs: null };
  } catch (error) {
    if (asMirrorError(error).code !== target.containerGone) throw error;
    return { restore: false, againInMs: 0 };
  }
}
