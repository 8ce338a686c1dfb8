import type { Cached } from '../model/cache.ts';
import type { Link } from '../model/operations.ts';

/** The versions of a table before and after a change; null before the first. As the scripts tell them that change links. */
export type LinkVersions = [before: string | null, after: string];

/** Changes that are kept beside the links: a first sync changes more than were read. */
const MOST_CACHED_CHANGES = 1_000;

/** Links of one target as they were read, with what this process itself changed since. */
export class CachedLinks implements Cached {
  readonly invalidate: () => void;
  #version: string | null = null;
  #links: ReadonlyMap<string, Link> = new Map();
  /** Up to the version; null for a link that is gone. */
  #changed = new Map<string, Link | null>();

  constructor(invalidate: () => void) {
    this.invalidate = invalidate;
  }

  /** The links of a version; null when they are to be read. The same map as before while none has changed. */
  of(version: string | null): ReadonlyMap<string, Link> | null {
    if (version === null || version !== this.#version) return null;
    if (this.#changed.size === 0) return this.#links;
    // Whoever was given the one before goes on with it.
    const links = new Map(this.#links);
    for (const [id, link] of this.#changed) {
      if (link === null) links.delete(id);
      else links.set(id, link);
    }
    return links;
  }

  /** Keeps what was read of a version. */
  keep(version: string, links: ReadonlyMap<string, Link>): void {
    this.#version = version;
    this.#links = links;
    this.#changed = new Map();
  }

  /**
   * Takes note of a change; of one that does not follow on what is known, nothing.
   * @param stored as they are stored, '' for one that is gone
   */
  note(
    [before, after]: LinkVersions,
    stored: ReadonlyMap<string, string>,
    decode: (recordId: string, value: string) => Link,
  ): void {
    if (before === null || before !== this.#version || this.#changed.size + stored.size > MOST_CACHED_CHANGES) return;
    for (const [id, value] of stored) this.#changed.set(id, value === '' ? null : decode(id, value));
    this.#version = after;
  }
}
