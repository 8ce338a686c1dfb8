import type { RefusalOf } from '../jobs/pull.ts';
import { pullAfresh } from '../jobs/pull.ts';
import { pushTarget, type StopSignals, type TargetWriter } from '../jobs/push.ts';
import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import type { Progress } from '../model/tasks.ts';
import { SECOND_MS } from '../model/time.ts';
import type { RunReport } from '../state/runs.ts';
import { type Installation, pausedError, requireTenant } from './installation.ts';
import { tryWhatWaits, waitsForPerson } from './resume.ts';
import { tenantStatus } from './status.ts';
import type { TargetStatus } from './status-view.ts';

/** What one cycle on demand came to. */
export interface SyncResult {
  tenant: string;
  run: RunReport;
  targets: TargetStatus[];
}

/**
 * Whether nothing is left to do or to tell: the cycle ended, every target is in sync, and nothing is out of the login's reach or of the
 * configuration's.
 */
export function isWhole({ run, targets }: SyncResult): boolean {
  const isComplete = run.withheld.length + run.awaiting.length === 0 && Object.keys(run.gaps).length === 0;
  return (
    run.error === null && isComplete && targets.every(({ state, pending }) => state === 'in-sync' && pending === 0)
  );
}

/** A lane whose next turn is further off than this is left to the daemon. */
const PATIENCE_MS = 15 * SECOND_MS;

/**
 * One cycle of a tenant now, to its end: read, plan, and write until nothing is left that can be written now. Safe beside a
 * running daemon: both use the same leases, and what it is at is waited for.
 * @param refusalOf looks at the plan before anything of it is carried into the state
 * @throws MirrorError `settings`, code `tenant-paused`; what `refusalOf` gives
 */
export async function syncTenant(
  installation: Installation,
  id: string,
  { progress, signals }: { progress: Progress; signals: StopSignals },
  refusalOf?: RefusalOf,
): Promise<SyncResult> {
  const tenant = requireTenant(installation, id);
  if (tenant.configuration.paused) throw pausedError(installation, id);
  if (refusalOf === undefined) await tryWhatWaits(tenant);
  const run = await pullAfresh(tenant, progress, signals.stop, refusalOf);
  // Who is refused has nothing done at all, what waited from before included.
  if (refusalOf !== undefined) await tryWhatWaits(tenant);
  const targets = [...tenant.targets.values()].filter(({ configuration }) => !configuration.paused);
  const written = new Map<string, number>();
  const total = await totalPending(tenant, targets);
  const drain = (target: OpenTarget) =>
    drainTarget(tenant, target, signals, (done) => {
      written.set(target.id, done);
      progress(
        'writing',
        [...written.values()].reduce((sum, each) => sum + each, 0),
        total,
      );
    });
  // Contacts first: what belongs to one that isn't there yet would only be tried again.
  const belongs = ({ configuration }: OpenTarget) => configuration.crm?.contacts !== undefined;
  await Promise.all(targets.filter((target) => !belongs(target)).map(drain));
  await Promise.all(targets.filter(belongs).map(drain));
  const status = await tenantStatus(installation, tenant);
  return { tenant: id, run, targets: status.targets.filter(({ state }) => state !== 'paused') };
}

/** Turns of a lane until nothing is left that can be written now: what waits for a person is not waited for. */
export async function drainTarget(
  tenant: TargetWriter,
  target: OpenTarget,
  signals: StopSignals,
  onWritten: (count: number) => void,
): Promise<void> {
  let done = 0;
  while (!signals.stop.aborted) {
    const turn = await pushTarget(tenant, target, signals, {
      progress: (_, count) => onWritten(done + (count ?? 0)),
    });
    done += turn.doneCount;
    if (turn.nextInMs === null || turn.nextInMs > PATIENCE_MS) return;
    const stored = await tenant.targetStore.read(target.id);
    if (stored.pausedUntil !== null && waitsForPerson(stored)) return;
    if (turn.idle && (await tenant.outbox.counts(target.id)).pending === 0) return;
    await new Promise((resolve) => setTimeout(resolve, turn.nextInMs ?? 0));
  }
}

async function totalPending(tenant: Pick<OpenTenant, 'outbox'>, targets: readonly OpenTarget[]): Promise<number> {
  const counts = await Promise.all(targets.map(({ id }) => tenant.outbox.counts(id)));
  return counts.reduce((sum, { pending }) => sum + pending, 0);
}

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
