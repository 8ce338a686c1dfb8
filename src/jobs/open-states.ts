import { neededBy, snapshotOf, streamsOf, windowOf } from '../domain/mapping-sources.ts';
import { refusedThere } from '../domain/refusals.ts';
import { adopt, namesOf } from '../engine/adopt.ts';
import { currentLinkOf, fieldsByHand, withoutObject } from '../engine/audit.ts';
import { type PushedState, restoring } from '../engine/diff.ts';
import { auditRules } from '../engine/policy.ts';
import { unacceptedDrift } from '../engine/restorations.ts';
import { inPieces } from '../http/in-pieces.ts';
import { asMirrorError } from '../model/errors.ts';
import type { Item } from '../model/items.ts';
import type { Link, RemoteItem } from '../model/operations.ts';
import type { Hold } from '../model/plan.ts';
import type { SkippedTarget } from '../model/plan-view.ts';
import type { DriftCounts } from '../model/run-schemas.ts';
import type { Instant } from '../model/time.ts';
import { SUPERSEDED } from '../state/config-version.ts';
import type { Lease } from '../state/leases.ts';
import type { LinkStore } from '../state/links.ts';
import { IDENTITY_KEY_CHANGED } from '../state/state-counter.ts';
import type { StoredTarget, TargetStore } from '../state/targets.ts';
import type { ClinicReading } from './clinic-reading.ts';
import {
  laneLease,
  openCalendar,
  prepareCalendar,
  recordFailure,
  recordHostRecovery,
  recordUnlocated,
} from './lanes.ts';
import type { Streams } from './streams.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** Code of a target that remains unchanged until its streams are read; no failure. */
export const AWAITING = 'awaiting-streams';

/**
 * Failures that end the cycle. Under another identity key the daemon would write every object of every target again. A process with an
 * older configuration plans no target.
 */
const ENDS_CYCLE: ReadonlySet<string> = new Set([IDENTITY_KEY_CHANGED, SUPERSEDED]);

/** Members of a tenant that opening states uses. */
export type Opener = Pick<
  OpenTenant,
  | 'id'
  | 'clock'
  | 'configuration'
  | 'leases'
  | 'links'
  | 'log'
  | 'outages'
  | 'outbox'
  | 'protection'
  | 'random'
  | 'targetStore'
  | 'targets'
>;

/** Options of opening the states of targets. */
export interface Opening {
  clinicReading: ClinicReading;
  /** Null for read-only use. */
  lease: Lease | null;
  wentBackAt: Instant | null;
}

/**
 * Returns the last writes to every target, from its links. Missing or lost links are rebuilt from the target's objects. If these objects
 * are unreadable, the cycle skips the target and continues with the others.
 */
export async function openStates(
  tenant: Opener,
  targets: readonly OpenTarget[],
  opening: Opening,
  signal: AbortSignal,
): Promise<{ states: Map<OpenTarget, PushedState>; skippedTargets: readonly SkippedTarget[] }> {
  const states = new Map<OpenTarget, PushedState>();
  const skipped: SkippedTarget[] = [];
  for (const target of targets) {
    const unread = unreadFor(target, opening.clinicReading.streams);
    if (unread !== null) {
      skipped.push({ target: target.id, code: unread });
      continue;
    }
    try {
      const state = await openOrRecordFailure(tenant, target, opening, signal);
      if (state === null) skipped.push({ target: target.id, code: 'backing-off' });
      else states.set(target, state);
    } catch (error) {
      signal.throwIfAborted();
      const failure = asMirrorError(error);
      if (ENDS_CYCLE.has(failure.code)) throw failure;
      skipped.push({ target: target.id, code: failure.code });
    }
  }
  return { states, skippedTargets: skipped };
}

/** Returns why a target cannot be planned with the available streams, or null. */
function unreadFor(target: OpenTarget, { failed, awaited }: Streams): string | null {
  const [failure] = neededBy(target).flatMap((name) => failed.get(name) ?? []);
  if (failure !== undefined) return failure.code;
  return streamsOf(target).some((name) => awaited.has(name)) ? AWAITING : null;
}

/** Opens a state. A failure is recorded here, while the host that caused it is known. */
function openOrRecordFailure(
  tenant: Opener,
  target: OpenTarget,
  opening: Opening,
  signal: AbortSignal,
): Promise<PushedState | null> {
  return tenant.outages.watch(async () => {
    try {
      return await openState(tenant, target, opening, signal);
    } catch (error) {
      const failure = asMirrorError(error);
      const isRecorded = opening.lease !== null && !signal.aborted && !ENDS_CYCLE.has(failure.code);
      if (isRecorded) await recordFailure(tenant, target, failure);
      throw failure;
    }
  });
}

/**
 * Opens the state of one target.
 * @returns null if the target must be read first but is paused or busy
 */
async function openState(
  tenant: Opener,
  target: OpenTarget,
  opening: Opening,
  signal: AbortSignal,
): Promise<PushedState | null> {
  const { clinicReading, lease, wentBackAt } = opening;
  // Objects written in the lost period have no link, and would remain permanently after their record is gone.
  const isAdopted = (one: StoredTarget) => one.adoptedAt !== null && one.wentBackAt === wentBackAt;
  let record = await tenant.targetStore.read(target.id);
  if (lease !== null && isAdopted(record) && (await isReplaced(tenant, target, record, signal))) {
    record = await tenant.targetStore.read(target.id);
  }
  const state = isAdopted(record) ? await readState(tenant, target.id) : null;
  if (state !== null && (lease === null || !(await recordUnlocated(tenant, target.id, state.links.values())))) {
    if (lease !== null) await makeRoom(tenant, target, state.links.size + state.pending.size, lease);
    return state;
  }
  if (lease === null && record.container === null)
    return await lookForState(tenant.links, target, clinicReading, signal);
  if (record.failure?.actor === 'remote' && (record.pausedUntil ?? 0) > tenant.clock()) return null;
  if (lease === null)
    return {
      links: await readOwnLinks(tenant.links, target, { container: record.container, clinicReading }, signal),
      pending: new Map(),
    };
  const lane = await tenant.leases.tryTake(laneLease(target.id));
  if (lane === null) return null;
  try {
    return await rebuildLinks(tenant, target, { stored: record.container, opening }, { lane, signal });
  } finally {
    await lane.release();
  }
}

/**
 * Reads a target's links and outbox. The outbox is read first: a deletion completed between the two reads would be in neither result, and a
 * record that returns meanwhile would be treated as written. In this order the deletion is in both results and is planned again.
 */
export async function readState(
  { links, outbox }: Pick<OpenTenant, 'links' | 'outbox'>,
  target: string,
): Promise<PushedState> {
  const pending = await outbox.pending(target);
  return { links: await links.read(target), pending };
}

/**
 * Returns whether the calendar differs from the links' calendar. The check runs once per process, since the configuration may have changed
 * before, and after a failure. The failure ends when the calendar answers and no pending write remains to test it. If the answer is
 * unknown, the links are used.
 */
async function isReplaced(
  tenant: Omit<Opener, 'protection'>,
  target: OpenTarget,
  { failure, pausedUntil, outage }: StoredTarget,
  signal: AbortSignal,
): Promise<boolean> {
  const rests = (pausedUntil ?? 0) > tenant.clock();
  if (rests || (target.preparedContainer !== null && failure === null)) return false;
  const lane = await tenant.leases.tryTake(laneLease(target.id));
  if (lane === null) return false;
  try {
    target.preparedContainer = null;
    if ((await openCalendar(tenant, target, lane, signal)) === null) return true;
    if (outage !== null && tenant.outages.hasAnswered(outage)) await recordHostRecovery(tenant, target, outage);
    const { pending } = await tenant.outbox.counts(target.id);
    if (failure !== null && pending === 0) {
      await tenant.targetStore.write(target.id, { failure: null, pausedUntil: null });
    }
    return false;
  } catch (error) {
    signal.throwIfAborted();
    const failure = asMirrorError(error);
    if (!lane.signal.aborted && failure.code !== 'lease-lost') await recordFailure(tenant, target, failure);
    return false;
  } finally {
    await lane.release();
  }
}

/** Rebuilds links from the target's objects, while the lane is locked. */
async function rebuildLinks(
  tenant: Omit<Opener, 'leases' | 'random'>,
  target: OpenTarget,
  { stored, opening: { clinicReading, wentBackAt } }: { stored: string | null; opening: Opening },
  { lane, signal }: { lane: Lease; signal: AbortSignal },
): Promise<PushedState> {
  const container = await prepareCalendar(tenant.links, target, stored, signal);
  target.preparedContainer = container;
  const own = await readOwn(tenant.links, target, { container, clinicReading }, signal);
  const { links, adopted, ambiguous, revision } = own;
  const pending = await tenant.outbox.pending(target.id);
  const written = { links: own.survivors, pending, identity: target.identity };
  const before = (await tenant.targetStore.read(target.id)).refusedThere;
  const refused = await inPieces(refusedThere(own.remoteItems, target.crm?.refusals ?? [], written, before), signal);
  // Otherwise every write would find a later revision in the target and be dropped.
  await tenant.outbox.raiseRevision(target.id, revision, lane);
  await tenant.links.fit(
    target.id,
    Math.max(links.size, expectedLinks(target, tenant.targets.size, clinicReading)),
    lane,
  );
  const drifted = [...links.values()].filter(({ drift }) => drift !== null);
  await tenant.links.nameDrifted(target.id, new Set(drifted.map(({ recordId }) => recordId)));
  await tenant.links.writeAll(target.id, [...links.values()], lane);
  const adoptedAt = tenant.clock();
  await tenant.targetStore.write(target.id, {
    cursor: null,
    readWholeAt: null,
    container,
    adoptedAt,
    wentBackAt,
    ambiguous,
    failure: null,
    comparableUnder: null,
    refusedThere: refused,
  });
  await tenant.targetStore.count(target.id, { adopted });
  // If links survived, this state already knew the objects.
  if (adopted > 0 && stored === null && own.survivors.size === 0) await tenant.protection.foundObjects();
  tenant.log.info({ target: target.id, links: adopted, ambiguous }, 'links rebuilt from the target');
  return { links, pending };
}

/** Estimates the number of a target's links: all records of its stream, or its share of the appointments. */
function expectedLinks(target: OpenTarget, targets: number, clinicReading: ClinicReading): number {
  const records = snapshotOf(clinicReading, target)?.records.size ?? 0;
  return target.crm === null ? records / targets : records;
}

/**
 * Returns the objects of a target unknown to this state, for read-only use: the state may be lost. If the request fails, the target is
 * treated as new.
 * @throws MirrorError `settings`, code `identity-key-changed`
 */
async function lookForState(
  stored: Pick<LinkStore, 'read'>,
  target: OpenTarget,
  clinicReading: ClinicReading,
  signal: AbortSignal,
): Promise<PushedState> {
  try {
    const container = target.crm === null ? await target.connector.prepare(null, { creates: false }, signal) : null;
    return { links: await readOwnLinks(stored, target, { container, clinicReading }, signal), pending: new Map() };
  } catch (error) {
    signal.throwIfAborted();
    if (asMirrorError(error).code === IDENTITY_KEY_CHANGED) throw error;
    return { links: new Map(), pending: new Map() };
  }
}

/** For read-only use: creates no calendar and writes nothing. */
async function readOwnLinks(
  stored: Pick<LinkStore, 'read'>,
  target: OpenTarget,
  { container, clinicReading }: { container: string | null; clinicReading: ClinicReading },
  signal: AbortSignal,
): Promise<Map<string, Link>> {
  return container === null ? new Map() : (await readOwn(stored, target, { container, clinicReading }, signal)).links;
}

/** This installation's objects in a target. */
interface Own {
  links: Map<string, Link>;
  adopted: number;
  ambiguous: number;
  revision: number;
  /** Links that survived in the state. */
  survivors: ReadonlyMap<string, Link>;
  remoteItems: readonly RemoteItem<Item>[];
}

/** Builds links from objects. A surviving link shows the last write, so that a manual edit is detected. */
async function readOwn(
  stored: Pick<LinkStore, 'read'>,
  target: OpenTarget,
  { container, clinicReading }: { container: string; clinicReading: ClinicReading },
  signal: AbortSignal,
): Promise<Own> {
  const remoteItems: RemoteItem<Item>[] = [];
  for await (const page of target.connector.read(container, null, signal)) remoteItems.push(...page);
  const { fromAt } = windowOf(target, clinicReading.startedAt);
  const survivors = await stored.read(target.id);
  const recordIds = snapshotOf(clinicReading, target)?.records.keys() ?? [];
  const { identity } = target;
  const names = () => namesOf(identity, survivors.values(), recordIds);
  const { links: found, ...adoption } = await inPieces(
    adopt(remoteItems, { identity, unreadableStartAt: fromAt, names }),
    signal,
  );
  const links = new Map(found.map((link) => [link.recordId, link]));
  for (const survivor of survivors.values()) {
    const asFound = links.get(survivor.recordId);
    links.set(survivor.recordId, asFound === undefined ? withoutObject(survivor) : currentLinkOf(survivor, asFound));
  }
  return { links, adopted: found.length, ...adoption, survivors, remoteItems };
}

/** Resizes the table only while the lane is locked; if the lane is busy, a later cycle resizes the table. */
async function makeRoom(
  { leases, links }: Pick<OpenTenant, 'leases' | 'links'>,
  target: OpenTarget,
  expected: number,
  lease: Lease,
): Promise<void> {
  if (!(await links.isCrowded(target.id, expected))) return;
  const lane = await leases.tryTake(laneLease(target.id));
  if (lane === null) return;
  try {
    await links.fit(target.id, expected, lease);
  } finally {
    await lane.release();
  }
}

/** Returns the restorations of each object today, by record; empty without any. */
export async function restorationsOf(
  targetStore: Pick<TargetStore, 'restorations'>,
  { id, configuration }: Pick<OpenTarget, 'id' | 'configuration'>,
  now: Instant,
): Promise<ReadonlyMap<string, number>> {
  return auditRules(configuration).drift === 'repair' ? targetStore.restorations(id, now) : new Map();
}

/** Returns whether the target has drift that neither its policy accepts (`keep` accepts drift) nor an operator, by rejecting a hold. */
export async function differsByHand(
  { links, holds, targetStore }: Pick<OpenTenant, 'holds' | 'links' | 'targetStore'>,
  target: Pick<OpenTarget, 'id' | 'configuration'>,
): Promise<boolean> {
  const drifted = auditRules(target.configuration).drift === 'keep' ? [] : await links.drifted(target.id);
  if (drifted.length === 0) return false;
  return unacceptedDrift(drifted, await holds.list(), target, await targetStore.read(target.id)).length > 0;
}

/** Counts manual edits. */
export async function countDrift(
  { targetStore, clock }: Pick<OpenTenant, 'targetStore' | 'clock'>,
  target: OpenTarget,
  drifted: readonly Link[],
): Promise<DriftCounts> {
  const audit = auditRules(target.configuration);
  const restores = restoring(audit, await restorationsOf(targetStore, target, clock()));
  const churning = audit.drift === 'repair' ? drifted.filter(({ recordId }) => !restores(recordId)) : [];
  const edited = drifted.filter(({ drift }) => drift === 'edited');
  const byHand = (links: readonly Link[]) => links.flatMap((link) => fieldsByHand(link, target.identity));
  const fields: Record<string, number> = {};
  for (const field of byHand(edited)) fields[field] = (fields[field] ?? 0) + 1;
  return {
    edited: edited.length,
    removed: drifted.length - edited.length,
    fields,
    churning: churning.length,
    churningFields: [...new Set(byHand(churning))],
  };
}

/**
 * Returns the number of approved changes of a target without a plan. Until the next cycle starts, the target differs from the clinic
 * although no change is pending.
 */
export async function approvedUnplanned(
  { runs }: Pick<OpenTenant, 'runs'>,
  target: string,
  holds: readonly Hold[],
): Promise<number> {
  const approved = holds.filter((hold) => hold.target === target && hold.state === 'approved');
  const [lastRun] = approved.length === 0 ? [] : await runs.list(1);
  return approved
    .filter(({ decidedAt }) => (decidedAt ?? 0) > (lastRun?.startedAt ?? 0))
    .reduce((sum, { recordIds }) => sum + recordIds.length, 0);
}
