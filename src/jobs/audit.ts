import type { RemoteChanges } from '../connectors/connector.ts';
import { asMirrorError } from '../model/errors.ts';
import type { Item } from '../model/items.ts';
import type { Link } from '../model/operations.ts';
import { DAY_MS, type Instant, MINUTE_MS, SECOND_MS, type TimeWindow } from '../model/time.ts';
import type { Lease } from '../state/leases.ts';
import type { DriftReport, StoredTarget } from '../state/targets.ts';
import { type Audit, type AuditInput, audit } from '../sync/audit.ts';
import { windowOf } from '../sync/mapping-sources.ts';
import { refusedThere } from '../sync/refusals.ts';
import { inPieces } from './in-pieces.ts';
import { laneLease, openCalendar, recordFailure, recordHostRecovery, recordUnlocated } from './lanes.ts';
import { countDrift, type DriftCounts, readState } from './open-states.ts';
import type { OpenTarget, OpenTenant, PreparedTarget } from './tenant.ts';

/**
 * Objects that a reading doesn't show are asked for by key, since a person may have moved them out of the window. More at once is
 * a clearing out, where an answer for each would cost more than it tells.
 */
const MOST_LOOKED_FOR = 100;
/** Some servers show a write only minutes later (Purelymail's index lags three); before this an object's absence means nothing. */
const LAG_MS = 5 * MINUTE_MS;

/** What a target told. */
interface TargetAnswer {
  changes: RemoteChanges<Item>;
  /** Records whose last write needs no more looking for. */
  seen: string[];
}

interface Query {
  cursor: string | null;
  window: TimeWindow;
}

/**
 * Asks a target what changed since the cursor, or for all of it. A feed may keep silent about what was made and deleted between two
 * questions (RFC 6578 section 3.5 allows it), so what we wrote meanwhile and the feed does not name is looked for by key.
 */
async function askTarget(
  tenant: Pick<OpenTenant, 'clock' | 'links' | 'log'>,
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

/** A feed that answers with what nobody can read is begun again: that is no reason to stop writing. */
async function read(
  tenant: Pick<OpenTenant, 'log'>,
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
    tenant.log.warn({ target: target.id, code: failure.code }, 'a change feed is unreadable: all is read instead');
    return await target.connector.changes(container, { ...query, cursor: null }, signal);
  }
}

async function lookFor(
  { target, container }: PreparedTarget,
  links: readonly Link[],
  changes: RemoteChanges<Item>,
  signal: AbortSignal,
): Promise<RemoteChanges<Item>> {
  const keys = links.map(({ recordId, idAttempt }) => target.identity.key(recordId, idAttempt));
  const there = await target.connector.find(container, keys, signal);
  const shown = new Set(there.map(({ remoteId }) => remoteId));
  const gone = links.map((link) => remoteIdOf(target, link)).filter((remoteId) => !shown.has(remoteId));
  return { ...changes, items: [...changes.items, ...there], removed: [...changes.removed, ...gone] };
}

/** The remote id of a link's object: one that is our key stands in no link. */
export function remoteIdOf(
  { identity }: Pick<OpenTarget, 'identity'>,
  { recordId, remoteId, idAttempt }: Link,
): string {
  return remoteId ?? identity.key(recordId, idAttempt);
}

/**
 * How often a target is read whole although its feed goes on. No vendor promises that a feed names every change, and the window that a
 * feed was begun with ends; a day bounds what was missed, at four polls of six hours to one listing.
 */
const WHOLE_EVERY_MS = DAY_MS;
/** Copies that are named; more are counted only, as everything that is ambiguous. */
const MOST_COPIES = 1_000;

/** Whether a cycle should follow what an audit found: something is to be restored, or planned for the first time. */
export function asksForPlan({ configuration }: OpenTarget, report: DriftReport): boolean {
  const { edited, removed, churning, unlinked, overwritten = 0, calendarReplaced } = report;
  const toRestore = configuration.audit.drift === 'repair' ? edited + removed - churning : 0;
  return calendarReplaced === true || toRestore + unlinked + overwritten > 0;
}

/** Members of a tenant that reading back a target uses. */
export interface TargetAuditor
  extends Pick<
    OpenTenant,
    | 'clock'
    | 'configuration'
    | 'id'
    | 'leases'
    | 'links'
    | 'log'
    | 'outages'
    | 'outbox'
    | 'random'
    | 'targetStore'
    | 'targets'
  > {}

/**
 * Asks a target what changed in it, or reads it whole, compares that with what it was given, and notes what people touched as drift.
 * By the target's policy the next plan restores it (`repair`), or leaves it until the appointment itself changes (`keep`, `report`): one
 * way to write, with its guard, outbox and reasons.
 * @param options.whole read everything, although the change feed could go on
 * @param options.comesAgain it is tried again soon when the target is being written to
 * @returns null when the target is being written to or rests: the next audit looks again
 */
export function auditTarget(
  tenant: TargetAuditor,
  target: OpenTarget,
  signal: AbortSignal,
  options: { whole?: boolean; comesAgain?: boolean } = {},
): Promise<DriftReport | null> {
  return tenant.outages.watch(() => auditInLane(tenant, target, signal, options));
}

async function auditInLane(
  tenant: TargetAuditor,
  target: OpenTarget,
  signal: AbortSignal,
  options: { whole?: boolean; comesAgain?: boolean },
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
    // A calendar that is gone is noticed here, since a quiet cycle asks its target nothing.
    target.preparedContainer = null;
    const container = await openCalendar(tenant, target, lane, signal);
    if (container === null) return await recordReplaced(tenant, target);
    const guarded = AbortSignal.any([signal, lane.signal]);
    const cursor = options.whole === true || isWholeDue(record, tenant.clock()) ? null : record.cursor;
    const startedAt = tenant.clock();
    const window = windowOf(target, startedAt);
    const { changes, seen } = await askTarget(tenant, { target, container }, { cursor, window }, guarded);
    const input = await auditInput(tenant, target, { reading: changes, window });
    // A feed names objects, of which such links don't tell which are theirs.
    if (changes.scope === 'since' && (await recordUnlocated(tenant, target.id, input.links.values()))) return null;
    const found = await compareWithTarget(target, container, input, guarded);
    // Before drift is noted: a plan that goes by it would take refusals for something to be put right.
    if (changes.scope === 'whole') await recordManualObjects(tenant, target, { found, input, before: record }, guarded);
    const duplicatesRemoved = await removeDuplicates(tenant, { target, container }, found, guarded);
    const report = await storeAudit(tenant, target, { found, duplicatesRemoved }, lane);
    if (record.outage !== null && tenant.outages.hasAnswered(record.outage))
      await recordHostRecovery(tenant, target, record.outage);
    // Only now: what was found is stored, so a crash before this line leads to the same answer once more.
    lane.signal.throwIfAborted();
    const whole =
      changes.scope === 'whole' ? { readWholeAt: startedAt, ambiguous: found.ambiguous - duplicatesRemoved } : {};
    // A login that reads works again; what else ailed the target ends with a write, and so does a refused write that waits.
    const isOfLogin = record.failure?.actor === 'authorization';
    const heard = isOfLogin && (await tenant.outbox.counts(target.id)).pending === 0 ? { failure: null } : {};
    await tenant.targetStore.write(target.id, { cursor: changes.cursor, ...whole, ...heard });
    await tenant.links.recordSeen(target.id, seen);
    return report;
  } catch (error) {
    signal.throwIfAborted();
    const failure = asMirrorError(error);
    // Whoever took the lane over goes on with it: that is no failure of the target.
    if (!lane.signal.aborted && failure.code !== 'lease-lost') await recordFailure(tenant, target, failure);
    return null;
  } finally {
    await lane.release();
  }
}

/** The links of the old calendar are forgotten by now; the next plan builds them again and fills the new one. */
async function recordReplaced(
  tenant: Pick<OpenTenant, 'clock' | 'targetStore'>,
  target: OpenTarget,
): Promise<DriftReport> {
  const nothing = { checked: 0, edited: 0, removed: 0, unlinked: 0, fields: {}, churning: 0, churningFields: [] };
  const report = { ...nothing, checkedAt: tenant.clock(), calendarReplaced: true };
  await tenant.targetStore.write(target.id, { drift: report });
  return report;
}

function isWholeDue({ readWholeAt }: StoredTarget, now: Instant): boolean {
  return readWholeAt === null || readWholeAt > now || now - readWholeAt >= WHOLE_EVERY_MS;
}

async function auditInput(
  { links, outbox }: Pick<OpenTenant, 'links' | 'outbox'>,
  { id, identity }: OpenTarget,
  clinicRead: Pick<AuditInput, 'reading' | 'window'>,
): Promise<AuditInput> {
  return { ...clinicRead, ...(await readState({ links, outbox }, id)), identity };
}

/** Notes what people made in a CRM and is left to them: copies of our objects, and refusals. */
async function recordManualObjects(
  { targetStore }: Pick<OpenTenant, 'targetStore'>,
  { id, crm }: OpenTarget,
  { found, input, before }: { found: Audit; input: AuditInput; before: StoredTarget },
  signal: AbortSignal,
): Promise<void> {
  if (crm === null) return;
  const copies = [...new Set(found.surplus.map(({ recordId }) => recordId))].slice(0, MOST_COPIES);
  const refusing = refusedThere(input.reading.items, crm.refusals, input, before.refusedThere);
  await targetStore.write(id, { copies, refusedThere: await inPieces(refusing, signal) });
}

async function compareWithTarget(
  { identity, connector }: OpenTarget,
  container: string,
  input: AuditInput,
  signal: AbortSignal,
): Promise<Audit> {
  const { reading } = input;
  const found = await inPieces(audit(input), signal);
  const { missing } = found;
  if (missing.length === 0 || missing.length > MOST_LOOKED_FOR) return found;
  const keys = missing.map(({ recordId, idAttempt }) => identity.key(recordId, idAttempt));
  const shown = new Set(reading.items.map(({ remoteId }) => remoteId));
  const there = (await connector.find(container, keys, signal)).filter(({ remoteId }) => !shown.has(remoteId));
  if (there.length === 0) return found;
  return await inPieces(audit({ ...input, reading: { ...reading, items: [...reading.items, ...there] } }), signal);
}

/**
 * Removes the second objects of records, where only we can have made them: what a client renamed while we wrote the old name again, or
 * what was put back from a bin. Our own removals, since no record loses its object.
 * @returns how many
 */
async function removeDuplicates(
  tenant: Pick<OpenTenant, 'log'>,
  { target, container }: PreparedTarget,
  { surplus }: Audit,
  signal: AbortSignal,
): Promise<number> {
  const { supports, identity, connector, id } = target;
  if (!supports.duplicatesAreOurs || surplus.length === 0) return 0;
  const deletions = surplus.map(({ recordId, idAttempt, versionTag, remoteId, revision = 0 }) => {
    const key = identity.key(recordId, idAttempt);
    return { kind: 'delete', recordId, key, revision, versionTag, remoteId, isDuplicate: true } as const;
  });
  let removed = 0;
  for (let start = 0; start < deletions.length; start += supports.batchSize) {
    const outcomes = await connector.apply(container, deletions.slice(start, start + supports.batchSize), signal);
    removed += outcomes.filter(({ result }) => result === 'deleted').length;
  }
  tenant.log.warn({ target: id, removed, found: surplus.length }, 'second objects of appointments were removed');
  return removed;
}

async function storeAudit(
  tenant: Pick<OpenTenant, 'clock' | 'links' | 'log' | 'outbox' | 'targetStore'>,
  target: OpenTarget,
  { found, duplicatesRemoved }: { found: Audit; duplicatesRemoved: number },
  lane: Lease,
): Promise<DriftReport> {
  const { edited, removed, touched, changed, unlinked, checked, drifted, overwritten } = found;
  if (target.configuration.audit.drift === 'repair' && touched.length > 0) {
    const ids = touched.map(({ recordId }) => recordId);
    await tenant.targetStore.countRestorations(target.id, ids, tenant.clock());
  }
  await tenant.outbox.raiseRevision(target.id, found.revision, lane);
  await tenant.links.nameDrifted(target.id, new Set(drifted.map(({ recordId }) => recordId)));
  if (changed.length + unlinked.length > 0) await tenant.links.writeAll(target.id, [...changed, ...unlinked], lane);
  const drift = await countDrift(tenant, target, [...edited, ...removed]);
  const extra = {
    ...(overwritten === 0 ? {} : { overwritten }),
    ...(duplicatesRemoved === 0 ? {} : { duplicatesRemoved }),
  };
  const report: DriftReport = { checkedAt: tenant.clock(), checked, unlinked: unlinked.length, ...drift, ...extra };
  // What was planned is no longer what the target holds.
  await tenant.targetStore.write(target.id, { drift: report });
  if (overwritten > 0) await tenant.targetStore.recordOvertaken(target.id);
  if (touched.length > 0) logDrift(tenant, target, await countDrift(tenant, target, touched));
  return report;
}

/** Said once of each object, when it is found. */
function logDrift(tenant: Pick<OpenTenant, 'log'>, target: OpenTarget, drift: DriftCounts): void {
  const { edited, removed, fields, churning, churningFields } = drift;
  tenant.log.warn({ target: target.id, edited, removed, fields }, 'objects were changed by hand in a target');
  if (churning > 0) {
    tenant.log.error({ target: target.id, churning, churningFields }, 'objects are not restored any more today');
  }
}

/** How the check of one target ended. */
interface TargetCheck {
  /** Something is to be restored: a cycle should follow at once. */
  restore: boolean;
  /** The target could not be checked now: when it should be tried again. Null when nothing is left to look for. */
  againInMs: number | null;
}

/** The lane has a turn of at most `push.sliceSeconds`; nobody waits for the answer. */
const BUSY_MS = SECOND_MS;
/** Asking again costs two reads of Redis, so a target that needs a person may rest for long. */
const LONGEST_WAIT_MS = MINUTE_MS;

/**
 * Reads back one target because somebody said that it changed. A hint is never lost: while the target is written to or rests, the
 * check is to come again.
 * @param options.once nothing is known to have changed: it need not come again
 * @param options.whole read all of it: the vendor lost count of what it told
 */
export async function checkTarget(
  tenant: TargetAuditor,
  target: OpenTarget,
  { whole, once = false }: { whole: boolean; once?: boolean },
  signal: AbortSignal,
): Promise<TargetCheck> {
  const later = (againInMs: number): TargetCheck => ({ restore: false, againInMs: once ? null : againInMs });
  const { container, adoptedAt, pausedUntil } = await tenant.targetStore.read(target.id);
  // A target whose links are not built yet is read whole by the cycle that builds them.
  if (container === null || adoptedAt === null) return { restore: false, againInMs: null };
  const restsForMs = (pausedUntil ?? 0) - tenant.clock();
  if (restsForMs > 0) return later(Math.min(restsForMs, LONGEST_WAIT_MS));
  const report = await auditTarget(tenant, target, signal, { whole, comesAgain: !once });
  return report === null ? later(BUSY_MS) : { restore: asksForPlan(target, report), againInMs: null };
}
