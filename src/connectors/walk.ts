import { hash } from 'node:crypto';

/** More pages than any reading that comes to an end has: at a hundred objects a page two million. Our choice. */
const MOST_PAGES = 20_000;

/**
 * Guards a walk whose way the other side gives, page by page: it goes to each place once, and it ends. A page that leads to the one
 * before is seen, and so is a longer circle, or ever new places.
 * @param lost makes the error of a walk that leads nowhere
 * @returns to be told of each place before it is asked for, the first one too
 */
export function guardWalk(lost: () => Error, mostPages = MOST_PAGES): (place: string | null) => void {
  // Digests, since the other side chooses how long a place's name is.
  const visited = new Set<string>();
  return (place) => {
    const digest = hash('sha256', JSON.stringify(place), 'base64url');
    if (visited.has(digest) || visited.size >= mostPages) throw lost();
    visited.add(digest);
  };
}
