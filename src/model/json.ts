/** Maximum number of values in a text. The smallest values take 3 bytes of text, 60 bytes of memory and a tenth of a microsecond each. */
export const MOST_VALUES = 500_000;
/** Maximum nesting. No known API nests deeper than ten, and each level costs a recursive call. */
const DEEPEST = 100;

const [QUOTE, COMMA, COLON, BACKSLASH, OPENING, CLOSING] = [0x22, 0x2c, 0x3a, 0x5c, 0x7b, 0x7d];
const [LIST, LIST_END] = [0x5b, 0x5d];
/** The bit that distinguishes `[` from `{`, and `]` from `}`. */
const CURLED = 0x20;

/**
 * Parses JSON (RFC 8259) with or without a byte order mark; undefined for malformed or too large text. A whole number that JavaScript would
 * round (an id above 2^53) becomes a string of digits.
 * @param mostValues usually {@link MOST_VALUES}
 */
export function parseJson(text: string | Buffer, mostValues = MOST_VALUES): unknown {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  if (!isModestJson(bytes, mostValues)) return undefined;
  const plain = text.toString();
  try {
    return parseExactly(plain.startsWith('\uFEFF') ? plain.slice(1) : plain);
  } catch {
    return undefined;
  }
}

/** A whole number that JavaScript possibly rounds. The first such number, 2^53 + 1, has sixteen digits. */
const LONG_NUMBER = /-?\d{16,}/g;
/** Characters next to digits that belong to a longer number. */
const OF_A_NUMBER = /[\d.eE+-]/;
const LEAST_ROUNDED = 16;

/**
 * Parses like `JSON.parse`, but returns whole numbers that would be rounded as strings.
 * @throws SyntaxError for malformed JSON
 */
export function parseExactly(text: string): unknown {
  return JSON.parse(mayHoldLongNumber(text) ? withLongNumbersQuoted(text) : text);
}

/** Whole numbers read as strings, by digits and member name. */
export type LongNumbers = ReadonlySet<string>;

/** ECMAScript's `JSON.rawJSON` and related functions, which TypeScript does not declare yet. */
const exactJson = JSON as unknown as {
  rawJSON(text: string): object;
  isRawJSON(value: unknown): boolean;
  parse(text: string, reviver: (this: unknown, name: string, value: unknown, of: { source?: string }) => unknown): void;
};

/** Returns a whole number of any length for `JSON.stringify`. */
export function exactNumber(digits: string): number | object {
  return Number.isSafeInteger(Number(digits)) ? Number(digits) : exactJson.rawJSON(digits);
}

/** Lists the numbers in a JSON text that {@link parseExactly} returns as strings. */
export function longNumbersIn(text: string): LongNumbers {
  const found = new Set<string>();
  if (!mayHoldLongNumber(text)) return found;
  exactJson.parse(text, function collect(name, value, { source = '' }) {
    const isRounded = typeof value === 'number' && /^-?\d+$/.test(source) && !Number.isSafeInteger(value);
    if (isRounded) found.add(keyOf(Array.isArray(this) ? '' : name, source));
    return value;
  });
  return found;
}

/** Restores strings from {@link parseExactly} to numbers before a value returns to its source. */
export function withLongNumbers(value: unknown, numbers: LongNumbers, name = ''): unknown {
  if (numbers.size === 0) return value;
  if (typeof value === 'string') return numbers.has(keyOf(name, value)) ? exactNumber(value) : value;
  if (typeof value !== 'object' || value === null || exactJson.isRawJSON(value)) return value;
  if (Array.isArray(value)) return value.map((each) => withLongNumbers(each, numbers));
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withLongNumbers(each, numbers, key)]));
}

function keyOf(name: string, digits: string): string {
  return `${digits} ${name}`;
}

/** Checks each sixteenth character, because every run of sixteen digits contains one. The first check of a run decides. */
function mayHoldLongNumber(text: string): boolean {
  for (let at = LEAST_ROUNDED - 1; at < text.length; at += LEAST_ROUNDED) {
    if (!isDigit(text, at)) continue;
    let from = at;
    while (at - from < LEAST_ROUNDED && isDigit(text, from - 1)) from -= 1;
    let to = at + 1;
    while (to - from < LEAST_ROUNDED && isDigit(text, to)) to += 1;
    if (to - from >= LEAST_ROUNDED && BEFORE_NUMBER.has(text[from - 1] ?? '')) return true;
  }
  return false;
}

const BEFORE_NUMBER = new Set(['', '-', ':', ',', '[', ' ', '\t', '\n', '\r']);

function isDigit(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  return code >= 0x30 && code <= 0x39;
}

/** Copies whole stretches between numbers: a copy per quote would create too many parts of a text. */
function withLongNumbersQuoted(text: string): string {
  const parts: string[] = [];
  let copiedTo = 0;
  let at = 0;
  while (at < text.length) {
    const found = text.indexOf('"', at);
    const quote = found === -1 ? text.length : found;
    if (quote - at >= LEAST_ROUNDED) {
      const between = text.slice(at, quote);
      const quoted = between.replace(LONG_NUMBER, quotedIfRounded);
      if (quoted !== between) {
        parts.push(text.slice(copiedTo, at), quoted);
        copiedTo = quote;
      }
    }
    at = afterString(text, quote);
  }
  parts.push(text.slice(copiedTo));
  return parts.join('');
}

function quotedIfRounded(digits: string, at: number, text: string): string {
  if (OF_A_NUMBER.test(text[at - 1] ?? '') || /[.eE]/.test(text[at + digits.length] ?? '')) return digits;
  return Number.isSafeInteger(Number(digits)) ? digits : `"${digits}"`;
}

/** Returns the position after the string that begins at `quote`, or the end of the text. */
function afterString(text: string, quote: number): number {
  for (let end = text.indexOf('"', quote + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let slashes = end;
    while (text[slashes - 1] === '\\') slashes -= 1;
    if ((end - slashes) % 2 === 0) return end + 1;
  }
  return text.length;
}

/** Decides whether a JSON text is safe to parse. One pass counts values and depth before any memory is allocated. */
export function isModestJson(text: Uint8Array, mostValues = MOST_VALUES): boolean {
  return valuesIn(text, mostValues) <= mostValues;
}

/** Counts the values of a JSON text; Infinity above the limit or if nested too deep. */
export function valuesIn(text: Uint8Array, mostValues: number): number {
  const { length } = text;
  let values = 1;
  let depth = 0;
  for (let at = 0; at < length; at += 1) {
    const byte = text[at] ?? 0;
    if (byte === QUOTE) {
      at += 1;
      while (at < length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
    } else if (byte === COMMA) {
      values += 1;
    } else if ((byte | CURLED) === OPENING) {
      values += 1;
      depth += 1;
      if (depth > DEEPEST || values > mostValues) return Infinity;
    } else if ((byte | CURLED) === CLOSING) {
      depth -= 1;
    }
  }
  return values > mostValues ? Infinity : values;
}

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
 * is empty, holds other values than objects or exceeds the limit: then only a full parse can decide.
 * @param path alternative member names at each step; empty if the text itself is the list
 */
export function objectsIn(
  text: Uint8Array,
  path: readonly (readonly string[])[],
  mostValues = MOST_VALUES,
): ObjectList | null {
  let from = afterSpace(text, 0);
  for (const [step, names] of path.entries()) {
    from = memberOf(text, from, names, step === path.length - 1 ? LIST : OPENING);
    if (from < 0) return null;
  }
  if (text[from] !== LIST) return null;
  const counted = { values: 0 };
  const bounds: number[] = [];
  for (let at = afterSpace(text, from + 1); text[at] === OPENING; at = afterSpace(text, at + 1)) {
    const end = afterNested(text, at, path.length + 1, counted);
    if (end < 0 || counted.values > mostValues) return null;
    bounds.push(at, end);
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
  for (let at = from; text[at] === OPENING || text[at] === COMMA; ) {
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

function afterText(text: Uint8Array, from: number): number {
  const { length } = text;
  let at = from + 1;
  while (at < length && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
  return at + 1;
}

function afterSpace(text: Uint8Array, from: number): number {
  let at = from;
  while (isSpace(text[at])) at += 1;
  return at;
}

/** RFC 8259 section 2. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/**
 * Maximum parser work for member names. Each new sequence of names creates a V8 hidden class, measured at 1 to 2 µs. 490,000 members stay
 * below a tenth of a second.
 */
export const MOST_LAYOUT_WORK = 50_000;
/** Number of earlier names in an object that cost as much as one new name. */
const NAMES_PER_WORK = 20;
/** V8 stores an object with more members as a table, at half a microsecond per member. */
const WIDE = 250;

interface OpenObject {
  /** Number of the current sequence of names. */
  layout: number;
  names: number;
}

/** Estimates the parser work for the member names of a JSON text; Infinity above the limit. The text may be malformed. */
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

/** More members than a page of usual size. Smaller texts are parsed at once. */
const FEW_MEMBERS = 10_000;
/** Smallest size of a member with its comma. */
const LEAST_MEMBER_BYTES = 5;

/** Decides quickly whether a text in pieces can hold many members. Colons in strings also count. */
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
