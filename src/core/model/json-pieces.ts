import {
  afterSpace,
  afterText,
  CLOSING,
  COMMA,
  CURLED,
  costOf,
  DEEPEST,
  MOST_UNSPLIT_BYTES,
  MOST_VALUES,
  OPENING,
  parseWithCost,
  QUOTE,
} from './json.ts';
import type { Pieces } from './pieces.ts';

/** Bytes that are parsed without a break: a millisecond. A single string is not divided, but is at most {@link MOST_UNSPLIT_BYTES} long. */
const PIECE_BYTES = 32_768;

/** A parsed text, or why it was not parsed: too many values or levels, or no JSON; with the values that it cost. */
type Parsed = ({ value: unknown } | { fault: 'costly' | 'malformed' }) & { cost: number };

/**
 * Parses any JSON like `parseJson`, with a break after each {@link PIECE_BYTES}. A sequence of names costs its values again in each piece.
 */
export function* parseInPieces(text: Buffer, mostValues = MOST_VALUES): Pieces<Parsed> {
  if (text.length > PIECE_BYTES) return yield* new Division(text, mostValues).parse();
  return parsedPart(text, mostValues);
}

function parsedPart(text: Buffer, mostValues: number): Parsed {
  if (text.length > MOST_UNSPLIT_BYTES) return { fault: 'costly', cost: Infinity };
  const parsed = parseWithCost(text, mostValues);
  if (parsed !== undefined) return parsed;
  const cost = costOf(text, mostValues);
  return { fault: cost === Infinity ? 'costly' : 'malformed', cost };
}

/** Elements of a list, or members of an object. */
type Container = unknown[] | Record<string, unknown>;

/** An open list or object. */
interface Open {
  isList: boolean;
  /** Position where the unparsed part begins. */
  from: number;
  /** Position of the last comma in this part, or -1. */
  comma: number;
  /** The parsed part; null if the text was not yet cut inside. */
  made: Container | null;
  /** The unparsed part begins after an inner list or object with its own parsed part. */
  isAfterInner: boolean;
}

const BYTE_ORDER_MARK = Buffer.from('\uFEFF');
const [LIST_ENDS, OBJECT_ENDS] = ['[]', '{}'].map((ends) => [...ends].map((end) => Buffer.from(end))) as [
  [Buffer, Buffer],
  [Buffer, Buffer],
];
/** Stands for an inner list or object in the text of the one around it. */
const INNER = Buffer.from(' 0');
const NOTHING = Buffer.alloc(0);

/** Divides a text at commas: at each cut, the complete elements of all open lists and objects are parsed. */
class Division {
  readonly #text: Buffer;
  readonly #mostValues: number;
  readonly #open: Open[] = [];
  #root: Container | null = null;
  #usedValues = 1;
  #fault: 'costly' | 'malformed' | null = null;

  constructor(text: Buffer, mostValues: number) {
    this.#text = text.subarray(0, 3).equals(BYTE_ORDER_MARK) ? text.subarray(3) : text;
    this.#mostValues = mostValues;
  }

  *parse(): Pieces<Parsed> {
    const text = this.#text;
    let cutAt = 0;
    for (let at = 0; at < text.length && this.#fault === null; at += 1) {
      const byte = text[at] ?? 0;
      if (at - cutAt > MOST_UNSPLIT_BYTES) {
        this.#fault = 'costly';
      } else if (byte === QUOTE) {
        at = afterText(text, at, Math.min(text.length, cutAt + MOST_UNSPLIT_BYTES + 1)) - 1;
      } else if (byte === COMMA) {
        this.#passComma(at);
        if (at - cutAt < PIECE_BYTES) continue;
        this.#cut();
        cutAt = at;
        yield;
      } else if ((byte | CURLED) === OPENING) {
        this.#push(at, byte !== OPENING);
      } else if ((byte | CURLED) === CLOSING) {
        this.#close(at, byte !== CLOSING);
      }
    }
    if (this.#fault === null && this.#root !== null && this.#open.length > 0) this.#fault = 'malformed';
    const cost = this.#fault === 'costly' ? Infinity : this.#usedValues;
    if (this.#fault !== null) return { fault: this.#fault, cost };
    if (this.#root !== null) return { value: this.#root, cost };
    // Nothing to divide, such as one long string.
    return parsedPart(text, this.#mostValues);
  }

  #push(at: number, isList: boolean): void {
    // What follows the end of the text is no JSON.
    if (this.#open.length === 0 && (this.#root !== null || afterSpace(this.#text, 0) < at)) this.#fault = 'malformed';
    this.#open.push({ isList, from: at + 1, comma: -1, made: null, isAfterInner: false });
    if (this.#open.length > DEEPEST) this.#fault = 'costly';
  }

  #passComma(at: number): void {
    const around = this.#open.at(-1);
    if (around === undefined) this.#fault = 'malformed';
    else if (!around.isAfterInner) around.comma = at;
    else this.#passInner(around, at);
  }

  /** Passes the comma, or the end, after an inner list or object. */
  #passInner(around: Open, to: number): void {
    if (afterSpace(this.#text, around.from) < to) this.#fault = 'malformed';
    [around.from, around.isAfterInner] = [to + 1, false];
  }

  #cut(): void {
    for (const [depth, each] of this.#open.entries()) {
      if (depth === 0) this.#root = each.made ??= each.isList ? [] : {};
      const inner = this.#open[depth + 1];
      // Nothing was completed around an inner one that was cut before.
      if (inner !== undefined && inner.made !== null) continue;
      if (each.comma >= 0) this.#take(each, each.comma);
      if (inner === undefined) continue;
      if (each.isAfterInner) this.#fault = 'malformed';
      inner.made = inner.isList ? [] : {};
      this.#take(each, inner.from - 1, inner.made);
    }
  }

  #close(at: number, isList: boolean): void {
    const closed = this.#open.pop();
    if (closed === undefined || (closed.made !== null && closed.isList !== isList)) this.#fault = 'malformed';
    if (closed === undefined || closed.made === null) return;
    if (closed.isAfterInner) this.#passInner(closed, at);
    else this.#take(closed, at);
    const around = this.#open.at(-1);
    if (around !== undefined) [around.from, around.comma, around.isAfterInner] = [at + 1, -1, true];
    else if (afterSpace(this.#text, at + 1) < this.#text.length) this.#fault = 'malformed';
  }

  /** Parses elements, and keeps them. @param inner an open list or object that ends them */
  #take(around: Open, to: number, inner?: Container): void {
    const [opens, closes] = around.isList ? LIST_ENDS : OBJECT_ENDS;
    const part = Buffer.concat([opens, this.#text.subarray(around.from, to), inner ? INNER : NOTHING, closes]);
    const parsed = parsedPart(part, this.#mostValues - this.#usedValues + 1);
    [around.from, around.comma] = [to + 1, -1];
    this.#usedValues += parsed.cost - 1;
    if ('fault' in parsed) this.#fault ??= parsed.fault;
    else if (append(around.made, parsed.value as Container, inner) === 0) this.#fault ??= 'malformed';
  }
}

/** Properties of a member that an assignment creates. */
const ORDINARY = { writable: true, enumerable: true, configurable: true };

/** @returns the number of elements */
function append(made: Container | null, parsed: Container, inner: Container | undefined): number {
  if (Array.isArray(made) && Array.isArray(parsed)) {
    for (const element of parsed) made.push(inner ?? element);
    return parsed.length;
  }
  const members = Object.keys(parsed);
  for (const name of members) {
    const value = inner ?? (parsed as Record<string, unknown>)[name];
    // An assignment to this name would set the prototype. A definition is several times slower.
    if (name === '__proto__') Object.defineProperty(made, name, { value, ...ORDINARY });
    else (made as Record<string, unknown>)[name] = value;
  }
  return members.length;
}
