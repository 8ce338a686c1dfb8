import { asMirrorError, MirrorError } from '../model/errors.ts';
import { HOUR_MS, type Instant, SECOND_MS } from '../model/time.ts';
import { type KeptChannel, NO_CHANNELS, type TargetChannels } from '../state/channels.ts';
import type { Lease } from '../state/leases.ts';
import { IMPOSSIBLE_WAIT_MS } from './lanes.ts';
import {
  addressOf,
  CHANNEL_LIFE_MS,
  channelsOf,
  closeChannel,
  type HeardCalendar,
  lifeOf,
  openChannel,
} from './open-channel.ts';
import type { StopSignals } from './push.ts';
import { targetRestMs } from './retry.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** A logout does not wait longer than this for a vendor to end its channels. */
const FAREWELL_MS = 10 * SECOND_MS;
const LEASE = 'channels';

interface Work {
  tenant: OpenTenant;
  lease: Lease;
  signal: AbortSignal;
  /** Targets that are heard of from now on. */
  opened: string[];
}

/** One target's turn, and what is kept of its channels at this moment. */
interface Turn extends Work {
  target: string;
  kept: TargetChannels;
}

/**
 * Looks after the notifications of a tenant's targets: opens, prolongs and replaces channels, and ends those that are no longer
 * wanted. One target's failure keeps no other from its turn.
 * @param options.hurry try at once what rests after a failure: a person has acted
 * @returns targets that were not heard of before and are now: what happened meanwhile is not told; null when somebody else is at it
 */
export async function keepChannels(
  tenant: OpenTenant,
  options: { hurry: boolean },
  { stop, abort }: StopSignals,
): Promise<{ opened: string[] } | null> {
  const lease = await tenant.leases.tryTake(LEASE, 'upkeep');
  if (lease === null) return null;
  try {
    const work: Work = { tenant, lease, signal: AbortSignal.any([abort, lease.signal]), opened: [] };
    const all = await tenant.notifications.store.read();
    const calendars = await wantedCalendars(tenant);
    for (const target of new Set([...calendars.keys(), ...all.keys()])) {
      if (stop.aborted) break;
      const kept = all.get(target) ?? NO_CHANNELS;
      if (!options.hurry && rests(kept, tenant.clock())) continue;
      await attempt({ ...work, target, kept }, calendars.get(target));
    }
    return { opened: work.opened };
  } finally {
    await lease.release();
  }
}

/**
 * Ends the channels of a login that is about to be ended, as well as can be: whatever the vendor says, what it still sends is ignored
 * from now on. Nobody opens new ones before `logOut` has come to its end.
 */
export async function withoutChannels<Result>(
  tenant: OpenTenant,
  connection: string,
  logOut: () => Promise<Result>,
  signal: AbortSignal,
): Promise<Result> {
  const farewell = AbortSignal.any([signal, AbortSignal.timeout(FAREWELL_MS)]);
  const lease = await tenant.leases.take(LEASE, FAREWELL_MS, signal).catch(() => null);
  try {
    await sayGoodbye(tenant, connection, lease, farewell).catch((error) => {
      tenant.log.warn({ connection, code: asMirrorError(error).code }, 'notifications could not be ended');
    });
    return await logOut();
  } finally {
    await lease?.release().catch(() => {});
  }
}

async function sayGoodbye(tenant: OpenTenant, connection: string, lease: Lease | null, signal: AbortSignal) {
  const { store, directory } = tenant.notifications;
  for (const [target, { current, closing }] of await store.read()) {
    const all = current === null ? closing : [...closing, current];
    const going = all.filter((channel) => channel.connection === connection);
    if (going.length === 0) continue;
    await Promise.all(going.map(({ id }) => directory.remove(id)));
    const left = {
      current: current?.connection === connection ? null : current,
      closing: closing.filter((channel) => channel.connection !== connection),
      trouble: null,
    };
    if (lease !== null) await store.write(target, left, lease);
    await Promise.all(going.map((channel) => closeChannel(tenant, channel, signal).catch(() => {})));
  }
}

/** Calendars by the target under whose name the channel is kept. Two targets on one calendar share a channel: Graph allows no second. */
async function wantedCalendars(tenant: OpenTenant): Promise<Map<string, HeardCalendar>> {
  const calendars = new Map<string, HeardCalendar>();
  if (tenant.notifications.url === null || tenant.configuration.paused) return calendars;
  for (const target of tenant.targets.values()) {
    if (target.configuration.paused || target.connector.channels === undefined) continue;
    const { container } = await tenant.records.read(target.id);
    if (container === null) continue;
    const first = [...calendars.values()].find(
      (calendar) => calendar.container === container && isSameLogin(calendar.target, target),
    );
    if (first === undefined) calendars.set(target.id, { target, container, targets: [target.id] });
    else first.targets.push(target.id);
  }
  return calendars;
}

function isSameLogin({ configuration: one }: OpenTarget, { configuration: other }: OpenTarget): boolean {
  return one.connector === other.connector && one.connection === other.connection;
}

/** What fails rests, with its code for status; only a lost lease or the end of the daemon ends the whole round. */
async function attempt(turn: Turn, calendar: HeardCalendar | undefined): Promise<void> {
  const { tenant, target, signal } = turn;
  signal.throwIfAborted();
  const before = turn.kept.trouble;
  try {
    if (calendar === undefined) await end(turn);
    else await keep(turn, calendar);
    if (turn.kept.trouble !== null) await save(turn, { trouble: null });
  } catch (error) {
    signal.throwIfAborted();
    const failure = asMirrorError(error);
    if (failure.code === 'lease-lost') throw failure;
    const now = tenant.clock();
    const sinceAt = before?.code === failure.code ? before.sinceAt : now;
    const retryAt = now + restMs(failure, tenant.random, now - sinceAt);
    await save(turn, { trouble: { code: failure.code, sinceAt, retryAt } });
    if (before?.code === failure.code) return;
    const { code, actor, status } = failure;
    tenant.log.warn({ target, code, actor, status }, 'notifications of a target could not be looked after');
  }
}

async function save(turn: Turn, changes: Partial<TargetChannels>): Promise<void> {
  const kept = { ...turn.kept, ...changes };
  await turn.tenant.notifications.store.write(turn.target, kept, turn.lease);
  turn.kept = kept;
}

/** A time further ahead than any rule puts work off was set while the clock ran ahead. */
function rests({ trouble }: TargetChannels, now: Instant): boolean {
  return trouble !== null && trouble.retryAt > now && trouble.retryAt <= now + IMPOSSIBLE_WAIT_MS;
}

/** A channel that was opened although no answer came lives until its end, so not many of that kind are made. */
function restMs(error: MirrorError, random: () => number, troubledForMs: number): number {
  const rest = targetRestMs(error, random, troubledForMs);
  return error.ambiguous ? Math.max(rest, HOUR_MS) : rest;
}

/** No channel is wanted: the target was paused or removed, has no calendar any more, or another target holds the channel. */
async function end(turn: Turn): Promise<void> {
  const { current, closing } = turn.kept;
  if (current !== null) await save(turn, { current: null, closing: [...closing, current] });
  await closeRetired(turn);
}

async function keep(turn: Turn, calendar: HeardCalendar): Promise<void> {
  await sortOut(turn, calendar);
  // Before the new one is asked for: where a calendar can have one only, the old one stands in its way. A failure does not.
  const failure = await closeRetired(turn).catch(asMirrorError);
  const { current } = turn.kept;
  if (current === null) {
    await keepOpened(turn, await openChannel(turn.tenant, calendar, turn.tenant.clock(), turn.signal), null);
    turn.opened.push(...calendar.targets);
  } else {
    await tend(turn, calendar, current);
  }
  if (failure instanceof MirrorError) throw failure;
}

/** What has ended is forgotten; what is for another calendar, login or address, or unknown to the receiver, is to be closed. */
async function sortOut(turn: Turn, { target, container }: HeardCalendar): Promise<void> {
  const { tenant } = turn;
  const { current, closing } = turn.kept;
  if (current === null) return;
  const addressee = await tenant.notifications.directory.find(current.id);
  if (current.expiresAt <= tenant.clock() || addressee?.asked === 'ended') {
    await tenant.notifications.directory.remove(current.id);
    return save(turn, { current: null });
  }
  const { connector, connection } = target.configuration;
  const fits =
    addressee !== null &&
    current.container === container &&
    current.connector === connector &&
    current.connection === connection &&
    current.address === addressOf(tenant, connector, current.id);
  if (!fits) await save(turn, { current: null, closing: [...closing, current] });
}

/** Prolongs a channel when it is time; where the vendor can't, another is opened before this one is closed. */
async function tend(turn: Turn, calendar: HeardCalendar, current: KeptChannel): Promise<void> {
  const { tenant, signal } = turn;
  const { directory } = tenant.notifications;
  const addressee = await directory.find(current.id);
  if (addressee === null) return;
  const { targets } = calendar;
  if (addressee.targets.join() !== targets.join()) {
    await directory.put(current.id, { ...addressee, targets }, current.expiresAt);
  }
  const now = tenant.clock();
  if (current.renewAt > now && addressee.asked !== 'extend') return;
  const extended = await channelsOf(calendar.target).extend(current, now + CHANNEL_LIFE_MS, signal);
  if (extended === null) {
    await keepOpened(turn, await openChannel(tenant, calendar, current.heardSinceAt, signal), current);
    return closeRetired(turn);
  }
  await save(turn, { current: { ...current, handle: extended.handle, ...lifeOf(extended, now) } });
  await directory.put(current.id, { ...addressee, targets, asked: null }, extended.expiresAt);
}

/** Keeps a channel that was just opened. One that can't be kept is closed again as well as can be: nobody would look after it. */
async function keepOpened(turn: Turn, opened: KeptChannel, former: KeptChannel | null): Promise<void> {
  const { tenant, signal, kept } = turn;
  const closing = former === null ? kept.closing : [...kept.closing, former];
  try {
    await save(turn, { current: opened, closing });
  } catch (error) {
    await closeChannel(tenant, opened, signal).catch(() => {});
    throw error;
  }
}

/** Ends what is to be ended and remembers how far it came. @throws what the last failing vendor said */
async function closeRetired(turn: Turn): Promise<void> {
  let failure: unknown = null;
  for (const channel of turn.kept.closing) {
    try {
      if (channel.expiresAt > turn.tenant.clock()) await closeChannel(turn.tenant, channel, turn.signal);
    } catch (error) {
      turn.signal.throwIfAborted();
      failure = error;
      continue;
    }
    await save(turn, { closing: turn.kept.closing.filter(({ id }) => id !== channel.id) });
  }
  if (failure !== null) throw failure;
}
