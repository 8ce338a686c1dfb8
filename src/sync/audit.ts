import type { Item } from '../model/items.ts';
import type { Link, RemoteItem } from '../model/operations.ts';
import { eachInPieces, type Pieces } from '../model/pieces.ts';
import type { PendingChange } from '../model/plan.ts';
import { hasPassed, type TimeWindow } from '../model/time.ts';
import { linkOf } from './adopt.ts';
import { isSameContent, type TargetIdentity } from './identity.ts';

/** What a target tells of its objects. */
export interface TargetReading {
  /** `whole`: all of ours that overlap the window. `since`: what isn't named is as it was at the last reading. */
  scope: 'whole' | 'since';
  items: readonly RemoteItem<Item>[];
  /** With `since`: remote ids of objects that are gone. */
  removed: readonly string[];
}

/** What a reading is compared with. */
export interface AuditInput {
  reading: TargetReading;
  links: ReadonlyMap<string, Link>;
  pending: ReadonlyMap<string, PendingChange>;
  identity: TargetIdentity;
  window: TimeWindow;
}

/** What a target holds, compared with what it was given. */
export interface Audit {
  /** Links that the reading speaks for. */
  checked: number;
  /** Links whose objects people touched, those found earlier included; none that has something on its way. */
  edited: Link[];
  removed: Link[];
  /** Those of them of which no drift was known before. */
  touched: Link[];
  /** Links to be stored: drift noted and cleared, and what was learned of objects that nobody touched. */
  changed: Link[];
  /** Objects of ours in the window that no link tells of: their links, to be planned like any other. */
  unlinked: Link[];
  /** Links without an object as far as the reading tells, those that wait included: one moved out of the window is among them. */
  missing: Link[];
  /** Links with drift, those included that have something on their way. */
  drifted: Link[];
  /** Objects that hold another write of ours than the last one: to be planned again, whatever is done about changes by hand. */
  overwritten: number;
  /** The highest revision that an object carries. */
  revision: number;
  /** Objects with our owner tag beside the linked one of their record, or of no record. */
  ambiguous: number;
  /** Those of them that carry a key of their record and were shown together with its other object, as links. */
  surplus: Link[];
}

/**
 * Compares what a target tells with the links, and notes what people did as drift. It lasts until the object is as we wrote it again.
 * Records with something on its way are noted too, since a feed names a change only once, but not counted: they are about to change.
 */
export function* audit(input: AuditInput): Pieces<Audit> {
  const { links, pending, window, reading } = input;
  const { found, ambiguous, surplus } = yield* objectsByRecord(input);
  const revision = reading.items.reduce((highest, item) => Math.max(highest, item.revision ?? 0), 0);
  const result: Audit = { ...nothingFound(), ambiguous, surplus, revision };
  const isGone = goneFrom(input);
  yield* eachInPieces(links.values(), (link) => {
    const asFound = found.get(link.recordId);
    const isMissing = asFound === undefined && isGone(link);
    if (isMissing) result.missing.push(link);
    const now = asFound !== undefined ? currentLinkOf(link, asFound) : isMissing ? withoutObject(link) : link;
    if (!isSame(link, now)) result.changed.push(now);
    if (now.drift !== null) result.drifted.push(now);
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

function nothingFound(): Omit<Audit, 'ambiguous' | 'revision' | 'surplus'> {
  return {
    checked: 0,
    overwritten: 0,
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
 * A link as its object stands. What a target stores differently from what it was sent is no edit: it is known by our last write's
 * answer, or by a version tag that is still that of our last write. Nor is content that carries the revision of another write: then it is
 * that write, come late, or of a state that was lost since, that the target holds, and the next plan compares with it.
 */
export function currentLinkOf(link: Link, asFound: Link): Link {
  const { observedFingerprint: _, isUnplaced: __, ...stored } = link;
  const { fingerprint, versionTag, idAttempt, remoteId } = asFound;
  const isAnother = remoteId !== null && stored.remoteId !== null && remoteId !== stored.remoteId;
  const written = isAnother ? { ...stored, recreations: (stored.recreations ?? 0) + 1 } : stored;
  const revision = Math.max(link.revision ?? 0, asFound.revision ?? 0);
  const seen = {
    ...written,
    versionTag,
    idAttempt,
    remoteId,
    drift: null,
    ...(revision === 0 ? {} : { revision }),
  };
  // Stored again as it was found: a fingerprint of an older version tells less.
  if (isSameContent(fingerprint, link.fingerprint)) return { ...seen, fingerprint };
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

/** Whether two version tags are of one version, by the weak comparison of RFC 9110 section 8.8.3.2: a weak tag says how it may be used. */
function isSameVersion(one: string | null, other: string | null): boolean {
  return one !== null && other !== null && one.replace(/^W\//, '') === other.replace(/^W\//, '');
}

/** The link of an object that holds another write of ours than the last one, as when an older one came late; null when it doesn't. */
export function asOtherWrite(link: Link, asFound: Link): Link | null {
  if (!isSameObject(asFound, link)) return null;
  const now = currentLinkOf(link, asFound);
  return isSameContent(now.fingerprint, link.fingerprint) ? null : now;
}

/** Whether an object carries the stamp of another write of ours than the link tells of. */
function isOtherWrite(link: Link, { revision }: Link): boolean {
  return link.revision !== undefined && revision !== undefined && revision !== link.revision;
}

function asWrittenOtherwise({ storedFingerprint: _, ...link }: Link, asFound: Link): Link {
  const { fingerprint, startAt, endAt, versionTag, idAttempt, remoteId } = asFound;
  const revision = Math.max(link.revision ?? 0, asFound.revision ?? 0);
  return { ...link, fingerprint, startAt, endAt, versionTag, idAttempt, remoteId, drift: null, revision };
}

/** A link whose object is gone. */
export function withoutObject(link: Link): Link {
  const { observedFingerprint: _, isUnplaced: __, ...written } = link;
  return { ...written, versionTag: null, drift: 'removed' };
}

/** Names of what a person changed: fields of the item, `unknown` where they can't be told, or `removed`. */
export function fieldsByHand(
  { drift, fingerprint, storedFingerprint, observedFingerprint }: Link,
  identity: TargetIdentity,
): string[] {
  if (drift === null) return [];
  return drift === 'removed'
    ? ['removed']
    : identity.differingFields(storedFingerprint ?? fingerprint, observedFingerprint ?? '');
}

/** Whether a reading tells that a link which it doesn't show has no object. */
function goneFrom({ reading, identity, window }: AuditInput): (link: Link) => boolean {
  if (reading.scope === 'whole') return (link) => identity.isShown(link, window);
  const removed = new Set(reading.removed);
  return ({ recordId, remoteId, idAttempt }) =>
    removed.size > 0 && removed.has(remoteId ?? identity.key(recordId, idAttempt));
}

/** What stands for each record, and what does so beside it. */
interface Objects extends Pick<Audit, 'ambiguous' | 'surplus'> {
  found: Map<string, Link>;
}

/** Of several objects for one record it is the linked one that counts, else the one that was written last. */
function* objectsByRecord(input: AuditInput): Pieces<Objects> {
  const { reading, links, identity, window } = input;
  const isGone = goneFrom(input);
  const found = new Map<string, Link>();
  const surplus: Link[] = [];
  let ambiguous = 0;
  yield* eachInPieces(reading.items, (remote) => {
    const asFound = linkOf(remote, identity, window.fromAt);
    const link = asFound === null ? undefined : links.get(asFound.recordId);
    // What isn't named is still there: of another object for its record nothing can be said of the linked one.
    const isThere = reading.scope === 'since' && link !== undefined && link.drift !== 'removed' && !isGone(link);
    if (asFound === null || (isThere && !isSameObject(asFound, link))) {
      ambiguous += 1;
      return;
    }
    const other = found.get(asFound.recordId);
    const isBetter = other === undefined || comesBefore(asFound, other, link);
    if (isBetter) found.set(asFound.recordId, asFound);
    if (other === undefined) return;
    ambiguous += 1;
    surplus.push(isBetter ? other : asFound);
  });
  return { found, ambiguous, surplus };
}

function comesBefore(asFound: Link, other: Link, link: Link | undefined): boolean {
  if (isSameObject(asFound, link) || isSameObject(other, link)) return isSameObject(asFound, link);
  return (asFound.revision ?? 0) > (other.revision ?? 0);
}

/** Whether an object is the one that a link tells of. */
export function isSameObject(asFound: Link, link: Link | undefined): boolean {
  if (link === undefined || link.isUnplaced === true) return false;
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
] as const;

function isSame(link: Link, other: Link): boolean {
  return PARTS.every((part) => link[part] === other[part]);
}
