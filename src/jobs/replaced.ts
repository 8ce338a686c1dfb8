import type { PlannedChange } from '../model/plan.ts';
import type { TimeWindow } from '../model/time.ts';
import type { TargetRecord } from '../state/targets.ts';
import { absentCandidates, type TargetState } from '../sync/diff.ts';
import { replacesContents, replacesIds, rewrites } from '../sync/replaced.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** What the verdict on a whole reading goes by. */
export interface ReadingFor {
  changes: readonly PlannedChange[];
  state: TargetState;
  window: TimeWindow;
  /** Whether the reading shows a row of a record. */
  isListed: (recordId: string) => boolean;
  record: Pick<TargetRecord, 'comparableUnder'>;
}

/**
 * Whether a reading replaces nearly everything of a target: then nothing of it is written until a person decides, creates and updates
 * included. Right after the configuration was changed it is the operator who did.
 * @returns `held`, `refused` when a person rejected it, or null when it doesn't, or a person approved it
 */
export async function replacedReading(
  tenant: OpenTenant,
  target: OpenTarget,
  { changes, state, window, isListed, record }: ReadingFor,
): Promise<'held' | 'refused' | null> {
  const { number, isOurs } = await tenant.generation.look();
  const isReconfigured = record.comparableUnder !== null && !(isOurs && record.comparableUnder === number);
  if (isReconfigured) return null;
  const isNew = ({ recordId, reason }: PlannedChange) =>
    reason === 'new' && !state.links.has(recordId) && !state.pending.has(recordId);
  const facts = {
    known: absentCandidates(state, window, () => false).length,
    unlisted: absentCandidates(state, window, isListed).length,
    added: changes.filter(isNew).length,
    rewritten: changes.filter((change) => isListed(change.recordId) && rewrites(change, essentialsOf(target))).length,
  };
  // Links that were rebuilt tell of other contents for many reasons.
  const isComparable = record.comparableUnder !== null && !isReckoned(target);
  if (!replacesIds(facts) && !(isComparable && replacesContents(facts))) return null;
  const holds = (await tenant.holds.list()).filter((hold) => hold.target === target.id && hold.kind === 'replaced');
  const decided = (wanted: 'approved' | 'rejected') => {
    const ids = new Set(holds.filter(({ state: one }) => one === wanted).flatMap(({ recordIds }) => recordIds));
    return changes.filter(({ recordId }) => ids.has(recordId)).length * 4 >= changes.length * 3;
  };
  if (decided('approved')) return null;
  return decided('rejected') ? 'refused' : 'held';
}

function essentialsOf({ crm, stream }: OpenTarget): string[] | null {
  if (crm === null) return ['time'];
  return stream === 'patients' ? null : ['start'];
}

/** What is reckoned from the past changes for everybody with a day. */
function isReckoned({ crm }: OpenTarget): boolean {
  return crm !== null && (crm.mapping.needs.history || crm.mapping.needs.invoices || !crm.mapping.isPlain);
}
