import { auditTarget } from '../jobs/audit.ts';
import type { Progress } from '../model/tasks.ts';
import type { DriftReport, TargetFailure } from '../state/targets.ts';
import { type Installation, pausedError, requireTenant } from './installation.ts';
import { tryWhatWaits } from './resume.ts';

/** What an audit on demand found in one target. */
interface AuditedTarget {
  target: string;
  policy: 'repair' | 'keep' | 'report';
  /** Null where nothing was looked at: it is being written to, rests, failed, or was never written to. */
  drift: DriftReport | null;
  /** What kept it from being looked at; null where it was, and where the target is busy or new. */
  failure: Pick<TargetFailure, 'code' | 'message' | 'remedy'> | null;
}

/** What an audit on demand found. */
export interface AuditView {
  tenant: string;
  targets: AuditedTarget[];
}

/** Whether every target was looked at. */
export function isLookedAt({ targets }: AuditView): boolean {
  return targets.every(({ drift }) => drift !== null);
}

/**
 * Reads back all that every target of a tenant holds, those that rest too, unless they were asked to. What is to be restored goes with the next cycle, which is asked for at once.
 * @throws MirrorError `settings`, code `tenant-paused` or `no-such-tenant`
 */
export async function auditNow(
  installation: Installation,
  id: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<AuditView> {
  const tenant = requireTenant(installation, id);
  if (tenant.configuration.paused) throw pausedError(installation, id);
  await tryWhatWaits(tenant);
  const targets = [...tenant.targets.values()].filter(({ configuration }) => !configuration.paused);
  const view: AuditView = { tenant: id, targets: [] };
  for (const [index, target] of targets.entries()) {
    progress('reading targets back', index, targets.length);
    const drift = await auditTarget(tenant, target, signal, { whole: true });
    const { failure } = drift === null ? await tenant.targetStore.read(target.id) : { failure: null };
    const reportedFailure = failure && { code: failure.code, message: failure.message, remedy: failure.remedy };
    view.targets.push({ target: target.id, policy: target.configuration.audit.drift, drift, failure: reportedFailure });
  }
  await installation.pullNow(id);
  return view;
}
