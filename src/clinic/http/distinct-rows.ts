import { hash } from 'node:crypto';
import type { Pieces } from '../../model/pieces.ts';

/** Identities of a page's rows; null for a row without one. */
type PageIds = readonly (string | null)[];

/** What is known of a page after the pages before it. */
interface CountedPage {
  /** The page before it; null for the first page of a list. */
  before: CountedPage | null;
  /** Digest of the page's ids. */
  digest: string;
  /** Number of distinct rows up to this page. */
  count: number;
}

/** Counted pages by their ids, as long as those are cached elsewhere. */
export type CountedPages = WeakMap<PageIds, CountedPage>;

/**
 * Counts the distinct rows of a list's pages. While every page is the same object as in an earlier read, and comes after the same pages, its
 * count is known, and no id is looked at.
 */
export class DistinctRows {
  readonly #known: CountedPages;
  #last: CountedPage | null = null;
  readonly #ids = new Set<string>();
  #withoutId = 0;
  /** Pages with a known count, whose ids are not in the set. */
  #unlooked: PageIds[] = [];

  /** @param known counts of earlier reads; receives new ones */
  constructor(known: CountedPages) {
    this.#known = known;
  }

  /** Number of distinct rows so far. Each row without an id is distinct. */
  get count(): number {
    return this.#last?.count ?? 0;
  }

  *add(ids: PageIds): Pieces<CountedPage> {
    const known = this.#known.get(ids);
    this.#unlooked.push(ids);
    if (known?.before === this.#last) {
      this.#last = known;
      return known;
    }
    for (const page of this.#unlooked) yield* this.#look(page);
    this.#unlooked = [];
    const digest = hash('sha256', JSON.stringify(ids), 'base64url');
    const counted = { before: this.#last, digest, count: this.#ids.size + this.#withoutId };
    this.#known.set(ids, counted);
    this.#last = counted;
    return counted;
  }

  *#look(ids: PageIds): Pieces<void> {
    for (const id of ids) {
      if (id === null) this.#withoutId += 1;
      else this.#ids.add(id);
      yield;
    }
  }
}
