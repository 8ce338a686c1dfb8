/**
 * Maximum cost of a text. A value costs 1: a tenth of a microsecond to parse and 60 bytes of memory. A new name or order of members costs
 * more, see {@link costOf}.
 */
export const MOST_VALUES = 600_000;
/** Maximum size and cost of a text of a tenant's server that is parsed without a break: about ten milliseconds. */
export const MOST_UNSPLIT_BYTES = 2_097_152;
export const MOST_UNSPLIT_VALUES = 100_000;
/** Maximum nesting. No known API nests deeper than ten, and each level costs a recursive call. */
export const DEEPEST = 100;

/** Bytes of the grammar (RFC 8259 section 2). */
export const [QUOTE, COMMA, COLON, OPENING, CLOSING] = [0x22, 0x2c, 0x3a, 0x7b, 0x7d];
const BACKSLASH = 0x5c;
/** The bit that distinguishes `[` from `{`, and `]` from `}`. */
export const CURLED = 0x20;

/**
 * Parses JSON (RFC 8259) with or without a byte order mark; undefined for malformed or too costly text. All foreign JSON is parsed here,
 * since the check and the parser must not be separated. A whole number that JavaScript would
 * round (an id above 2^53) becomes a string of digits.
 * @param mostValues usually {@link MOST_VALUES}
 */
export function parseJson(text: string | Buffer, mostValues = MOST_VALUES): unknown {
  return parseWithCost(typeof text === 'string' ? Buffer.from(text) : text, mostValues)?.value;
}

/** Parses like {@link parseJson}, and returns the cost, for texts that share one limit. */
export function parseWithCost(text: Buffer, mostValues: number): { value: unknown; cost: number } | undefined {
  const cost = costOf(text, mostValues);
  if (cost > mostValues) return undefined;
  const plain = text.toString();
  try {
    return { value: parseExactly(plain.startsWith('\uFEFF') ? plain.slice(1) : plain), cost };
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
function parseExactly(text: string): unknown {
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

/** Lists the numbers in a JSON text that {@link parseJson} returns as strings. */
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

/** Restores strings from {@link parseJson} to numbers before a value returns to its source. */
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
    if (!isDigit(text.charCodeAt(at))) continue;
    let from = at;
    while (at - from < LEAST_ROUNDED && isDigit(text.charCodeAt(from - 1))) from -= 1;
    let to = at + 1;
    while (isDigit(text.charCodeAt(to))) to += 1;
    if (to - from >= LEAST_ROUNDED && BEFORE_NUMBER.has(text[from - 1] ?? '')) return true;
    at += Math.floor((to - at) / LEAST_ROUNDED) * LEAST_ROUNDED;
  }
  return false;
}

const BEFORE_NUMBER = new Set(['', '-', ':', ',', '[', ' ', '\t', '\n', '\r']);

function isDigit(code: number | undefined): boolean {
  return code !== undefined && code >= 0x30 && code <= 0x39;
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

/** Decides whether a JSON text is safe to parse. */
export function isModestJson(text: Uint8Array, mostValues = MOST_VALUES): boolean {
  return costOf(text, mostValues) <= mostValues;
}

/**
 * Measures what parsing a JSON text costs, in values: Infinity above the limit or if nested too deep. One pass over the bytes, which keeps
 * only the sequences of names it has met. The text may be malformed: then the cost is that of the part before the fault, or more.
 */
export function costOf(text: Uint8Array, mostValues: number): number {
  const { length } = text;
  const layouts = new Layouts(text);
  /** For each level, the layout of the open object so far; -1 for a list. */
  const open = new Int32Array(DEEPEST + 1).fill(-1);
  let values = 1;
  let depth = 0;
  let isName = false;
  for (let at = 0; at < length; at += 1) {
    const byte = text[at] ?? 0;
    if (byte === QUOTE) {
      const end = isName ? layouts.endOfName(at + 1, open[depth] ?? 0) : afterText(text, at) - 1;
      if (isName) open[depth] = layouts.found;
      else if (end - at <= LONGEST_SHARED) values += 1;
      isName = false;
      at = end;
    } else if (byte === COMMA) {
      values += 1;
      isName = (open[depth] ?? -1) >= 0;
      if (values + layouts.cost > mostValues) return Infinity;
    } else if ((byte | CURLED) === OPENING) {
      values += 1;
      depth += 1;
      isName = byte === OPENING;
      if (depth > DEEPEST) return Infinity;
      open[depth] = isName ? 0 : -1;
    } else if ((byte | CURLED) === CLOSING) {
      depth = Math.max(depth - 1, 0);
      isName = false;
    } else if (isDigit(byte)) {
      const from = at;
      while (isDigit(text[at + 1])) at += 1;
      const digits = at + 1 - from;
      if (digits >= LEAST_ROUNDED) values += Math.floor(digits / DIGITS_PER_VALUE);
    }
  }
  return values + layouts.cost > mostValues ? Infinity : values + layouts.cost;
}

/** Digits that cost as much as one value in a number that may be read as a string. */
const DIGITS_PER_VALUE = 8;
/** V8 looks up strings of up to ten characters in its table of strings, at the cost of a second value. */
const LONGEST_SHARED = 11;

/** V8 creates a hidden class for each new sequence of names, measured at 1 to 2 µs: as much as this number of values. */
const NEW_LAYOUT = 10;
/** Number of earlier names in an object that cost as much as one value, for a new sequence. */
const NAMES_PER_VALUE = 10;
/** V8 stores an object with more members as a table, at half a microsecond per member. */
const WIDE = 250;
const WIDE_MEMBER = 5;

/** Lists of layouts with the same last bits of their hash. */
const LISTS = 4_096;
/** Steps in such a list, or compared bytes, that cost as much as one value: names with equal hashes gain nothing. */
const STEPS_PER_VALUE = 16;
/** Numbers per layout: the next one in its list, the layout without the last name, the hash, the name's place, and the number of names. */
const [NEXT, BEFORE, HASH, FROM, TO, NAMES, FIELDS] = [0, 1, 2, 3, 4, 5, 6];

/** The sequences of names in a text. Layout 0 is the object without a name. Rows with known names cost nothing. */
class Layouts {
  /** Cost of all names so far, in values. */
  cost = 0;
  /** Layout after the last name. */
  found = 0;
  readonly #text: Uint8Array;
  readonly #first = new Int32Array(LISTS);
  readonly #fields: number[] = [0, 0, 0, 0, 0, 0];

  constructor(text: Uint8Array) {
    this.#text = text;
  }

  /** Reads the name from this position on, as the next of an object with this layout, and returns the position of its closing quote. */
  endOfName(from: number, before: number): number {
    const text = this.#text;
    const { length } = text;
    let hash = before;
    let to = from;
    for (; to < length && text[to] !== QUOTE; to += 1) {
      if (text[to] === BACKSLASH) to += 1;
      hash = Math.imul(hash ^ (text[to] ?? 0), 0x01_00_01_93);
    }
    if ((this.#fields[before * FIELDS + NAMES] ?? 0) >= WIDE) {
      this.cost += WIDE_MEMBER;
      this.found = before;
    } else {
      hash ^= hash >>> 15;
      this.found = this.#existing(hash, before, from, to) || this.#add(hash, before, from, to);
    }
    return to;
  }

  #existing(hash: number, before: number, from: number, to: number): number {
    const fields = this.#fields;
    let steps = 0;
    let layout = this.#first[hash & (LISTS - 1)] ?? 0;
    for (; layout !== 0; layout = fields[layout * FIELDS + NEXT] ?? 0) {
      const at = layout * FIELDS;
      steps += 1;
      if (fields[at + HASH] !== hash || fields[at + BEFORE] !== before) continue;
      const same = this.#equalBytes(fields[at + FROM] ?? 0, fields[at + TO] ?? 0, from, to);
      if (same === to - from) break;
      steps += same;
    }
    this.cost += Math.floor(steps / STEPS_PER_VALUE);
    return layout;
  }

  /** Returns the number of equal bytes at the beginning of two names; -1 for names of different length. */
  #equalBytes(otherFrom: number, otherTo: number, from: number, to: number): number {
    const text = this.#text;
    if (otherTo - otherFrom !== to - from) return -1;
    let at = from;
    while (at < to && text[at] === text[otherFrom + at - from]) at += 1;
    return at - from;
  }

  #add(hash: number, before: number, from: number, to: number): number {
    const bucket = hash & (LISTS - 1);
    const names = (this.#fields[before * FIELDS + NAMES] ?? 0) + 1;
    this.#fields.push(this.#first[bucket] ?? 0, before, hash, from, to, names);
    const layout = this.#fields.length / FIELDS - 1;
    this.#first[bucket] = layout;
    this.cost += NEW_LAYOUT + Math.floor(names / NAMES_PER_VALUE);
    return layout;
  }
}

/** Returns the position after the string that begins at `from`, or after `length` without an end. */
export function afterText(text: Uint8Array, from: number, length = text.length): number {
  let at = from + 1;
  for (;;) {
    const most = Math.min(length, at + LONG_TEXT_BYTES);
    while (at < most && text[at] !== QUOTE) at += text[at] === BACKSLASH ? 2 : 1;
    if (at < most || at >= length) return at + 1;
    const quote = nextQuote(text, at);
    let slashes = quote;
    while (slashes > at && text[slashes - 1] === BACKSLASH) slashes -= 1;
    at = quote + 1;
    if ((quote - slashes) % 2 === 0) return at;
  }
}

/** Bytes of a string after which the native search is faster. */
const LONG_TEXT_BYTES = 512;

function nextQuote(text: Uint8Array, from: number): number {
  const found = Buffer.from(text.buffer, text.byteOffset, text.length).indexOf(QUOTE, from);
  return found === -1 ? text.length : found;
}

/** Returns the position of the first byte that is no white space. */
export function afterSpace(text: Uint8Array, from: number): number {
  let at = from;
  while (isSpace(text[at])) at += 1;
  return at;
}

/** RFC 8259 section 2. */
function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
