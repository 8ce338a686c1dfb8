import { hash } from 'node:crypto';
import type { Pieces } from '../../core/model/pieces.ts';

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
 * count is known, and no id is read.
 */
export class DistinctRows {
  readonly #counted: CountedPages;
  #last: CountedPage | null = null;
  readonly #ids = new Set<string>();
  #withoutId = 0;
  /** Pages with a known count, whose ids are not in the set. */
  #unlooked: PageIds[] = [];

  /** @param counted counts of earlier reads; receives new ones */
  constructor(counted: CountedPages) {
    this.#counted = counted;
  }

  /** Number of distinct rows so far. Each row without an id is distinct. */
  get count(): number {
    return this.#last?.count ?? 0;
  }

  *add(ids: PageIds): Pieces<CountedPage> {
    const earlier = this.#counted.get(ids);
    this.#unlooked.push(ids);
    if (earlier?.before === this.#last) {
      this.#last = earlier;
      return earlier;
    }
    for (const page of this.#unlooked) yield* this.#look(page);
    this.#unlooked = [];
    const digest = hash('sha256', JSON.stringify(ids), 'base64url');
    const counted = { before: this.#last, digest, count: this.#ids.size + this.#withoutId };
    this.#counted.set(ids, counted);
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
