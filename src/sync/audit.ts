import type { Item } from '../model/items.ts';
import type { Link, RemoteItem } from '../model/operations.ts';
import { eachInPieces, type Pieces } from '../model/pieces.ts';
import type { PendingChange } from '../model/plan.ts';
import { hasLeft, type TimeWindow } from '../model/time.ts';
import { linkOf } from './adopt.ts';
import { isSameContent, type TargetIdentity } from './identity.ts';

/** What a target tells of its objects. */
export interface Reading {
  /** `whole`: all of ours that overlap the window. `since`: what isn't named is as it was at the last reading. */
  scope: 'whole' | 'since';
  items: readonly RemoteItem<Item>[];
  /** With `since`: remote ids of objects that are gone. */
  removed: readonly string[];
}

/** What a reading is compared with. */
export interface AuditInput {
  reading: Reading;
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
  /** Those of them that were not marked before. */
  touched: Link[];
  /** Links to be stored: marks set and cleared, and what was learned of objects that nobody touched. */
  changed: Link[];
  /** Objects of ours in the window that no link tells of: their links, to be planned like any other. */
  unlinked: Link[];
  /** Links without an object as far as the reading tells, those that wait included: one moved out of the window is among them. */
  missing: Link[];
  /** Marked links, those included that have something on their way. */
  marked: Link[];
  /** Objects with our mark beside the linked one of their record, or of no record: for a person to look at. */
  ambiguous: number;
}

/**
 * Compares what a target tells with the links, and marks what people did. A mark lasts until the object is as we wrote it again. Records
 * with something on its way are marked too, since a feed names a change only once, but not counted: they are about to change.
 */
export function* audit(input: AuditInput): Pieces<Audit> {
  const { links, pending, window, reading } = input;
  const { found, ambiguous } = yield* objectsByRecord(input);
  const result: Audit = { ...nothingFound(), ambiguous };
  const isGone = goneFrom(input);
  yield* eachInPieces(links.values(), (link) => {
    const asFound = found.get(link.recordId);
    const isMissing = asFound === undefined && isGone(link);
    if (isMissing) result.missing.push(link);
    const now = asFound !== undefined ? asItStands(link, asFound) : isMissing ? withoutObject(link) : link;
    if (!isSame(link, now)) result.changed.push(now);
    if (now.drift !== null) result.marked.push(now);
    if (pending.has(link.recordId)) return;
    if (reading.scope === 'since' || asFound !== undefined || isMissing) result.checked += 1;
    if (now.drift === 'edited') result.edited.push(now);
    if (now.drift === 'removed') result.removed.push(now);
    if (now.drift !== null && link.drift === null) result.touched.push(now);
  });
  for (const asFound of found.values()) {
    const isNew = !links.has(asFound.recordId) && !pending.has(asFound.recordId);
    if (isNew && !hasLeft(asFound, window)) result.unlinked.push(asFound);
  }
  return result;
}

function nothingFound(): Omit<Audit, 'ambiguous'> {
  return { checked: 0, edited: [], removed: [], touched: [], changed: [], unlinked: [], missing: [], marked: [] };
}

/**
 * A link as its object stands. What a target stores differently from what it was sent is no edit: it is known by our last write's
 * answer, or by a version tag that is still that of our last write.
 */
export function asItStands(link: Link, asFound: Link): Link {
  const { found: _, ...known } = link;
  const { fingerprint, versionTag, epoch, remoteId } = asFound;
  const isAnother = remoteId !== null && known.remoteId !== null && remoteId !== known.remoteId;
  const written = isAnother ? { ...known, generation: (known.generation ?? 0) + 1 } : known;
  const seen = { ...written, versionTag, epoch, remoteId, drift: null };
  // Stored anew as it was found: a fingerprint of an older version tells less.
  if (isSameContent(fingerprint, link.fingerprint)) return { ...seen, fingerprint };
  if (link.echo !== undefined && isSameContent(fingerprint, link.echo)) return { ...seen, echo: fingerprint };
  const isUntouched = link.drift === null && link.versionTag !== null && link.versionTag === versionTag;
  if (isUntouched) return fingerprint === '' ? link : { ...written, epoch, remoteId, echo: fingerprint };
  const found = fingerprint === '' ? {} : { found: fingerprint };
  return { ...written, versionTag, epoch, remoteId, drift: 'edited', ...found };
}

/** A link whose object is gone. */
export function withoutObject(link: Link): Link {
  const { found: _, ...written } = link;
  return { ...written, versionTag: null, drift: 'removed' };
}

/** Names of what a person changed: fields of the item, `unknown` where they can't be told, or `removed`. */
export function fieldsByHand({ drift, fingerprint, echo, found }: Link, identity: TargetIdentity): string[] {
  if (drift === null) return [];
  return drift === 'removed' ? ['removed'] : identity.differingFields(echo ?? fingerprint, found ?? '');
}

/** Whether a reading tells that a link which it doesn't show has no object. */
function goneFrom({ reading, links, identity, window }: AuditInput): (link: Link) => boolean {
  if (reading.scope === 'whole') return (link) => identity.isShown(link, window);
  const removed = new Set(reading.removed);
  if (removed.size === 0 || links.size === 0) return () => false;
  return ({ recordId, remoteId, epoch }) => removed.has(remoteId ?? identity.key(recordId, epoch));
}

/** Of several objects for one record it is the linked one that counts; the others are for a person to look at. */
function* objectsByRecord(input: AuditInput): Pieces<{ found: Map<string, Link>; ambiguous: number }> {
  const { reading, links, identity, window } = input;
  const isGone = goneFrom(input);
  const found = new Map<string, Link>();
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
    const { recordId } = asFound;
    if (found.has(recordId)) ambiguous += 1;
    if (!found.has(recordId) || isSameObject(asFound, link)) found.set(recordId, asFound);
  });
  return { found, ambiguous };
}

function isSameObject(asFound: Link, link: Link | undefined): boolean {
  return link !== undefined && asFound.epoch === link.epoch && asFound.remoteId === link.remoteId;
}

const PARTS = ['fingerprint', 'versionTag', 'epoch', 'remoteId', 'drift', 'echo', 'found'] as const;

function isSame(link: Link, other: Link): boolean {
  return PARTS.every((part) => link[part] === other[part]);
}
