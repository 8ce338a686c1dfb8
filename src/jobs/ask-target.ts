import type { RemoteChanges } from '../connectors/connector.ts';
import { asMirrorError } from '../model/errors.ts';
import type { Item } from '../model/items.ts';
import type { Link } from '../model/operations.ts';
import { MINUTE_MS, type TimeWindow } from '../model/time.ts';
import type { OpenTarget, OpenTenant, PreparedTarget } from './tenant.ts';

/**
 * Objects that a reading doesn't show are asked for by key, since a person may have moved them out of the window. More at once is
 * a clearing out, where an answer for each would cost more than it tells.
 */
export const MOST_LOOKED_FOR = 100;
/** Some servers show a write only minutes later (Purelymail's index lags three); before this an object's absence means nothing. */
const LAG_MS = 5 * MINUTE_MS;

/** What a target told. */
export interface TargetAnswer {
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
export async function askTarget(
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
  const keys = links.map(({ recordId, epoch }) => target.identity.key(recordId, epoch));
  const there = await target.connector.find(container, keys, signal);
  const shown = new Set(there.map(({ remoteId }) => remoteId));
  const gone = links.map((link) => remoteIdOf(target, link)).filter((remoteId) => !shown.has(remoteId));
  return { ...changes, items: [...changes.items, ...there], removed: [...changes.removed, ...gone] };
}

/** The remote id of a link's object: one that is our key stands in no link. */
export function remoteIdOf({ identity }: Pick<OpenTarget, 'identity'>, { recordId, remoteId, epoch }: Link): string {
  return remoteId ?? identity.key(recordId, epoch);
}
