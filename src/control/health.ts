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

/** A record whose last write failed, or that waits for a person. Ids and codes, never contents. */
export interface FailingRecord {
  record: string;
  /** Code of the last failure. */
  why: string;
  /** What it is about: names of fields, rules and permissions; null when it names none. */
  about: string | null;
  /** Address of the object's page in the target; null while there is no object, or it has no page. */
  page: string | null;
  /** When the change was decided that doesn't get through. */
  sinceAt: Instant;
  attempts: number;
  nextTryAt: Instant;
  /** It is tried daily only: it needs other data, or a person. */
  parked: boolean;
}

/** Where every record of a target's stream stands. */
export interface TargetHealth {
  target: string;
  connector: string;
  stream: OpenTarget['stream'];
  /** Objects that are as they should be, as far as is known. */
  inSync: number;
  /**
   * Of those, objects that the target holds otherwise than they were sent, by property: an address that somebody else has, a
   * spelling of the target's own.
   */
  heldOtherwise: Record<string, number>;
  /** Values that had to be left empty, by property: what is no telephone number where one is wanted. */
  unusable: Record<string, number>;
  /** Records that the target's rules leave out, and those that are kept as they are, with the rule's code. */
  excluded: { counts: Record<string, number>; records: { record: string; why: string }[] };
  failing: FailingRecord[];
  /** Changes that wait for their turn and have not failed. */
  pending: number;
  /** Objects that a person changed or deleted in the target. */
  changedByHand: number;
  /** Ids of records of which a person made a copy, by the last audit: the copies are left alone, and go with the record. */
  copied: readonly string[];
  /** Ids of records whose contacts somebody made refuse in the CRM itself, by property: they stay so until they are set free there. */
  refusedThere: RefusedThere;
  /** Kept back until a person decides. */
  held: number;
  /** Why nothing can be said of the rest now; null when all was read. */
  unread: string | null;
}

/** The lists of a tenant's targets, from what the clinic says now and what is known of each target. */
export interface HealthView {
  tenant: string;
  asOf: Instant;
  connections: ConnectionStatus[];
  /** What the readings show of the clinic profile, without a loss; absent where they show nothing. */
  remarks?: readonly ReadingRemark[];
  targets: TargetHealth[];
}

/**
 * Reads the clinic and tells of each target which records are in sync, left out and why, and failing, since when and until when.
 * Writes nothing. Records that calendars leave out are counted only.
 * @param options.target one target; all of them when absent
 * @throws MirrorError `settings`, code `no-such-target` or `no-such-tenant`; what the clinic's calls throw
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
    ...{ tenant: id, asOf: cycle.clinicReading.startedAt, connections },
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

/** The error for a target that the tenant does not have. */
export function noSuchTarget(target: string): MirrorError {
  return new MirrorError(message('no-such-target', { id: target }), {
    actor: 'settings',
    code: 'no-such-target',
    retry: 'never',
    remedy: message('no-such-target.remedy'),
  });
}
