import type { Parser } from './parser.ts';

/** Longest input, save for one that a seed makes longer. */
const LONGEST_BYTES = 256 * 1024;
const MOST_CHANGES = 6;

/** Numbers from 0 to below 1, the same for the same seed (Mulberry32, https://gist.github.com/tommyettinger/46a874533244883189143505d203312c). */
export type Chance = () => number;

export function chanceOf(seed: number): Chance {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Returns the n-th input of a parser: one of its seeds, with one to six changes. Equal numbers give equal inputs. */
export function inputOf(parser: Parser, seed: number, index: number): Buffer {
  const chance = chanceOf(mixed(seed, index));
  const pick = <Value>(values: readonly Value[]): Value | undefined => values[Math.floor(chance() * values.length)];
  let input: Buffer = Buffer.from(pick(parser.seeds) ?? '');
  // Some seeds stay unchanged: they must be parsed.
  const changes = Math.floor(chance() * (MOST_CHANGES + 1));
  for (let change = 0; change < changes; change += 1) {
    const place = { chance, at: Math.floor(chance() * (input.length + 1)), length: spanLength(chance, input.length) };
    input = pick(CHANGES)?.(input, place, parser, pick) ?? input;
  }
  if (chance() < SHARE_OF_ONE_TOKEN) return oneToken(input, parser, chance);
  return input.subarray(0, LONGEST_BYTES);
}

/** Of so many inputs one is a token up to the longest that the parser may be given. */
const SHARE_OF_ONE_TOKEN = 1 / 50;

/** Repeats a token within a valid input, for example within an element or a list. */
function oneToken(input: Buffer, { words, longestBytes = LONGEST_BYTES }: Parser, chance: Chance): Buffer {
  const token = Buffer.from(words[Math.floor(chance() * words.length)] ?? ' ');
  const around = input.subarray(0, LONGEST_BYTES);
  const at = Math.floor(chance() * (around.length + 1));
  const room = Math.max(0, longestBytes - around.length);
  return insert(around, at, Buffer.alloc(room - (room % Math.max(1, token.length)), token));
}

interface Place {
  chance: Chance;
  at: number;
  /** Of a span that is cut out, doubled or moved. */
  length: number;
}

type Change = (
  input: Buffer,
  place: Place,
  parser: Parser,
  pick: <Value>(values: readonly Value[]) => Value | undefined,
) => Buffer;

const insert = (input: Buffer, at: number, what: Uint8Array) =>
  Buffer.concat([input.subarray(0, at), what, input.subarray(at)]);

const ODD_BYTES = [0x00, 0x09, 0x0a, 0x0d, 0x20, 0x22, 0x5c, 0x7f, 0x80, 0xc0, 0xed, 0xf4, 0xff];
const ODD_NUMBERS = ['0', '-1', '-0', '1e999', '9007199254740993', '99999999999999999999', '0.1e-400', '4294967296'];
const ODD_WORDS = [
  '__proto__',
  'constructor',
  'toString',
  'null',
  'true',
  '[]',
  '{}',
  '""',
  '\u202e',
  '\ud83d',
  '\ufeff',
];

const CHANGES: readonly Change[] = [
  // A byte becomes another one.
  (input, { chance, at }) => {
    const changed = Buffer.from(input);
    if (at < changed.length) changed[at] = Math.floor(chance() * 256);
    return changed;
  },
  (input, { at }, _parser, pick) => insert(input, at, Buffer.from([pick(ODD_BYTES) ?? 0])),
  // A span goes, comes twice, or the rest is cut off.
  (input, { at, length }) => Buffer.concat([input.subarray(0, at), input.subarray(at + length)]),
  (input, { at, length }) => insert(input, at, input.subarray(at, at + length)),
  (input, { at }) => input.subarray(0, at),
  // Insert grammar words, or generally unusual words.
  (input, { at }, { words }, pick) => insert(input, at, Buffer.from(pick(words) ?? '')),
  (input, { at }, _parser, pick) => insert(input, at, Buffer.from(pick(ODD_WORDS) ?? '')),
  // Replace numbers and words by unusual ones.
  (input, _place, _parser, pick) => replaceOne(input, /-?\d[\d.]*/g, pick, ODD_NUMBERS),
  (input, _place, { words }, pick) => replaceOne(input, /[A-Za-z_-]{2,}/g, pick, [...ODD_WORDS, ...words]),
  // Part of another seed.
  (input, { at, length }, { seeds }, pick) => {
    const other = Buffer.from(pick(seeds) ?? '');
    return insert(input, at, other.subarray(0, length * 4));
  },
  // Repeat a span: reveals work that grows faster than the input.
  (input, { chance, at, length }) => insert(input, at, repeated(input.subarray(at, at + Math.min(length, 16)), chance)),
  (input, { chance, at }, { words }, pick) => insert(input, at, repeated(Buffer.from(pick(words) ?? ' '), chance)),
  (input, { chance, at }, _parser, pick) => insert(input, at, repeated(Buffer.from([pick(ODD_BYTES) ?? 0]), chance)),
  // Ever deeper.
  (input, { chance, at, length }, { pairs }, pick) => {
    const [opening, closing] = pick(pairs) ?? ['', ''];
    const depth = Math.floor(10 ** (chance() * 4));
    const inner = input.subarray(at, at + length);
    const nested = [Buffer.from(opening.repeat(depth)), inner, Buffer.from(closing.repeat(depth))];
    return Buffer.concat([input.subarray(0, at), ...nested, input.subarray(at + length)]);
  },
];

function spanLength(chance: Chance, most: number): number {
  return Math.ceil(most ** chance());
}

/** Repeats mostly a few times, sometimes up to the maximum length of an input. */
function repeated(what: Buffer, chance: Chance): Buffer {
  const times = Math.floor(10 ** (chance() * 5));
  const length = Math.min(what.length * times, LONGEST_BYTES);
  return what.length === 0 ? what : Buffer.alloc(length, what);
}

function replaceOne(
  input: Buffer,
  pattern: RegExp,
  pick: <Value>(values: readonly Value[]) => Value | undefined,
  by: readonly string[],
): Buffer {
  const text = input.toString('latin1');
  const found = pick([...text.slice(0, LONGEST_BYTES / 16).matchAll(pattern)]);
  if (found === undefined) return input;
  const end = found.index + found[0].length;
  return Buffer.concat([input.subarray(0, found.index), Buffer.from(pick(by) ?? ''), input.subarray(end)]);
}

function mixed(seed: number, index: number): number {
  return (Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(index + 1, 0xc2b2ae35)) >>> 0;
}
