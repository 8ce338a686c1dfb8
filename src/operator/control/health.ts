import { MirrorError } from '../../core/model/errors.ts';
import type { Link } from '../../core/model/operations.ts';
import type { Hold, PendingChange } from '../../core/model/plan.ts';
import type { Progress } from '../../core/model/tasks.ts';
import { type Clock, type Instant, upcoming } from '../../core/model/time.ts';
import type { TargetPlan } from '../../domain/plan-targets.ts';
import { remoteIdOf } from '../../engine/audit-target.ts';
import { planCycle } from '../../engine/cycle.ts';
import type { ChangeTable, LinkTable, TargetTable } from '../../engine/store.ts';
import { message } from '../../messages/message.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import { type Installation, requireTenant } from './installation.ts';
import type { FailingRecord, HealthView, TargetHealth } from './record-schemas.ts';
import { heldRecords, type StoredRecordState, stateOfRecord } from './record-states.ts';
import { pagesOf } from './target-objects.ts';

/**
 * Reads the clinic. Lists for each target the records in sync, the excluded records with reasons, and the failing records with times.
 * Writes nothing. For calendars, excluded records are only counted.
 * @param options.target one target; default: all
 * @throws MirrorError `settings`, code `no-such-target` or `no-such-tenant`; errors of the clinic API
 */
export async function tenantHealth(
  installation: Installation,
  id: string,
  options: { target?: string | undefined; progress: Progress },
  signal: AbortSignal,
): Promise<HealthView> {
  const tenant = requireTenant(installation, id);
  const wanted = [...tenant.targets.values()].filter(
    (target) => options.target === undefined || target.id === options.target,
  );
  if (wanted.length === 0) throw noSuchTarget(options.target ?? '');
  const cycle = await planCycle(tenant, { lease: null, progress: options.progress }, signal);
  const holds = await tenant.holds.list();
  const targets = wanted.map(async (target): Promise<TargetHealth> => {
    const plan = cycle.plans.find((one) => one.target === target);
    const skipReason = cycle.skippedTargets.find((one) => one.target === target.id)?.code ?? null;
    return {
      ...(await evidenceOf(tenant, target, { plan, holds }, signal)),
      unusable: { ...plan?.unusable },
      unread: target.configuration.paused ? 'paused' : skipReason,
    };
  });
  const connections = await installation.connections(tenant);
  const remarks = tenant.clinic.remarks();
  return {
    ...{ tenant: id, asOf: await tenant.sharedTime(cycle.reading.startedAt), connections },
    ...(remarks.length > 0 && { remarks }),
    targets: await Promise.all(targets),
  };
}

/** Members of a tenant that the health of one target is computed from. */
interface TargetHealthSource {
  clock: Clock;
  links: LinkTable;
  outbox: ChangeTable;
  targetStore: TargetTable;
}

async function evidenceOf(
  tenant: TargetHealthSource,
  target: OpenTarget,
  { plan, holds }: { plan: TargetPlan | undefined; holds: readonly Hold[] },
  signal: AbortSignal,
): Promise<Omit<TargetHealth, 'unusable' | 'unread'>> {
  const links = await tenant.links.read(target.id);
  const pending = await tenant.outbox.pending(target.id);
  const { copies, refusedThere, container } = await tenant.targetStore.read(target.id);
  const planned = Object.values(plan?.held ?? {}).flatMap((changes) => changes.map(({ recordId }) => recordId));
  const held = new Set([...heldRecords(holds, target.id).keys(), ...planned]);
  const stateOf = (recordId: string) => stateOfRecord(recordId, { links, pending, held });
  const excluded = excludedOf(plan, (recordId) => (stateOf(recordId) ?? 'in-sync') === 'in-sync');
  const isExcluded = new Set(excluded.records.map(({ record }) => record));
  const linked = (state: StoredRecordState) => [...links.values()].filter((link) => stateOf(link.recordId) === state);
  const inSync = linked('in-sync').filter(({ recordId }) => !isExcluded.has(recordId));
  const changes = [...pending.values()].filter(({ recordId }) => !held.has(recordId));
  const failing = changes.filter(({ lastError }) => lastError !== null);
  const remoteIds = new Map(
    failing.flatMap(({ recordId }) => {
      const link = links.get(recordId);
      return link === undefined ? [] : [[recordId, remoteIdOf(target, link)]];
    }),
  );
  const pages = await pagesOf(target, container, [...remoteIds.values()], signal);
  return {
    target: target.id,
    connector: target.configuration.connector,
    stream: target.stream,
    inSync: inSync.length,
    heldOtherwise: otherwise(inSync, target),
    failing: failing.map((change) => ({
      ...failingOf(change, tenant.clock()),
      page: pages.get(remoteIds.get(change.recordId) ?? '') ?? null,
    })),
    pending: changes.length - failing.length,
    changedByHand: linked('changed-by-hand').length,
    held: held.size,
    excluded,
    copied: copies.filter((recordId) => links.has(recordId)),
    refusedThere: Object.fromEntries(Object.entries(refusedThere).map(([property, ids]) => [property, [...ids]])),
  };
}

/** Returns the excluded records that are in no other set. A calendar's plan names only excluded records with stored data. */
function excludedOf(plan: TargetPlan | undefined, isMeant: (recordId: string) => boolean): TargetHealth['excluded'] {
  const counts: Record<string, number> = { ...plan?.omitted };
  const all = [...(plan?.omittedRecords ?? [])].map(([record, why]) => ({ record, why }));
  for (const { record, why } of all) if (!isMeant(record)) counts[why] = (counts[why] ?? 0) - 1;
  const counted = Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0));
  return { counts: counted, records: all.filter(({ record }) => isMeant(record)) };
}

function otherwise(inSync: readonly Link[], { identity }: OpenTarget): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { fingerprint, storedFingerprint } of inSync) {
    if (storedFingerprint === undefined) continue;
    for (const field of identity.differingFields(fingerprint, storedFingerprint))
      counts[field] = (counts[field] ?? 0) + 1;
  }
  return counts;
}

function failingOf(change: PendingChange, now: Instant): Omit<FailingRecord, 'page'> {
  const { recordId, lastError, about = null, enqueuedAt, attempts, dueAt, parked } = change;
  const nextTryAt = upcoming(dueAt, now);
  return { record: recordId, why: lastError ?? '', about, sinceAt: enqueuedAt, attempts, nextTryAt, parked };
}

/** Returns the error for an unknown target. */
export function noSuchTarget(target: string): MirrorError {
  return new MirrorError(message('no-such-target', { id: target }), {
    actor: 'settings',
    code: 'no-such-target',
    retry: 'never',
    remedy: message('no-such-target.remedy'),
  });
}
