import { createHash, hash } from 'node:crypto';
import { z } from 'zod';
import { readJson } from '../http/json.ts';
import type { Item } from '../model/items.ts';
import { parseJson } from '../model/json.ts';
import type { RemoteItem } from '../model/operations.ts';
import type { Instant } from '../model/time.ts';
import type { RemoteChanges } from './connector.ts';

/** One call to a vendor's API, as it goes into a batch. */
export interface WireCall {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query, as the vendor's batches want it. */
  path: string;
  /** Sent as If-Match when set. */
  ifMatch?: string | null;
  /** Sent as JSON. */
  body?: object;
  /** Sent in a request of its own: a batch answered that the call did not go together with the others. */
  alone?: boolean;
}

/** What the vendor answered to one call, in a batch or alone. */
export interface WireResponse {
  status: number;
  /** The parsed JSON body; undefined when there was none or it was not JSON. */
  body: unknown;
  /** What the answer asks us to wait, in milliseconds. */
  retryAfterMs: number | null;
  /** When the request went out, by the vendor's clock; absent where nobody asks for it. */
  sentAt?: Instant;
}

/** Whether the call was carried out. */
export function isSuccess(answer: WireResponse): boolean {
  return answer.status >= 200 && answer.status < 300;
}

/** The JSON of an answer. An unreadable body matters only where one was promised: a refusal speaks by its status. */
export function bodyOf(answer: Parameters<typeof readJson>[0] & { status: number }, label: string): unknown {
  if (answer.status === 204) return undefined;
  try {
    return readJson(answer, label);
  } catch (error) {
    if (answer.status >= 200 && answer.status < 300) throw error;
    return undefined;
  }
}

/** More pages than any reading that comes to an end has: at a hundred objects a page two million. Our choice. */
const MOST_PAGES = 20_000;

/**
 * Guards a walk whose way the other side gives, page by page: it goes to each place once, and it ends. A page that leads to the one
 * before is seen, and so is a longer circle, or ever new places.
 * @param lost makes the error of a walk that leads nowhere
 * @returns to be told of each place before it is asked for, the first one too
 */
export function guardWalk(lost: () => Error, mostPages = MOST_PAGES): (position: string | null) => void {
  // Digests, since the other side chooses how long a place's name is.
  const visited = new Set<string>();
  return (position) => {
    const digest = hash('sha256', JSON.stringify(position), 'base64url');
    if (visited.has(digest) || visited.size >= mostPages) throw lost();
    visited.add(digest);
  };
}

/**
 * The pages of a walk whose way the other side gives, guarded by {@link guardWalk}.
 * @param first the place of the first page
 * @param ask gives the page at a place, and the place of the next one; null or undefined after the last
 */
export async function* walkPages<Place extends string | null, Page>(
  first: NoInfer<Place>,
  ask: (position: Place) => Promise<{ page: Page; next: NonNullable<Place> | null | undefined }>,
  lost: () => Error,
  mostPages = MOST_PAGES,
): AsyncGenerator<Page> {
  const visit = guardWalk(lost, mostPages);
  for (let position = first; ; ) {
    visit(position);
    const { page, next } = await ask(position);
    yield page;
    if (next === null || next === undefined) return;
    position = next;
  }
}

/**
 * Longest cursor that is kept, in characters. Vendors set no limit to what they give; links of Graph are of one or two
 * thousand. With a longer one the feed is as if it had none: the next reading is whole.
 */
export const MAX_CURSOR_LENGTH = 8_192;

const envelopeSchema = z.object({ container: z.string(), place: z.unknown() });

/**
 * A cursor for the caller to keep: a vendor's place in the feed of one container.
 * @param position JSON without patient data
 * @returns null when it is longer than {@link MAX_CURSOR_LENGTH}
 */
export function toCursor(container: string, position: unknown): string | null {
  const envelope: z.infer<typeof envelopeSchema> = { container: nameOf(container), place: position };
  const cursor = Buffer.from(JSON.stringify(envelope)).toString('base64url');
  return cursor.length > MAX_CURSOR_LENGTH ? null : cursor;
}

/** The place that a cursor stands for; null for none, for another container's and for what is no cursor of this shape. */
export function fromCursor<Place>(container: string, cursor: string | null, schema: z.ZodType<Place>): Place | null {
  if (cursor === null || cursor.length > MAX_CURSOR_LENGTH) return null;
  const envelope = envelopeSchema.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString('utf8')));
  if (!envelope.success || envelope.data.container !== nameOf(container)) return null;
  return schema.safeParse(envelope.data.place).data ?? null;
}

/** A container's id can be a mail address, so it is not written into the cursor. */
function nameOf(container: string): string {
  return createHash('sha256').update(container).digest('base64url').slice(0, 16);
}

/** One round through a feed of changes: ids of events to look at, ids of events that are known to be no longer ours, and where the next begins. */
interface Round<Place> {
  ids: readonly string[];
  others: readonly string[];
  next: Place | null;
}

/** How a vendor's feed of changes is read. */
export interface Feed<Place> {
  /** Events that are read one by one; when more changed, all is read. */
  mostIds: number;
  /** Follows the feed from a place, or with null to where the next round begins; null when the vendor has no such feed (any more). */
  follow(position: Place | null): Promise<Round<Place> | null>;
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
export async function readFeed<Place>(
  container: string,
  position: Place | null,
  { mostIds, follow, readEach, readAll }: Feed<Place>,
): Promise<RemoteChanges> {
  const cursorOf = (next: Place | null) => (next === null ? null : toCursor(container, next));
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
