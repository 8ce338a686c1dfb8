import { asMirrorError } from '../core/model/errors.ts';
import type { Item } from '../core/model/items.ts';
import type { Link, RemoteItem } from '../core/model/operations.ts';
import type { SkippedTarget } from '../core/model/plan-view.ts';
import type { Instant } from '../core/model/time.ts';
import { inPieces } from '../core/pieces/in-pieces.ts';
import { adopt, namesOf } from './adopt.ts';
import { currentLinkOf, withoutObject } from './audit.ts';
import type { PushedState } from './diff.ts';
import { openContainer, prepareContainer, recordFailure, recordHostRecovery, recordUnplaced } from './lane.ts';
import type { Engine, EngineTarget, Reading } from './ports.ts';
import { IDENTITY_KEY_CHANGED, type Lease, type LinkTable, laneLease, type StoredTarget, SUPERSEDED } from './store.ts';

/**
 * Failures that end the cycle. Under another identity key the daemon would write every object of every target again. A process with an
 * older configuration plans no target.
 */
const ENDS_CYCLE: ReadonlySet<string> = new Set([IDENTITY_KEY_CHANGED, SUPERSEDED]);

/** Options of loading the states of targets. */
export interface LoadingOptions {
  reading: Reading;
  /** Null for read-only use. */
  lease: Lease | null;
  wentBackAt: Instant | null;
}

/**
 * Returns the last writes to every target, from its links. Missing or lost links are rebuilt from the target's objects. If these objects
 * are unreadable, the cycle skips the target and continues with the others.
 */
export async function loadOrRebuildStates<T extends EngineTarget>(
  tenant: Engine,
  targets: readonly T[],
  loading: LoadingOptions,
  signal: AbortSignal,
): Promise<{ states: Map<T, PushedState>; skippedTargets: readonly SkippedTarget[] }> {
  const states = new Map<T, PushedState>();
  const skipped: SkippedTarget[] = [];
  for (const target of targets) {
    const unread = loading.reading.unreadFor(target);
    if (unread !== null) {
      skipped.push({ target: target.id, code: unread });
      continue;
    }
    try {
      const state = await loadOrRecordFailure(tenant, target, loading, signal);
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

/** Loads a state. Records a failure here, while the daemon knows the host that caused it. */
function loadOrRecordFailure(
  tenant: Engine,
  target: EngineTarget,
  loading: LoadingOptions,
  signal: AbortSignal,
): Promise<PushedState | null> {
  return tenant.outages.watch(async () => {
    try {
      return await loadOrRebuildState(tenant, target, loading, signal);
    } catch (error) {
      const failure = asMirrorError(error);
      const isRecorded = loading.lease !== null && !signal.aborted && !ENDS_CYCLE.has(failure.code);
      if (isRecorded) await recordFailure(tenant, target, failure);
      throw failure;
    }
  });
}

/**
 * Loads the state of one target, or rebuilds its links from the objects of the target.
 * @returns null if the target must be read first but is paused or busy
 */
async function loadOrRebuildState(
  tenant: Engine,
  target: EngineTarget,
  loading: LoadingOptions,
  signal: AbortSignal,
): Promise<PushedState | null> {
  const { reading, lease, wentBackAt } = loading;
  // Objects written in the lost period have no link, and would remain permanently after their record is gone.
  const isAdopted = (one: StoredTarget) => one.adoptedAt !== null && one.wentBackAt === wentBackAt;
  let record = await tenant.targetStore.read(target.id);
  if (lease !== null && isAdopted(record) && (await isReplaced(tenant, target, record, signal))) {
    record = await tenant.targetStore.read(target.id);
  }
  const state = isAdopted(record) ? await readState(tenant, target.id) : null;
  if (state !== null && (lease === null || !(await recordUnplaced(tenant, target.id, state.links.values())))) {
    if (lease !== null) await makeRoom(tenant, target, state.links.size + state.pending.size, lease);
    return state;
  }
  if (lease === null && record.container === null) return await lookForState(tenant.links, target, reading, signal);
  if (record.failure?.actor === 'remote' && (record.pausedUntil ?? 0) > tenant.clock()) return null;
  if (lease === null)
    return {
      links: await readOwnLinks(tenant.links, target, { container: record.container, reading }, signal),
      pending: new Map(),
    };
  const lane = await tenant.leases.tryTake(laneLease(target.id));
  if (lane === null) return null;
  try {
    return await rebuildLinks(tenant, target, { stored: record.container, loading }, { lane, signal });
  } finally {
    await lane.release();
  }
}

/**
 * Reads a target's links and outbox. The outbox is read first: a deletion completed between the two reads would be in neither result, and a
 * record that returns meanwhile would be treated as written. In this order the deletion is in both results and is planned again.
 */
export async function readState(
  { links, outbox }: Pick<Engine, 'links' | 'outbox'>,
  target: string,
): Promise<PushedState> {
  const pending = await outbox.pending(target);
  return { links: await links.read(target), pending };
}

/**
 * Returns whether the container differs from the links' container. The check runs once per process, since the configuration may have changed
 * before, and after a failure. The failure ends when the container answers and no pending write remains to test it. If the answer is
 * unknown, the links are used.
 */
async function isReplaced(
  tenant: Engine,
  target: EngineTarget,
  { failure, pausedUntil, outage }: StoredTarget,
  signal: AbortSignal,
): Promise<boolean> {
  const rests = (pausedUntil ?? 0) > tenant.clock();
  if (rests || (target.preparedContainer !== null && failure === null)) return false;
  const lane = await tenant.leases.tryTake(laneLease(target.id));
  if (lane === null) return false;
  try {
    target.preparedContainer = null;
    if ((await openContainer(tenant, target, lane, signal)) === null) return true;
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
  tenant: Engine,
  target: EngineTarget,
  { stored, loading: { reading, wentBackAt } }: { stored: string | null; loading: LoadingOptions },
  { lane, signal }: { lane: Lease; signal: AbortSignal },
): Promise<PushedState> {
  const container = await prepareContainer(tenant.links, target, stored, signal);
  target.preparedContainer = container;
  const own = await readOwn(tenant.links, target, { container, reading }, signal);
  const { links, adopted, ambiguous, revision } = own;
  const pending = await tenant.outbox.pending(target.id);
  const written = { links: own.survivors, pending };
  const before = (await tenant.targetStore.read(target.id)).refusedThere;
  const refused = await inPieces(target.refusedIn(own.remoteItems, written, before), signal);
  // Otherwise every write would find a later revision in the target and be dropped.
  await tenant.outbox.raiseRevision(target.id, revision, lane);
  await tenant.links.fit(target.id, Math.max(links.size, reading.expectedLinks(target)), lane);
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
  await tenant.targetStore.count(target.id, { adopted }, tenant.clock());
  // If links survived, this state already knew the objects.
  if (adopted > 0 && stored === null && own.survivors.size === 0) await tenant.protection.foundObjects();
  tenant.log.info({ target: target.id, links: adopted, ambiguous }, 'links rebuilt from the target');
  return { links, pending };
}

/**
 * Returns the objects of a target unknown to this state, for read-only use: the state may be lost. If the request fails, the target is
 * treated as new.
 * @throws MirrorError `settings`, code `identity-key-changed`
 */
async function lookForState(
  stored: Pick<LinkTable, 'read'>,
  target: EngineTarget,
  reading: Reading,
  signal: AbortSignal,
): Promise<PushedState> {
  try {
    const container = target.findsContainer ? await target.connector.prepare(null, { creates: false }, signal) : null;
    return { links: await readOwnLinks(stored, target, { container, reading }, signal), pending: new Map() };
  } catch (error) {
    signal.throwIfAborted();
    if (asMirrorError(error).code === IDENTITY_KEY_CHANGED) throw error;
    return { links: new Map(), pending: new Map() };
  }
}

/** For read-only use: creates no container and writes nothing. */
async function readOwnLinks(
  stored: Pick<LinkTable, 'read'>,
  target: EngineTarget,
  { container, reading }: { container: string | null; reading: Reading },
  signal: AbortSignal,
): Promise<Map<string, Link>> {
  return container === null ? new Map() : (await readOwn(stored, target, { container, reading }, signal)).links;
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
  stored: Pick<LinkTable, 'read'>,
  target: EngineTarget,
  { container, reading }: { container: string; reading: Reading },
  signal: AbortSignal,
): Promise<Own> {
  const remoteItems: RemoteItem<Item>[] = [];
  for await (const page of target.connector.read(container, null, signal)) remoteItems.push(...page);
  const { fromAt } = reading.windowOf(target);
  const survivors = await stored.read(target.id);
  const recordIds = reading.listingOf(target)?.recordIds() ?? [];
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
  { leases, links }: Pick<Engine, 'leases' | 'links'>,
  target: EngineTarget,
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
