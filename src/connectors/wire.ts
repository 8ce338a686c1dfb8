import { hash } from 'node:crypto';
import { readLongJson } from '../core/http/answer.ts';
import { parseInPieces } from '../core/model/json-pieces.ts';
import { eachInPieces } from '../core/model/pieces.ts';
import type { Instant } from '../core/model/time.ts';
import { inPieces } from '../core/pieces/in-pieces.ts';

/** Call to a vendor's API in the form for batches. */
export interface WireCall {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query in the vendor's form for batches. */
  path: string;
  /** Sent as If-Match when set. */
  ifMatch?: string | null;
  /** Sent as JSON. */
  body?: object;
  /** Whether to send a separate request, after a batch response reported that the call cannot share a batch. */
  alone?: boolean;
}

/** The vendor's response to one call, in a batch or single. */
export interface WireResponse {
  status: number;
  /** Parsed JSON body; undefined if absent or not JSON. */
  body: unknown;
  /** Delay that the response requests, in milliseconds. */
  retryAfterMs: number | null;
  /** Time of the request by the vendor's clock; absent if no caller needs it. */
  sentAt?: Instant;
}

/** Checks whether the call was carried out. */
export function isSuccess(answer: WireResponse): boolean {
  return answer.status >= 200 && answer.status < 300;
}

/** Parses JSON with pauses; undefined if it is malformed or too costly. */
export async function jsonOf(body: Buffer, mostValues?: number): Promise<unknown> {
  const parsed = await inPieces(parseInPieces(body, mostValues));
  return 'value' in parsed ? parsed.value : undefined;
}

/** Parses the JSON of a response with pauses. An unreadable body is an error only if a body is expected; for a refusal, the status is enough. */
export async function bodyOf(
  answer: Parameters<typeof readLongJson>[0] & { status: number },
  label: string,
  mostValues?: number,
): Promise<unknown> {
  if (answer.status === 204) return undefined;
  try {
    return await readLongJson(answer, label, mostValues);
  } catch (error) {
    if (answer.status >= 200 && answer.status < 300) throw error;
    return undefined;
  }
}

/**
 * Reads the elements of a response with pauses, since the vendor determines their number.
 * @param read returns null for an element to omit
 */
export async function readEach<Element, Read>(
  elements: Iterable<Element>,
  read: (element: Element) => Read | null,
): Promise<Read[]> {
  const found: Read[] = [];
  await inPieces(
    eachInPieces(elements, (element) => {
      const one = read(element);
      if (one !== null) found.push(one);
    }),
  );
  return found;
}

/** Above the number of pages in any plausible list: two million objects at a hundred per page. Own choice. */
const MOST_PAGES = 20_000;

/**
 * Guards a list whose pages the vendor determines: visits each position once and ends. Detects a repeated page, a longer cycle, and endless
 * new positions.
 * @param lost creates the error of a list whose pages do not advance
 * @returns a function to call with each position before its request, including the first
 */
export function guardWalk(lost: () => Error, mostPages = MOST_PAGES): (position: string | null) => void {
  // Stores digests, since the vendor determines the length of a position.
  const visited = new Set<string>();
  return (position) => {
    const digest = hash('sha256', JSON.stringify(position), 'base64url');
    if (visited.has(digest) || visited.size >= mostPages) throw lost();
    visited.add(digest);
  };
}

/**
 * Fetches pages whose positions the vendor determines, guarded by {@link guardWalk}.
 * @param first position of the first page
 * @param ask returns the page at a position, and the next position; null or undefined after the last page
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
