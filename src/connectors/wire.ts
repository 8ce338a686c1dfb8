import { hash } from 'node:crypto';
import { readJson } from '../http/answer.ts';
import type { Instant } from '../model/time.ts';

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
export async function* walkPages<Position extends string | null, Page>(
  first: NoInfer<Position>,
  ask: (position: Position) => Promise<{ page: Page; next: NonNullable<Position> | null | undefined }>,
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
