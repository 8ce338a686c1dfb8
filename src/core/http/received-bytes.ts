import type { Pieces } from '../model/pieces.ts';

/**
 * The bytes of an answer, in chunks as received. The last reader releases them: V8 counts their memory, and collects the whole heap after
 * about 64 MB, also if nearly all chunks are unused. A cycle of 20,000 appointments receives 20 MB.
 */
export class ReceivedBytes implements Iterable<Uint8Array> {
  #chunks: readonly Uint8Array[] | null;

  constructor(chunks: readonly Uint8Array[]) {
    this.#chunks = chunks;
  }

  [Symbol.iterator](): Iterator<Uint8Array> {
    return this.#held()[Symbol.iterator]();
  }

  /** Joins the chunks once, with pauses: fresh memory of many mebibytes at once takes a tenth of a second on some hosts. */
  *joined(): Pieces<Buffer> {
    const chunks = this.#held();
    const [first = new Uint8Array(), ...more] = chunks;
    if (more.length === 0) return Buffer.from(first.buffer, first.byteOffset, first.byteLength);
    const body = Buffer.allocUnsafeSlow(chunks.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const chunk of chunks) {
      body.set(chunk, at);
      at += chunk.length;
      yield;
      // Another reader may have joined or released them in the pause.
      if (this.#chunks !== chunks) return yield* this.joined();
    }
    this.#chunks = [body];
    chunks.forEach(freeMemory);
    return body;
  }

  /** Frees the memory. A later read is an error of the program. */
  release(): void {
    this.#chunks?.forEach(freeMemory);
    this.#chunks = null;
  }

  #held(): readonly Uint8Array[] {
    if (this.#chunks === null) throw new TypeError('released bytes are not read again');
    return this.#chunks;
  }
}

/** Frees memory that belongs to one chunk alone. A chunk of decompressed data can share its memory with the next one. */
function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && byteLength > 0 && byteLength === buffer.byteLength) buffer.transfer(0);
}
