/**
 * Work that the members of one answer may cost: each new sequence of names is a new layout, which takes a parser microseconds (V8, hidden
 * classes). Measured: 1 to 2 µs for each, so that 490,000 members stay below a tenth of a second.
 */
export const MOST_LAYOUT_WORK = 50_000;
/** Names before a new one in an object that cost as much again as the name does. */
const NAMES_PER_WORK = 20;
/** An object with more members is kept as a table, which costs each of them half a microsecond. */
const WIDE = 250;

const [QUOTE, BACKSLASH, OPENING, CLOSING, COLON] = [0x22, 0x5c, 0x7b, 0x7d, 0x3a];
/** The bit in which `[` differs from `{`, and `]` from `}`. */
const CURLED = 0x20;

interface OpenObject {
  /** Number of the sequence of names so far. */
  layout: number;
  names: number;
}

/** What the names of the members in a text of JSON cost a parser; Infinity beyond the most. The text need not be well formed. */
export function layoutWorkIn(text: Uint8Array, mostWork = MOST_LAYOUT_WORK): number {
  const bytes = Buffer.from(text.buffer, text.byteOffset, text.byteLength);
  const layouts = new Map<string, number>();
  const open: (OpenObject | null)[] = [];
  let work = 0;
  let from = 0;
  let to = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      from = at + 1;
      at += 1;
      while (at < bytes.length && bytes[at] !== QUOTE) at += bytes[at] === BACKSLASH ? 2 : 1;
      to = at;
    } else if ((byte | CURLED) === OPENING) {
      open.push(byte === OPENING ? { layout: 0, names: 0 } : null);
    } else if ((byte | CURLED) === CLOSING) {
      open.pop();
    } else if (byte === COLON) {
      const object = open.at(-1);
      if (object == null) continue;
      work += workOf(object, bytes.toString('latin1', from, to), layouts);
      if (work > mostWork) return Infinity;
    }
  }
  return work;
}

function workOf(object: OpenObject, name: string, layouts: Map<string, number>): number {
  const key = `${object.layout} ${name}`;
  const existing = layouts.get(key);
  const { names } = object;
  object.names += 1;
  object.layout = existing ?? layouts.size + 1;
  if (existing === undefined) layouts.set(key, object.layout);
  return (names > WIDE ? 0.5 : 0) + (existing === undefined ? 1 + Math.min(names, WIDE) / NAMES_PER_WORK : 0);
}

/** More members than any page of usual size has: what holds fewer is parsed at once, by whoever wants it. */
const FEW_MEMBERS = 10_000;
/** The least that a member takes, with its comma. */
const LEAST_MEMBER_BYTES = 5;

/** Whether a text in pieces may hold many members. Colons within strings count too: it is a quick look. */
export function mayHoldManyNames(pieces: readonly Uint8Array[]): boolean {
  const bytes = pieces.reduce((sum, { length }) => sum + length, 0);
  if (bytes < FEW_MEMBERS * LEAST_MEMBER_BYTES) return false;
  let colons = 0;
  for (const piece of pieces) {
    for (let at = piece.indexOf(COLON); at !== -1; at = piece.indexOf(COLON, at + 1)) colons += 1;
    if (colons > FEW_MEMBERS) return true;
  }
  return false;
}
