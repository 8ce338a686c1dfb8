import { createHash } from 'node:crypto';
import { base32hex } from '../core/model/hashes.ts';
import type { Item } from '../core/model/items.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../core/model/operations.ts';
import { type Instant, SECOND_MS } from '../core/model/time.ts';
import { shared, type VendorErrors } from './errors.ts';
import { fromRevisionText, type Owned, ownedPart, toRevisionText, withRevision } from './labels.ts';

/** Description of the setting `calendar.create`. */
export const OWN_CALENDAR = { description: 'Name of a calendar that clinic-mirror creates once.' };

/** Owner of a container, in addition to its owner tag, readable in its description without the identity key. */
export interface Owner {
  /** Identifies tenant and target independently of the identity key: 16 characters of `[0-9a-v]`. */
  location: string;
  /** Fingerprint of the identity key. */
  key: string;
}

/** Returns the owner of a target's container. @param key fingerprint of the identity key */
export function ownerOf(tenant: string, target: string, key: string): Owner {
  const digest = createHash('sha256')
    .update(`clinic-mirror place ${JSON.stringify([tenant, target])}`)
    .digest();
  return { location: base32hex(digest.subarray(0, 10)), key };
}

/** Returns the owner's text for a description. */
export function ownerText({ location, key }: Owner): string {
  return `[clinic-mirror-for ${location} ${key}]`;
}

/**
 * Returns the account's own calendars among those with the owner tag. Any user with access to a calendar may copy its tag into a calendar
 * of a different account and share that calendar, which would then receive patients' appointments.
 * @throws MirrorError `settings`, code `calendar-of-another`, if all belong to other accounts
 */
export function ownOfMarked<Found extends { isOfAnother: boolean }>(marked: readonly Found[]): Found[] {
  const own = marked.filter(({ isOfAnother }) => !isOfAnother);
  if (own.length === 0 && marked.length > 0) throw shared.make('calendar-of-another');
  return own;
}

/**
 * Prevents a second container for a target: must be called before a container is created. A container from a different identity key means
 * that the key is wrong.
 * @param texts descriptions of the existing containers
 * @throws MirrorError `settings`, code `identity-key-changed`
 */
export function refuseOtherKey(texts: Iterable<string | null | undefined>, { location, key }: Owner): void {
  for (const text of texts) {
    const found = /\[clinic-mirror-for ([0-9a-v]{16}) ([0-9a-v]{16})\]/.exec(text ?? '');
    if (found?.[1] === location && found[2] !== key) throw shared.make('identity-key-changed');
  }
}

/** Calendar in a list of calendars. */
export interface ListedCalendar {
  id: string;
  /** Whether the calendar has the owner tag. */
  isMarked: boolean;
  isOfAnother: boolean;
  /** Field that contains the owner's text. */
  ownerText: string | null | undefined;
}

/** Calendars of a connection, for a vendor whose calendars have ids. */
export interface Calendars {
  errors: Pick<VendorErrors<'calendar-gone'>, 'make'>;
  owner: Owner | null;
  /** Returns the id of a requested calendar, or null. */
  find(id: string): Promise<string | null>;
  list(): Promise<ListedCalendar[]>;
  create(name: string): Promise<string>;
}

/**
 * Returns the calendar to write to: the configured calendar, or the dedicated calendar, which is created if absent, or null without
 * `creates`. No one is invited or notified.
 * @param storedId id from an earlier call, null at first
 * @throws MirrorError `settings`: `calendar-gone` if the configured calendar is absent; `identity-key-changed` if an earlier identity key
 * created a calendar for this target; `calendar-of-another`
 */
export async function prepareCalendar(
  calendars: Calendars,
  calendar: { id: string } | { create: string },
  storedId: string | null,
  { creates }: { creates: boolean },
): Promise<string | null> {
  const id = 'id' in calendar ? calendar.id : storedId;
  const found = id === null ? null : await calendars.find(id);
  if (found !== null) return found;
  if ('id' in calendar) throw calendars.errors.make('calendar-gone', { status: 404 });
  return (await locateCalendar(calendars)) ?? (creates ? await calendars.create(calendar.create) : null);
}

/** Returns the existing dedicated calendar by its owner tag. */
async function locateCalendar({ list, owner }: Pick<Calendars, 'list' | 'owner'>): Promise<string | null> {
  const all = await list();
  const ours = lowestMarked(all);
  const texts = all.map((one) => one.ownerText);
  if (ours === null && owner !== null) refuseOtherKey(texts, owner);
  return ours;
}

/** Returns the lowest id of the account's own calendars with the owner tag. @throws MirrorError `settings`, code `calendar-of-another` */
export function lowestMarked(calendars: readonly ListedCalendar[]): string | null {
  const [lowest = null] = ownOfMarked(calendars.filter(({ isMarked }) => isMarked))
    .map(({ id }) => id)
    .sort();
  return lowest;
}

/** Data on a CRM object in addition to the mapped properties and the key. */
export interface Stamp {
  sealedRecordId: string;
  contactKey: ItemKey | null;
  contactRecreations?: number;
  startAt: Instant;
  /** Revision of the write; absent if unknown. */
  revision?: number;
}

const SEPARATOR = '.';

/**
 * Returns the stamp of a CRM object, which identifies own objects and their records: owner tag, encrypted record id, start in seconds (base
 * 36), the contact's key, the contact's generation if above 0, and the write's revision. The stamp consists of letters, digits, `-`, `_`
 * and `.`: about 115 characters for a short id, 160 for a UUID.
 */
export function toStamp(
  ownerTag: string,
  { sealedRecordId, contactKey, contactRecreations, startAt, revision }: Stamp,
): string {
  // With an invalid stamp, an own object would look foreign.
  if (!Number.isFinite(startAt)) throw new RangeError('an object without a start cannot be stamped');
  const parts = [ownerTag, sealedRecordId, Math.round(startAt / SECOND_MS).toString(36), contactKey ?? ''];
  if (contactRecreations !== undefined || revision !== undefined) parts.push(contactRecreations?.toString(36) ?? '');
  if (revision !== undefined) parts.push(toRevisionText(revision));
  return parts.join(SEPARATOR);
}

/** Parses a stamp. Returns null for an empty or damaged stamp, and for a foreign owner tag. */
export function fromStamp(ownerTag: string, text: unknown): Stamp | null {
  if (typeof text !== 'string') return null;
  const [itsMark, sealedRecordId, start, contactKey, recreations, written, ...more] = text.split(SEPARATOR);
  if (itsMark !== ownerTag || !sealedRecordId || start === undefined || contactKey === undefined || more.length > 0)
    return null;
  const seconds = Number.parseInt(start, 36);
  if (!/^-?[0-9a-z]+$/.test(start) || !Number.isSafeInteger(seconds)) return null;
  if (!/^[0-9a-v]*$/.test(contactKey)) return null;
  // If a contact was never created again, its part is empty when a revision follows.
  const hasRecreations = recreations !== undefined && (recreations !== '' || written === undefined);
  if (hasRecreations && !/^[1-9a-z][0-9a-z]{0,5}$/.test(recreations)) return null;
  const revision = fromRevisionText(written);
  if (written !== undefined && revision === undefined) return null;
  const again = hasRecreations ? { contactRecreations: Number.parseInt(recreations, 36) } : {};
  const startAt = seconds * SECOND_MS;
  return {
    sealedRecordId,
    contactKey: contactKey === '' ? null : contactKey,
    ...again,
    startAt,
    ...withRevision(revision),
  };
}

/**
 * Decides whose a CRM object is. With a stamp of this target it is ours, with one of another target foreign. Otherwise it is bare: a user
 * damaged or cleared the stamp, or a user created the object. The key then decides, since only clinic-mirror can produce the key.
 */
export function ownedByStamp(
  ownerTag: string,
  text: unknown,
): { owner: 'ours'; stamp: Stamp } | { owner: 'bare' | 'foreign'; stamp: null } {
  const stamp = fromStamp(ownerTag, text);
  if (stamp !== null) return { owner: 'ours', stamp };
  return { owner: isStampOfAnother(ownerTag, text) ? 'foreign' : 'bare', stamp };
}

/** Returns the part of an own object that its stamp decides, in the contract's form. */
export function stampedPart(stamp: Stamp | null): Pick<Owned, 'sealedRecordId' | 'revision'> {
  return ownedPart(stamp ?? { sealedRecordId: null });
}

/** Returns the stamped parts of an item. */
export function belongingOf({
  contactKey,
  contactRecreations,
  startAt,
}: Omit<Stamp, 'sealedRecordId' | 'revision'>): Omit<Stamp, 'sealedRecordId' | 'revision'> {
  return { contactKey, ...(contactRecreations === undefined ? {} : { contactRecreations }), startAt };
}

const WHOLE_STAMP = /^[0-9a-v]{16}\.[\w-]+\.-?[0-9a-z]+\.[0-9a-v]*(?:\.[0-9a-z]+|\.[0-9a-z]*\.[0-9a-z]+)?$/;

/** Checks whether a text is the stamp of a different target: its object is foreign, even with a known key. */
export function isStampOfAnother(ownerTag: string, text: unknown): boolean {
  return typeof text === 'string' && WHOLE_STAMP.test(text) && !text.startsWith(`${ownerTag}${SEPARATOR}`);
}

/**
 * Returns the outcome of an operation whose object has the stamp of a later write, or null if the operation may continue. An erasure always
 * continues, since a patient requested the erasure.
 * @param remote an object with the owner tag
 * @param isDeleted whether the object is deleted but still readable
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
