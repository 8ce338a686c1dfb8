import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';

/** A part of a list, and what gives the next one. */
export interface Page<Item> {
  items: Item[];
  /** To be given with the question for the next page, as it is; null: there is none. */
  next: string | null;
}

/** What of a list is wanted. */
export interface PageQuestion {
  /** `next` of the page before; null for the first. */
  after: string | null;
  /** Most items of the page. */
  limit: number;
}

/**
 * The page of a list whose items have names of their own. What comes or goes between two pages moves no other item from one to the other.
 * @param nameOf the names of two items differ, and stay
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

/** What a caller gives back to get the next page: nothing that they need understand. */
export function cursorOf(position: unknown): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

/** @param read null for what is no such place. @throws MirrorError `settings`, code `cursor-unusable` */
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
