import type { Item } from '../model/items.ts';
import type { Link, RemoteItem } from '../model/operations.ts';
import { eachInPieces, type Pieces } from '../model/pieces.ts';
import type { Instant } from '../model/time.ts';
import type { TargetIdentity } from './identity.ts';

/** Objects found in a target whose links are lost. */
export interface Adoption {
  links: Link[];
  /** Objects with this installation's owner tag that name no record, or a record with another object. An audit decides about them. */
  ambiguous: number;
  /** The highest revision stored in an object. */
  revision: number;
}

/**
 * Rebuilds links from the objects with this installation's owner tag. The encrypted record id identifies a record, and the record's key
 * confirms the id; time and title are not used. The content is compared by fingerprint: a manual edit differs and is overwritten.
 * @param unreadableStartAt assumed start of an object whose content was edited and cannot be read
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
    // If a record has several objects, link the most recently written object.
    if (other === undefined || (link.revision ?? 0) > (other.revision ?? 0)) links.set(link.recordId, link);
  });
  return { links: [...links.values()], ambiguous: ambiguous + contested.size, revision };
}

/** Returns the link of an object with this installation's owner tag, or null if the object names no known record. */
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
