import { forTenant, message } from '../messages/message.ts';
import { MirrorError, storedError } from '../model/errors.ts';
import type { Link } from '../model/operations.ts';
import { CLOCK_TOLERANCE_MS, DAY_MS, type Instant, SECOND_MS } from '../model/time.ts';
import { laneLease, SUPERSEDED } from '../state/config-version.ts';
import type { Lease } from '../state/leases.ts';
import type { LinkStore } from '../state/links.ts';
import type { TargetSummary } from '../state/targets.ts';
import { endWait } from './outages.ts';
import { targetBackoffMs } from './retry.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

export { laneLease };

/** What a target's failure is noted with. */
type FailureContext = Pick<
  OpenTenant,
  'id' | 'clock' | 'configuration' | 'log' | 'outages' | 'random' | 'targets' | 'targetStore'
>;

/** Logins of an application that acts for many accounts, or is charged for each target: a limit says nothing of its other targets. */
const OF_MANY_ACCOUNTS: ReadonlySet<string> = new Set(['google-service-account', 'microsoft-app']);
/** The target that was refused tries first, alone. */
const TRIES_FIRST_MS = 2 * SECOND_MS;

/** Lets the other targets of a vendor account rest while it limits requests: each would be refused too. */
async function shareWait(
  {
    clock,
    configuration,
    targets,
    targetStore,
  }: Pick<FailureContext, 'clock' | 'configuration' | 'targets' | 'targetStore'>,
  { id, configuration: { connection } }: OpenTarget,
  until: Instant,
): Promise<void> {
  if (OF_MANY_ACCOUNTS.has(configuration.connections.get(connection)?.kind ?? '')) return;
  for (const other of targets.values()) {
    if (other.id === id || other.configuration.connection !== connection) continue;
    const { pausedUntil } = await targetStore.read(other.id);
    if ((pausedUntil ?? 0) >= until) continue;
    // The end of an outage must not end this wait.
    await targetStore.write(other.id, { pausedUntil: until + TRIES_FIRST_MS, pausedAt: clock(), outage: null });
  }
}

/** Remembers what keeps a whole target from going on, and lets it rest. */
export async function recordFailure(tenant: FailureContext, target: OpenTarget, error: MirrorError): Promise<number> {
  // That is no failure of the target, and whoever is superseded notes nothing.
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
  // Whoever reads the log alone learns which setting to change.
  const remedy = forTenant(error.remedy, tenant.id);
  // An outage of a host has its own line for all targets. Any other failure has one when it begins or its code changes.
  tenant.log[outage === null && !isSameFailure ? 'warn' : 'debug'](
    { target: target.id, code, actor, status, host: outage, backoffMs, ...(remedy === null ? {} : { remedy }) },
    'a target rests',
  );
  return backoffMs;
}

/** The host that a target waited for answers: what else waits for that host, of all tenants, has its turn. */
export async function recordHostRecovery(
  tenant: Pick<OpenTenant, 'clock' | 'outages' | 'outbox' | 'targetStore'>,
  { id }: Pick<OpenTarget, 'id'>,
  outage: string,
): Promise<void> {
  await endWait(tenant, id, outage);
  await tenant.targetStore.write(id, { outage: null });
  await tenant.outages.end(outage);
}

/** Further ahead than any rule puts work off: such a time was set while the clock ran ahead. */
export const IMPOSSIBLE_WAIT_MS = 2 * DAY_MS;

/**
 * Ends waits that a clock dated which ran ahead and has been put back since, or another machine's: what began in a time to come. Else a
 * target would stand still until then.
 */
export async function endImpossibleWaits(
  tenant: Pick<OpenTenant, 'clock' | 'outbox' | 'targetStore'>,
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

/** Takes out records of targets that were not as we wrote them: the cycle finds each calendar by what is ours in it, and reads it anew. */
export async function discardForged(
  tenant: Pick<OpenTenant, 'log' | 'targetStore'>,
  summaries: ReadonlyMap<string, TargetSummary>,
): Promise<void> {
  for (const [target, { record }] of summaries) {
    if (!record.isForged || !(await tenant.targetStore.invalidate(target))) continue;
    tenant.log.error(
      { code: 'record-forged', target },
      'what Redis had of a target was not written by this version as it is: its calendar is looked for and read anew',
    );
  }
}

/**
 * Whether of some of these links it isn't known where their objects are. Then nothing may go by them, and the next plan reads the target's
 * own objects first.
 */
export async function recordUnlocated(
  { log, targetStore }: Pick<OpenTenant, 'log' | 'targetStore'>,
  target: string,
  links: Iterable<Link>,
): Promise<boolean> {
  for (const { isUnplaced = false } of links) {
    if (!isUnplaced) continue;
    await targetStore.write(target, { adoptedAt: null });
    log.warn({ target }, 'what Redis had of an entry does not prove where that is: the target is read anew');
    return true;
  }
  return false;
}

/**
 * The calendar as the connector has it ready. None is made where links say that there was one before: with a second one, nobody would look after
 * the entries of the first.
 * @throws MirrorError `settings`, code `calendar-not-found`, besides what `prepare` throws
 */
export async function prepareCalendar(
  links: Pick<LinkStore, 'count'>,
  { id, connector }: OpenTarget,
  storedContainer: string | null,
  signal: AbortSignal,
): Promise<string> {
  const isMissed =
    storedContainer === null &&
    connector.locate !== undefined &&
    (await links.count(id)) > 0 &&
    (await connector.locate(signal)) === null;
  if (!isMissed) return await connector.prepare(storedContainer, signal);
  throw new MirrorError(message('calendar-not-found'), {
    actor: 'settings',
    code: 'calendar-not-found',
    retry: 'never',
    remedy: message('calendar-not-found.remedy'),
  });
}

/**
 * The calendar to write to. When it is not the one that the links speak of (made again, or another one configured), links and
 * outbox are forgotten, and the next cycle reads the new calendar and plans afresh, as a first run: with `firstRun: plan` it waits for a person.
 * @param lease the lane's
 * @returns null when there is nothing to write to before the next cycle
 */
export async function openCalendar(
  { clock, links, log, outbox, targetStore }: Pick<OpenTenant, 'clock' | 'links' | 'log' | 'outbox' | 'targetStore'>,
  target: OpenTarget,
  lease: Lease,
  signal: AbortSignal,
): Promise<string | null> {
  const { container: storedContainer, isForged } = await targetStore.read(target.id);
  if (isForged) return null;
  if (storedContainer !== null && target.preparedContainer === storedContainer) return storedContainer;
  const container = await prepareCalendar(links, target, storedContainer, signal);
  target.preparedContainer = container;
  if (storedContainer === container) return container;
  if (storedContainer !== null) {
    await links.clear(target.id, lease);
    await outbox.clear(target.id);
    log.warn({ target: target.id }, 'the calendar is another one: its links are built again');
  }
  // What a person approved, or was not asked for, was the first run into the other one.
  const replaced = storedContainer === null ? {} : { firstRunApprovedAt: null, replacedAt: clock() };
  // Whatever was known of freshness and failure was known of the other calendar.
  const unknown = {
    cursor: null,
    adoptedAt: null,
    plannedAsOf: null,
    idleAsOf: null,
    writtenOnceAt: null,
    failure: null,
    pausedUntil: null,
  };
  await targetStore.write(target.id, { container, ...unknown, ...replaced });
  return null;
}
