import { createHash } from 'node:crypto';
import { z } from 'zod';
import { asMirrorError } from '../core/model/errors.ts';
import type { CalendarItem, Item } from '../core/model/items.ts';
import { parseJson } from '../core/model/json.ts';
import type { RemoteItem } from '../core/model/operations.ts';
import { STORED_LIMITS } from '../core/model/stored-limits.ts';
import type { RemoteChanges } from '../engine/ports.ts';
import { mayBeOfOneObject } from './find-apart.ts';

const envelopeSchema = z.object({ container: z.string(), position: z.unknown() });

/**
 * Creates a cursor from the vendor's position in the feed of one container.
 * @param position JSON without patient data
 * @returns null if the cursor is longer than the limit for cursors
 */
export function toCursor(container: string, position: unknown): string | null {
  const envelope: z.infer<typeof envelopeSchema> = { container: nameOf(container), position };
  const cursor = Buffer.from(JSON.stringify(envelope)).toString('base64url');
  return cursor.length > STORED_LIMITS.cursor ? null : cursor;
}

/** Returns the position in a cursor. Returns null without a cursor, for a different container, and for an invalid cursor. */
export function fromCursor<Position>(
  container: string,
  cursor: string | null,
  schema: z.ZodType<Position>,
): Position | null {
  if (cursor === null || cursor.length > STORED_LIMITS.cursor) return null;
  const envelope = envelopeSchema.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString('utf8')));
  if (!envelope.success || envelope.data.container !== nameOf(container)) return null;
  return schema.safeParse(envelope.data.position).data ?? null;
}

/** Hashes the container's id, which can be an e-mail address and therefore must not be in the cursor. */
function nameOf(container: string): string {
  return createHash('sha256').update(container).digest('base64url').slice(0, 16);
}

/**
 * Result of one pass through a feed of changes: ids of events to fetch, ids of events that are no longer own events, and the next position.
 */
interface Round<Position> {
  ids: readonly string[];
  others: readonly string[];
  next: Position | null;
}

/** Access to a vendor's feed of changes. */
export interface Feed<Position> {
  /** Largest number of events to fetch one by one; after more changes, all own events are listed. */
  mostIds: number;
  /**
   * Follows the feed from a position, or with null to the start of the next pass. Returns null if the vendor has no feed or rejects the
   * position.
   */
  follow(position: Position | null): Promise<Round<Position> | null>;
  /** Fetches the existing own events among the ids. */
  readEach(ids: readonly string[]): Promise<RemoteItem[]>;
  /** Fetches all own events, in pages. */
  readAll(): AsyncIterable<RemoteItem[]>;
}

/** Collects all own objects, for a vendor without a feed of changes. */
export async function wholeChanges<Wanted extends Item>(
  pages: AsyncIterable<RemoteItem<Wanted>[]>,
): Promise<RemoteChanges<Wanted>> {
  return { scope: 'whole', items: (await Array.fromAsync(pages)).flat(), removed: [], cursor: null };
}

/**
 * Fetches the changes since a position, or all own events without a position that the vendor accepts. @throws MirrorError a failed page
 * ends the fetch without a cursor
 */
export async function readFeed<Position>(
  container: string,
  position: Position | null,
  { mostIds, follow, readEach, readAll }: Feed<Position>,
): Promise<RemoteChanges<CalendarItem>> {
  const cursorOf = (next: Position | null) => (next === null ? null : toCursor(container, next));
  const round = position === null ? null : await follow(position);
  const items = round === null || round.ids.length > mostIds ? null : await eachOf(round.ids, readEach);
  if (round !== null && items !== null) {
    const there = new Set(items.map(({ remoteId }) => remoteId));
    const removed = [...round.others, ...round.ids.filter((id) => !there.has(id))];
    return { scope: 'since', items, removed, cursor: cursorOf(round.next) };
  }
  // The position is determined first, so that changes during the list are reported twice rather than never.
  const { next } = round ?? (await follow(null)) ?? { next: null };
  return { scope: 'whole', items: (await Array.fromAsync(readAll())).flat(), removed: [], cursor: cursorOf(next) };
}

/** Returns null if one of the objects cannot be read alone: a list shows the others, and whether the object exists. */
async function eachOf(ids: readonly string[], readEach: Feed<unknown>['readEach']): Promise<RemoteItem[] | null> {
  if (ids.length === 0) return [];
  try {
    return await readEach(ids);
  } catch (error) {
    if (mayBeOfOneObject(asMirrorError(error))) return null;
    throw error;
  }
}
