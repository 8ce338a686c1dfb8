import { auditTarget } from '../jobs/audit.ts';
import type { Progress } from '../model/progress.ts';
import type { DriftReport } from '../state/targets.ts';
import { type Installation, pausedError, requireTenant } from './installation.ts';

/** What an audit on demand found; null for a target that is being written to, rests, or was never written to. */
export interface AuditView {
  tenant: string;
  targets: { target: string; policy: 'repair' | 'keep' | 'report'; drift: DriftReport | null }[];
}

/**
 * Reads back all that every target of a tenant holds. What is to be restored goes with the next cycle, which is asked for at once.
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
  const targets = [...tenant.targets.values()].filter(({ configuration }) => !configuration.paused);
  const view: AuditView = { tenant: id, targets: [] };
  for (const [index, target] of targets.entries()) {
    progress('reading the targets back', index, targets.length);
    const drift = await auditTarget(tenant, target, signal, { whole: true });
    view.targets.push({ target: target.id, policy: target.configuration.audit.drift, drift });
  }
  await installation.pullNow(id);
  return view;
}
