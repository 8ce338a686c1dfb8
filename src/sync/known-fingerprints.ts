/** Fingerprints of what records become in a target, as far as they are known. */
export interface CachedFingerprints<Source> {
  get(record: Source, idAttempt: number): string | null;
  note(record: Source, idAttempt: number, fingerprint: string): void;
}

/**
 * Keeps the fingerprints of what records become in one target for as long as the records are in memory: working one out costs a projection
 * and six keyed hashes, and the record, its epoch and the context decide it.
 */
export class FingerprintMemory {
  #context: string | null = null;
  #known = new WeakMap<object, { epoch: number; fingerprint: string }>();

  /** For when the records are not kept: a table of theirs would stay as large as it was. */
  invalidate(): void {
    this.#known = new WeakMap();
  }

  /**
   * @param context tells all that a fingerprint depends on beside the record, its epoch and the target's configuration; under another one
   *   nothing is known
   * @param isCacheable whether a record's fingerprint depends on nothing else
   */
  under<Source extends object>(context: string, isCacheable: (record: Source) => boolean): CachedFingerprints<Source> {
    if (context !== this.#context) this.#known = new WeakMap();
    this.#context = context;
    const all = this.#known;
    return {
      get(record, idAttempt) {
        const cached = all.get(record);
        return cached?.epoch === idAttempt && isCacheable(record) ? cached.fingerprint : null;
      },
      note(record, idAttempt, fingerprint) {
        if (isCacheable(record)) all.set(record, { epoch: idAttempt, fingerprint });
      },
    };
  }
}
