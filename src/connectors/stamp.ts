import type { Item } from '../model/items.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../model/operations.ts';
import { type Instant, SECOND_MS } from '../model/time.ts';

/** What is written on an object of a CRM beside the mapped properties and the key. */
export interface Stamp {
  /** The sealed record id. */
  sealedRecordId: string;
  contactKey: ItemKey | null;
  contactGeneration?: number;
  startAt: Instant;
  /** Of the write that made the object so; absent where it is not known. */
  revision?: number;
}

const SEPARATOR = '.';

/**
 * The one text by which an object of a CRM is known as ours and its record found again: owner tag, sealed record id, start in seconds
 * (base 36), the contact's key, its generation where that is above 0, and the write's revision. Letters, digits, `-`, `_` and `.`; about
 * 115 characters for a short id, 160 for a UUID.
 */
export function toStamp(
  ownerTag: string,
  { sealedRecordId, contactKey, contactGeneration, startAt, revision }: Stamp,
): string {
  // A stamp that nobody can read would make a stranger of our own object.
  if (!Number.isFinite(startAt)) throw new RangeError('an item without a start can not be stamped');
  const parts = [ownerTag, sealedRecordId, Math.round(startAt / SECOND_MS).toString(36), contactKey ?? ''];
  if (contactGeneration !== undefined || revision !== undefined) parts.push(contactGeneration?.toString(36) ?? '');
  if (revision !== undefined) parts.push(toRevisionText(revision));
  return parts.join(SEPARATOR);
}

/** Reads a stamp; null for an empty or damaged one, and for one with another owner tag: the object is not ours. */
export function fromStamp(ownerTag: string, text: unknown): Stamp | null {
  if (typeof text !== 'string') return null;
  const [itsMark, sealedRecordId, start, contactKey, recreations, written, ...more] = text.split(SEPARATOR);
  if (itsMark !== ownerTag || !sealedRecordId || start === undefined || contactKey === undefined || more.length > 0)
    return null;
  const seconds = Number.parseInt(start, 36);
  if (!/^-?[0-9a-z]+$/.test(start) || !Number.isSafeInteger(seconds)) return null;
  if (!/^[0-9a-v]*$/.test(contactKey)) return null;
  // A contact that was never made again leaves its part empty where a revision follows.
  const hasRecreations = recreations !== undefined && (recreations !== '' || written === undefined);
  if (hasRecreations && !/^[1-9a-z][0-9a-z]{0,5}$/.test(recreations)) return null;
  const revision = fromRevisionText(written);
  if (written !== undefined && revision === undefined) return null;
  const again = hasRecreations ? { contactGeneration: Number.parseInt(recreations, 36) } : {};
  const startAt = seconds * SECOND_MS;
  return {
    sealedRecordId,
    contactKey: contactKey === '' ? null : contactKey,
    ...again,
    startAt,
    ...withRevision(revision),
  };
}

/** What of an item stands in its stamp. */
export function belongingOf({
  contactKey,
  contactGeneration,
  startAt,
}: Omit<Stamp, 'sealedRecordId' | 'revision'>): Omit<Stamp, 'sealedRecordId' | 'revision'> {
  return { contactKey, ...(contactGeneration === undefined ? {} : { contactGeneration }), startAt };
}

const WHOLE_STAMP = /^[0-9a-v]{16}\.[\w-]+\.-?[0-9a-z]+\.[0-9a-v]*(?:\.[0-9a-z]+|\.[0-9a-z]*\.[0-9a-z]+)?$/;

/**
 * Whether a text is the stamp of another target: its object is not ours, even under our key. What is no stamp is one that somebody
 * damaged or emptied: the key, which only we can make, decides then.
 */
export function isStampOfAnother(ownerTag: string, text: unknown): boolean {
  return typeof text === 'string' && WHOLE_STAMP.test(text) && !text.startsWith(`${ownerTag}${SEPARATOR}`);
}

/** Eight digits: whatever is longer would not survive the counter's arithmetic, and counts as no stamp. */
const REVISION = /^[1-9a-z][0-9a-z]{0,7}$/;

/** A revision as it is stamped on an object: base 36. */
export function toRevisionText(revision: number): string {
  return revision.toString(36);
}

/** Reads a stamped revision; undefined when there is none, or nothing that we write. */
export function fromRevisionText(text: unknown): number | undefined {
  return typeof text === 'string' && REVISION.test(text) ? Number.parseInt(text, 36) : undefined;
}

/** As a part of an object that may have no revision. */
export function withRevision(revision: number | undefined): { revision?: number } {
  return revision === undefined ? {} : { revision };
}

/**
 * The outcome of an operation whose object carries the stamp of a later write; null when it may go on. An erasure goes on whatever was
 * written since: a person asked for it.
 * @param remote an object that carries our owner tag
 * @param isDeleted it can be read still, and is there no more
 */
export function supersededBy<Wanted extends Item>(
  operation: Operation<Wanted>,
  remote: RemoteItem<Wanted>,
  isDeleted = false,
): Outcome<Wanted> | null {
  const { revision } = remote;
  const isErasure = operation.kind === 'delete' && operation.erase === true;
  if (isErasure || revision === undefined || revision <= operation.revision) return null;
  return { recordId: operation.recordId, result: 'superseded', revision, remote: isDeleted ? null : remote };
}
