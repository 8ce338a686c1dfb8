import type { Hold } from '../model/plan.ts';
import type { Instant } from '../model/time.ts';
import type { Uncertainty } from '../state/protection.ts';
import type { TargetGap } from '../state/target-record.ts';
import type { TargetSummary } from '../state/targets.ts';
import type { Confirmations } from '../sync/absence.ts';
import type { AgendaIndex } from '../sync/agenda-index.ts';
import type { TargetPlan } from '../sync/target-plan.ts';
import type { ClinicReading } from './clinic-reading.ts';
import type { OpenTarget } from './tenant.ts';

/** What a cycle knows before it opens the states of targets. */
export interface LoadContext {
  clinicReading: ClinicReading;
  byAgenda: AgendaIndex;
  /** When the state last went back in time. */
  wentBackAt: Instant | null;
  /** By target, and by rule of reminders: what of it could not be read or is not known. */
  gaps: ReadonlyMap<string, readonly TargetGap[]>;
  summaries: ReadonlyMap<string, TargetSummary>;
  holds: readonly Hold[];
  /** Version of who is forgotten. */
  forgotten: string;
}

/** A target that could not be read, or asked to be left alone, and why: nothing is planned for it. */
export interface SkippedTarget {
  target: string;
  code: string;
}

/** What a cycle found and decided, before or after it was carried into the state. */
export interface Cycle {
  clinicReading: ClinicReading;
  confirmations: Confirmations;
  plans: TargetPlan[];
  /** Absent records of each target. */
  missing: ReadonlyMap<string, readonly string[]>;
  /** Those for which nothing was planned because the same was before; their plans are among the others. */
  settled: readonly OpenTarget[];
  /** What was known before the states of targets were opened. */
  basis: LoadContext;
  left: readonly SkippedTarget[];
  /** Why it is not known who must not be written of; null when it is. */
  doubt: Uncertainty | null;
  /** Whether it leaves no question open: nothing of calendars is absent, held or in doubt. */
  isPlain: boolean;
}
