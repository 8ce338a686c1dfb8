import { eachAtMost } from '../../core/model/pieces.ts';
import type { Progress } from '../../core/model/tasks.ts';
import { SECOND_MS } from '../../core/model/time.ts';
import type { RunReport } from '../../domain/runs.ts';
import { pushTarget, type StopSignals, type TargetWriter } from '../../engine/push.ts';
import type { ChangeTable } from '../../engine/store.ts';
import { pullAfresh, type RefusalOf } from '../../tenant/pull.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import { type Installation, pausedError, requireTenant } from './installation.ts';
import { tryWhatWaits, waitsForPerson } from './resume.ts';
import { tenantStatus } from './status.ts';
import type { SyncResult } from './status-schemas.ts';

/**
 * Returns whether the cycle is complete: the cycle succeeded, every target is in sync, and no data is outside the permissions of the
 * connection or the ids of the configuration.
 */
export function isWhole({ run, targets }: SyncResult): boolean {
  const isComplete = run.withheld.length + run.awaiting.length === 0 && Object.keys(run.gaps).length === 0;
  return run.error === null && isComplete && targets.every(({ sync, pending }) => sync === 'in-sync' && pending === 0);
}

/** Longest wait for a lane. A lane with a later job is left to the daemon. */
const PATIENCE_MS = 15 * SECOND_MS;
/**
 * Targets that a command writes at the same time. Without a limit, its memory and the commands that wait at Redis grow with the targets: with
 * a hundred at once on a busy host, the first batches of most targets had no confirmed result and were written again. Our choice.
 */
export const TARGETS_AT_ONCE = 16;

/**
 * Runs one complete cycle of a tenant now: read, plan, and write all writable changes. Safe during a daemon's work, because both use equal
 * leases and wait for each other.
 * @param refusalOf checks the plan before the state changes
 * @throws MirrorError `settings`, code `tenant-paused`; the error from `refusalOf`
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
  // A refused cycle does no work, including earlier waiting work.
  if (refusalOf !== undefined) await tryWhatWaits(tenant);
  const targets = [...tenant.targets.values()].filter(({ configuration }) => !configuration.paused);
  const written = new Map<string, number>();
  const total = await totalPending(tenant.outbox, targets);
  const drain = (target: OpenTarget) =>
    drainTarget(tenant, target, signals, (done) => {
      written.set(target.id, done);
      progress(
        'writing',
        [...written.values()].reduce((sum, each) => sum + each, 0),
        total,
      );
    });
  // Contacts first, because objects of a contact that does not exist yet would only be retried.
  const belongs = ({ configuration }: OpenTarget) => configuration.crm?.contacts !== undefined;
  await eachAtMost(
    TARGETS_AT_ONCE,
    targets.filter((target) => !belongs(target)),
    drain,
  );
  await eachAtMost(TARGETS_AT_ONCE, targets.filter(belongs), drain);
  const status = await tenantStatus(installation, tenant);
  return { tenant: id, run, targets: status.targets.filter(({ reason }) => reason !== 'paused') };
}

/** Runs jobs of a lane until no writable changes remain. Changes that require action are skipped. */
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

async function totalPending(outbox: ChangeTable, targets: readonly OpenTarget[]): Promise<number> {
  const counts = await Promise.all(targets.map(({ id }) => outbox.counts(id)));
  return counts.reduce((sum, { pending }) => sum + pending, 0);
}

/** A cycle of a tenant, with the changes that can be undone. */
export interface RunView extends RunReport {
  /** Objects changed or deleted in targets, from the run's journal; null without a journal: no changes, or an old run. */
  undoable: { updated: number; deleted: number } | null;
}

/** Returns the newest cycles of a tenant, newest first. @throws MirrorError `settings`, code `no-such-tenant` */
export async function recentRuns(installation: Installation, tenantId: string, limit: number): Promise<RunView[]> {
  const { runs, journal } = requireTenant(installation, tenantId);
  const [reports, journaled] = await Promise.all([runs.list(limit), journal.list(installation.clock())]);
  const byRun = new Map(journaled.map(({ run, updated, deleted }) => [run, { updated, deleted }]));
  return reports.map((report) => ({ ...report, undoable: byRun.get(report.id) ?? null }));
}
