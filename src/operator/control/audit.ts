import type { Progress } from '../../core/model/tasks.ts';
import { auditTarget } from '../../engine/audit-target.ts';
import { auditRules } from '../../engine/policy.ts';
import { type Installation, pausedError, requireTenant } from './installation.ts';
import { tryWhatWaits } from './resume.ts';
import type { AuditView } from './status-schemas.ts';

/** Returns whether every target was checked. */
export function isLookedAt({ targets }: AuditView): boolean {
  return targets.every(({ drift }) => drift !== null);
}

/**
 * Fetches all objects of each target of a tenant. Includes targets that back off, except at a vendor's request. Repairs are part of the
 * next cycle, which starts immediately.
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
    view.targets.push({
      target: target.id,
      policy: auditRules(target.configuration).drift,
      drift,
      failure: reportedFailure,
    });
  }
  await installation.pullNow(id);
  return view;
}
