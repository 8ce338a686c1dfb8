import { readFileSync } from 'node:fs';
import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isNode,
  isScalar,
  isSeq,
  Lexer,
  LineCounter,
  parseDocument,
  type YAMLError,
} from 'yaml';
import { type Code, message, withRemedy } from '../messages/message.ts';
import { withoutStacks } from '../model/errors.ts';
import { type ConfigurationFault, faultIn } from './faults.ts';

/** Where a value stands in a file: keys of mappings and indexes of lists. */
export type ValuePath = readonly PropertyKey[];

/** A YAML file that could be read. */
export interface YamlFile {
  /** The file's name as shown to people. */
  name: string;
  /** Plain JavaScript: mappings are objects, lists arrays. */
  value: unknown;
  /** The line of the value at a path, or of the nearest thing around it when there is none. */
  lineOf(path: ValuePath): number;
  /** The value at a path, undefined when there is none. */
  valueAt(path: ValuePath): unknown;
}

/** A file that could be read, or why it could not. */
export type YamlRead = { file: YamlFile } | { faults: ConfigurationFault[] };

/** Aliases beyond this count as an attack on memory: each may stand for all that is before it. */
const MAX_ALIASES = 100;
/** Whoever may write one file must not keep all others waiting: a file of a hundred targets has a tenth of this. */
const LARGEST_FILE_BYTES = 512 * 1024;
/** Signs, words and spaces of its grammar, each of which may be a fault that takes the library two microseconds. A file of a hundred targets has 9,000. */
const MOST_TOKENS = 50_000;
/** Nobody reads more of one file: what is no YAML at all may have a fault in each of its signs. */
const MOST_FAULTS = 100;
/** Lists and mappings within each other: the library copies the way to each of them. */
const DEEPEST = 100;

/** Keys of the mapping at a path; none when there is no mapping. */
export function keysAt(file: YamlFile, path: ValuePath): string[] {
  const value = file.valueAt(path);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
}

/** Reads one YAML 1.2 document. Faults hold nothing of the file's text, since that may be a secret. */
export function readYamlFile(fileName: string): YamlRead {
  const read = readBytes(fileName);
  return 'faults' in read ? read : readYaml(fileName, read.bytes);
}

/** The bytes of a file, or why they can't be had. */
export function readBytes(fileName: string): { bytes: Buffer } | { faults: ConfigurationFault[] } {
  try {
    return { bytes: readFileSync(fileName) };
  } catch (error) {
    return { faults: [unreadable(fileName, error)] };
  }
}

/** The same as {@link readYamlFile} of a file whose bytes were read. */
export function readYaml(fileName: string, bytes: Buffer): YamlRead {
  if (bytes.length > LARGEST_FILE_BYTES) {
    return { faults: [faultIn(fileName, ...withRemedy('yaml.too-large', { size: LARGEST_FILE_BYTES / 1024 }))] };
  }
  const text = bytes.toString('utf8');
  // A sign is at most four tokens.
  if (text.length > MOST_TOKENS / 4 && hasMoreTokens(text, MOST_TOKENS)) {
    return { faults: [faultIn(fileName, ...withRemedy('yaml.too-many-tokens', { count: MOST_TOKENS }))] };
  }
  const parsed = parseNested(text);
  if (parsed === null) return { faults: [tooDeep(fileName)] };
  const { document, lines } = parsed;
  const problem = firstProblem(document, lines);
  if (problem !== null) return { faults: [yamlFault(fileName, problem, lines, openedBefore(document, problem))] };
  const nodes = [...nodesOf(document)];
  if (nodes.some(({ depth }) => depth > DEEPEST)) {
    return { faults: [tooDeep(fileName)] };
  }
  const repeated = repeatedKeys(nodes);
  if (repeated.length > 0)
    return { faults: repeated.slice(0, MOST_FAULTS).map((problem) => yamlFault(fileName, problem, lines)) };
  const aliases = nodes.map(({ node }) => node).filter((node) => isAlias(node));
  if (aliases.length > MAX_ALIASES) return { faults: [tooManyAliases(fileName)] };
  const dangling = aliases.filter((alias) => alias.resolve(document) === undefined);
  if (dangling.length > 0) return { faults: dangling.map((alias) => withoutAnchor(fileName, alias, lines)) };
  return readDocument(fileName, text, document);
}

interface ParsedYaml {
  document: Document;
  lines: LineCounter;
}

/** Looked at before anything is parsed, and no further than that. */
function hasMoreTokens(text: string, most: number): boolean {
  let tokens = 0;
  for (const _ of new Lexer().lex(text)) {
    tokens += 1;
    if (tokens > most) return true;
  }
  return false;
}

function parseYaml(text: string): ParsedYaml {
  const lines = new LineCounter();
  // Whether keys are there twice is looked at below: the library compares each with each.
  const options = {
    lineCounter: lines,
    prettyErrors: false,
    logLevel: 'error',
    uniqueKeys: false,
    version: '1.2',
  } as const;
  return { document: withoutStacks(() => parseDocument(text, options)), lines };
}

/** Null for a text that nests so deep that the library, which calls itself with each level, has no room for it. */
function parseNested(text: string): ParsedYaml | null {
  try {
    return parseYaml(text);
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

function readDocument(name: string, text: string, document: Document): YamlRead {
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch {
    return { faults: [tooManyAliases(name)] };
  }
  if (value === null || value === undefined) {
    return { faults: [faultIn(name, ...withRemedy('yaml.empty'))] };
  }
  return { file: fileOf(name, value, () => text) };
}

/** A file by what was read of it. @param text asked for when a fault wants a line */
export function fileOf(name: string, value: unknown, text: () => string): YamlFile {
  let parsed: ParsedYaml | undefined;
  return {
    name,
    value,
    lineOf(path) {
      // Only faults ask, and a document takes some hundred times the memory of its text.
      parsed ??= parseYaml(text());
      return parsed.lines.linePos(offsetOf(parsed.document, path)).line;
    },
    valueAt: (path) => valueAt(value, path),
  };
}

function unreadable(file: string, error: unknown): ConfigurationFault {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'ENOENT') return faultIn(file, ...withRemedy('yaml.no-such-file'));
  return faultIn(file, ...withRemedy('yaml.unreadable', { code }));
}

const YAML_PROBLEMS = {
  BAD_INDENT: 'yaml.bad-indent',
  TAB_AS_INDENT: 'yaml.tab',
  DUPLICATE_KEY: 'yaml.key-twice',
  MULTIPLE_DOCS: 'yaml.several-documents',
  MISSING_CHAR: 'yaml.character-missing',
  BAD_ALIAS: 'yaml.alias-unnamed',
  BAD_SCALAR_START: 'yaml.reserved-character',
  BLOCK_AS_IMPLICIT_KEY: 'yaml.mapping-as-value',
  MULTILINE_IMPLICIT_KEY: 'yaml.long-key',
  TAG_RESOLVE_FAILED: 'yaml.tag-unknown',
} as const satisfies Partial<Record<YAMLError['code'], Code>>;
type NamedProblem = (typeof YAML_PROBLEMS)[keyof typeof YAML_PROBLEMS];

interface NodeAtDepth {
  node: unknown;
  depth: number;
}

/** All nodes in their order. By a list of what is left to see: how deep a text nests is its writer's choice. */
function* nodesOf(document: Document): Generator<NodeAtDepth> {
  const waiting: NodeAtDepth[] = [{ node: document.contents, depth: 0 }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    yield next;
    const { node, depth } = next;
    const inner = isMap(node) ? node.items.flatMap(({ key, value }) => [key, value]) : isSeq(node) ? node.items : [];
    for (const each of inner.toReversed()) waiting.push({ node: each, depth: depth + 1 });
  }
}

/**
 * The cause of all problems of a text: the library goes on after the first, and what it says then mostly follows from it. Of a line that begins with a
 * tab it may first say what is wrong with the line before.
 */
function firstProblem({ errors, warnings }: Document, lines: LineCounter): YAMLError | null {
  const lineOf = ({ pos }: YAMLError) => lines.linePos(pos[0]).line;
  const [first] = [...errors, ...warnings].toSorted((one, other) => one.pos[0] - other.pos[0]);
  if (first === undefined) return null;
  const isTab = (problem: YAMLError) => problem.code === 'TAB_AS_INDENT' && lineOf(problem) <= lineOf(first) + 1;
  return errors.find(isTab) ?? first;
}

/** Where the quote, bracket or brace begins that a problem finds unclosed; null for other problems. */
function openedBefore(document: Document, { code, pos }: YAMLError): number | null {
  if (code !== 'MISSING_CHAR' && code !== 'BAD_INDENT') return null;
  const around = [...nodesOf(document)].flatMap(({ node }) => {
    const isQuoted = isScalar(node) && /^QUOTE/.test(node.type ?? '');
    const isBracketed = (isMap(node) || isSeq(node)) && node.flow === true;
    return (isQuoted || isBracketed) && node.range ? [node.range] : [];
  });
  const opened = around.filter(([from, to]) => from < pos[0] && to >= pos[0]);
  return opened.at(-1)?.[0] ?? null;
}

/** Where a mapping has a key for the second time. */
function repeatedKeys(nodes: readonly NodeAtDepth[]): Pick<YAMLError, 'code' | 'pos'>[] {
  return nodes.flatMap(({ node }) => {
    const seen = new Set<unknown>();
    const keys = isMap(node) ? node.items.flatMap(({ key }) => (isScalar(key) ? [key] : [])) : [];
    return keys.flatMap(({ value, range }) => {
      if (!seen.has(value)) {
        seen.add(value);
        return [];
      }
      return [{ code: 'DUPLICATE_KEY' as const, pos: [range?.[0] ?? 0, range?.[1] ?? 0] as [number, number] }];
    });
  });
}

function tooDeep(file: string): ConfigurationFault {
  return faultIn(file, ...withRemedy('yaml.too-deep'));
}

function tooManyAliases(file: string): ConfigurationFault {
  return faultIn(file, ...withRemedy('yaml.too-many-aliases'));
}

/** @param openedAt the quote, bracket or brace that is at fault; null for what is at fault where the problem is */
function yamlFault(
  file: string,
  problem: Pick<YAMLError, 'code' | 'pos'>,
  lines: LineCounter,
  openedAt: number | null = null,
): ConfigurationFault {
  const { code } = problem;
  const line = lines.linePos(openedAt ?? problem.pos[0]).line;
  const named: Partial<Record<YAMLError['code'], NamedProblem>> = YAML_PROBLEMS;
  const [cause, remedy] = withRemedy(openedAt === null ? (named[code] ?? 'yaml.misplaced') : 'yaml.unclosed');
  return faultIn(file, message('yaml.not-valid', { problem: cause, code }), remedy, { line });
}

/** Of an alias that no anchor stands before; most often a value in want of quotes. */
function withoutAnchor(file: string, alias: Alias, lines: LineCounter): ConfigurationFault {
  const { line } = lines.linePos(alias.range?.[0] ?? 0);
  return faultIn(file, message('yaml.alias-unknown'), message('yaml.alias-unnamed.remedy'), { line });
}

/** Offset of the key that leads to the value, of the list's element, or of the nearest thing around. */
function offsetOf(document: Document, path: ValuePath): number {
  let offset = 0;
  for (let length = 1; length <= path.length; length += 1) {
    const parent = document.getIn(path.slice(0, length - 1), true);
    const last = path[length - 1];
    const pair = isMap(parent) ? parent.items.find((item) => keyText(item.key) === String(last)) : undefined;
    const node = pair === undefined ? document.getIn(path.slice(0, length), true) : pair.key;
    if (!isNode(node) || !node.range) return offset;
    offset = node.range[0];
  }
  return offset;
}

function keyText(key: unknown): string {
  return String(isScalar(key) ? key.value : key);
}

/** The value at a path of plain JavaScript; undefined when there is none. */
export function valueAt(value: unknown, path: ValuePath): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}
