import { readFileSync } from 'node:fs';
import { type Alias, type Document, isAlias, isMap, isScalar, isSeq, type LineCounter, type YAMLError } from 'yaml';
import { atOnce, type Pieces } from '../core/model/pieces.ts';
import { type Code, message, withRemedy } from '../messages/message.ts';
import { type ConfigurationFault, faultIn } from './faults.ts';
import { parsePlainYaml } from './plain-yaml.ts';
import { type ParsedYaml, parseYaml, type ValuePath } from './yaml-parser.ts';

/** A readable YAML file. */
export interface YamlFile {
  /** Displayed file name. */
  name: string;
  /** Plain JavaScript: mappings are objects, lists are arrays. */
  value: unknown;
  /** Returns the line of the value, or of the nearest existing parent. */
  lineOf(path: ValuePath): number;
  /** Returns the value, or undefined. */
  valueAt(path: ValuePath): unknown;
}

/** A readable file, or its faults. */
export type YamlRead = FoundFile | { faults: ConfigurationFault[] };

interface FoundFile {
  file: YamlFile;
  /** Like the file's method, without another parsing. It keeps the document in memory, and serves checks after the reading. */
  lineOf: YamlFile['lineOf'];
}

/** Limits of one file. */
export const FILE_LIMITS = {
  /** One file must not block all others; a file of a hundred targets has a tenth of this size. */
  bytes: 512 * 1_024,
  /** Grammar tokens, and lines and escapes in scalars: each can take two microseconds. A file of a hundred targets has 9,000. */
  tokens: 20_000,
  /** More aliases are treated as an attack on memory: each can stand for all previous content. */
  aliases: 100,
  /** Nesting: the library copies the path of each level. */
  levels: 100,
} as const;
/** Maximum number of faults per file, because a non-YAML file can have a fault at each character. */
const MOST_FAULTS = 100;

/** Returns the keys of a mapping; empty if not a mapping. */
export function keysAt(file: YamlFile, path: ValuePath): string[] {
  const value = file.valueAt(path);
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : [];
}

/** Reads one YAML 1.2 document. Faults contain nothing of the text, which can include secrets. */
export function readYamlFile(fileName: string): YamlRead {
  const read = readBytes(fileName);
  return 'faults' in read ? read : readYaml(fileName, read.bytes);
}

/** Returns the bytes of a file, or the faults. */
export function readBytes(fileName: string): { bytes: Buffer } | { faults: ConfigurationFault[] } {
  try {
    return { bytes: readFileSync(fileName) };
  } catch (error) {
    return { faults: [unreadable(fileName, error)] };
  }
}

/** Parses bytes like {@link readYamlFile}. */
export function readYaml(fileName: string, bytes: Buffer): YamlRead {
  return atOnce(readYamlInPieces(fileName, bytes));
}

/** Parses bytes like {@link readYaml}, with breaks. */
export function* readYamlInPieces(fileName: string, bytes: Buffer): Pieces<YamlRead> {
  if (bytes.length > FILE_LIMITS.bytes) {
    return { faults: [faultIn(fileName, ...withRemedy('yaml.too-large', { size: FILE_LIMITS.bytes / 1024 }))] };
  }
  const text = bytes.toString('utf8');
  const plain = parsePlainYaml(text);
  if (plain !== undefined) {
    const file = fileOf(fileName, plain, () => text);
    return { file, lineOf: file.lineOf };
  }
  const parsed = yield* parseNested(text);
  if (parsed === null) {
    return { faults: [faultIn(fileName, ...withRemedy('yaml.too-many-tokens', { count: FILE_LIMITS.tokens }))] };
  }
  if (parsed === 'too deep') return { faults: [tooDeep(fileName)] };
  const { document, lines } = parsed;
  const problem = firstProblem(document, lines);
  if (problem !== null) return { faults: [yamlFault(fileName, problem, lines, openedBefore(document, problem))] };
  const nodes = [...nodesOf(document)];
  if (nodes.some(({ depth }) => depth > FILE_LIMITS.levels)) {
    return { faults: [tooDeep(fileName)] };
  }
  yield;
  const repeated = repeatedKeys(nodes);
  if (repeated.length > 0)
    return { faults: repeated.slice(0, MOST_FAULTS).map((each) => yamlFault(fileName, each, lines)) };
  const aliases = nodes.map(({ node }) => node).filter((node) => isAlias(node));
  if (aliases.length > FILE_LIMITS.aliases) return { faults: [tooManyAliases(fileName)] };
  const dangling: Alias[] = [];
  for (const alias of aliases) {
    if (alias.resolve(document) === undefined) dangling.push(alias);
    yield;
  }
  if (dangling.length > 0) return { faults: dangling.map((alias) => withoutAnchor(fileName, alias, lines)) };
  return readDocument(fileName, text, parsed);
}

/** As `parseYaml`; `too deep` if the nesting exceeds the stack. */
function* parseNested(text: string): Pieces<ParsedYaml | null | 'too deep'> {
  try {
    return yield* parseYaml(text, FILE_LIMITS.tokens);
  } catch (error) {
    if (error instanceof RangeError) return 'too deep';
    throw error;
  }
}

function readDocument(name: string, text: string, parsed: ParsedYaml): YamlRead {
  let value: unknown;
  try {
    value = parsed.document.toJS({ maxAliasCount: FILE_LIMITS.aliases });
  } catch {
    return { faults: [tooManyAliases(name)] };
  }
  if (value === null || value === undefined) {
    return { faults: [faultIn(name, ...withRemedy('yaml.empty'))] };
  }
  return { file: fileOf(name, value, () => text), lineOf: parsed.lineOf };
}

/** Returns a file for an already parsed value. @param text called when a fault requires a line */
export function fileOf(name: string, value: unknown, text: () => string): YamlFile {
  let parsed: ParsedYaml | null | undefined;
  return {
    name,
    value,
    lineOf(path) {
      // Parsed only for faults, because a document takes about a hundred times the memory of its text.
      if (parsed === undefined) parsed = atOnce(parseYaml(text(), Number.POSITIVE_INFINITY));
      return parsed?.lineOf(path) ?? 1;
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

/** Lists all nodes in order with an explicit stack, because the text controls the depth. */
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
 * Returns the first cause: the library continues after a problem, and later problems mostly follow from it. Before a line with a leading
 * tab, the library can report the previous line first.
 */
function firstProblem({ errors, warnings }: Document, lines: LineCounter): YAMLError | null {
  const lineOf = ({ pos }: YAMLError) => lines.linePos(pos[0]).line;
  const [first] = [...errors, ...warnings].toSorted((one, other) => one.pos[0] - other.pos[0]);
  if (first === undefined) return null;
  const isTab = (problem: YAMLError) => problem.code === 'TAB_AS_INDENT' && lineOf(problem) <= lineOf(first) + 1;
  return errors.find(isTab) ?? first;
}

/** Returns the start of an unclosed quote, bracket or brace; null for other problems. */
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

/** Returns the repeated keys of mappings. */
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

/** @param openedAt the faulty quote, bracket or brace; null if the fault is at the problem itself */
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

/** Returns the fault of an alias without an anchor, usually a value that requires quotes. */
function withoutAnchor(file: string, alias: Alias, lines: LineCounter): ConfigurationFault {
  const { line } = lines.linePos(alias.range?.[0] ?? 0);
  return faultIn(file, message('yaml.alias-unknown'), message('yaml.alias-unnamed.remedy'), { line });
}

/** Returns the value at a path of plain JavaScript, or undefined. */
export function valueAt(value: unknown, path: ValuePath): unknown {
  let current = value;
  for (const key of path) {
    if (typeof current !== 'object' || current === null || !Object.hasOwn(current, key)) return undefined;
    current = Reflect.get(current, key);
  }
  return current;
}
