import type { RunReport } from '../state/runs.ts';
import { type Installation, requireTenant } from './installation.ts';

/** A cycle of a tenant, and what of it can be undone. */
export interface RunView extends RunReport {
  /** Objects that it changed or deleted in targets, by its journal; null where there is none: it changed nothing, or long ago. */
  undoable: { updated: number; deleted: number } | null;
}

/** The newest cycles of a tenant, newest first. @throws MirrorError `settings`, code `no-such-tenant` */
export async function recentRuns(installation: Installation, tenantId: string, limit: number): Promise<RunView[]> {
  const { runs, journal } = requireTenant(installation, tenantId);
  const [reports, journaled] = await Promise.all([runs.list(limit), journal.list(installation.clock())]);
  const byRun = new Map(journaled.map(({ run, updated, deleted }) => [run, { updated, deleted }]));
  return reports.map((report) => ({ ...report, undoable: byRun.get(report.id) ?? null }));
}
