import {
  afterSpace,
  afterText,
  CLOSING,
  COLON,
  COMMA,
  CURLED,
  DEEPEST,
  MOST_UNSPLIT_BYTES,
  MOST_VALUES,
  OPENING,
  QUOTE,
} from './json.ts';
import type { Pieces } from './pieces.ts';

const [LIST, LIST_END] = [0x5b, 0x5d];

/** Members before the list. No known API has more. */
const MOST_MEMBERS_BEFORE = 1_000;

/** Values of one object: no record of an interface has more. */
const MOST_VALUES_OF_ONE = 50_000;
/** Bytes of objects between two breaks: less than a millisecond. */
const PIECE_BYTES = 262_144;

/** Position of a list of objects in a JSON text. */
interface ObjectList {
  /** Position of the opening bracket, and position after the closing bracket. */
  from: number;
  to: number;
  /** Two numbers per object: begin, and position after the end. */
  bounds: number[];
  /** Number of values, counted like in {@link isModestJson}. */
  values: number;
}

/**
 * Finds a list in a JSON text without parsing. The caller must parse the objects to validate them. Null if the list is not plainly present,
 * is empty, holds other values than objects, or exceeds a limit: then only a full parse can decide.
 * @param path alternative member names at each step; empty if the text itself is the list
 */
export function* objectsIn(
  text: Uint8Array,
  path: readonly (readonly string[])[],
  mostValues = MOST_VALUES,
): Pieces<ObjectList | null> {
  let from = afterSpace(text, 0);
  for (const [step, names] of path.entries()) {
    from = memberOf(text, from, names, step === path.length - 1 ? LIST : OPENING);
    if (from < 0) return null;
  }
  if (text[from] !== LIST) return null;
  const counted = { values: 0 };
  const bounds: number[] = [];
  let pieceAt = from;
  for (let at = afterSpace(text, from + 1); text[at] === OPENING; at = afterSpace(text, at + 1)) {
    const before = counted.values;
    const end = afterNested(text, at, path.length + 1, counted);
    if (end < 0 || counted.values > mostValues) return null;
    if (end - at > MOST_UNSPLIT_BYTES || counted.values - before > MOST_VALUES_OF_ONE) return null;
    bounds.push(at, end);
    if (end - pieceAt > PIECE_BYTES) {
      pieceAt = end;
      yield;
    }
    at = afterSpace(text, end);
    if (text[at] === LIST_END) return { from, to: at + 1, bounds, values: counted.values };
    if (text[at] !== COMMA) return null;
    counted.values += 1;
  }
  return null;
}

/** Returns the position of the first member's value with one of these names and this opening bracket, or -1. */
function memberOf(text: Uint8Array, from: number, names: readonly string[], opens: number): number {
  if (text[from] !== OPENING) return -1;
  let members = 0;
  for (let at = from; text[at] === OPENING || text[at] === COMMA; ) {
    members += 1;
    if (members > MOST_MEMBERS_BEFORE) return -1;
    const nameFrom = afterSpace(text, at + 1);
    if (text[nameFrom] !== QUOTE) return -1;
    const nameTo = afterText(text, nameFrom);
    at = afterSpace(text, nameTo);
    if (text[at] !== COLON) return -1;
    at = afterSpace(text, at + 1);
    const name = Buffer.from(text.subarray(nameFrom + 1, nameTo - 1)).toString();
    if (text[at] === opens && names.includes(name)) return at;
    at = afterSpace(text, afterValue(text, at));
  }
  return -1;
}

function afterValue(text: Uint8Array, from: number): number {
  const byte = text[from] ?? 0;
  if (byte === QUOTE) return afterText(text, from);
  if ((byte | CURLED) === OPENING) return afterNested(text, from, 0, { values: 0 });
  let at = from;
  while (at < text.length && text[at] !== COMMA && ((text[at] ?? 0) | CURLED) !== CLOSING) at += 1;
  return at;
}

/** Returns the position after a list or an object, and counts its values; -1 without an end or if nested too deep. */
function afterNested(text: Uint8Array, from: number, depthBefore: number, counted: { values: number }): number {
  const { length } = text;
  let depth = depthBefore;
  for (let at = from; at < length; at += 1) {
    const byte = text[at] ?? 0;
    if (byte === QUOTE) {
      at = afterText(text, at) - 1;
    } else if (byte === COMMA) {
      counted.values += 1;
    } else if ((byte | CURLED) === OPENING) {
      counted.values += 1;
      depth += 1;
      if (depth > DEEPEST) return -1;
    } else if ((byte | CURLED) === CLOSING) {
      depth -= 1;
      if (depth === depthBefore) return at + 1;
    }
  }
  return -1;
}
