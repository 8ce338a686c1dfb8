import {
  Composer,
  type CST,
  type Document,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  type Pair,
  Parser,
  YAMLParseError,
} from 'yaml';
import { withoutStacks } from '../core/model/errors.ts';
import type { Pieces } from '../core/model/pieces.ts';

/** Path of a value: mapping keys and list indexes. */
export type ValuePath = readonly PropertyKey[];

/** A parsed YAML text, with its problems. */
export interface ParsedYaml {
  document: Document;
  lines: LineCounter;
  /** Returns the line of the value, or of the nearest existing parent. */
  lineOf(path: ValuePath): number;
}

/** Grammar tokens without a break: half a millisecond. */
const PIECE_TOKENS = 256;

/**
 * Parses one YAML 1.2 document like the library's `parseDocument`, with breaks. Only the tree is built without a break. Its cost depends on
 * the tokens, and on the lines and escapes in scalars, which therefore count as tokens.
 * @returns null for more than `mostTokens`
 * @throws RangeError if the nesting exceeds the stack of the recursive library
 */
export function* parseYaml(text: string, mostTokens: number): Pieces<ParsedYaml | null> {
  const lines = new LineCounter();
  lines.addNewLine(0);
  const parser = new Parser(lines.addNewLine);
  const parts: CST.Token[] = [];
  let [tokens, cost] = [0, 0];
  for (const lexeme of new Lexer().lex(text)) {
    tokens += 1;
    cost += 1 + linesAndEscapes(lexeme, mostTokens);
    if (cost > mostTokens) return null;
    parts.push(...parser.next(lexeme));
    if (tokens % PIECE_TOKENS === 0) yield;
  }
  parts.push(...parser.end());
  yield;
  const document = yield* compose(parts, text.length);
  yield;
  const offsets = new Offsets(document);
  return { document, lines, lineOf: (path) => lines.linePos(offsets.at(path)).line };
}

const LINE_OR_ESCAPE = /[\n\\]/g;

/** Counts up to a limit. Apart from comments, only scalars contain lines or escapes and other characters. */
function linesAndEscapes(lexeme: string, most: number): number {
  let count = 0;
  if (lexeme.length < 3 || lexeme.startsWith('#')) return count;
  for (const _ of lexeme.matchAll(LINE_OR_ESCAPE)) {
    count += 1;
    if (count > most) break;
  }
  return count;
}

/** Builds the first document. A second one is a problem of the first, and ends it. */
function* compose(parts: readonly CST.Token[], length: number): Pieces<Document> {
  // Repeated keys are checked elsewhere, because the library compares every pair.
  const composer = new Composer({ prettyErrors: false, logLevel: 'error', uniqueKeys: false, version: '1.2' });
  const found: Document.Parsed[] = [];
  for (const [at, part] of parts.entries()) {
    found.push(...withoutStacks(() => [...composer.next(part)]));
    if (found.length > 1) break;
    if (at % PIECE_TOKENS === PIECE_TOKENS - 1) yield;
  }
  if (found.length < 2) found.push(...withoutStacks(() => [...composer.end(true, length)]));
  const [first, second] = found;
  if (first === undefined) throw new TypeError('the library returned no document');
  if (second === undefined) return first;
  const [from, to] = second.range;
  first.errors.push(withoutStacks(() => new YAMLParseError([from, to], 'MULTIPLE_DOCS', 'several documents')));
  return first;
}

/** Positions of values. The keys of a mapping are found once, because a file can have a fault at each key. */
class Offsets {
  readonly #document: Document;
  readonly #pairs = new Map<unknown, ReadonlyMap<string, Pair>>();

  constructor(document: Document) {
    this.#document = document;
  }

  /** Returns the offset of the key, list element or nearest parent. */
  at(path: ValuePath): number {
    let offset = 0;
    let parent: unknown = this.#document.contents;
    for (const key of path) {
      const pair = this.#pairsOf(parent).get(String(key));
      const node = pair === undefined ? elementOf(parent, key) : pair.key;
      if (!isNode(node) || !node.range) return offset;
      offset = node.range[0];
      parent = pair === undefined ? node : pair.value;
    }
    return offset;
  }

  /** The first of equal keys. */
  #pairsOf(parent: unknown): ReadonlyMap<string, Pair> {
    if (!isMap(parent)) return new Map();
    const found = this.#pairs.get(parent);
    if (found !== undefined) return found;
    const pairs = new Map(parent.items.toReversed().map((pair) => [keyText(pair.key), pair]));
    this.#pairs.set(parent, pairs);
    return pairs;
  }
}

function elementOf(parent: unknown, key: PropertyKey): unknown {
  return isSeq(parent) ? parent.items[Number(key)] : undefined;
}

function keyText(key: unknown): string {
  return String(isScalar(key) ? key.value : key);
}
