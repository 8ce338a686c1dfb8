import type { Hold } from '../model/plan.ts';
import type { Instant } from '../model/time.ts';
import type { TargetGap } from '../state/target-gaps.ts';
import type { TargetLook } from '../state/targets.ts';
import type { AgendaIndex } from '../sync/agenda-index.ts';
import type { Survey } from './survey.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** What a cycle knows before it opens the states of targets. */
export interface Basis {
  survey: Survey;
  byAgenda: AgendaIndex;
  /** When the state last went back in time. */
  wentBackAt: Instant | null;
  gaps: ReadonlyMap<string, readonly TargetGap[]>;
  looks: ReadonlyMap<string, TargetLook>;
  holds: readonly Hold[];
  /** Version of who is forgotten. */
  forgotten: string;
}

/** Looks at the state of all targets in one go. */
export async function basisOf(
  tenant: OpenTenant,
  targets: readonly OpenTarget[],
  known: Pick<Basis, 'survey' | 'byAgenda' | 'wentBackAt' | 'gaps'>,
): Promise<Basis> {
  const { version: forgotten } = await tenant.tombstones.load();
  const holds = await tenant.holds.list();
  return { ...known, holds, forgotten, looks: await tenant.records.look(targets.map(({ id }) => id)) };
}
