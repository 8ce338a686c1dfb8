import type { Item } from '../core/model/items.ts';
import type { Deletion, Link, RemoteItem } from '../core/model/operations.ts';
import { DAY_MS, hasPassed, type Instant, MINUTE_MS } from '../core/model/time.ts';
import { inPieces } from '../core/pieces/in-pieces.ts';
import { linkOf, namesOf } from './adopt.ts';
import { asOtherWrite } from './audit.ts';
import type { PreparedTarget } from './lane.ts';
import type { Engine, EngineTarget } from './ports.ts';
import type { Lease, OutboxEntry } from './store.ts';

/** Maximum delay of an unanswered request in a proxy, a queue or a stalled server. Chosen by clinic-mirror. */
export const STILL_ON_ITS_WAY_MS = 10 * MINUTE_MS;
/** Mark of a key's second look, and its delay after the first one, at a server that drops marks: no audit finds the object. Own choice. */
const AGAIN = '+';
const AGAIN_MS = DAY_MS;
/** Keys of one lookup: the size of one round of the connectors' batches. */
const KEYS_AT_ONCE = 100;

/**
 * Records that unanswered requests may still arrive, whatever their entry's result. If the connector looks up keys, visibility takes
 * longer.
 */
export async function recordUnanswered(
  tenant: Pick<Engine, 'clock' | 'unanswered'>,
  target: EngineTarget,
  operations: readonly { entry: OutboxEntry; operation: { key: string } }[],
): Promise<void> {
  const { keys } = target.supports;
  const waitMs = STILL_ON_ITS_WAY_MS + (keys === 'enforced' ? 0 : keys.lookedUp.lagMs);
  const times = operations.flatMap(({ entry: { sent, sentAt }, operation: { key } }): [string, Instant][] =>
    sent ? [[key, (sentAt ?? tenant.clock()) + waitMs]] : [],
  );
  await tenant.unanswered.record(target.id, new Map(times));
}

/**
 * Searches for late writes. An object of this installation without a link or a pending change, such as a create that arrives after a
 * deletion, gets a link. An object with an older write, in a target that compares no versions, updates its link. The next plan treats both
 * like other differences. An object without marks names no record, so it is removed here, and looked for again after a day.
 * @returns when the next search is due; null for no search
 */
export async function lookForLate(
  tenant: Pick<Engine, 'clock' | 'links' | 'log' | 'outbox' | 'targetStore' | 'unanswered'>,
  { target, container }: PreparedTarget,
  lease: Lease,
  signal: AbortSignal,
): Promise<Instant | null> {
  const due = await tenant.unanswered.due(target.id, tenant.clock(), KEYS_AT_ONCE);
  if (due.length > 0) {
    const keys = [...new Set(due.map((one) => one.replace(AGAIN, '')))];
    const { adoptedAt, readBack } = await tenant.targetStore.read(target.id);
    const found = await target.connector.find(container, keys, signal);
    const late = await cameLate(tenant, target, found);
    await tenant.links.writeAll(target.id, late, lease);
    if (adoptedAt !== null) await removeNameless(tenant, { target, container }, found, signal);
    const again = readBack?.marks === 'dropped' ? due.filter((one) => !one.endsWith(AGAIN)) : [];
    const againAt = tenant.clock() + AGAIN_MS;
    await tenant.unanswered.record(target.id, new Map(again.map((key) => [`${key}${AGAIN}`, againAt])));
    await tenant.unanswered.done(target.id, due);
    if (late.length > 0) {
      tenant.log.warn({ target: target.id, count: late.length }, 'writes arrived after later writes');
      // The last plan did not include these objects.
      await tenant.targetStore.recordOvertaken(target.id);
    }
  }
  return await tenant.unanswered.nextAt(target.id);
}

/**
 * Removes objects of unanswered writes that carry no marks, and that no link and no pending change names: their record was deleted
 * meanwhile. No approval is required, since no record loses its object. A past object may have lost its link, and stays.
 */
async function removeNameless(
  { clock, links, log, outbox }: Pick<Engine, 'clock' | 'links' | 'log' | 'outbox'>,
  prepared: PreparedTarget,
  found: readonly RemoteItem<Item>[],
  signal: AbortSignal,
): Promise<void> {
  const { id, identity } = prepared.target;
  const window = prepared.target.windowAt(clock());
  const bare = found.filter(
    ({ marksLost, item }) => marksLost === true && item !== null && !hasPassed(identity.spanOf(item), window),
  );
  if (bare.length === 0) return;
  // The outbox first: a write completed between the two reads is in both.
  const pending = [...(await outbox.pending(id)).keys()];
  const names = await inPieces(namesOf(identity, (await links.read(id)).values()), signal);
  const nameless = bare.filter(
    ({ key, remoteId }) =>
      !names.has(key) &&
      !names.has(remoteId) &&
      pending.every((recordId) => identity.idAttemptOf(recordId, key) === null),
  );
  if (nameless.length === 0) return;
  const deletions = nameless.map(({ key, remoteId, versionTag, revision = 0 }) => {
    return { kind: 'delete', recordId: key, key, revision, versionTag, remoteId, isDuplicate: true } as const;
  });
  const removed = await removeAll(prepared, deletions, signal);
  log.warn({ target: id, removed, found: deletions.length }, 'objects that arrived after their deletion were removed');
}

/** Removes objects directly, without the outbox. @returns the number of removed objects */
export async function removeAll(
  { target: { connector, supports }, container }: PreparedTarget,
  deletions: readonly Deletion<Item>[],
  signal: AbortSignal,
): Promise<number> {
  let removed = 0;
  for (let remaining = deletions; remaining.length > 0; ) {
    // One call carries one operation of a record.
    const batch = [...new Map(remaining.map((deletion) => [deletion.recordId, deletion])).values()];
    const sent = new Set(batch.slice(0, supports.batchSize));
    remaining = remaining.filter((deletion) => !sent.has(deletion));
    const outcomes = await connector.apply(container, [...sent], signal);
    removed += outcomes.filter(({ result }) => result === 'deleted').length;
  }
  return removed;
}

async function cameLate(
  { links, outbox, clock }: Pick<Engine, 'clock' | 'links' | 'outbox'>,
  { id, identity }: EngineTarget,
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
