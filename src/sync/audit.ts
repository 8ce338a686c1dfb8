import type { Link, RemoteItem } from '../model/operations.ts';
import type { PendingChange } from '../model/plan.ts';
import type { TimeWindow } from '../model/time.ts';
import { linkOf } from './adopt.ts';
import { differingFields, type TargetIdentity } from './identity.ts';

/** An object that somebody edited: what it is now, and in which fields it differs from what we wrote. */
export interface EditedObject {
  link: Link;
  /** The link as the object stands: its own fingerprint and version tag. The start stays the one that was written. */
  asFound: Link;
  /** Empty for an object that an earlier audit marked and no plan has restored yet. */
  fields: readonly string[];
}

/** What a target holds, compared with what it was given. */
export interface Audit {
  checked: number;
  edited: EditedObject[];
  removed: Link[];
  /** Objects of ours in the window that no link tells of: their links, to be planned like any other. */
  unlinked: Link[];
  ambiguous: number;
}

/**
 * Compares a target's own objects with its links. Records with something on its way are left out: their objects are about to change.
 * An object whose version tag is still the one of our last write is as we wrote it, however the provider spells its content, so what
 * a provider stores differently never counts as an edit.
 */
export function audit(input: {
  remoteItems: Iterable<RemoteItem>;
  links: ReadonlyMap<string, Link>;
  pending: ReadonlyMap<string, PendingChange>;
  identity: TargetIdentity;
  window: TimeWindow;
}): Audit {
  const { links, pending, window } = input;
  const { found, ambiguous } = objectsByRecord(input);
  const result: Audit = { checked: 0, edited: [], removed: [], unlinked: [], ambiguous };
  for (const asFound of found.values()) {
    if (pending.has(asFound.recordId)) continue;
    const link = links.get(asFound.recordId);
    if (link !== undefined) compare(link, asFound, result);
    else if (asFound.startAt >= window.fromAt) result.unlinked.push(asFound);
  }
  for (const link of links.values()) {
    if (found.has(link.recordId) || pending.has(link.recordId)) continue;
    result.checked += 1;
    result.removed.push(link);
  }
  return result;
}

/** Of several objects for one record it is the linked one that counts; the others are for a person to look at. */
function objectsByRecord({ remoteItems, links, identity, window }: Parameters<typeof audit>[0]) {
  const found = new Map<string, Link>();
  let ambiguous = 0;
  for (const remote of remoteItems) {
    const asFound = linkOf(remote, identity, window.fromAt);
    if (asFound === null) {
      ambiguous += 1;
      continue;
    }
    const { recordId } = asFound;
    if (found.has(recordId)) ambiguous += 1;
    if (!found.has(recordId) || isSameObject(asFound, links.get(recordId))) found.set(recordId, asFound);
  }
  return { found, ambiguous };
}

function isSameObject(asFound: Link, link: Link | undefined): boolean {
  return link !== undefined && asFound.epoch === link.epoch && asFound.remoteId === link.remoteId;
}

function compare(link: Link, asFound: Link, result: Audit): void {
  result.checked += 1;
  const untouched = link.versionTag !== null && link.versionTag === asFound.versionTag;
  const same = untouched || asFound.fingerprint === link.fingerprint;
  if (same && link.drift !== 'edited') return;
  result.edited.push({
    link,
    asFound: { ...asFound, startAt: link.startAt },
    fields: same ? [] : differingFields(link.fingerprint, asFound.fingerprint),
  });
}
