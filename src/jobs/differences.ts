import type { Link } from '../model/operations.ts';
import type { Hold } from '../model/plan.ts';
import type { Instant } from '../model/time.ts';
import type { LinkStore } from '../state/links.ts';
import type { DriftReport, TargetStore } from '../state/targets.ts';
import { fieldsByHand } from '../sync/audit.ts';
import { restoring } from '../sync/diff.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** What is known to be done by hand at a moment. */
export type DriftCounts = Pick<DriftReport, 'edited' | 'removed' | 'fields' | 'churning' | 'churningFields'>;

/** How often each object was restored today, by record; nothing where none is. */
export async function restorationsOf(
  targetStore: Pick<TargetStore, 'restorations'>,
  { id, configuration }: Pick<OpenTarget, 'id' | 'configuration'>,
  now: Instant,
): Promise<ReadonlyMap<string, number>> {
  return configuration.audit.drift === 'repair' ? targetStore.restorations(id, now) : new Map();
}

/** Whether the target is known to differ from what it was given, and its policy does not accept that (`keep` does). */
export async function differsByHand(
  links: Pick<LinkStore, 'drifted'>,
  { id, configuration }: Pick<OpenTarget, 'id' | 'configuration'>,
): Promise<boolean> {
  return configuration.audit.drift !== 'keep' && (await links.drifted(id)).length > 0;
}

/** Counts what people did by hand. */
export async function countDrift(
  { targetStore, clock }: Pick<OpenTenant, 'targetStore' | 'clock'>,
  target: OpenTarget,
  drifted: readonly Link[],
): Promise<DriftCounts> {
  const restores = restoring(target.configuration.audit, await restorationsOf(targetStore, target, clock()));
  const isRepaired = target.configuration.audit.drift === 'repair';
  const churning = isRepaired ? drifted.filter(({ recordId }) => !restores(recordId)) : [];
  const edited = drifted.filter(({ drift }) => drift === 'edited');
  const byHand = (links: readonly Link[]) => links.flatMap((link) => fieldsByHand(link, target.identity));
  const fields: Record<string, number> = {};
  for (const field of byHand(edited)) fields[field] = (fields[field] ?? 0) + 1;
  return {
    edited: edited.length,
    removed: drifted.length - edited.length,
    fields,
    churning: churning.length,
    churningFields: [...new Set(byHand(churning))],
  };
}

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
