import type { Link } from '../core/model/operations.ts';
import type { Hold } from '../core/model/plan.ts';
import type { DriftCounts } from '../core/model/run-schemas.ts';
import type { Instant } from '../core/model/time.ts';
import { fieldsByHand } from './audit.ts';
import { restoring } from './diff.ts';
import { auditRules } from './policy.ts';
import type { Engine, EngineTarget } from './ports.ts';
import { unacceptedDrift } from './restorations.ts';

/** Returns the restorations of each object today, by record; empty without any. */
export async function restorationsOf(
  targetStore: Pick<Engine['targetStore'], 'restorations'>,
  { id, configuration }: Pick<EngineTarget, 'id' | 'configuration'>,
  now: Instant,
): Promise<ReadonlyMap<string, number>> {
  return auditRules(configuration).drift === 'repair' ? targetStore.restorations(id, now) : new Map();
}

/** Returns whether the target has drift that neither its policy accepts (`keep` accepts drift) nor an operator, by rejecting a hold. */
export async function differsByHand(
  { links, holds, targetStore }: Pick<Engine, 'holds' | 'links' | 'targetStore'>,
  target: Pick<EngineTarget, 'id' | 'configuration'>,
): Promise<boolean> {
  const drifted = auditRules(target.configuration).drift === 'keep' ? [] : await links.drifted(target.id);
  if (drifted.length === 0) return false;
  return unacceptedDrift(drifted, await holds.list(), target, await targetStore.read(target.id)).length > 0;
}

/** Counts manual edits. */
export async function countDrift(
  { targetStore, clock }: Pick<Engine, 'targetStore' | 'clock'>,
  target: EngineTarget,
  drifted: readonly Link[],
): Promise<DriftCounts> {
  const audit = auditRules(target.configuration);
  const restores = restoring(audit, await restorationsOf(targetStore, target, clock()));
  const churning = audit.drift === 'repair' ? drifted.filter(({ recordId }) => !restores(recordId)) : [];
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
 * Returns the number of approved changes of a target without a plan. Until the next cycle starts, the target differs from the source
 * although no change is pending.
 */
export async function approvedUnplanned(
  { runs }: { runs: { list(limit: number): Promise<readonly { startedAt: Instant }[]> } },
  target: string,
  holds: readonly Hold[],
): Promise<number> {
  const approved = holds.filter((hold) => hold.target === target && hold.state === 'approved');
  const [lastRun] = approved.length === 0 ? [] : await runs.list(1);
  return approved
    .filter(({ decidedAt }) => (decidedAt ?? 0) > (lastRun?.startedAt ?? 0))
    .reduce((sum, { recordIds }) => sum + recordIds.length, 0);
}
