import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Item } from '../model/items.ts';
import { parseJson } from '../model/json.ts';
import type { RemoteItem } from '../model/operations.ts';
import type { RemoteChanges } from './connector.ts';

/**
 * Longest cursor that is kept, in characters. Vendors set no limit to what they give; links of Graph are of one or two
 * thousand. With a longer one the feed is as if it had none: the next reading is whole.
 */
export const MAX_CURSOR_LENGTH = 8_192;

const envelopeSchema = z.object({ container: z.string(), position: z.unknown() });

/**
 * A cursor for the caller to keep: a vendor's place in the feed of one container.
 * @param position JSON without patient data
 * @returns null when it is longer than {@link MAX_CURSOR_LENGTH}
 */
export function toCursor(container: string, position: unknown): string | null {
  const envelope: z.infer<typeof envelopeSchema> = { container: nameOf(container), position };
  const cursor = Buffer.from(JSON.stringify(envelope)).toString('base64url');
  return cursor.length > MAX_CURSOR_LENGTH ? null : cursor;
}

/** The place that a cursor stands for; null for none, for another container's and for what is no cursor of this shape. */
export function fromCursor<Position>(
  container: string,
  cursor: string | null,
  schema: z.ZodType<Position>,
): Position | null {
  if (cursor === null || cursor.length > MAX_CURSOR_LENGTH) return null;
  const envelope = envelopeSchema.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString('utf8')));
  if (!envelope.success || envelope.data.container !== nameOf(container)) return null;
  return schema.safeParse(envelope.data.position).data ?? null;
}

/** A container's id can be a mail address, so it is not written into the cursor. */
function nameOf(container: string): string {
  return createHash('sha256').update(container).digest('base64url').slice(0, 16);
}

/** One round through a feed of changes: ids of events to look at, ids of events that are known to be no longer ours, and where the next begins. */
interface Round<Position> {
  ids: readonly string[];
  others: readonly string[];
  next: Position | null;
}

/** How a vendor's feed of changes is read. */
export interface Feed<Position> {
  /** Events that are read one by one; when more changed, all is read. */
  mostIds: number;
  /** Follows the feed from a place, or with null to where the next round begins; null when the vendor has no such feed (any more). */
  follow(position: Position | null): Promise<Round<Position> | null>;
  /** Those of the events that are there and ours. */
  readEach(ids: readonly string[]): Promise<RemoteItem[]>;
  /** All of ours, in pages. */
  readAll(): AsyncIterable<RemoteItem[]>;
}

/** All of ours, where a vendor has no feed of changes. */
export async function wholeChanges<Wanted extends Item>(
  pages: AsyncIterable<RemoteItem<Wanted>[]>,
): Promise<RemoteChanges<Wanted>> {
  return { scope: 'whole', items: (await Array.fromAsync(pages)).flat(), removed: [], cursor: null };
}

/** What changed since a place; all of ours without one that the vendor takes. @throws MirrorError; a page that fails ends the reading without a cursor */
export async function readFeed<Position>(
  container: string,
  position: Position | null,
  { mostIds, follow, readEach, readAll }: Feed<Position>,
): Promise<RemoteChanges> {
  const cursorOf = (next: Position | null) => (next === null ? null : toCursor(container, next));
  const round = position === null ? null : await follow(position);
  if (round !== null && round.ids.length <= mostIds) {
    const items = round.ids.length === 0 ? [] : await readEach(round.ids);
    const there = new Set(items.map(({ remoteId }) => remoteId));
    const removed = [...round.others, ...round.ids.filter((id) => !there.has(id))];
    return { scope: 'since', items, removed, cursor: cursorOf(round.next) };
  }
  // The place comes first: what changes during the listing is told twice rather than never.
  const { next } = round ?? (await follow(null)) ?? { next: null };
  return { scope: 'whole', items: (await Array.fromAsync(readAll())).flat(), removed: [], cursor: cursorOf(next) };
}
