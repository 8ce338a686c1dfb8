/** A list in progress: its events, fixed at the first page, and the sync token of its last page. */
export interface Cursor {
  id: number;
  calendarId: string;
  /** The request's parameters, except those of the page. Every page must repeat them. */
  parameters: string;
  eventIds: string[];
  nextSyncToken: string | undefined;
}

/** Where a page begins. `filled` is false for the page before which an empty one comes. */
export interface PageToken {
  cursorId: number;
  position: number;
  filled: boolean;
}

const MOST_CURSORS = 100;

/** The lists in progress; the oldest is forgotten when there are too many. */
export class Cursors {
  readonly #cursors = new Map<number, Cursor>();
  #serial = 0;

  open(cursor: Omit<Cursor, 'id'>): Cursor {
    this.#serial += 1;
    const opened = { ...cursor, id: this.#serial };
    this.#cursors.set(opened.id, opened);
    if (this.#cursors.size > MOST_CURSORS) {
      this.#cursors.delete(this.#serial - MOST_CURSORS);
    }
    return opened;
  }

  get(id: number): Cursor | undefined {
    return this.#cursors.get(id);
  }
}

/** An opaque token for a JSON value. */
export function toToken(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Returns the value of an opaque token, or undefined if the sandbox did not issue the token. */
export function fromToken(token: string): unknown {
  try {
    return JSON.parse(Buffer.from(token, 'base64url').toString());
  } catch {
    return undefined;
  }
}
