import { pipeline, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';

/** What is accepted of an answer, as `unpacked` understands it. */
export const ACCEPTED_CODINGS = 'gzip, deflate, br';

/** @param firstByte of what was packed */
type Unpacker = (firstByte: number) => Transform;

const UNPACKERS: ReadonlyMap<string, Unpacker> = new Map<string, Unpacker>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['br', () => createBrotliDecompress()],
  // Some servers leave out the frame that says what it is (RFC 1950 section 2.2: its first byte ends in 8).
  ['deflate', (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw())],
]);

/** Nobody packs more often than once, or once more on the way; each time takes memory before anything is read. */
const MOST_CODINGS = 3;

/**
 * A body as it was before a server packed it, by its `Content-Encoding`; as it came when that names what we don't know. What is cut short
 * is an error of node:zlib, nothing at all is an empty body.
 * @param bounded ends a stream that becomes too long: what came, and each that was unpacked of it, since one that grows may shrink again
 */
export function unpacked(
  body: AsyncIterable<Uint8Array>,
  coding: string | null,
  bounded: (stream: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  const names = coding?.toLowerCase().split(',', MOST_CODINGS + 1) ?? [];
  const unpackers = names.flatMap((name) => UNPACKERS.get(name.trim()) ?? []);
  const isSupported = unpackers.length === names.length && names.length <= MOST_CODINGS;
  return (isSupported ? unpackers : []).reduceRight(
    (packed, unpacker) => bounded(unpackedOnce(packed, unpacker)),
    bounded(body),
  );
}

async function* unpackedOnce(packed: AsyncIterable<Uint8Array>, unpacker: Unpacker): AsyncGenerator<Uint8Array> {
  const source = packed[Symbol.asyncIterator]();
  const first = await source.next();
  if (first.done === true) return;
  async function* all() {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => source };
  }
  yield* pipeline(all, unpacker(first.value[0] ?? 0), () => {});
}
