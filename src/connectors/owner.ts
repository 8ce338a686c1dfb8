import { createHash } from 'node:crypto';
import { base32hex } from '../model/hashes.ts';
import { shared, type VendorErrors } from './errors.ts';

/** For whom a container of ours is, beside its owner tag: told by its description, to whoever has another identity key. */
export interface Owner {
  /** Names tenant and target, whatever the identity key: 16 characters of `[0-9a-v]`. */
  place: string;
  /** Fingerprint of the identity key. */
  key: string;
}

/** The owner of a target's container. @param key fingerprint of the identity key */
export function ownerOf(tenant: string, target: string, key: string): Owner {
  const digest = createHash('sha256')
    .update(`clinic-mirror place ${JSON.stringify([tenant, target])}`)
    .digest();
  return { place: base32hex(digest.subarray(0, 10)), key };
}

/** What a description says of the owner. */
export function ownerText({ place, key }: Owner): string {
  return `[clinic-mirror-for ${place} ${key}]`;
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
export function refuseOtherKey(texts: Iterable<string | null | undefined>, { place, key }: Owner): void {
  for (const text of texts) {
    const found = /\[clinic-mirror-for ([0-9a-v]{16}) ([0-9a-v]{16})\]/.exec(text ?? '');
    if (found?.[1] === place && found[2] !== key) throw shared.make('identity-key-changed');
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
