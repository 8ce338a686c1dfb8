import type { Link, RemoteItem } from '../model/operations.ts';
import type { PendingChange } from '../model/plan.ts';
import type { Instant, TimeWindow } from '../model/time.ts';
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
  const { identity, links, pending, window } = input;
  const result: Audit = { checked: 0, edited: [], removed: [], unlinked: [], ambiguous: 0 };
  const seen = new Map<string, Instant>();
  for (const remote of input.remoteItems) {
    const asFound = linkOf(remote, identity, window.fromAt);
    if (asFound === null || seen.has(asFound.recordId)) {
      result.ambiguous += 1;
      continue;
    }
    seen.set(asFound.recordId, asFound.startAt);
    if (pending.has(asFound.recordId)) continue;
    const link = links.get(asFound.recordId);
    if (link !== undefined) compare(link, asFound, result);
    else if (asFound.startAt >= window.fromAt) result.unlinked.push(asFound);
  }
  for (const link of links.values()) {
    if (seen.has(link.recordId) || pending.has(link.recordId)) continue;
    result.checked += 1;
    result.removed.push(link);
  }
  return result;
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
