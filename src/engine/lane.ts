import { type MirrorError, storedError } from '../core/model/errors.ts';
import type { Item } from '../core/model/items.ts';
import type { Link, RemoteItem } from '../core/model/operations.ts';
import { slices } from '../core/model/pieces.ts';
import { CLOCK_TOLERANCE_MS, DAY_MS, type Instant, SECOND_MS } from '../core/model/time.ts';
import { forTenant } from '../messages/message.ts';
import type { Engine, EngineTarget } from './ports.ts';
import { targetBackoffMs } from './retry.ts';
import { type Lease, type LinkTable, SUPERSEDED, type TargetSummary } from './store.ts';

/** Stored error codes of failures that a host causes for all of its clients. */
export const OUTAGE_CODES: ReadonlySet<string> = new Set([
  ...['connection-failed', 'timeout', 'server-error', 'server-unavailable', 'unavailable'],
  ...['token-endpoint-unavailable', 'batch-dependency', 'webhook-unavailable', 'smtp-busy'],
]);

/** A target with the container of its objects. */
export interface PreparedTarget<Target extends Pick<EngineTarget, 'connector' | 'identity'> = EngineTarget> {
  target: Target;
  container: string;
}

/** What recording a failure uses. */
export type FailureContext = Pick<Engine, 'id' | 'clock' | 'log' | 'outages' | 'random' | 'targets' | 'targetStore'>;

/** The refused target retries first. */
const TRIES_FIRST_MS = 2 * SECOND_MS;

/** Pauses the other targets of a vendor account during a rate limit, because the vendor would refuse each of them too. */
async function shareWait(
  { clock, targets, targetStore }: FailureContext,
  { id, sharesLimits, configuration: { connection } }: EngineTarget,
  until: Instant,
): Promise<void> {
  if (!sharesLimits) return;
  for (const other of targets.values()) {
    if (other.id === id || other.configuration.connection !== connection) continue;
    const { pausedUntil } = await targetStore.read(other.id);
    if ((pausedUntil ?? 0) >= until) continue;
    // The end of an outage must not end this pause.
    await targetStore.write(other.id, { pausedUntil: until + TRIES_FIRST_MS, pausedAt: clock(), outage: null });
  }
}

/** Records a failure of a complete target, and pauses the target. */
export async function recordFailure(tenant: FailureContext, target: EngineTarget, error: MirrorError): Promise<number> {
  // A superseded process is no failure of the target and must not write.
  if (error.code === SUPERSEDED) throw error;
  const now = tenant.clock();
  const { failure } = await tenant.targetStore.read(target.id);
  const isSameFailure = failure?.code === error.code;
  const sinceAt = isSameFailure ? failure.sinceAt : now;
  const outage = tenant.outages.causeOf(error);
  const longestMs =
    outage === null ? null : await tenant.outages.wait(outage, { tenant: tenant.id, target: target.id }, error);
  const backoffMs = Math.min(
    targetBackoffMs(error, tenant.random, now - sinceAt),
    longestMs ?? Number.POSITIVE_INFINITY,
  );
  await tenant.targetStore.write(target.id, {
    failure: {
      ...storedError(error, tenant.id),
      sinceAt,
      ...(error.retryAfterMs === undefined ? {} : { isAskedToWait: true }),
    },
    pausedUntil: now + backoffMs,
    pausedAt: now,
    outage,
  });
  if (error.code === 'rate-limited') await shareWait(tenant, target, now + backoffMs);
  const { code, actor, status } = error;
  // The log itself shows which setting to change.
  const remedy = forTenant(error.remedy, tenant.id);
  // A host outage has its own log message for all targets. Other failures are logged when they begin or change their code.
  tenant.log[outage === null && !isSameFailure ? 'warn' : 'debug'](
    { target: target.id, code, actor, status, host: outage, backoffMs, ...(remedy === null ? {} : { remedy }) },
    'target backs off',
  );
  return backoffMs;
}

/** Starts all work of all tenants that waits for a host, after the host answered. */
export async function recordHostRecovery(
  tenant: Pick<Engine, 'clock' | 'outages' | 'outbox' | 'targetStore'>,
  { id }: Pick<EngineTarget, 'id'>,
  outage: string,
): Promise<void> {
  await endWait(tenant, id, outage);
  await tenant.targetStore.write(id, { outage: null });
  await tenant.outages.end(outage);
}

/** Records the end of a failure. @returns the host that the target still waits for */
export async function recordIfRecovered(
  tenant: Pick<Engine, 'clock' | 'outages' | 'outbox' | 'targetStore'>,
  target: EngineTarget,
  outage: string | null,
): Promise<string | null> {
  if (outage === null || !tenant.outages.hasAnswered(outage)) return outage;
  await recordHostRecovery(tenant, target, outage);
  return null;
}

/** Longer than any delay that clinic-mirror sets: such a time was set while the clock ran ahead. */
export const IMPOSSIBLE_WAIT_MS = 2 * DAY_MS;

/**
 * Ends delays set by a clock that ran ahead and was corrected, or by another host's clock. Otherwise a target would wait until that time.
 */
export async function endImpossibleWaits(
  tenant: Pick<Engine, 'clock' | 'outbox' | 'targetStore'>,
  summaries: ReadonlyMap<string, TargetSummary>,
): Promise<void> {
  const now = tenant.clock();
  for (const [target, { record, pending }] of summaries) {
    const { pausedUntil, pausedAt } = record;
    const isImpossible = (pausedUntil ?? 0) > now + IMPOSSIBLE_WAIT_MS || (pausedAt ?? 0) > now + CLOCK_TOLERANCE_MS;
    if (pausedUntil !== null && isImpossible) await tenant.targetStore.write(target, { pausedUntil: null });
    if (pending > 0) await tenant.outbox.takeBack(target, now, CLOCK_TOLERANCE_MS);
  }
}

/**
 * Returns whether the location of some links' objects is unknown. The links are then unusable, and the next plan first reads the target's
 * objects.
 */
export async function recordUnplaced(
  { log, targetStore }: Pick<Engine, 'log' | 'targetStore'>,
  target: string,
  links: Iterable<Link>,
): Promise<boolean> {
  for (const { isUnplaced = false } of links) {
    if (!isUnplaced) continue;
    await targetStore.write(target, { adoptedAt: null });
    log.warn({ target }, 'link of a record in Redis is invalid: daemon reads the target again');
    return true;
  }
  return false;
}

/**
 * Returns the target's container. If links show an earlier container, no second one is created, because the first one's objects would remain
 * without updates.
 * @throws MirrorError of `containerMissing`, and errors of `prepare`
 */
export async function prepareContainer(
  links: Pick<LinkTable, 'count'>,
  { id, connector, containerMissing }: EngineTarget,
  storedContainer: string | null,
  signal: AbortSignal,
): Promise<string> {
  const creates = storedContainer !== null || (await links.count(id)) === 0;
  const container = await connector.prepare(storedContainer, { creates }, signal);
  if (container !== null) return container;
  throw containerMissing();
}

/**
 * Returns the container to write to. If the links belong to another container (recreated, or reconfigured), links and outbox are deleted.
 * The next cycle reads the new container and plans a first run: with `firstRun: plan` an administrator must approve it.
 * @param lease the lane's
 * @returns null if no write is possible before the next cycle
 */
export async function openContainer(
  { clock, links, log, outbox, targetStore }: Pick<Engine, 'clock' | 'links' | 'log' | 'outbox' | 'targetStore'>,
  target: EngineTarget,
  lease: Lease,
  signal: AbortSignal,
): Promise<string | null> {
  const { container: storedContainer } = await targetStore.read(target.id);
  if (storedContainer !== null && target.preparedContainer === storedContainer) return storedContainer;
  const container = await prepareContainer(links, target, storedContainer, signal);
  target.preparedContainer = container;
  if (storedContainer === container) return container;
  if (storedContainer !== null) {
    await links.clear(target.id, lease);
    await outbox.clear(target.id);
    log.warn({ target: target.id }, 'container was replaced: daemon rebuilds the links');
  }
  // An earlier approval applied to the first run of the other container.
  const replaced =
    storedContainer === null
      ? {}
      : { firstRunApprovedAt: null, ...(!isRenamed(storedContainer, container) && { replacedAt: clock() }) };
  // Freshness and failure described the other container.
  const unknown = {
    cursor: null,
    readWholeAt: null,
    readBack: null,
    adoptedAt: null,
    plannedAsOf: null,
    idleAsOf: null,
    writtenOnceAt: null,
    lastWrittenAt: null,
    failure: null,
    pausedUntil: null,
  };
  await targetStore.write(target.id, { container, ...unknown, ...replaced });
  return null;
}

/** Ends a target's wait for an answering host. @returns whether its lane must run */
export async function endWait(
  { targetStore, outbox, clock }: Pick<Engine, 'targetStore' | 'outbox' | 'clock'>,
  target: string,
  host: string,
): Promise<boolean> {
  const record = await targetStore.read(target);
  // Meanwhile the target may wait for another reason.
  if (record.outage !== host) return false;
  await targetStore.write(target, { pausedUntil: null });
  await outbox.hurry(target, clock(), OUTAGE_CODES);
  return true;
}

/** Returns whether only the name of the server differs: its users still see this container. */
function isRenamed(stored: string, container: string): boolean {
  const [before, now] = [URL.parse(stored), URL.parse(container)];
  return before !== null && now !== null && before.host !== now.host && before.pathname === now.pathname;
}

/** Objects of one lookup. */
const LOOKED_FOR_AT_ONCE = 100;

/** Fetches the existing objects of links, by key and by stored remote id. */
export async function findLinked(
  { target: { connector, identity }, container }: PreparedTarget<Pick<EngineTarget, 'connector' | 'identity'>>,
  links: readonly Link[],
  signal: AbortSignal,
): Promise<RemoteItem<Item>[]> {
  const found: RemoteItem<Item>[] = [];
  for (const some of slices(links, LOOKED_FOR_AT_ONCE)) {
    const ids = new Map(some.map((link) => [identity.key(link.recordId, link.idAttempt), link.remoteId]));
    found.push(...(await connector.find(container, [...ids.keys()], signal, ids)));
  }
  return found;
}
