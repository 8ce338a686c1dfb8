import { type Installation, pausedError, requireTenant } from '../../control/installation.ts';
import { syncTenant } from '../../control/sync.ts';
import type { StopSignals } from '../../jobs/push.ts';
import type { OpenTenant } from '../../jobs/tenant.ts';
import { message } from '../../messages/message.ts';
import { MirrorError } from '../../model/errors.ts';
import type { Progress } from '../../model/tasks.ts';
import { DAY_MS, type Instant } from '../../model/time.ts';
import type { JournaledRun } from '../../state/journal.ts';
import { entriesOfRun, lookAtRun, type Recoverable, type Recovery } from './restore-records.ts';

/** How long a record that was put back stays, although the target's rules leave it out. */
const PIN_MS = 30 * DAY_MS;

/** A run that can be undone, with the tenant that it belongs to. */
export interface TenantRun extends JournaledRun {
  tenant: string;
}

/** What became of one record of the run. `restored`: the target holds it, as the clinic has it now; `waiting`: it will. */
export type UndoResult = 'restored' | 'waiting' | Exclude<Recovery, 'there'>;

/** What an undo came to. */
export interface UndoView {
  tenant: string;
  run: string;
  /** Nothing was written: `result` says what would come of it. */
  dryRun: boolean;
  /** Put-back records stay until then whatever the target's rules say; null when nothing was put back. */
  pinnedUntil: Instant | null;
  records: { target: string; record: string; effect: Recoverable['effect']; result: UndoResult }[];
}

/** Runs that changed or deleted something, newest first, at most 100 of each tenant. */
export async function listRuns(installation: Installation, only?: string): Promise<TenantRun[]> {
  const tenants = only === undefined ? [...installation.tenants.values()] : [requireTenant(installation, only)];
  const lists = await Promise.all(
    tenants.map(async ({ id, journal }) =>
      (await journal.list(installation.clock())).map((run): TenantRun => ({ ...run, tenant: id })),
    ),
  );
  return lists.flat().sort((a, b) => b.at - a.at);
}

/**
 * Puts back what a run deleted and brings what it changed to what the clinic says now, by one cycle. Put-back records are pinned: the
 * target's rules (agenda, treatment, status) don't take them out again for 30 days; that the clinic cancels or loses them does.
 * @param options.tenant needed only when two tenants have a run of that id
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
  const pinnedUntil = await pinDeleted(tenant, found, installation.clock() + PIN_MS);
  if (found.some(({ recovery }) => recovery === 'there'))
    await syncTenant(installation, tenant.id, { progress, signals });
  return { ...view, pinnedUntil, records: await resultsOf(tenant, found) };
}

/**
 * Ends the pins of an undo: the target's rules decide again with the next cycle.
 * @returns how many records were pinned by undoing that run
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

/** The tenant that a run is of. @throws as {@link undoRun} */
export async function tenantOfRun(
  installation: Installation,
  run: string,
  only: string | undefined,
): Promise<OpenTenant> {
  const candidates = only === undefined ? [...installation.tenants.values()] : [requireTenant(installation, only)];
  const having: OpenTenant[] = [];
  for (const tenant of candidates) if ((await entriesOfRun(tenant, run)).length > 0) having.push(tenant);
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

async function pinDeleted(
  tenant: Pick<OpenTenant, 'journal'>,
  found: readonly Recoverable[],
  untilAt: Instant,
): Promise<Instant | null> {
  const putBack = found.filter(({ effect, recovery }) => effect === 'deleted' && recovery === 'there');
  for (const target of new Set(putBack.map((one) => one.target))) {
    const ids = putBack.filter((one) => one.target === target).map(({ recordId }) => recordId);
    await tenant.journal.pin(target, ids, untilAt);
  }
  return putBack.length === 0 ? null : untilAt;
}

async function resultsOf(
  tenant: Pick<OpenTenant, 'links' | 'outbox'>,
  found: readonly Recoverable[],
): Promise<UndoView['records']> {
  const waiting = new Map<string, ReadonlySet<string>>();
  const linked = new Map<string, ReadonlySet<string>>();
  for (const target of new Set(found.map((one) => one.target))) {
    waiting.set(target, new Set((await tenant.outbox.pending(target)).keys()));
    const ids = found.filter((one) => one.target === target).map(({ recordId }) => recordId);
    const links = [...(await tenant.links.readSome(target, ids)).values()].filter(({ drift }) => drift !== 'removed');
    linked.set(target, new Set(links.map(({ recordId }) => recordId)));
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
