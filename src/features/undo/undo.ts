import { MirrorError } from '../../core/model/errors.ts';
import type { Progress } from '../../core/model/tasks.ts';
import { DAY_MS, type Instant } from '../../core/model/time.ts';
import type { StopSignals } from '../../engine/push.ts';
import { message } from '../../messages/message.ts';
import { type Installation, pausedError, readTenants } from '../../operator/control/installation.ts';
import { syncTenant } from '../../operator/control/sync.ts';
import type { Journal } from '../../state/journal.ts';
import { entriesOfRun, lookAtRun, type Recoverable, type UndoneTenant } from './restore-records.ts';
import type { TenantRun, UndoView } from './schemas.ts';

/** Duration in which a restored record remains although the target's rules exclude the record. */
const PIN_MS = 30 * DAY_MS;

/** Returns runs with changes or deletions, newest first, at most 100 per tenant. */
export async function listRuns(installation: Installation, only?: string): Promise<TenantRun[]> {
  const lists = await readTenants(installation, only, async ({ id, journal }) =>
    (await journal.list(installation.clock())).map((run): TenantRun => ({ ...run, tenant: id })),
  );
  return lists.flat().sort((a, b) => b.at - a.at);
}

/**
 * Restores the deleted objects of a run, and updates its changed objects from present clinic data, in one cycle. Restored records are
 * pinned: the target's rules (agenda, treatment, status) do not remove the records for 30 days. Cancellations and deletions in the clinic
 * still apply.
 * @param options.tenant required only if two tenants have a run with this id
 * @throws MirrorError `settings`, code `no-such-run`, `run-ambiguous`, `tenant-paused` or `no-such-tenant`
 */
export async function undoRun(
  installation: Installation,
  run: string,
  options: { tenant?: string | undefined; dryRun: boolean },
  { progress, signals }: { progress: Progress; signals: StopSignals },
): Promise<UndoView> {
  const tenant = await tenantOfRun(installation, run, options.tenant);
  if (tenant.configuration.paused) throw pausedError(installation, tenant.id);
  progress('reading the clinic');
  const found = await lookAtRun(tenant, await entriesOfRun(tenant, run), progress, signals.stop);
  const view = { tenant: tenant.id, run, dryRun: options.dryRun };
  if (options.dryRun) return { ...view, pinnedUntil: null, records: found.map((one) => lineOf(one, 'waiting')) };
  const pinnedUntil = await pinDeleted(tenant.journal, found, installation.clock() + PIN_MS);
  if (found.some(({ recovery }) => recovery === 'there'))
    await syncTenant(installation, tenant.id, { progress, signals });
  return { ...view, pinnedUntil, records: await resultsOf(tenant, found) };
}

/**
 * Ends the pins of an undo. The target's rules apply again in the next cycle.
 * @returns number of records pinned by the undo
 * @throws as {@link undoRun}
 */
export async function releaseRun(
  installation: Installation,
  run: string,
  options: { tenant?: string | undefined },
): Promise<{ tenant: string; released: number }> {
  const tenant = await tenantOfRun(installation, run, options.tenant);
  const entries = await entriesOfRun(tenant, run);
  let released = 0;
  for (const target of new Set(entries.map((entry) => entry.target))) {
    const pinned = await tenant.journal.pinned(target, installation.clock());
    const ids = entries.filter((e) => e.target === target && pinned.has(e.recordId)).map((e) => e.recordId);
    await tenant.journal.unpin(target, ids);
    released += ids.length;
  }
  await installation.pullNow(tenant.id);
  return { tenant: tenant.id, released };
}

/** Returns the tenant of a run. @throws as {@link undoRun} */
export async function tenantOfRun(
  installation: Installation,
  run: string,
  only: string | undefined,
): Promise<UndoneTenant> {
  const having = (
    await readTenants(installation, only, async (tenant) =>
      (await entriesOfRun(tenant, run)).length > 0 ? [tenant] : [],
    )
  ).flat();
  const [tenant] = having;
  if (tenant !== undefined && having.length === 1) return tenant;
  if (tenant === undefined) {
    throw new MirrorError(message('no-such-run'), {
      actor: 'settings',
      code: 'no-such-run',
      retry: 'never',
      remedy: message('no-such-run.remedy'),
    });
  }
  throw new MirrorError(message('run-ambiguous'), {
    actor: 'settings',
    code: 'run-ambiguous',
    retry: 'never',
    remedy: message('run-ambiguous.remedy'),
  });
}

async function pinDeleted(journal: Journal, found: readonly Recoverable[], untilAt: Instant): Promise<Instant | null> {
  const putBack = found.filter(({ effect, recovery }) => effect === 'deleted' && recovery === 'there');
  for (const target of new Set(putBack.map((one) => one.target))) {
    const ids = putBack.filter((one) => one.target === target).map(({ recordId }) => recordId);
    await journal.pin(target, ids, untilAt);
  }
  return putBack.length === 0 ? null : untilAt;
}

async function resultsOf({ links, outbox }: UndoneTenant, found: readonly Recoverable[]): Promise<UndoView['records']> {
  const waiting = new Map<string, ReadonlySet<string>>();
  const linked = new Map<string, ReadonlySet<string>>();
  for (const target of new Set(found.map((one) => one.target))) {
    waiting.set(target, new Set((await outbox.pending(target)).keys()));
    const ids = found.filter((one) => one.target === target).map(({ recordId }) => recordId);
    const present = [...(await links.readSome(target, ids)).values()].filter(({ drift }) => drift !== 'removed');
    linked.set(target, new Set(present.map(({ recordId }) => recordId)));
  }
  return found.map((one) => {
    const { target, recordId } = one;
    const isDone = linked.get(target)?.has(recordId) === true && waiting.get(target)?.has(recordId) !== true;
    return lineOf(one, isDone ? 'restored' : 'waiting');
  });
}

function lineOf({ target, recordId, effect, recovery }: Recoverable, ifThere: 'restored' | 'waiting') {
  return { target, record: recordId, effect, result: recovery === 'there' ? ifThere : recovery };
}
