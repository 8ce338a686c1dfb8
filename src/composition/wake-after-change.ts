import type { Installation } from '../control/installation.ts';
import { resumeTargets } from '../control/resume.ts';
import type { WorkQueues } from '../jobs/queues.ts';

/**
 * Tenants have another configuration, or another secret behind the same one: what waited there for a person has its next try now, as after a
 * login. So a refused password is told no longer than until the right one is taken up.
 */
export async function wakeAfterChange(
  {
    installation,
    queues,
  }: { installation: Pick<Installation, 'tenants'>; queues: Pick<WorkQueues, 'wake' | 'pullNow'> },
  tenants: readonly string[],
): Promise<void> {
  for (const id of tenants) {
    const tenant = installation.tenants.get(id);
    if (tenant === undefined || tenant.configuration.paused) continue;
    for (const target of await resumeTargets(tenant)) await queues.wake(id, target, 0);
    const [last] = await tenant.runs.list(1);
    if (last?.error?.actor === 'authorization' || last?.error?.actor === 'settings') await queues.pullNow(id);
  }
}
