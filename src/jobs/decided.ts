import type { Hold } from '../model/plan.ts';
import type { OpenTenant } from './tenant.ts';

/**
 * How many changes of a target a person approved that no cycle has planned, none having begun since: until then the target is not as the
 * clinic is, although nothing waits for it.
 */
export async function approvedUnplanned(
  { runs }: Pick<OpenTenant, 'runs'>,
  target: string,
  holds: readonly Hold[],
): Promise<number> {
  const approved = holds.filter((hold) => hold.target === target && hold.state === 'approved');
  if (approved.length === 0) return 0;
  const [lastRun] = await runs.list(1);
  return approved
    .filter(({ decidedAt }) => (decidedAt ?? 0) > (lastRun?.startedAt ?? 0))
    .reduce((sum, { recordIds }) => sum + recordIds.length, 0);
}
