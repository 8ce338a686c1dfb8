import type { Link } from '../model/operations.ts';
import type { DriftReport } from '../state/targets.ts';
import { fieldsByHand } from '../sync/audit.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** What is known to be done by hand at a moment. */
export type Marks = Pick<DriftReport, 'edited' | 'removed' | 'fields' | 'churning' | 'churningFields'>;

/**
 * Whether what a person did to a record's object is undone: under `repair`, unless the object had to be restored too often today.
 * Two programs fight over such a one; tomorrow it is tried again.
 */
export async function restoring(tenant: OpenTenant, target: OpenTarget): Promise<(recordId: string) => boolean> {
  const { drift, rewritesPerDay } = target.configuration.audit;
  if (drift !== 'repair') return () => false;
  const counts = await tenant.records.restorations(target.id, tenant.clock());
  return (recordId) => (counts.get(recordId) ?? 0) <= rewritesPerDay;
}

/** Whether the target is known to differ from what it was given, and its policy does not accept that (`keep` does). */
export async function differsByHand(tenant: OpenTenant, target: OpenTarget): Promise<boolean> {
  return target.configuration.audit.drift !== 'keep' && (await tenant.links.marked(target.id)).length > 0;
}

/** Counts marks. */
export async function countMarks(tenant: OpenTenant, target: OpenTarget, marked: readonly Link[]): Promise<Marks> {
  const restores = await restoring(tenant, target);
  const isRepaired = target.configuration.audit.drift === 'repair';
  const churning = isRepaired ? marked.filter(({ recordId }) => !restores(recordId)) : [];
  const edited = marked.filter(({ drift }) => drift === 'edited');
  const byHand = (links: readonly Link[]) => links.flatMap((link) => fieldsByHand(link, target.identity));
  const fields: Record<string, number> = {};
  for (const field of byHand(edited)) fields[field] = (fields[field] ?? 0) + 1;
  return {
    edited: edited.length,
    removed: marked.length - edited.length,
    fields,
    churning: churning.length,
    churningFields: [...new Set(byHand(churning))],
  };
}
