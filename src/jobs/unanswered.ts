import type { Item } from '../model/items.ts';
import type { Link, RemoteItem } from '../model/operations.ts';
import { type Instant, MINUTE_MS } from '../model/time.ts';
import type { Lease } from '../state/leases.ts';
import type { OutboxEntry } from '../state/outbox-format.ts';
import { linkOf } from '../sync/adopt.ts';
import { asOtherWrite } from '../sync/audit.ts';
import type { OpenTarget, OpenTenant, PreparedTarget } from './tenant.ts';

/** For this long a request that got no answer may still be on its way: in a proxy, a queue, a server that stalls. Our choice. */
export const STILL_ON_ITS_WAY_MS = 10 * MINUTE_MS;
/** Keys of one look: as many as one round of the connectors' batches carries. */
const KEYS_AT_ONCE = 100;

/** An entry whose object is to be found by a reading of the target rests so long, and again until that was. Our choice. */
const UNPLACED_REST_MS = MINUTE_MS;

/**
 * Until when an entry must rest: its link doesn't tell where the object is; or it was sent without an answer, no link tells of an object, and
 * a look by key would not show yet what that made. Null when it may go now.
 */
export function restsUntil(
  { sent, sentAt }: OutboxEntry,
  link: Link | null,
  { supports: { keys } }: OpenTarget,
  { clock, elapsedBetween }: Pick<OpenTenant, 'clock' | 'elapsedBetween'>,
): Instant | null {
  if (link?.isUnplaced === true) return clock() + UNPLACED_REST_MS;
  if (keys === 'enforced' || !sent || sentAt === null || link !== null) return null;
  const now = clock();
  const elapsedMs = elapsedBetween(sentAt, now);
  const restMs = keys.lookedUp.lagMs - elapsedMs;
  // A time ahead of the clock was noted by a clock that has been put back since.
  return elapsedMs >= 0 && restMs > 0 ? now + Math.ceil(restMs) : null;
}

/**
 * Notes of what was sent before without an answer that it may still arrive, whatever becomes of it now. Where keys are looked up, a look
 * shows it later still.
 */
export async function recordUnanswered(
  tenant: Pick<OpenTenant, 'clock' | 'unanswered'>,
  target: OpenTarget,
  operations: readonly { entry: OutboxEntry; operation: { key: string } }[],
): Promise<void> {
  const { keys } = target.supports;
  const waitMs = STILL_ON_ITS_WAY_MS + (keys === 'enforced' ? 0 : keys.lookedUp.lagMs);
  const times = operations.flatMap(({ entry: { sent, sentAt }, operation: { key } }): [string, Instant][] =>
    sent ? [[key, (sentAt ?? tenant.clock()) + waitMs]] : [],
  );
  await tenant.unanswered.note(target.id, new Map(times));
}

/**
 * Looks for what came late. An object of ours that no link tells of and nothing waits for, as when a create arrives after the deletion of
 * its record, gets a link. One that holds an older write than its link tells of, as a CRM takes it that compares no versions, lets the link
 * tell so. The next plan decides on both like on any other.
 * @returns when the next look is due; null when none is
 */
export async function lookForLate(
  tenant: Pick<OpenTenant, 'clock' | 'links' | 'log' | 'outbox' | 'targetStore' | 'unanswered'>,
  { target, container }: PreparedTarget,
  lease: Lease,
  signal: AbortSignal,
): Promise<Instant | null> {
  const keys = await tenant.unanswered.due(target.id, tenant.clock(), KEYS_AT_ONCE);
  if (keys.length > 0) {
    const found = await target.connector.find(container, keys, signal);
    const late = await cameLate(tenant, target, found);
    await tenant.links.writeAll(target.id, late, lease);
    await tenant.unanswered.done(target.id, keys);
    if (late.length > 0) {
      tenant.log.warn({ target: target.id, count: late.length }, 'writes arrived after later ones');
      // What was planned knows nothing of them.
      await tenant.targetStore.noteOvertaken(target.id);
    }
  }
  return await tenant.unanswered.nextAt(target.id);
}

async function cameLate(
  { links, outbox, clock }: Pick<OpenTenant, 'clock' | 'links' | 'outbox'>,
  { id, identity }: OpenTarget,
  found: readonly RemoteItem<Item>[],
): Promise<Link[]> {
  const there = found.flatMap((remote) => linkOf(remote, identity, clock()) ?? []);
  const stored = await links.readSome(
    id,
    there.map(({ recordId }) => recordId),
  );
  const late: Link[] = [];
  for (const asFound of there) {
    const link = stored.get(asFound.recordId);
    const now = link === undefined ? asFound : asOtherWrite(link, asFound);
    if (now !== null && (await outbox.pendingOf(id, asFound.recordId)) === null) late.push(now);
  }
  return late;
}
