import { type OpenSpan, type SpanFacts, spanned } from '../core/log/logger.ts';
import { asMirrorError } from '../core/model/errors.ts';
import type { Item } from '../core/model/items.ts';
import type { FinalOutcome, Link, Operation, Outcome } from '../core/model/operations.ts';
import { slices } from '../core/model/pieces.ts';
import type { Progress } from '../core/model/tasks.ts';
import { SECOND_MS } from '../core/model/time.ts';
import { recordAdditions, removeAdditions, withAdditions } from './additions.ts';
import { approvedUnplanned, differsByHand } from './drift.ts';
import { openContainer, type PreparedTarget, recordFailure, recordIfRecovered, recordUnplaced } from './lane.ts';
import { lookForLate, recordUnanswered } from './late-writes.ts';
import {
  countErasures,
  logDeletions,
  operationFor,
  restsOfDependencies,
  restsUntil,
  settlementOf,
  unanswered,
  waitForHost,
  wakeDependents,
} from './outbox-operations.ts';
import type { Engine, EngineTarget } from './ports.ts';
import { awaitFirstWrite, type FirstWrite, readBackFirst } from './read-back.ts';
import { type Lease, laneLease, type OutboxEntry, type OutboxSettlement, type StoredTarget } from './store.ts';

/** Result of one time slice of a lane. */
export interface PushResult {
  /** Completed operations, with any outcome. */
  doneCount: number;
  /** Another worker uses this lane, or the target is paused. */
  idle: boolean;
  /** Delay until the lane's next time slice, in milliseconds; null if no change is pending. */
  nextInMs: number | null;
}

/** Time limit of one connector call. */
const APPLY_TIMEOUT_MS = 120 * SECOND_MS;

/** How the daemon stops: `stop` immediately between calls, `abort` within a call after the time limit. */
export interface StopSignals {
  stop: AbortSignal;
  abort: AbortSignal;
}

/** What one batch of writes uses. */
type BatchWriter = Planned &
  Pick<
    Engine,
    | 'elapsedBetween'
    | 'id'
    | 'links'
    | 'log'
    | 'outages'
    | 'outbox'
    | 'random'
    | 'recentObjects'
    | 'targets'
    | 'unanswered'
  >;

/** What a time slice of a lane uses. */
export type TargetWriter = BatchWriter & Pick<Engine, 'holds' | 'leases' | 'runs' | 'slice' | 'spans'>;

/**
 * Runs one time slice of a target's lane, so that no target delays the others. For a paused target only erasures are written, because an
 * erasure request includes paused targets.
 * @param options.comesAgain the caller retries soon if the lane is busy
 */
export async function pushTarget(
  tenant: TargetWriter,
  target: EngineTarget,
  signals: StopSignals,
  { progress, comesAgain = false }: { progress?: Progress; comesAgain?: boolean } = {},
): Promise<PushResult> {
  const lease = await tenant.leases.tryTake(laneLease(target.id), comesAgain ? 'push' : undefined);
  if (lease === null) return { doneCount: 0, idle: true, nextInMs: SECOND_MS };
  try {
    const { pausedUntil, outage, readBack } = await tenant.targetStore.read(target.id);
    const restMs = (pausedUntil ?? 0) - tenant.clock();
    if (restMs > 0) return { doneCount: 0, idle: true, nextInMs: restMs };
    if (!(await isPlanned(tenant, target)) && (await countErasures(tenant, target)) === 0) {
      return { doneCount: 0, idle: true, nextInMs: null };
    }
    const { connector } = target.configuration;
    const facts = {
      'clinic_mirror.tenant': tenant.id,
      'clinic_mirror.target': target.id,
      'clinic_mirror.connector': connector,
    };
    return await spanned(tenant.spans, 'lane turn', { facts }, (span) =>
      tenant.outages.watch(() => drain(tenant, target, lease, { signals, progress, span, outage, readBack })),
    );
  } finally {
    await lease.release();
  }
}

/** What shows whether a target was planned recently. */
type Planned = Pick<Engine, 'clock' | 'configVersion' | 'planLifeMs' | 'protection' | 'targetStore'>;

/**
 * Returns whether a recent plan under the current configuration covers the pending changes. A paused target has no such plan. Without one,
 * the next cycle runs first. It replaces decisions made before a pause or downtime, with outdated contents, or (after a lost state) about
 * erased people.
 */
async function isPlanned(
  { configVersion, planLifeMs, clock, targetStore, protection }: Planned,
  { id, configuration }: EngineTarget,
): Promise<boolean> {
  if (configuration.paused) return false;
  const uncertainty = await protection.uncertainty();
  const { lastPlannedAt, plannedUnder } = await targetStore.read(id);
  if (uncertainty !== null && (lastPlannedAt ?? 0) < uncertainty.sinceAt) return false;
  return plannedUnder === (await configVersion.join()) && (lastPlannedAt ?? 0) >= clock() - planLifeMs;
}

/** Returns outbox entries that may be sent now: without a plan, only erasures. */
async function dueEntries(
  tenant: Planned & Pick<Engine, 'outbox'>,
  target: EngineTarget,
  limit: number,
): Promise<OutboxEntry[]> {
  const { clock, outbox } = tenant;
  if (await isPlanned(tenant, target)) return outbox.due(target.id, clock(), limit);
  const { pending } = await outbox.counts(target.id);
  const all = await outbox.due(target.id, clock(), pending);
  return all.filter(({ reason }) => reason === 'forgotten').slice(0, limit);
}

/** Options of a time slice. */
interface Turn {
  signals: StopSignals;
  progress: Progress | undefined;
  span: OpenSpan;
  /** The host that the target waited for. */
  outage: string | null;
  readBack: StoredTarget['readBack'];
}

async function drain(
  tenant: TargetWriter,
  target: EngineTarget,
  lease: Lease,
  { signals, progress, span, outage, readBack }: Turn,
): Promise<PushResult> {
  const endsAt = tenant.clock() + tenant.slice.durationMs;
  let synced = 0;
  let lookAt: number | null = null;
  let awaited = outage;
  const written = { created: 0, updated: 0, deleted: 0, adopted: 0, failed: 0 };
  const met = new Set<string>();
  try {
    const container = await openContainer(tenant, target, lease, signals.abort);
    if (container === null) return { doneCount: synced, idle: false, nextInMs: null };
    const first = await awaitFirstWrite(tenant, { target, container }, readBack, signals.abort);
    while (synced < tenant.slice.operations && tenant.clock() < endsAt && !signals.stop.aborted) {
      const count = await pushBatch(tenant, { target, container }, lease, {
        written,
        met,
        first,
        abort: signals.abort,
      });
      if (count === 0) break;
      await readBackFirst(tenant, { target, container }, first, signals.abort);
      synced += count;
      progress?.('writing', synced);
      awaited = await recordIfRecovered(tenant, target, awaited);
    }
    lookAt = await lookForLate(tenant, { target, container }, lease, signals.abort);
    await recordIfRecovered(tenant, target, awaited);
    await recordInSync(tenant, target, met);
  } catch (error) {
    const failure = asMirrorError(error);
    // A rate limit does not affect the container: no new check is required.
    if (failure.actor !== 'remote' || failure.retryAfterMs === undefined) target.preparedContainer = null;
    const lost = lease.signal.aborted || failure.code === 'lease-lost';
    span.addFacts({ 'error.type': failure.code });
    if (signals.abort.aborted || lost) return { doneCount: synced, idle: false, nextInMs: SECOND_MS };
    return { doneCount: synced, idle: false, nextInMs: await recordFailure(tenant, target, failure) };
  } finally {
    span.addFacts(inItems(written));
    // Also after a later failure: completed entries have no other report.
    if (written.created + written.adopted > 0) await wakeDependents(tenant, target);
    const { failed, ...others } = written;
    const isDone = Object.values(others).some((count) => count > 0);
    const level = isDone || tenant.outages.failed() === null ? 'info' : 'debug';
    if (isDone || failed > 0) tenant.log[level]({ target: target.id, ...written }, 'daemon wrote to a target');
  }
  const times = [await tenant.outbox.nextDueAt(target.id), lookAt].filter((at) => at !== null);
  return {
    doneCount: synced,
    idle: false,
    nextInMs: times.length === 0 ? null : Math.max(0, Math.min(...times) - tenant.clock()),
  };
}

function inItems(written: Written): SpanFacts {
  return Object.fromEntries(Object.entries(written).map(([effect, count]) => [`clinic_mirror.items.${effect}`, count]));
}

/** Numbers of a time slice's writes, for the log. */
type Written = Record<'created' | 'updated' | 'deleted' | 'adopted' | 'failed', number>;

/** What the calls of a time slice gave. */
interface Tally {
  written: Written;
  /** Failure codes of entries. */
  met: Set<string>;
  first: FirstWrite;
}

/** Sends due entries, at most one round of the connector's batches. @returns number of completed entries */
async function pushBatch(
  tenant: BatchWriter,
  { target, container }: PreparedTarget,
  lease: Lease,
  { written, met, first, abort }: Tally & { abort: AbortSignal },
): Promise<number> {
  const { batchSize, concurrency } = target.supports;
  const entries = await dueEntries(tenant, target, first.isAlone ? 1 : batchSize * concurrency);
  if (entries.length === 0) return 0;
  const links = await tenant.links.readSome(
    target.id,
    entries.map(({ recordId }) => recordId),
  );
  await recordUnplaced(tenant, target.id, links.values());
  const toSend = new Map<string, { entry: OutboxEntry; operation: Operation<Item>; link: Link | null }>();
  const moot: OutboxSettlement[] = [];
  const resting = new Map<string, number>();
  for (const entry of entries) {
    const link = links.get(entry.recordId) ?? null;
    const restsTo = restsUntil(entry, link, target, tenant);
    if (restsTo !== null) {
      resting.set(entry.recordId, restsTo);
      continue;
    }
    const operation = operationFor(entry, link, target);
    if (operation === null) moot.push({ entry, kind: 'done', link });
    else
      toSend.set(entry.recordId, { entry, operation: await withAdditions(tenant, target.id, entry, operation), link });
  }
  if (moot.length > 0) await tenant.outbox.complete(target.id, moot, { now: tenant.clock(), lease });
  if (resting.size > 0) await tenant.outbox.postpone(target.id, resting, lease);
  const operations = [...toSend.values()];
  if (operations.length === 0) return entries.length;
  await recordUnanswered(tenant, target, operations);
  await tenant.outbox.markSent(
    target.id,
    operations.map(({ entry }) => entry),
    tenant.clock(),
    lease,
  );
  await tenant.protection.recordWriting();
  const signal = AbortSignal.any([abort, lease.signal, AbortSignal.timeout(APPLY_TIMEOUT_MS)]);
  signal.throwIfAborted();
  const rounds = slices(operations, batchSize).map(async (batch) => {
    const applied = target.connector.apply(
      container,
      batch.map(({ operation }) => operation),
      signal,
    );
    const outcomes = await recordingUnsent(applied, batch, (entries) =>
      tenant.outbox.markUnsent(target.id, entries, lease),
    );
    const putOff = outcomes.flatMap(({ recordId, result }) => (result === 'put-off' ? [recordId] : []));
    // After the entries already due, so that one call contains several of them.
    const behind = new Map(putOff.map((recordId) => [recordId, tenant.clock()]));
    if (behind.size > 0) await tenant.outbox.postpone(target.id, behind, lease);
    await resolveOutcomes(
      tenant,
      target,
      [...outcomes.filter((outcome) => outcome.result !== 'put-off'), ...unanswered(batch, outcomes)],
      { sent: toSend, written, met, first, lease },
    );
  });
  const failed = (await Promise.allSettled(rounds)).find((round) => round.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return entries.length;
}

/** Marks entries that neither this call nor an earlier call wrote as never sent: they need no delay. */
async function recordingUnsent(
  applied: Promise<Outcome<Item>[]>,
  batch: readonly { entry: OutboxEntry }[],
  record: (entries: readonly OutboxEntry[]) => Promise<void>,
): Promise<Outcome<Item>[]> {
  const [result] = await Promise.allSettled([applied]);
  const outcomes = result.status === 'fulfilled' ? result.value : [];
  const areAll = result.status === 'rejected' && asMirrorError(result.reason).unsent;
  const unsent = new Set(outcomes.flatMap((one) => (isUnsent(one) ? [one.recordId] : [])));
  const first = batch.flatMap(({ entry }) => (!entry.sent && (areAll || unsent.has(entry.recordId)) ? [entry] : []));
  if (first.length > 0) await record(first);
  if (result.status === 'rejected') throw result.reason;
  return outcomes;
}

function isUnsent(outcome: Outcome<Item>): boolean {
  return outcome.result === 'put-off' || (outcome.result === 'failed' && outcome.error.unsent);
}

type Sent = ReadonlyMap<string, { entry: OutboxEntry; link: Link | null }>;

async function resolveOutcomes(
  tenant: Pick<
    Engine,
    | 'id'
    | 'clock'
    | 'elapsedBetween'
    | 'log'
    | 'outages'
    | 'outbox'
    | 'random'
    | 'recentObjects'
    | 'targetStore'
    | 'targets'
  >,
  target: EngineTarget,
  outcomes: readonly FinalOutcome<Item>[],
  { sent, written, met, first, lease }: Tally & { sent: Sent; lease: Lease },
): Promise<void> {
  const now = tenant.clock();
  // Objects of other targets depend on the existence of this target's.
  const tracksRemovals = target.hasDependents;
  const made = outcomes.filter(({ result, recordId }) => result === 'written' && sent.get(recordId)?.link === null);
  const candidates = tracksRemovals ? made.map(({ recordId }) => recordId) : [];
  const takenOut = await tenant.outbox.takenOut(target.id, candidates);
  const probe = await waitForHost(tenant, target, outcomes);
  const rests = await restsOfDependencies(tenant, target, outcomes);
  const settlements: OutboxSettlement[] = [];
  const counts = { created: 0, updated: 0, deleted: 0, adopted: 0 };
  for (const outcome of outcomes) {
    const sentEntry = sent.get(outcome.recordId);
    if (sentEntry === undefined) continue;
    const isAnew = takenOut.has(outcome.recordId);
    const settlement = settlementOf(outcome, { ...sentEntry, isAnew }, { tenant, target, now });
    if (settlement.kind === 'retry') {
      met.add(settlement.error);
      const { item } = sentEntry.entry;
      if (settlement.error === target.dependsOn?.missing && item !== null)
        settlement.dueAt = Math.max(settlement.dueAt, rests.get(target.dependsOn.keyOf(item)) ?? 0);
      if (outcome.recordId === probe?.recordId && !settlement.parked)
        settlement.dueAt = Math.min(settlement.dueAt, now + probe.longestMs);
    }
    settlements.push(settlement);
    if (outcome.result === 'written') {
      first.outcome = outcome;
      if (outcome.effect === 'updated') counts.updated += 1;
      else if (outcome.effect === 'adopted') counts.adopted += 1;
      else counts.created += 1;
    }
    if (outcome.result === 'deleted' && outcome.effect === 'deleted') counts.deleted += 1;
  }
  await recordAdditions(tenant, target.id, { outcomes, sent }, now);
  await tenant.outbox.complete(target.id, settlements, { now, lease, recordTakenOut: tracksRemovals });
  await removeAdditions(tenant, target.id, { outcomes, sent });
  await tenant.targetStore.count(target.id, counts, now);
  for (const [name, count] of Object.entries(counts)) written[name as keyof typeof counts] += count;
  written.failed += outcomes.filter(({ result }) => result === 'failed').length;
  logDeletions(tenant, target, outcomes, sent);
}

/**
 * After a recovery, retries entries that failed with the target's code, unless entries of this time slice failed with it too. Without
 * pending changes, the target is as fresh as the last planned snapshot.
 * @param met failure codes of entries in this time slice
 */
async function recordInSync(
  tenant: Pick<Engine, 'clock' | 'holds' | 'links' | 'outbox' | 'targetStore' | 'runs'>,
  target: EngineTarget,
  met: ReadonlySet<string>,
): Promise<void> {
  const record = await tenant.targetStore.read(target.id);
  const code = record.failure?.code;
  if (code !== undefined && !met.has(code)) await tenant.outbox.hurry(target.id, tenant.clock(), new Set([code]));
  const { pending } = await tenant.outbox.counts(target.id);
  const holds = await tenant.holds.list();
  const isOpen = holds.some((hold) => hold.target === target.id && hold.state === 'open');
  const held = isOpen || (await approvedUnplanned(tenant, target.id, holds)) > 0;
  const isFullyRead = record.plannedAsOf !== null && record.gaps === null && record.unconfirmed === 0;
  const isInSync = pending === 0 && !held && isFullyRead && !(await differsByHand(tenant, target));
  const synced = isInSync ? { idleAsOf: record.plannedAsOf } : {};
  const isFirst = record.idleAsOf === null && record.writtenOnceAt === null && pending === 0 && !held;
  const once = isFirst ? { writtenOnceAt: tenant.clock() } : {};
  await tenant.targetStore.write(target.id, { failure: null, pausedUntil: null, ...synced, ...once });
}
