import { asMirrorError } from '../core/model/errors.ts';
import type { Item } from '../core/model/items.ts';
import type { Link } from '../core/model/operations.ts';
import { type DriftCounts, type DriftReport, isReplaced, replacedReport } from '../core/model/run-schemas.ts';
import { DAY_MS, type Instant, MINUTE_MS, type TimeWindow } from '../core/model/time.ts';
import { inPieces } from '../core/pieces/in-pieces.ts';
import { type Audit, type AuditInput, audit } from './audit.ts';
import { countDrift } from './drift.ts';
import {
  findLinked,
  openContainer,
  type PreparedTarget,
  recordFailure,
  recordHostRecovery,
  recordUnplaced,
} from './lane.ts';
import { removeAll } from './late-writes.ts';
import { readState } from './load-or-rebuild.ts';
import { auditRules } from './policy.ts';
import type { Engine, EngineTarget, RemoteChanges } from './ports.ts';
import { type Lease, laneLease, type StoredTarget } from './store.ts';

/** Objects of one lookup, and most lookups of silent writes and of objects that were absent before. */
const MOST_LOOKED_FOR = 100;
/** Some servers show a write only minutes later (Purelymail's index lags three). Before this delay an object's absence proves nothing. */
const LAG_MS = 5 * MINUTE_MS;

/** A target's answer. */
interface TargetAnswer {
  changes: RemoteChanges<Item>;
  /** Records whose last write was found. */
  seen: string[];
}

interface Query {
  cursor: string | null;
  window: TimeWindow;
}

/**
 * Requests a target's changes since the cursor, or all objects. A feed may omit objects created and deleted between two requests (RFC 6578
 * section 3.5). Therefore the audit looks up recent writes by key if the feed omits them.
 */
async function askTarget(
  tenant: Pick<Engine, 'clock' | 'links' | 'log'>,
  { target, container }: PreparedTarget,
  query: Query,
  signal: AbortSignal,
): Promise<TargetAnswer> {
  const writtenAt = await tenant.links.unseen(target.id);
  const changes = await read(tenant, { target, container }, query, signal);
  if (changes.scope === 'whole') return { changes, seen: [...writtenAt.keys()] };
  const named = new Set([...changes.items.map(({ remoteId }) => remoteId), ...changes.removed]);
  const links = await tenant.links.readSome(target.id, [...writtenAt.keys()]);
  const unnamed = [...links.values()].filter(
    (link) => link.drift !== 'removed' && !named.has(remoteIdOf(target, link)),
  );
  const silent = unnamed.filter(({ recordId }) => (writtenAt.get(recordId) ?? 0) <= tenant.clock() - LAG_MS);
  if (silent.length > MOST_LOOKED_FOR) {
    const all = await target.connector.changes(container, { ...query, cursor: null }, signal);
    return { changes: all, seen: [...writtenAt.keys()] };
  }
  const early = new Set(unnamed.filter((link) => !silent.includes(link)).map(({ recordId }) => recordId));
  const seen = [...writtenAt.keys()].filter((recordId) => !early.has(recordId));
  return {
    changes: silent.length === 0 ? changes : await lookFor({ target, container }, silent, changes, signal),
    seen,
  };
}

/** Restarts a feed with an unreadable answer: writes must not stop because of it. */
async function read(
  tenant: Pick<Engine, 'log'>,
  { target, container }: PreparedTarget,
  query: Query,
  signal: AbortSignal,
): Promise<RemoteChanges<Item>> {
  try {
    return await target.connector.changes(container, query, signal);
  } catch (error) {
    signal.throwIfAborted();
    const failure = asMirrorError(error);
    if (query.cursor === null || failure.actor !== 'contract') throw failure;
    tenant.log.warn({ target: target.id, code: failure.code }, 'change feed is unreadable: full read instead');
    return await target.connector.changes(container, { ...query, cursor: null }, signal);
  }
}

async function lookFor(
  { target, container }: PreparedTarget,
  links: readonly Link[],
  changes: RemoteChanges<Item>,
  signal: AbortSignal,
): Promise<RemoteChanges<Item>> {
  const there = await findLinked({ target, container }, links, signal);
  const shown = new Set(there.map(({ remoteId }) => remoteId));
  const gone = links.map((link) => remoteIdOf(target, link)).filter((remoteId) => !shown.has(remoteId));
  return { ...changes, items: [...changes.items, ...there], removed: [...changes.removed, ...gone] };
}

/** Returns the remote id of a link's object. A remote id equal to the key is not stored in the link. */
export function remoteIdOf(
  { identity }: Pick<EngineTarget, 'identity'>,
  { recordId, remoteId, idAttempt }: Link,
): string {
  return remoteId ?? identity.key(recordId, idAttempt);
}

/**
 * Interval of complete reads despite a working feed. No vendor promises a feed without gaps, and the window of a feed ends. A day limits
 * the gap, at four polls of six hours to one listing.
 */
const WHOLE_EVERY_MS = DAY_MS;
/** Maximum listed copies; further copies are only counted, like all ambiguous objects. */
const MOST_COPIES = 1_000;

/** Returns whether a cycle must follow an audit: an object must be restored, or planned for the first time. */
export function asksForPlan({ configuration }: EngineTarget, report: DriftReport): boolean {
  const { edited, removed, churning, unlinked, overwritten = 0 } = report;
  const toRestore = auditRules(configuration).drift === 'repair' ? edited + removed - churning : 0;
  return isReplaced(report) || toRestore + unlinked + overwritten > 0;
}

/** What an audit of a target uses. */
export interface TargetAuditor
  extends Pick<
    Engine,
    'clock' | 'id' | 'leases' | 'links' | 'log' | 'outages' | 'outbox' | 'random' | 'targetStore' | 'targets'
  > {}

/** How much of a target an audit reads. */
export interface AuditOptions {
  /** Reads all objects, even if the change feed works. */
  whole?: boolean;
  /** The caller retries soon if the target is busy. */
  comesAgain?: boolean;
  /** Asks only the change feed: one request if nothing changed. A target without a feed is only asked whether it exists. */
  changesOnly?: boolean;
}

/**
 * Reads a target's changes or all its objects, compares them with the last writes, and records manual edits as drift. The target's policy
 * decides whether the next plan restores the object (`repair`), or keeps the edit until the record changes (`keep`, `report`). All
 * writes thus use the plan's guard, outbox and reasons.
 * @returns null if the target is busy or paused: the next audit checks again; with `changesOnly` also if nothing changed
 */
export function auditTarget(
  tenant: TargetAuditor,
  target: EngineTarget,
  signal: AbortSignal,
  options: AuditOptions = {},
): Promise<DriftReport | null> {
  return tenant.outages.watch(() => auditInLane(tenant, target, signal, options));
}

async function auditInLane(
  tenant: TargetAuditor,
  target: EngineTarget,
  signal: AbortSignal,
  options: AuditOptions,
): Promise<DriftReport | null> {
  const lane = await tenant.leases.tryTake(
    laneLease(target.id),
    options.comesAgain === true ? 'check-target' : undefined,
  );
  if (lane === null) return null;
  try {
    const record = await tenant.targetStore.read(target.id);
    const rests = (record.pausedUntil ?? 0) > tenant.clock();
    if (record.container === null || record.adoptedAt === null || rests) return null;
    const changesOnly = options.changesOnly === true;
    const hasNoFeed = record.cursor === null && record.readWholeAt !== null;
    // Detects a deleted container here, since a cycle without changes sends its target no request. A feed detects it too.
    if (!changesOnly || hasNoFeed) target.preparedContainer = null;
    const container = await openContainer(tenant, target, lane, signal);
    if (container === null) return await recordReplaced(tenant, target);
    if (changesOnly && hasNoFeed) return null;
    const guarded = AbortSignal.any([signal, lane.signal]);
    const isWhole = options.whole === true || (!changesOnly && isWholeDue(record, tenant.clock()));
    const startedAt = tenant.clock();
    const query = { cursor: isWhole ? null : record.cursor, window: target.windowAt(startedAt) };
    const { changes, seen } = await askTarget(tenant, { target, container }, query, guarded);
    const isQuiet = changesOnly && changes.scope === 'since' && changes.items.length + changes.removed.length === 0;
    // A feed without changes since the last comparison confirms its result.
    const confirmed = isQuiet ? record.drift : null;
    if (confirmed !== null)
      await tenant.targetStore.write(target.id, { drift: { ...confirmed, checkedAt: tenant.clock() } });
    const input = { changes, window: query.window, record };
    const compared =
      confirmed === null
        ? await compareAndStore(tenant, { target, container }, input, { lane, signal: guarded })
        : { report: null, ambiguous: 0 };
    if (compared === null) return null;
    if (record.outage !== null && tenant.outages.hasAnswered(record.outage))
      await recordHostRecovery(tenant, target, record.outage);
    // Store the cursor last: after an earlier crash the target repeats the answer.
    lane.signal.throwIfAborted();
    const whole = changes.scope === 'whole' ? { readWholeAt: startedAt, ambiguous: compared.ambiguous } : {};
    // A successful read ends an authorisation failure. Other failures end with a write, and so does a refused write that waits.
    const isOfLogin = record.failure?.actor === 'authorization';
    const heard = isOfLogin && (await tenant.outbox.counts(target.id)).pending === 0 ? { failure: null } : {};
    await tenant.targetStore.write(target.id, { cursor: changes.cursor, ...whole, ...heard });
    await tenant.links.recordSeen(target.id, seen);
    return compared.report;
  } catch (error) {
    signal.throwIfAborted();
    const failure = asMirrorError(error);
    // The caller requests a complete audit, which looks for the container.
    if (options.changesOnly === true && failure.code === target.containerGone) throw failure;
    // Another process that took over the lane continues: no failure of the target.
    if (!lane.signal.aborted && failure.code !== 'lease-lost') await recordFailure(tenant, target, failure);
    return null;
  } finally {
    await lane.release();
  }
}

/** @returns null if the links cannot be matched to the objects */
async function compareAndStore(
  tenant: TargetAuditor,
  { target, container }: PreparedTarget,
  { changes, window, record }: { changes: RemoteChanges<Item>; window: TimeWindow; record: StoredTarget },
  { lane, signal }: { lane: Lease; signal: AbortSignal },
): Promise<{ report: DriftReport; ambiguous: number } | null> {
  const isWhole = changes.scope === 'whole';
  const input = await auditInput(tenant, target, { reading: changes, window });
  // A feed lists objects, and links without a location cannot be matched to them.
  if (!isWhole && (await recordUnplaced(tenant, target.id, input.links.values()))) return null;
  const found = await compareWithTarget(target, container, input, signal);
  // Before drift is recorded: otherwise a plan would revert refusals as drift.
  if (isWhole) await recordManualObjects(tenant, target, { found, input, before: record }, signal);
  const duplicatesRemoved = await removeDuplicates(tenant, { target, container }, found, signal);
  const before = record.drift ?? {};
  const report = await storeAudit(tenant, target, { found, duplicatesRemoved, before, isWhole }, lane);
  return { report, ambiguous: found.ambiguous - duplicatesRemoved };
}

/** The old container's links are already deleted; the next plan rebuilds links and fills the new container. */
async function recordReplaced(
  tenant: Pick<Engine, 'clock' | 'targetStore'>,
  target: EngineTarget,
): Promise<DriftReport> {
  const report = replacedReport(tenant.clock());
  await tenant.targetStore.write(target.id, { drift: report });
  return report;
}

function isWholeDue({ readWholeAt }: StoredTarget, now: Instant): boolean {
  return readWholeAt === null || readWholeAt > now || now - readWholeAt >= WHOLE_EVERY_MS;
}

async function auditInput(
  { links, outbox }: Pick<Engine, 'links' | 'outbox'>,
  { id, identity }: EngineTarget,
  shown: Pick<AuditInput, 'reading' | 'window'>,
): Promise<AuditInput> {
  return { ...shown, ...(await readState({ links, outbox }, id)), identity };
}

/** Records manual objects that clinic-mirror does not change: copies of its own objects, and refusals in the target. */
async function recordManualObjects(
  { targetStore }: Pick<Engine, 'targetStore'>,
  { id, listsCopies, refusedIn }: EngineTarget,
  { found, input, before }: { found: Audit; input: AuditInput; before: StoredTarget },
  signal: AbortSignal,
): Promise<void> {
  if (!listsCopies) return;
  const copies = [...new Set(found.surplus.map(({ recordId }) => recordId))].slice(0, MOST_COPIES);
  const refusing = refusedIn(input.reading.items, input, before.refusedThere);
  await targetStore.write(id, { copies, refusedThere: await inPieces(refusing, signal) });
}

/**
 * Compares the read with the links. A read can omit objects that exist: an edit moved them outside the window, or they lost the mark by
 * which the vendor lists objects. Therefore no object counts as removed before a lookup.
 */
async function compareWithTarget(
  target: EngineTarget,
  container: string,
  input: AuditInput,
  signal: AbortSignal,
): Promise<Audit> {
  const { reading } = input;
  const found = await inPieces(audit(input), signal);
  const absentBefore = found.missing.filter(({ drift }) => drift === 'removed').slice(0, MOST_LOOKED_FOR);
  const doubtful = [...found.missing.filter(({ drift }) => drift !== 'removed'), ...absentBefore];
  if (doubtful.length === 0) return found;
  const shown = new Set(reading.items.map(({ remoteId }) => remoteId));
  const there = (await findLinked({ target, container }, doubtful, signal)).filter(
    ({ remoteId }) => !shown.has(remoteId),
  );
  if (there.length === 0) return found;
  return await inPieces(audit({ ...input, reading: { ...reading, items: [...reading.items, ...there] } }), signal);
}

/**
 * Removes further objects with the marks of a record: after a client renamed an object and the daemon wrote the old name again, after a
 * restore from a bin, or after an object was copied, or moved away and back. No approval is required, since no record loses its object. A
 * policy without removals keeps them.
 * @returns number of removed objects
 */
async function removeDuplicates(
  tenant: Pick<Engine, 'log'>,
  { target, container }: PreparedTarget,
  { surplus }: Audit,
  signal: AbortSignal,
): Promise<number> {
  const { configuration, supports, identity, id } = target;
  if (configuration.policy !== 'sync' || !supports.duplicatesAreOurs || surplus.length === 0) return 0;
  const deletions = surplus.map(({ recordId, idAttempt, versionTag, remoteId, revision = 0 }) => {
    const key = identity.key(recordId, idAttempt);
    return { kind: 'delete', recordId, key, revision, versionTag, remoteId, isDuplicate: true } as const;
  });
  const removed = await removeAll({ target, container }, deletions, signal);
  tenant.log.warn({ target: id, removed, found: surplus.length }, 'duplicate objects of records were removed');
  return removed;
}

/** Result of an audit, with the report of the previous audit. */
interface StoredAudit {
  found: Audit;
  duplicatesRemoved: number;
  before: Partial<Pick<DriftReport, 'unreadable'>>;
  isWhole: boolean;
}

async function storeAudit(
  tenant: Pick<Engine, 'clock' | 'links' | 'log' | 'outbox' | 'targetStore'>,
  target: EngineTarget,
  { found, duplicatesRemoved, before, isWhole }: StoredAudit,
  lane: Lease,
): Promise<DriftReport> {
  const { edited, removed, touched, changed, unlinked, checked, drifted, overwritten, unmarked, unreadable } = found;
  if (auditRules(target.configuration).drift === 'repair' && touched.length > 0) {
    const ids = touched.map(({ recordId }) => recordId);
    await tenant.targetStore.countRestorations(target.id, ids, tenant.clock());
  }
  await tenant.outbox.raiseRevision(target.id, found.revision, lane);
  await tenant.links.nameDrifted(target.id, new Set(drifted.map(({ recordId }) => recordId)));
  if (changed.length + unlinked.length > 0) await tenant.links.writeAll(target.id, [...changed, ...unlinked], lane);
  const drift = await countDrift(tenant, target, [...edited, ...removed]);
  // A feed names only objects that changed since.
  const unread = Math.max(unreadable.length, isWhole ? 0 : (before.unreadable ?? 0));
  const extra = {
    ...(overwritten === 0 ? {} : { overwritten }),
    ...(duplicatesRemoved === 0 ? {} : { duplicatesRemoved }),
    ...(unmarked === 0 ? {} : { unmarked }),
    ...(unread === 0 ? {} : { unreadable: unread }),
  };
  const report: DriftReport = { checkedAt: tenant.clock(), checked, unlinked: unlinked.length, ...drift, ...extra };
  // The target differs from the state that the plan used.
  await tenant.targetStore.write(target.id, { drift: report });
  if (overwritten > 0) await tenant.targetStore.recordOvertaken(target.id);
  logUnreadable(tenant, target, unreadable, before.unreadable ?? 0);
  if (touched.length > 0) logDrift(tenant, target, await countDrift(tenant, target, touched));
  return report;
}

/** Names in one log line; all are counted. */
const MOST_NAMED = 20;

/** Names unreadable objects when their number changed: a name is the object's id in the target, without content. */
function logUnreadable(
  tenant: Pick<Engine, 'log'>,
  target: EngineTarget,
  names: readonly string[],
  before: number,
): void {
  if (names.length === 0 || names.length === before) return;
  const objects = names.slice(0, MOST_NAMED);
  tenant.log.warn({ target: target.id, count: names.length, objects }, 'objects cannot be read and were skipped');
}

/** Logs each object once, when the audit finds it. */
function logDrift(tenant: Pick<Engine, 'log'>, target: EngineTarget, drift: DriftCounts): void {
  const { edited, removed, fields, churning, churningFields } = drift;
  tenant.log.warn({ target: target.id, edited, removed, fields }, 'objects were changed manually in a target');
  if (churning > 0) {
    tenant.log.error({ target: target.id, churning, churningFields }, 'objects are not restored again today');
  }
}
