import { MirrorError } from '../../core/model/errors.ts';
import type { Page } from '../../core/model/schemas.ts';
import { message } from '../../messages/message.ts';

/** Query for a page. */
export interface PageQuestion {
  /** `next` of the previous page; null for the first page. */
  after: string | null;
  /** Largest number of items on the page. */
  limit: number;
}

/**
 * Returns a page of a list of named items. Items added or removed between two pages do not move other items to a different page.
 * @param nameOf returns a unique, permanent name
 * @throws MirrorError `settings`, code `cursor-unusable`
 */
export function pageOf<Item>(
  list: Iterable<Item>,
  { after, limit }: PageQuestion,
  nameOf: (item: Item) => string,
): Page<Item> {
  const last = after === null ? null : readCursor(after, (name) => (typeof name === 'string' ? name : null));
  const rest = [...list].filter((item) => last === null || nameOf(item) > last);
  rest.sort((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1));
  const items = rest.slice(0, limit);
  const end = items.at(-1);
  return { items, next: items.length === rest.length || end === undefined ? null : cursorOf(nameOf(end)) };
}

/** Encodes a position as an opaque cursor. */
export function cursorOf(position: unknown): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** @param read returns null for an invalid position. @throws MirrorError `settings`, code `cursor-unusable` */
export function readCursor<Position>(cursor: string, read: (position: unknown) => Position | null): Position {
  const position = read(parsed(cursor));
  if (position !== null) return position;
  throw new MirrorError(message('cursor-unusable'), {
    actor: 'settings',
    code: 'cursor-unusable',
    retry: 'never',
    remedy: message('cursor-unusable.remedy'),
  });
}

function parsed(cursor: string): unknown {
  try {
    return JSON.parse(Buffer.from(cursor, 'base64url').toString());
  } catch {
    return null;
  }
}
