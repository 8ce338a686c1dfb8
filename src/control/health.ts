import { remoteIdOf } from '../jobs/audit.ts';
import { planCycle } from '../jobs/plan-cycle.ts';
import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import type { RefusedThere } from '../model/items.ts';
import type { Link } from '../model/operations.ts';
import type { PendingChange } from '../model/plan.ts';
import type { ReadingRemark } from '../model/snapshots.ts';
import type { Progress } from '../model/tasks.ts';
import type { Instant } from '../model/time.ts';
import { type ConnectionStatus, type Installation, requireTenant } from './installation.ts';
import { pagesOf } from './target-objects.ts';

/** A record whose last write failed, or that requires action. Ids and codes, never contents. */
export interface FailingRecord {
  record: string;
  /** Code of the last failure. */
  why: string;
  /** Names of affected fields, rules and permissions, or null. */
  about: string | null;
  /** URL of the object's page in the target; null without an object or page. */
  page: string | null;
  /** Decision time of the failing change. */
  sinceAt: Instant;
  attempts: number;
  nextTryAt: Instant;
  /** Retried daily only: requires other data or an operator. */
  parked: boolean;
}

/** State of every record of a target. */
export interface TargetHealth {
  target: string;
  connector: string;
  stream: OpenTarget['stream'];
  /** Objects in sync, as far as known. */
  inSync: number;
  /**
   * Objects in sync that the target stores differently than sent, by property: an e-mail address used by a different contact, or the
   * target's own spelling.
   */
  heldOtherwise: Record<string, number>;
  /** Values left empty by property, such as an invalid telephone number. */
  unusable: Record<string, number>;
  /** Records excluded by the target's rules or kept unchanged, with the rule's code. */
  excluded: { counts: Record<string, number>; records: { record: string; why: string }[] };
  failing: FailingRecord[];
  /** Changes in the queue without a failure. */
  pending: number;
  /** Objects that a user changed or deleted in the target. */
  changedByHand: number;
  /** Ids of records with manual copies, by the last audit. Copies remain until the record is deleted. */
  copied: readonly string[];
  /**
   * Ids of records whose contacts a user blocked in the CRM, by property. The block remains until a user releases the contact in the CRM.
   */
  refusedThere: RefusedThere;
  /** Records on hold until an operator decides. */
  held: number;
  /** Reason why the other records are unknown; null after a full read. */
  unread: string | null;
}

/** Record lists of a tenant's targets, from the present clinic data and the stored state. */
export interface HealthView {
  tenant: string;
  asOf: Instant;
  connections: ConnectionStatus[];
  /** Remarks on the profile after complete reads; absent without remarks. */
  remarks?: readonly ReadingRemark[];
  targets: TargetHealth[];
}

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
  const targets = wanted.map(async (target): Promise<TargetHealth> => {
    const plan = cycle.plans.find((one) => one.target === target);
    const skipReason = cycle.skippedTargets.find((one) => one.target === target.id)?.code ?? null;
    const records = [...(plan?.omittedRecords ?? [])].map(([record, why]) => ({ record, why }));
    return {
      ...(await evidenceOf(tenant, target, signal)),
      unusable: { ...plan?.unusable },
      excluded: { counts: { ...plan?.omitted }, records },
      held: Object.values(plan?.held ?? {}).flat().length,
      unread: target.configuration.paused ? 'paused' : skipReason,
    };
  });
  const connections = await installation.connections(tenant);
  const remarks = tenant.clinic.remarks();
  return {
    ...{ tenant: id, asOf: await tenant.sharedTime(cycle.clinicReading.startedAt), connections },
    ...(remarks.length > 0 && { remarks }),
    targets: await Promise.all(targets),
  };
}

async function evidenceOf(
  tenant: Pick<OpenTenant, 'links' | 'outbox' | 'targetStore'>,
  target: OpenTarget,
  signal: AbortSignal,
): Promise<Omit<TargetHealth, 'excluded' | 'unusable' | 'held' | 'unread'>> {
  const links = await tenant.links.read(target.id);
  const pending = await tenant.outbox.pending(target.id);
  const { copies, refusedThere, container } = await tenant.targetStore.read(target.id);
  const inSync = [...links.values()].filter(({ recordId, drift }) => drift === null && !pending.has(recordId));
  const changes = [...pending.values()];
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
      ...failingOf(change),
      page: pages.get(remoteIds.get(change.recordId) ?? '') ?? null,
    })),
    pending: changes.length - failing.length,
    changedByHand: [...links.values()].filter(({ drift }) => drift !== null).length,
    copied: copies.filter((recordId) => links.has(recordId)),
    refusedThere,
  };
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

function failingOf(change: PendingChange): Omit<FailingRecord, 'page'> {
  const { recordId, lastError, about = null, enqueuedAt, attempts, dueAt, parked } = change;
  return { record: recordId, why: lastError ?? '', about, sinceAt: enqueuedAt, attempts, nextTryAt: dueAt, parked };
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
