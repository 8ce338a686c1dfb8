import type { Item } from '../model/items.ts';
import type { Link, Operation } from '../model/operations.ts';
import type { OutboxEntry } from '../state/outbox-format.ts';
import { isSameContent } from '../sync/identity.ts';
import type { OpenTarget } from './tenant.ts';

/** The call that brings the target to what the entry wants, given what it holds now; null when it is there already. */
export function operationFor(entry: OutboxEntry, link: Link | null, target: OpenTarget): Operation<Item> | null {
  const { recordId, revision } = entry;
  const idAttempt = Math.max(entry.epoch, link?.epoch ?? 0);
  const key = target.identity.key(recordId, idAttempt);
  if (entry.item === null) {
    const { versionTag = null, remoteId = null } = link ?? {};
    const deletion = { kind: 'delete', recordId, key, revision, versionTag, remoteId } as const;
    // Without a link too: what was deleted before may still be readable in the target's bin.
    if (entry.reason === 'forgotten') return { ...deletion, erase: true };
    return link === null && !entry.sent ? null : deletion;
  }
  const sealedRecordId = target.identity.sealedRecordId(recordId);
  const item = withoutIdleDenials(asMappedNow(entry.item, target), link, entry.fingerprint ?? '', target);
  if (link === null || link.epoch !== idAttempt) {
    const mayExist = entry.sent || entry.reason !== 'new';
    return { kind: 'create', recordId, key, sealedRecordId, item, revision, mayExist };
  }
  const isAsWanted = entry.fingerprint !== null && isSameContent(link.fingerprint, entry.fingerprint);
  if (isAsWanted && link.drift === null && !entry.sent) return null;
  const { versionTag, remoteId } = link;
  return { kind: 'update', recordId, key, sealedRecordId, item, revision, versionTag, remoteId };
}

/** What a target stored, with what it was not told as it was wanted. */
export function wholeOf(stored: Item, wanted: Item | null): Item {
  if (wanted === null || !('properties' in wanted) || !('properties' in stored)) return stored;
  return { ...stored, properties: { ...wanted.properties, ...stored.properties } };
}

/**
 * What waited while the mapping was changed goes out without the properties that are mapped no longer: they may have been taken out
 * since they tell too much. The next plan finds that it differs, and writes the rest.
 */
function asMappedNow(item: Item, { crm }: OpenTarget): Item {
  if (crm === null || !('properties' in item)) return item;
  const names = new Set(crm.mapping.properties.map(({ name }) => name));
  const retained = Object.entries(item.properties).filter(([name]) => names.has(name));
  return { ...item, properties: Object.fromEntries(retained) };
}

/**
 * An item without the refusals that it denies, unless that takes back what we wrote: somebody may have refused in the CRM since, they or who
 * has the same address, which nothing else that is told of the patient takes back.
 */
function withoutIdleDenials(item: Item, link: Link | null, fingerprint: string, { crm, identity }: OpenTarget): Item {
  if (crm === null || crm.refusals.length === 0 || !('properties' in item)) return item;
  const changed = link === null ? [] : identity.differingFields(link.fingerprint, fingerprint);
  const isIdle = (name: string) =>
    crm.refusals.some(({ property }) => property === name) && item.properties[name] !== true && !changed.includes(name);
  const retained = Object.entries(item.properties).filter(([name]) => !isIdle(name));
  return { ...item, properties: Object.fromEntries(retained) };
}
