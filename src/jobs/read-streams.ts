import type { Progress } from '../model/tasks.ts';
import { STREAMS_LEASE } from '../state/config-version.ts';
import type { RunReport } from '../state/runs.ts';
import { type CycleRunner, pullWhenFree, type RefusalOf } from './pull.ts';
import { readStreams } from './stream-readers.ts';
import { findDueStreams } from './streams.ts';
import { activeTargets, type OpenTenant } from './tenant.ts';
import { waitForLease } from './wait-for-lease.ts';

/** What came of a turn. */
export interface StreamsTurn {
  /** Of the cycle that followed; null when nothing was read. */
  run: RunReport | null;
  /** Another process plans the tenant's CRMs: the job is for it. */
  isElsewhere: boolean;
}

/** Whether a tenant has streams that should be read after a cycle, by a job of their own. Not where the clinic can't be read at all. */
export async function areStreamsDue(
  tenant: Pick<OpenTenant, 'clock' | 'memory' | 'runs' | 'targets'>,
  lastRun: RunReport,
): Promise<boolean> {
  if (lastRun.error !== null) return false;
  return (await findDueStreams(tenant, activeTargets(tenant), { lastRun })).due.length > 0;
}

/** Whether another process plans a tenant's CRMs, so that a cycle is better done there. Costs nothing where there are none. */
export async function areCrmsElsewhere(
  tenant: Pick<OpenTenant, 'clock' | 'memory' | 'runs' | 'targets'>,
): Promise<boolean> {
  return (await findDueStreams(tenant, activeTargets(tenant))).isElsewhere;
}

/**
 * Reads what a tenant's CRMs follow beside appointments, as far as it is due, and has a cycle follow that plans them by it. Cycles go
 * on meanwhile, so that a long reading delays no calendar. One reading of a tenant at a time, over all processes.
 * @param options.takesOver the process that planned the tenant's CRMs last is gone
 */
export async function readStreamsInTurn(
  tenant: CycleRunner,
  options: { takesOver: boolean },
  signal: AbortSignal,
): Promise<StreamsTurn> {
  const lease = await tenant.leases.tryTake(STREAMS_LEASE);
  // Whoever reads plans by it too.
  if (lease === null) return { run: null, isElsewhere: false };
  try {
    const found = await findDueStreams(tenant, activeTargets(tenant));
    if (found.isElsewhere && !options.takesOver) return { run: null, isElsewhere: true };
    if (found.due.length === 0) return { run: null, isElsewhere: false };
    const isRead = await readStreams(tenant, found, () => {}, AbortSignal.any([signal, lease.signal]));
    // Still under the lease: nobody reads what is newer while this waits to be planned by.
    return {
      run: isRead ? await pullWhenFree(tenant, () => {}, signal, { justRead: true }) : null,
      isElsewhere: false,
    };
  } finally {
    await lease.release();
  }
}

/**
 * One cycle for a person who waits for it: nothing that was read before will do. What CRMs follow is read first, while the
 * daemon's cycles go on.
 * @param progress is told what is read, and what is waited for
 * @param refusalOf looks at the plan before it is carried into the state
 * @throws what `refusalOf` gives
 */
export async function pullAfresh(
  tenant: CycleRunner,
  progress: Progress,
  signal: AbortSignal,
  refusalOf?: RefusalOf,
): Promise<RunReport> {
  const targets = activeTargets(tenant);
  if (targets.every(({ crm }) => crm === null)) return pullWhenFree(tenant, progress, signal, { refusalOf });
  const lease = await waitForLease(
    tenant.leases,
    STREAMS_LEASE,
    { what: 'a reading of patients', tell: progress },
    signal,
  );
  try {
    const found = await findDueStreams(tenant, targets, { fresh: true });
    await readStreams(tenant, found, progress, AbortSignal.any([signal, lease.signal]));
    return await pullWhenFree(tenant, progress, signal, { justRead: true, refusalOf });
  } finally {
    await lease.release();
  }
}
