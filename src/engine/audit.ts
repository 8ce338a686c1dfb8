import type { Item } from '../core/model/items.ts';
import type { Link, RemoteItem } from '../core/model/operations.ts';
import { eachInPieces, type Pieces } from '../core/model/pieces.ts';
import type { PendingChange } from '../core/model/plan.ts';
import { hasPassed, type TimeWindow } from '../core/model/time.ts';
import { eachLink, isPossiblyForeign, namesOf } from './adopt.ts';
import { isSameContent, type TargetIdentity, withSubjectOf } from './identity.ts';

/** Result of reading a target's objects. */
export interface TargetReading {
  /**
   * `whole`: all objects of this installation that overlap the window. `since`: objects that are not listed are unchanged since the last
   * read.
   */
  scope: 'whole' | 'since';
  items: readonly RemoteItem<Item>[];
  /** For `since`: remote ids of deleted objects. */
  removed: readonly string[];
}

/** Read and expected state of a target. */
export interface AuditInput {
  reading: TargetReading;
  links: ReadonlyMap<string, Link>;
  pending: ReadonlyMap<string, PendingChange>;
  identity: TargetIdentity;
  window: TimeWindow;
}

/** Comparison of a target's objects with the last writes. */
export interface Audit {
  /** Links that the read covers. */
  checked: number;
  /** Links with manual edits, earlier ones included, without links that have a pending change. */
  edited: Link[];
  removed: Link[];
  /** Links of `edited` and `removed` without earlier drift. */
  touched: Link[];
  /** Links to be stored: drift set or cleared, and new details of unedited objects. */
  changed: Link[];
  /** Links of this installation's objects in the window that have no stored link. A plan treats them like other links. */
  unlinked: Link[];
  /** Links without an object in the read, pending ones included. An object moved out of the window is included too. */
  missing: Link[];
  /** Links with drift, pending ones included. */
  drifted: Link[];
  /**
   * Objects that hold another write of the daemon than the last one. The next plan rewrites them, whatever the setting for manual edits.
   */
  overwritten: number;
  /** The highest revision stored in an object. */
  revision: number;
  /** Objects with this installation's owner tag that name no record, or a record with another linked object. */
  ambiguous: number;
  /** Links whose objects lost their marks. */
  unmarked: number;
  /** Ids of objects that exist but cannot be read, foreign ones included. */
  unreadable: string[];
  /**
   * Objects of `ambiguous`, as links, with the marks of a record. The same read shows the record's linked object. A copy under an id that
   * is no key of the record has this id as remote id.
   */
  surplus: Link[];
}

/**
 * Compares a target's objects with the links, and records manual edits as drift. Drift lasts until the object equals the last write again.
 * Drift of records with a pending change is recorded too, since a feed reports a change only once. Pending records do not increase the
 * counts, because they are about to change.
 */
export function* audit(input: AuditInput): Pieces<Audit> {
  const { links, pending, window, reading } = input;
  const { found, ambiguous, surplus, unread } = yield* objectsByRecord(input);
  const revision = reading.items.reduce((highest, item) => Math.max(highest, item.revision ?? 0), 0);
  const unreadable = reading.items.flatMap((item) => (item.unreadable === true ? [item.remoteId] : []));
  const result: Audit = { ...nothingFound(), ambiguous, surplus, revision, unreadable };
  const isGone = goneFrom(input);
  yield* eachInPieces(links.values(), (link) => {
    const asFound = found.get(link.recordId);
    const isMissing = asFound === undefined && !unread.has(link.recordId) && isGone(link);
    if (isMissing) result.missing.push(link);
    const now = asFound !== undefined ? currentLinkOf(link, asFound) : isMissing ? withoutObject(link) : link;
    if (!isSame(link, now)) result.changed.push(now);
    if (now.drift !== null) result.drifted.push(now);
    if (now.unmarked === true) result.unmarked += 1;
    if (!isSameContent(now.fingerprint, link.fingerprint)) result.overwritten += 1;
    if (pending.has(link.recordId)) return;
    if (reading.scope === 'since' || asFound !== undefined || isMissing) result.checked += 1;
    if (now.drift === 'edited') result.edited.push(now);
    if (now.drift === 'removed') result.removed.push(now);
    if (now.drift !== null && link.drift === null) result.touched.push(now);
  });
  for (const asFound of found.values()) {
    const isNew = !links.has(asFound.recordId) && !pending.has(asFound.recordId);
    if (isNew && !hasPassed(asFound, window)) result.unlinked.push(asFound);
  }
  return result;
}

function nothingFound(): Omit<Audit, 'ambiguous' | 'revision' | 'surplus' | 'unreadable'> {
  return {
    checked: 0,
    overwritten: 0,
    unmarked: 0,
    edited: [],
    removed: [],
    touched: [],
    changed: [],
    unlinked: [],
    missing: [],
    drifted: [],
  };
}

/**
 * Returns the link for the object's current state. A difference that the target itself introduced is no manual edit: the answer to the last
 * write, or a version tag equal to the last write's tag, proves this. Content with the revision of another write is no manual edit either:
 * the target holds a late write, or a write whose state was lost. The next plan compares with that content.
 */
export function currentLinkOf(link: Link, asFound: Link): Link {
  const { observedFingerprint: _, isUnplaced: __, unmarked: ___, ...stored } = link;
  const { fingerprint, versionTag, idAttempt, remoteId } = asFound;
  const isAnother = remoteId !== null && stored.remoteId !== null && remoteId !== stored.remoteId;
  const written = {
    ...stored,
    ...(isAnother ? { recreations: (stored.recreations ?? 0) + 1 } : {}),
    ...(asFound.unmarked === true ? { unmarked: true as const } : {}),
  };
  const revision = Math.max(link.revision ?? 0, asFound.revision ?? 0);
  const seen = {
    ...written,
    versionTag,
    idAttempt,
    remoteId,
    drift: null,
    ...(revision === 0 ? {} : { revision }),
  };
  // Store the new fingerprint: a fingerprint of an older version has fewer details.
  if (isSameContent(fingerprint, link.fingerprint))
    return { ...seen, fingerprint: withSubjectOf(fingerprint, link.fingerprint) };
  if (link.storedFingerprint !== undefined && isSameContent(fingerprint, link.storedFingerprint))
    return { ...seen, storedFingerprint: fingerprint };
  const isUntouched = link.drift === null && isSameVersion(link.versionTag, versionTag);
  if (isUntouched)
    return {
      ...written,
      idAttempt,
      remoteId,
      ...(fingerprint === '' ? {} : { storedFingerprint: fingerprint }),
    };
  if (isOtherWrite(link, asFound)) return asWrittenOtherwise(written, asFound);
  const observed = fingerprint === '' ? {} : { observedFingerprint: fingerprint };
  return { ...written, versionTag, idAttempt, remoteId, drift: 'edited', ...observed };
}

/** Returns whether two version tags mean the same version. RFC 9110 section 8.8.3.2: the weak comparison ignores the prefix `W/`. */
function isSameVersion(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && one.replace(/^W\//, '') === other.replace(/^W\//, '');
}

/**
 * Returns the link of an object that holds another write than the last one, for example a late older write. Returns null for other objects.
 */
export function asOtherWrite(link: Link, asFound: Link): Link | null {
  if (!isSameObject(asFound, link)) return null;
  const now = currentLinkOf(link, asFound);
  return isSameContent(now.fingerprint, link.fingerprint) ? null : now;
}

/** Returns whether the object has the revision of another write than the link. */
function isOtherWrite(link: Link, { revision }: Link): boolean {
  return link.revision !== undefined && revision !== undefined && revision !== link.revision;
}

function asWrittenOtherwise({ storedFingerprint: _, ...link }: Link, asFound: Link): Link {
  const { fingerprint, startAt, endAt, versionTag, idAttempt, remoteId } = asFound;
  const revision = Math.max(link.revision ?? 0, asFound.revision ?? 0);
  const content = withSubjectOf(fingerprint, link.fingerprint);
  return { ...link, fingerprint: content, startAt, endAt, versionTag, idAttempt, remoteId, drift: null, revision };
}

/** Returns a link for a deleted object. */
export function withoutObject(link: Link): Link {
  const { observedFingerprint: _, isUnplaced: __, unmarked: ___, ...written } = link;
  return { ...written, versionTag: null, drift: 'removed' };
}

/** Returns the names of manually changed fields, `unknown` for undetectable fields, or `removed`. */
export function fieldsByHand(
  { drift, fingerprint, storedFingerprint, observedFingerprint }: Link,
  identity: TargetIdentity,
): string[] {
  if (drift === null) return [];
  return drift === 'removed'
    ? ['removed']
    : identity.differingFields(storedFingerprint ?? fingerprint, observedFingerprint ?? '');
}

/** Returns a predicate: whether the read proves that a link without a shown object has no object. */
function goneFrom({ reading, identity, window }: AuditInput): (link: Link) => boolean {
  if (reading.scope === 'whole') return (link) => identity.isShown(link, window);
  const removed = new Set(reading.removed);
  return ({ recordId, remoteId, idAttempt }) =>
    removed.size > 0 && removed.has(remoteId ?? identity.key(recordId, idAttempt));
}

/** The object of each record, and surplus objects. */
interface Objects extends Pick<Audit, 'ambiguous' | 'surplus'> {
  found: Map<string, Link>;
  /** Records whose object exists but cannot be read. */
  unread: Set<string>;
}

/** Chooses one object per record: the linked object, or otherwise the most recently written one. */
function* objectsByRecord(input: AuditInput): Pieces<Objects> {
  const { reading, links, identity, window } = input;
  const isGone = goneFrom(input);
  const found = new Map<string, Link>();
  const surplus: Link[] = [];
  const unread = new Set<string>();
  const copies: Link[] = [];
  let ambiguous = 0;
  const names = () => namesOf(identity, links.values());
  yield* eachLink(reading.items, { identity, unreadableStartAt: window.fromAt, names }, (remote, asFound) => {
    if (remote.unreadable === true) {
      if (asFound !== null) unread.add(asFound.recordId);
      return;
    }
    if (asFound === null && isPossiblyForeign(remote)) return;
    const link = asFound === null ? undefined : links.get(asFound.recordId);
    // Without a report of the linked object, the linked object still exists; another object of the record proves nothing about it.
    const isThere = reading.scope === 'since' && link !== undefined && link.drift !== 'removed' && !isGone(link);
    if (asFound === null || (isThere && !isSameObject(asFound, link))) {
      ambiguous += 1;
      if (asFound === null) copies.push(...copyOf(remote, identity, links));
      return;
    }
    const other = found.get(asFound.recordId);
    const isBetter = other === undefined || comesBefore(asFound, other, link);
    if (isBetter) found.set(asFound.recordId, asFound);
    if (other === undefined) return;
    ambiguous += 1;
    surplus.push(isBetter ? other : asFound);
  });
  surplus.push(...copies.filter(({ recordId }) => isSameObject(found.get(recordId), links.get(recordId))));
  return { found, ambiguous, surplus, unread };
}

/** Returns a copy with the marks of a linked record, whose id is no key of the record. */
function copyOf(remote: RemoteItem<Item>, identity: TargetIdentity, links: ReadonlyMap<string, Link>): Link[] {
  const recordId = remote.sealedRecordId === null ? null : identity.recordIdOf(remote.sealedRecordId);
  const link = recordId === null || remote.marksLost === true ? undefined : links.get(recordId);
  if (link === undefined) return [];
  const { remoteId, versionTag, revision } = remote;
  return [{ ...withoutObject(link), remoteId, versionTag, ...(revision === undefined ? {} : { revision }) }];
}

function comesBefore(asFound: Link, other: Link, link: Link | undefined): boolean {
  if (isSameObject(asFound, link) || isSameObject(other, link)) return isSameObject(asFound, link);
  return (asFound.revision ?? 0) > (other.revision ?? 0);
}

/** Returns whether an object is the link's object. */
export function isSameObject(asFound: Link | undefined, link: Link | undefined): boolean {
  if (asFound === undefined || link === undefined || link.isUnplaced === true) return false;
  return asFound.idAttempt === link.idAttempt && asFound.remoteId === link.remoteId;
}

const PARTS = [
  'fingerprint',
  'versionTag',
  'idAttempt',
  'remoteId',
  'isUnplaced',
  'drift',
  'storedFingerprint',
  'observedFingerprint',
  'revision',
  'unmarked',
] as const;

function isSame(link: Link, other: Link): boolean {
  return PARTS.every((part) => link[part] === other[part]);
}
