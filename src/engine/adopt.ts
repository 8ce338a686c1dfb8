import type { Item } from '../core/model/items.ts';
import type { Link, RemoteItem } from '../core/model/operations.ts';
import { eachInPieces, type Pieces } from '../core/model/pieces.ts';
import type { Instant } from '../core/model/time.ts';
import type { TargetIdentity } from './identity.ts';

/** Objects found in a target whose links are lost. */
export interface Adoption {
  links: Link[];
  /** Objects with this installation's owner tag that name no record, or a record with another object. An audit decides about them. */
  ambiguous: number;
  /** The highest revision stored in an object. */
  revision: number;
}

/** Key epoch of a record's object. */
type NamedRecord = Pick<Link, 'recordId' | 'idAttempt'>;

/** A key beyond the first is rare: the target refused to revive the key of a deleted object. Own choice. */
const GUESSED_ATTEMPTS = 3;

/** Records by the keys and remote ids of their objects. */
export type RecordNames = ReadonlyMap<string, NamedRecord>;

/**
 * Returns records by the keys and remote ids of their objects. Each key costs a keyed hash, so the map is built only for objects without
 * marks.
 * @param recordIds records without a link, with their first keys
 */
export function* namesOf(
  identity: TargetIdentity,
  links: Iterable<Link>,
  recordIds: Iterable<string> = [],
): Pieces<RecordNames> {
  const names = new Map<string, NamedRecord>();
  yield* eachInPieces(recordIds, (recordId) => {
    for (let idAttempt = 0; idAttempt < GUESSED_ATTEMPTS; idAttempt += 1)
      names.set(identity.key(recordId, idAttempt), { recordId, idAttempt });
  });
  yield* eachInPieces(links, ({ recordId, idAttempt, remoteId }) => {
    for (let attempt = 0; attempt <= idAttempt; attempt += 1)
      names.set(identity.key(recordId, attempt), { recordId, idAttempt: attempt });
    if (remoteId !== null) names.set(remoteId, { recordId, idAttempt });
  });
  return names;
}

/** Source of links for objects of a target. */
export interface LinkSource {
  identity: TargetIdentity;
  /** Assumed start of an object whose content was edited and cannot be read. */
  unreadableStartAt: Instant;
  /** Called once if an object has no readable record id. */
  names(): Pieces<RecordNames>;
}

/** Passes each object with its link to `work`: first objects with a record id, then objects that only their name identifies. */
export function* eachLink(
  remoteItems: Iterable<RemoteItem<Item>>,
  { identity, unreadableStartAt, names }: LinkSource,
  work: (remote: RemoteItem<Item>, link: Link | null) => void,
): Pieces<void> {
  const unnamed: RemoteItem<Item>[] = [];
  yield* eachInPieces(remoteItems, (remote) => {
    const link = linkOf(remote, identity, unreadableStartAt);
    if (link === null) unnamed.push(remote);
    else work(remote, link);
  });
  if (unnamed.length === 0) return;
  const byName = yield* names();
  yield* eachInPieces(unnamed, (remote) => work(remote, linkOf(remote, identity, unreadableStartAt, byName)));
}

/**
 * Rebuilds links from the objects of this installation. The encrypted record id identifies a record, and the record's key confirms the id;
 * without marks, the object's name identifies the record. Time and title are not used. The content is compared by fingerprint: a manual
 * edit differs and is overwritten.
 */
export function* adopt(remoteItems: Iterable<RemoteItem<Item>>, source: LinkSource): Pieces<Adoption> {
  const links = new Map<string, Link>();
  const contested = new Set<string>();
  let ambiguous = 0;
  let revision = 0;
  yield* eachLink(remoteItems, source, (remote, link) => {
    revision = Math.max(revision, remote.revision ?? 0);
    if (link === null) {
      if (!isPossiblyForeign(remote)) ambiguous += 1;
      return;
    }
    const other = links.get(link.recordId);
    if (other !== undefined) contested.add(link.recordId);
    // If a record has several objects, link the most recently written object.
    if (other === undefined || (link.revision ?? 0) > (other.revision ?? 0)) links.set(link.recordId, link);
  });
  return { links: [...links.values()], ambiguous: ambiguous + contested.size, revision };
}

/** Returns whether another installation, or a user, may have created an object that names no record. */
export function isPossiblyForeign({ marksLost, unreadable }: RemoteItem<Item>): boolean {
  return marksLost === true || unreadable === true;
}

/**
 * Returns the link of an object, or null if the object names no known record.
 * @param names records of objects without a readable record id
 */
export function linkOf(
  remote: RemoteItem<Item>,
  identity: TargetIdentity,
  unreadableStartAt: Instant,
  names: RecordNames | null = null,
): Link | null {
  const recordId = remote.sealedRecordId === null ? null : identity.recordIdOf(remote.sealedRecordId);
  const named =
    recordId === null ? (names?.get(remote.key) ?? names?.get(remote.remoteId)) : keyed(recordId, remote, identity);
  if (named === undefined) return null;
  return {
    recordId: named.recordId,
    fingerprint: remote.item === null ? '' : identity.fingerprint(remote.item),
    versionTag: remote.versionTag,
    ...(remote.item === null ? { startAt: unreadableStartAt, endAt: unreadableStartAt } : identity.spanOf(remote.item)),
    idAttempt: named.idAttempt,
    remoteId: remote.remoteId === remote.key ? null : remote.remoteId,
    drift: null,
    ...(remote.revision === undefined ? {} : { revision: remote.revision }),
    ...(recordId === null || remote.marksLost === true ? { unmarked: true, isRebuilt: true } : {}),
  };
}

/** The key confirms the record id: a user's copy of another object does not have the record's key. */
function keyed(recordId: string, { key }: RemoteItem<Item>, identity: TargetIdentity): NamedRecord | undefined {
  const idAttempt = identity.idAttemptOf(recordId, key);
  return idAttempt === null ? undefined : { recordId, idAttempt };
}
