import fc from 'fast-check';
import { MEBIBYTE } from '../../src/core/http/client.ts';

/** Largest answer of a clinic, by default. */
export const LARGEST_JSON_BYTES = 16 * MEBIBYTE;

const repeated = (piece: (index: number) => string, bytes: number): string => {
  const pieces: string[] = [];
  for (let size = 0, index = 0; size < bytes; index += 1) {
    const next = piece(index);
    size += next.length + 1;
    pieces.push(next);
  }
  return pieces.join();
};
/** A text of an object with so many members. */
export const members = (count: number, name: (at: number) => string) =>
  `{${Array.from({ length: count }, (_, at) => `"${name(at)}":0`).join()}}`;
const filled = (piece: string, bytes: number) => piece.repeat(Math.ceil(bytes / piece.length));

/** Forms of texts by their size in bytes. The numbers decide on names, widths, depths and orders. */
const FORMS: Readonly<Record<string, (bytes: number, width: number, factor: number) => string>> = {
  'ever new names': (bytes, width, factor) =>
    `[${repeated((n) => members(width, (at) => `k${(n * width + at) * factor}`), bytes)}]`,
  'one object': (bytes, _width, factor) => `{${repeated((n) => `"k${n * factor}":0`, bytes)}}`,
  'new orders of names': (bytes, width, factor) =>
    `[${repeated((n) => members(width, (at) => `f${(at * (1 + (n % 997)) + n * factor) % 1_009}`), bytes)}]`,
  'known names in wide objects': (bytes, width) => `[${repeated(() => members(width * 7, (at) => `f${at}`), bytes)}]`,
  'equal names': (bytes, width) => `[${repeated(() => members(width, () => 'k'), bytes)}]`,
  'long names': (bytes, width, factor) =>
    `[${repeated((n) => members(width, (at) => `${'n'.repeat(factor)}${at}${n % 7}`), bytes)}]`,
  lists: (bytes, width) => `[${repeated(() => `${'['.repeat(width % 99)}${']'.repeat(width % 99)}` || '0', bytes)}]`,
  objects: (bytes, width) => `[${repeated(() => `${'{"a":'.repeat(width % 98)}0${'}'.repeat(width % 98)}`, bytes)}]`,
  'levels without end': (bytes, width) => filled(width % 2 === 0 ? '[' : '{"a":', bytes),
  'short texts': (bytes, _width, factor) => `[${repeated((n) => `"${(n * factor).toString(36)}"`, bytes)}]`,
  numbers: (bytes, width, factor) => `[${repeated((n) => `${n * factor}.${'7'.repeat(width)}e-${n % 400}`, bytes)}]`,
  'a huge number': (bytes, width) => `${width % 2 === 0 ? '' : '0.'}${filled('7', bytes)}`,
  'ids above 2^53': (bytes, _width, factor) =>
    `[${repeated((n) => String(9_007_199_254_740_993n + BigInt(n * factor)), bytes)}]`,
  escapes: (bytes, width) => `["${filled(['\\n', '\\u20ac', '\\\\', '\\"', 'a\\t'][width % 5] ?? '', bytes)}"]`,
  'signs of four bytes': (bytes) => `["${filled('😀', bytes / 2)}"]`,
};
const BEFORE = ['', ' '.repeat(101), '\n'.repeat(MEBIBYTE), '\uFEFF'];

/** JSON of any form; the text is written on request, so that a failure shows the parameters only. */
export const costlyJson = fc
  .record({
    form: fc.constantFrom(...Object.keys(FORMS)),
    before: fc.constantFrom(...BEFORE),
    bytes: fc.integer({ min: 8_192, max: LARGEST_JSON_BYTES - 2 * MEBIBYTE }),
    width: fc.integer({ min: 1, max: 300 }),
    factor: fc.integer({ min: 1, max: 1_000 }),
  })
  .map((drawn) => ({
    ...drawn,
    text: () => drawn.before + (FORMS[drawn.form]?.(drawn.bytes, drawn.width, drawn.factor) ?? ''),
  }));
