import { createHash } from 'node:crypto';
import { base32hex } from '../model/hashes.ts';
import type { Item } from '../model/items.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../model/operations.ts';
import { type Instant, SECOND_MS } from '../model/time.ts';
import { shared, type VendorErrors } from './errors.ts';

/** What the setting `calendar.create` is. */
export const OWN_CALENDAR = { description: 'Name of a calendar that clinic-mirror creates once.' };

/** For whom a container of ours is, beside its owner tag: told by its description, to whoever has another identity key. */
export interface Owner {
  /** Names tenant and target, whatever the identity key: 16 characters of `[0-9a-v]`. */
  location: string;
  /** Fingerprint of the identity key. */
  key: string;
}

/** The owner of a target's container. @param key fingerprint of the identity key */
export function ownerOf(tenant: string, target: string, key: string): Owner {
  const digest = createHash('sha256')
    .update(`clinic-mirror place ${JSON.stringify([tenant, target])}`)
    .digest();
  return { location: base32hex(digest.subarray(0, 10)), key };
}

/** What a description says of the owner. */
export function ownerText({ location, key }: Owner): string {
  return `[clinic-mirror-for ${location} ${key}]`;
}

/**
 * Of calendars that carry our owner tag, those that are the login's own. Whoever sees a calendar of ours may copy its tag into one of theirs and
 * share that: what patients book would go to them.
 * @throws MirrorError `settings`, code `calendar-of-another`, where all of them are somebody else's
 */
export function ownOfMarked<Found extends { isOfAnother: boolean }>(marked: readonly Found[]): Found[] {
  const own = marked.filter(({ isOfAnother }) => !isOfAnother);
  if (own.length === 0 && marked.length > 0) throw shared.make('calendar-of-another');
  return own;
}

/**
 * To be called before a container is made: one that stands for the same target under another identity key means that the key is wrong.
 * @param texts descriptions of the containers that are there
 * @throws MirrorError `settings`, code `identity-key-changed`
 */
export function refuseOtherKey(texts: Iterable<string | null | undefined>, { location, key }: Owner): void {
  for (const text of texts) {
    const found = /\[clinic-mirror-for ([0-9a-v]{16}) ([0-9a-v]{16})\]/.exec(text ?? '');
    if (found?.[1] === location && found[2] !== key) throw shared.make('identity-key-changed');
  }
}

/** A calendar as its list shows it. */
export interface ListedCalendar {
  id: string;
  /** It carries our owner tag. */
  isMarked: boolean;
  isOfAnother: boolean;
  /** Where the text of its owner stands. */
  ownerText: string | null | undefined;
}

/** The calendars of a login, of a vendor that gives calendars ids. */
export interface Calendars {
  errors: Pick<VendorErrors<'calendar-gone'>, 'make'>;
  owner: Owner | null;
  /** The id of the calendar that is asked for alone; null when there is none. */
  find(id: string): Promise<string | null>;
  list(): Promise<ListedCalendar[]>;
  create(name: string): Promise<string>;
}

/**
 * The calendar to write to: the configured one when it is there, else the one of ours, created when there is none. Nobody
 * is invited or told.
 * @param storedId the id that an earlier call gave, null at first
 * @throws MirrorError `settings`, code `calendar-gone`, for a configured calendar that is not there
 */
export async function prepareCalendar(
  calendars: Calendars,
  calendar: { id: string } | { create: string },
  storedId: string | null,
): Promise<string> {
  const id = 'id' in calendar ? calendar.id : storedId;
  const found = id === null ? null : await calendars.find(id);
  if (found !== null) return found;
  if ('id' in calendar) throw calendars.errors.make('calendar-gone', { status: 404 });
  return (await locateCalendar(calendars)) ?? (await calendars.create(calendar.create));
}

/**
 * The calendar of ours that is there already.
 * @throws MirrorError `settings`, code `identity-key-changed`, when one was made for this target with another key; `calendar-of-another`
 */
export async function locateCalendar({ list, owner }: Pick<Calendars, 'list' | 'owner'>): Promise<string | null> {
  const all = await list();
  const ours = lowestMarked(all);
  const texts = all.map((one) => one.ownerText);
  if (ours === null && owner !== null) refuseOtherKey(texts, owner);
  return ours;
}

/** The lowest id of the login's own calendars that carry our owner tag. @throws MirrorError `settings`, code `calendar-of-another` */
export function lowestMarked(calendars: readonly ListedCalendar[]): string | null {
  const [lowest = null] = ownOfMarked(calendars.filter(({ isMarked }) => isMarked))
    .map(({ id }) => id)
    .sort();
  return lowest;
}

/** What is written on an object of a CRM beside the mapped properties and the key. */
export interface Stamp {
  /** The sealed record id. */
  sealedRecordId: string;
  contactKey: ItemKey | null;
  contactRecreations?: number;
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
  { sealedRecordId, contactKey, contactRecreations, startAt, revision }: Stamp,
): string {
  // A stamp that nobody can read would make a stranger of our own object.
  if (!Number.isFinite(startAt)) throw new RangeError('an item without a start can not be stamped');
  const parts = [ownerTag, sealedRecordId, Math.round(startAt / SECOND_MS).toString(36), contactKey ?? ''];
  if (contactRecreations !== undefined || revision !== undefined) parts.push(contactRecreations?.toString(36) ?? '');
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

/** What of an item stands in its stamp. */
export function belongingOf({
  contactKey,
  contactRecreations,
  startAt,
}: Omit<Stamp, 'sealedRecordId' | 'revision'>): Omit<Stamp, 'sealedRecordId' | 'revision'> {
  return { contactKey, ...(contactRecreations === undefined ? {} : { contactRecreations }), startAt };
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
