import { asMirrorError } from '../../core/model/errors.ts';
import type { ErasedTarget, ErasedTraces } from '../../core/model/forgetting.ts';
import type { CrmItem, Item } from '../../core/model/items.ts';
import type { ItemKey, Link, RemoteItem } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import type { PlannedChange } from '../../core/model/plan.ts';
import type { Progress } from '../../core/model/tasks.ts';
import type { Instant } from '../../core/model/time.ts';
import { HIGHEST_ID_ATTEMPT } from '../../engine/identity.ts';
import type { PreparedTarget } from '../../engine/lane.ts';
import { openContainer, recordFailure } from '../../engine/lane.ts';
import type { Lease } from '../../engine/store.ts';
import { laneLease } from '../../engine/store.ts';
import { message } from '../../messages/message.ts';
import { PLAN_LEASE } from '../../state/config-version.ts';
import { targetWork, waitForLease } from '../../state/leases.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';
import type { ForgottenTenant } from './ports.ts';
import { findNewer, type PatientRecords } from './records.ts';

/** Largest number of names per lookup. */
const KEYS_AT_ONCE = 100;

/** Pending erasure in one target. */
export interface ErasureOfTarget {
  target: OpenTarget;
  /** Records with an erasure in the outbox. */
  recordIds: readonly string[];
  /** Records with an object in the target. */
  found: ReadonlySet<string>;
}

/** Result of {@link eraseRecords}. Lanes perform the erasure. */
export interface Erasure {
  tombstone: string;
  targets: readonly ErasureOfTarget[];
  traces: ErasedTraces;
}

/**
 * Starts the erasure of a patient: finds objects without links, adds erasures to the outboxes without the guard, stores the tombstone, and
 * removes the records from the rest of the state. No cycle plans meanwhile. Safe to repeat.
 * @throws MirrorError if the clinic is unreadable
 */
export async function eraseRecords(
  tenant: ForgottenTenant,
  records: PatientRecords,
  progress: Progress,
  signal: AbortSignal,
): Promise<Erasure> {
  const lease = await waitForLease(
    tenant.leases,
    PLAN_LEASE,
    { what: message('step.wait.cycle'), report: progress },
    signal,
  );
  try {
    const guarded = AbortSignal.any([signal, lease.signal]);
    await findNewer(tenant, records, guarded);
    const targets = [...tenant.targets.values()];
    const written = await writtenTargets(tenant);
    // CRMs first, because their appointments are also erased from calendars.
    const inOrder = [...targets].sort((one, other) => Number(one.crm === null) - Number(other.crm === null));
    for (const [index, target] of inOrder.entries()) {
      progress('searching the targets', index, targets.length);
      if (written.has(target.id)) await searchTarget(tenant, target, records, { progress, signal: guarded });
    }
    const erasures: ErasureOfTarget[] = [];
    for (const target of targets) {
      erasures.push(await putErasures(tenant, target, records, { isWritten: written.has(target.id), lease }));
    }
    const tombstone = await tenant.tombstones.add(records.patientId, tenant.clock());
    return { tombstone, targets: erasures, traces: await removeTraces(tenant, records) };
  } finally {
    await lease.release();
  }
}

/**
 * Returns targets that may contain data, with or without a known calendar: a damaged record names none.
 */
async function writtenTargets({ targets, targetStore }: ForgottenTenant): Promise<ReadonlySet<string>> {
  const summaries = await targetStore.summarize([...targets.keys()]);
  const written = [...summaries].filter(
    ([, { record, linksVersion }]) =>
      record.container !== null || linksVersion !== null || record.lastPlannedAt !== null,
  );
  return new Set(written.map(([id]) => id));
}

/**
 * Creates links for unlinked objects of the patient: objects outside the window, and objects whose record is missing in the clinic's list.
 */
async function searchTarget(
  tenant: ForgottenTenant,
  target: OpenTarget,
  records: PatientRecords,
  { progress, signal }: { progress: Progress; signal: AbortSignal },
): Promise<void> {
  const { container, pausedUntil } = await tenant.targetStore.read(target.id);
  if ((pausedUntil ?? 0) > tenant.clock()) return void records.warnings.add('target-not-searched');
  let lane: Lease | null = null;
  try {
    const waitReport = { what: targetWork(target.id), report: progress };
    lane = await waitForLease(tenant.leases, laneLease(target.id), waitReport, signal);
    const inLane = AbortSignal.any([signal, lane.signal]);
    let opened = await openContainer(tenant, target, lane, inLane);
    // Finds the calendar again by its managed events.
    if (opened === null && container === null) opened = await openContainer(tenant, target, lane, inLane);
    if (opened === null) return void records.warnings.add('target-not-searched');
    const found = await lookFor(tenant, { target, container: opened }, records, inLane);
    await tenant.links.writeAll(target.id, found, lane);
  } catch (error) {
    signal.throwIfAborted();
    records.warnings.add('target-not-searched');
    const failure = asMirrorError(error);
    target.preparedContainer = null;
    if (failure.code !== 'lease-lost') await recordFailure(tenant, target, failure);
  } finally {
    await lane?.release();
  }
}

async function lookFor(
  tenant: ForgottenTenant,
  { target, container }: PreparedTarget<OpenTarget>,
  records: PatientRecords,
  signal: AbortSignal,
): Promise<Link[]> {
  const { connector, identity } = target;
  const ids = [...records.ids[target.stream]];
  const linked = await tenant.links.readSome(target.id, ids);
  const candidates = new Map<ItemKey, { recordId: string; idAttempt: number }>();
  for (const recordId of ids.filter((id) => linked.get(id)?.isUnplaced ?? !linked.has(id))) {
    for (let idAttempt = 0; idAttempt <= HIGHEST_ID_ATTEMPT; idAttempt += 1)
      candidates.set(identity.key(recordId, idAttempt), { recordId, idAttempt });
  }
  const links: Link[] = [];
  for (const keys of slices([...candidates.keys()], KEYS_AT_ONCE)) {
    for (const remote of await connector.find(container, keys, signal)) {
      const candidate = candidates.get(remote.key);
      if (candidate !== undefined) links.push(linkOf(target, remote, candidate, tenant.clock()));
    }
  }
  if (records.isGone && target.crm !== null && target.stream !== 'patients') {
    links.push(...(await readOfContact(tenant, { target, container }, { records, linked }, signal)));
  }
  return links;
}

/** For a patient deleted in the clinic, the CRM contact lists the associated objects. Each found object becomes a record to erase. */
async function readOfContact(
  tenant: ForgottenTenant,
  { target, container }: PreparedTarget<OpenTarget>,
  { records: { ids, patientId }, linked }: { records: PatientRecords; linked: ReadonlyMap<string, Link> },
  signal: AbortSignal,
): Promise<Link[]> {
  const contacts = tenant.targets.get(target.configuration.crm?.contacts ?? '');
  if (contacts === undefined) return [];
  const links: Link[] = [];
  for await (const page of target.connector.read(container, null, signal)) {
    for (const remote of page) {
      const contactKey = (remote.item as CrmItem | null)?.contactKey ?? null;
      if (contactKey === null || contacts.identity.idAttemptOf(patientId, contactKey) === null) continue;
      const recordId = remote.sealedRecordId === null ? null : target.identity.recordIdOf(remote.sealedRecordId);
      const idAttempt = recordId === null ? null : target.identity.idAttemptOf(recordId, remote.key);
      if (recordId === null || idAttempt === null || ids[target.stream].has(recordId)) continue;
      ids[target.stream].add(recordId);
      if (!linked.has(recordId)) links.push(linkOf(target, remote, { recordId, idAttempt }, tenant.clock()));
    }
  }
  return links;
}

function linkOf(
  { identity }: OpenTarget,
  { key, remoteId, versionTag, item }: RemoteItem<Item>,
  candidate: { recordId: string; idAttempt: number },
  now: Instant,
): Link {
  return {
    ...candidate,
    // Empty, because the object will be erased without comparison.
    fingerprint: '',
    versionTag,
    ...(item === null ? { startAt: now, endAt: now } : identity.spanOf(item)),
    remoteId: remoteId === key ? null : remoteId,
    drift: null,
  };
}

/** Includes records without a link, because deleted objects may remain in the vendor's bin. */
async function putErasures(
  tenant: ForgottenTenant,
  target: OpenTarget,
  { ids }: PatientRecords,
  { isWritten, lease }: { isWritten: boolean; lease: Lease },
): Promise<ErasureOfTarget> {
  const now = tenant.clock();
  const recordIds = [...ids[target.stream]];
  const links = await tenant.links.readSome(target.id, recordIds);
  const pending = await tenant.outbox.pending(target.id);
  const isThere = (id: string) => links.has(id) || pending.has(id);
  // A target without any write needs no requests.
  const wanted = isWritten ? recordIds : recordIds.filter(isThere);
  const changes = wanted.map((recordId): PlannedChange => {
    const { startAt, endAt } = links.get(recordId) ?? { startAt: now, endAt: now };
    return { recordId, reason: 'forgotten', wanted: { want: 'absent', startAt, endAt }, fields: [] };
  });
  await tenant.outbox.put(target.id, changes, { now, lease });
  const found = new Set([...links.values()].filter(({ drift }) => drift !== 'removed').map(({ recordId }) => recordId));
  return { target, recordIds: wanted, found };
}

/** Removes messages of a patient whose id is unknown: no appointment in the clinic and no patient belongs to them. */
export async function eraseMessages(
  { reminders, reminderTraces }: ForgottenTenant,
  messages: ReadonlySet<string>,
): Promise<ErasedTraces> {
  const traced = await reminderTraces.find(null, [], messages);
  const entries = await reminders?.ledger.readSome([...messages]);
  await reminders?.alarms.cancel([...(entries?.values() ?? [])]);
  const nothing = { journalLines: 0, pins: 0, holds: 0, auditFindings: 0, examples: 0 };
  return { ...nothing, ...(await reminderTraces.erase(traced, [])) };
}

async function removeTraces(tenant: ForgottenTenant, records: PatientRecords): Promise<ErasedTraces> {
  const { journal, holds, runs, reminders } = tenant;
  const recordsOf = recordsOfTarget(tenant.targets, records);
  const { lines, pins } = await journal.erase(recordsOf);
  let held = 0;
  for (const target of new Set((await holds.list()).map((hold) => hold.target))) {
    held += await holds.erase(target, recordsOf(target));
  }
  if (reminders !== null) {
    const entries = await reminders.ledger.readSome(records.reminders.reminders.map(({ id }) => id));
    await reminders.alarms.cancel([...entries.values()]);
  }
  // Plans contain record ids, and are made again within seconds.
  await tenant.plans.clear();
  await tenant.tasks.clear();
  const gone = await tenant.reminderTraces.erase(records.reminders, records.ids.appointments);
  return {
    journalLines: lines,
    pins,
    holds: held,
    auditFindings: await removeAuditFindings(tenant, records),
    ...gone,
    examples: await runs.erase(new Set(Object.values(records.ids).flatMap((ids) => [...ids]))),
  };
}

/** Removes the records from audit findings. Must run again after the lanes, because an audit may have run meanwhile. */
export async function removeAuditFindings(
  { targets, links, recentObjects, targetStore, clock }: ForgottenTenant,
  { ids }: PatientRecords,
) {
  let removed = 0;
  for (const { id, stream } of targets.values()) {
    const recordIds = [...ids[stream]];
    removed += (await links.erase(id, recordIds)) + (await targetStore.erase(id, recordIds, clock()));
    // A removed appointment does not show its patient.
    removed += await recentObjects.erase(id);
  }
  return removed;
}

/**
 * Returns the records of a target by its present or previous id. For a target removed from the configuration, returns every possible
 * record.
 */
function recordsOfTarget(
  targets: ReadonlyMap<string, OpenTarget>,
  { ids }: PatientRecords,
): (target: string) => ReadonlySet<string> {
  const all = new Set(Object.values(ids).flatMap((some) => [...some]));
  return (name) => {
    const target = [...targets.values()].find(
      ({ id, configuration }) => id === name || configuration.formerly === name,
    );
    return target === undefined ? all : ids[target.stream];
  };
}

/** Returns the progress of an erasure in numbers. */
export async function erasedSoFar(
  { outbox, targetStore }: ForgottenTenant,
  { target, recordIds, found }: ErasureOfTarget,
): Promise<ErasedTarget> {
  const all = await outbox.pending(target.id);
  const pending = recordIds.flatMap((id) => all.get(id) ?? []).filter(({ reason }) => reason === 'forgotten');
  const open = new Set(pending.map(({ recordId }) => recordId));
  const failed = pending.filter(({ lastError }) => lastError !== null).length;
  return {
    target: target.id,
    connector: target.configuration.connector,
    found: found.size,
    erased: [...found].filter((id) => !open.has(id)).length,
    reach: reachOf(target),
    waiting: pending.length - failed,
    failed,
    failure: pending.length === 0 ? null : ((await targetStore.read(target.id)).failure?.code ?? null),
  };
}

/** Returns how far a target can erase: completely, or into the vendor's bin. */
export function reachOf({ supports, stream }: OpenTarget): 'wholly' | 'bin' {
  return supports.erases.includes(stream) ? 'wholly' : 'bin';
}
