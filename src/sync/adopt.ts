import type { Item } from '../model/items.ts';
import type { Link, RemoteItem } from '../model/operations.ts';
import { eachInPieces, type Pieces } from '../model/pieces.ts';
import type { Instant } from '../model/time.ts';
import type { TargetIdentity } from './identity.ts';

/** What was found in a target that we hold no links for. */
export interface Adoption {
  links: Link[];
  /** Objects with our owner tag that name no record, or a record that another object names too: an audit looks at them. */
  ambiguous: number;
  /** The highest revision that an object carries. */
  revision: number;
}

/**
 * Rebuilds links from the objects that carry our owner tag. A record is known by its sealed record id and confirmed by its key; time and
 * title never count. The content is compared by fingerprint: what a person edited meanwhile differs and is written again.
 * @param unreadableStartAt start to assume for an object whose content a person changed beyond reading
 */
export function* adopt(
  remoteItems: Iterable<RemoteItem<Item>>,
  identity: TargetIdentity,
  unreadableStartAt: Instant,
): Pieces<Adoption> {
  const links = new Map<string, Link>();
  const contested = new Set<string>();
  let ambiguous = 0;
  let revision = 0;
  yield* eachInPieces(remoteItems, (remote) => {
    const link = linkOf(remote, identity, unreadableStartAt);
    revision = Math.max(revision, remote.revision ?? 0);
    if (link === null) {
      ambiguous += 1;
      return;
    }
    const other = links.get(link.recordId);
    if (other !== undefined) contested.add(link.recordId);
    // Of several objects for one record the one that was written last is linked.
    if (other === undefined || (link.revision ?? 0) > (other.revision ?? 0)) links.set(link.recordId, link);
  });
  return { links: [...links.values()], ambiguous: ambiguous + contested.size, revision };
}

/** The link of an object that carries our owner tag; null when it names no record of ours. */
export function linkOf(remote: RemoteItem<Item>, identity: TargetIdentity, unreadableStartAt: Instant): Link | null {
  const recordId = remote.sealedRecordId === null ? null : identity.recordIdOf(remote.sealedRecordId);
  if (recordId === null) return null;
  const idAttempt = identity.idAttemptOf(recordId, remote.key);
  if (idAttempt === null) return null;
  return {
    recordId,
    fingerprint: remote.item === null ? '' : identity.fingerprint(remote.item),
    versionTag: remote.versionTag,
    ...(remote.item === null ? { startAt: unreadableStartAt, endAt: unreadableStartAt } : identity.spanOf(remote.item)),
    idAttempt,
    remoteId: remote.remoteId === remote.key ? null : remote.remoteId,
    drift: null,
    ...(remote.revision === undefined ? {} : { revision: remote.revision }),
  };
}
