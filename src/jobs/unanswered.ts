import type { Link } from '../model/operations.ts';
import { type Instant, MINUTE_MS } from '../model/time.ts';
import type { Lease } from '../state/leases.ts';
import type { OutboxEntry } from '../state/outbox.ts';
import { linkOf } from '../sync/adopt.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** For this long a request that got no answer may still be on its way: in a proxy, a queue, a server that stalls. Our choice. */
export const STILL_ON_ITS_WAY_MS = 10 * MINUTE_MS;
/** Keys of one look: as many as one round of the connectors' batches carries. */
const KEYS_AT_ONCE = 100;

/**
 * Until when an entry must rest: it was sent without an answer, no link tells of an object, and a look by key would not show yet what
 * that made. Null when it may go now.
 */
export function restsUntil(
  { sent, sentAt }: OutboxEntry,
  link: Link | null,
  { supports: { keys } }: OpenTarget,
  now: Instant,
): Instant | null {
  if (keys === 'enforced' || !sent || sentAt === null || link !== null) return null;
  const lookableAt = sentAt + keys.lookedUp.lagMs;
  // A time ahead of the clock was noted by a clock that has been put back since.
  return sentAt <= now && lookableAt > now ? lookableAt : null;
}

/** Notes of what was sent before without an answer that it may still arrive, whatever becomes of it now. */
export async function noteUnanswered(
  tenant: OpenTenant,
  target: OpenTarget,
  operations: readonly { entry: OutboxEntry; operation: { key: string } }[],
): Promise<void> {
  const times = operations.flatMap(({ entry: { sent, sentAt }, operation: { key } }): [string, Instant][] =>
    sent ? [[key, (sentAt ?? tenant.clock()) + STILL_ON_ITS_WAY_MS]] : [],
  );
  await tenant.unanswered.note(target.id, new Map(times));
}

/**
 * Looks for what came late: an object of ours that no link tells of and nothing waits for, as when a create arrives after the deletion of
 * its record. It gets a link, so that the next plan decides on it like on any other.
 * @returns when the next look is due; null when none is
 */
export async function lookForLate(
  tenant: OpenTenant,
  target: OpenTarget,
  container: string,
  lease: Lease,
  signal: AbortSignal,
): Promise<Instant | null> {
  const keys = await tenant.unanswered.due(target.id, tenant.clock(), KEYS_AT_ONCE);
  if (keys.length > 0) {
    const found = await target.connector.find(container, keys, signal);
    const late = found.flatMap((remote) => linkOf(remote, target.identity, tenant.clock()) ?? []);
    const links = await tenant.links.readSome(
      target.id,
      late.map(({ recordId }) => recordId),
    );
    const unknown: Link[] = [];
    for (const link of late) {
      const waits = (await tenant.outbox.pendingOf(target.id, link.recordId)) !== null;
      if (!links.has(link.recordId) && !waits) unknown.push(link);
    }
    await tenant.links.writeAll(target.id, unknown, lease);
    await tenant.unanswered.done(target.id, keys);
    if (unknown.length > 0) {
      tenant.log.warn({ target: target.id, count: unknown.length }, 'objects arrived after their deletion');
      // What was planned knows nothing of them.
      await tenant.records.write(target.id, { plannedAsOf: null });
    }
  }
  return await tenant.unanswered.nextAt(target.id);
}
