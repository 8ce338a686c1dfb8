import { basename } from 'node:path';
import { parseSync, visitorKeys } from 'oxc-parser';

/** A function of a source file. */
export interface SourceFunction {
  name: string;
  line: number;
  lines: number;
  /** Number of positional parameters. */
  parameters: number;
  /** Whether tests are declared in it: then it is a list of tests, as long as there are cases. */
  declaresTests: boolean;
  /** Names of the types that the parameters are annotated with, without those inside of other types. */
  takes: string[];
}

/**
 * What a text is by its place:
 * - `description` of a setting or field, an argument of `.describe` or `.meta`;
 * - `declared` with an operation or a command: its summary, its options, its help;
 * - `log`: a message of the log, for engineers;
 * - `assertion`: of an `Error` or `TypeError` that only a defect throws;
 * - `words`: a list of words in one text, for a parser;
 * - `error`: an argument of one of our errors;
 * - `other`.
 */
export type TextRole = 'description' | 'declared' | 'log' | 'assertion' | 'words' | 'error' | 'other';

/** A string literal or template of a source file, with `…` instead of inserted values. */
export interface SourceText {
  text: string;
  line: number;
  role: TextRole;
}

/** The measured parts of one TypeScript file. */
export interface Source {
  /** From the root of the project. */
  path: string;
  lines: number;
  /** Lines that are not blank, and not only comment, import, re-export, interface or type. */
  code: number;
  functions: SourceFunction[];
  texts: SourceText[];
  /** Specifiers of imports and re-exports that stay when the types are removed; dynamic imports too. */
  imports: string[];
  /** Those of them that load with the file: without dynamic imports. */
  importsAtStart: string[];
  /** Names of what the file declares: variables, parameters, functions, types, members. */
  names: string[];
  /** Names of the functions and methods that are called. */
  calls: string[];
  /** Those of them whose first argument is a text in quotes. */
  literalCalls: string[];
  /** Conditions, loops, `catch` and operators such as `??`. */
  branches: number;
}

interface Node {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

const NO_CODE = new Set([
  'ImportDeclaration',
  'ExportAllDeclaration',
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
  'TSDeclareFunction',
]);

/** Functions that declare a test, or a group of tests. */
const TEST_FUNCTIONS = new Set(['test', 'it', 'describe']);

/** Parses a TypeScript file and measures it. @throws Error that names the file, if the file cannot be parsed */
export function readSource(path: string, content: string): Source {
  const { program, comments, errors } = parseSync(path, content);
  if (errors[0] !== undefined) throw new Error(`Cannot parse ${path}: ${errors[0].message}`);
  const lineStarts = [0, ...[...content.matchAll(/\n/g)].map(({ index }) => index + 1)];
  const lineAt = (offset: number) => {
    let [below, above] = [0, lineStarts.length];
    while (above - below > 1) {
      const middle = (below + above) >> 1;
      if ((lineStarts[middle] ?? 0) <= offset) below = middle;
      else above = middle;
    }
    return below + 1;
  };
  const blanked: { start: number; end: number }[] = [...comments];
  const source: Source = {
    path,
    lines: content.trimEnd().split('\n').length,
    code: 0,
    functions: [],
    texts: [],
    imports: [],
    importsAtStart: [],
    names: [],
    calls: [],
    literalCalls: [],
    branches: 0,
  };
  visit(program as unknown as Node, null, (node, parent, role) => {
    if (isNoCode(node)) blanked.push(parent?.type === 'ExportNamedDeclaration' ? parent : node);
    source.imports.push(...importsOf(node));
    if (node.type !== 'ImportExpression') source.importsAtStart.push(...importsOf(node));
    if (isFunction(node)) source.functions.push(functionOf(node, parent, lineAt));
    source.names.push(...declaredBy(node));
    source.calls.push(...calledBy(node));
    if ((node.arguments as Node[] | undefined)?.[0]?.type === 'Literal') source.literalCalls.push(...calledBy(node));
    if (BRANCHES.test(node.type)) source.branches++;
    const text = textOf(node, parent);
    if (text !== null) source.texts.push({ text, line: lineAt(node.start), role });
  });
  source.code = codeLines(content, blanked);
  return source;
}

/**
 * Measures a script for Redis. Lines of code are lines that are neither blank nor comments. The names are the file's name and the names of
 * locals.
 */
export function readScript(path: string, content: string): Source {
  const lines = content.trimEnd().split('\n');
  const statements = lines.filter((line) => line.trim() !== '' && !line.trim().startsWith('--'));
  const locals = statements.flatMap((line) => /\blocal (?:function )?([\w, ]+)/.exec(line)?.[1]?.split(/\W+/) ?? []);
  return {
    ...{ path, lines: lines.length, code: statements.length },
    ...{ functions: [], texts: [], imports: [], importsAtStart: [], calls: [], literalCalls: [], branches: 0 },
    names: [basename(path, '.lua'), ...locals.filter((name) => name !== '')],
  };
}

type Enter = (node: Node, parent: Node | null, role: TextRole) => void;

function visit(node: Node, parent: Node | null, enter: Enter, role: TextRole = 'other'): void {
  enter(node, parent, role);
  for (const field of visitorKeys[node.type] ?? []) {
    const value = node[field] as Node | (Node | null)[] | null | undefined;
    if (value === null || value === undefined) continue;
    const childRole = roleWithin(node, field) ?? role;
    for (const child of Array.isArray(value) ? value : [value]) {
      if (child !== null) visit(child, node, enter, childRole);
    }
  }
}

/** Methods whose arguments describe a setting or field. */
const DESCRIBING = /^(describe|meta)$/;
/** Methods and classes whose arguments are texts of a command, and properties that are texts of an operation, command or metric. */
const OF_COMMANDS = /^(option|requiredOption|argument|description|summary|addHelpText|Option|Argument)$/;
const OF_OPERATIONS = /^(summary|description|about|help|when|needs|words)$/;
const LOG_LEVELS = /^(trace|debug|info|warn|error|fatal)$/;
const DEFECTS = /^(Error|TypeError|RangeError)$/;
const OUR_ERRORS = /^(MirrorError|ConfigurationError)$/;
const BRANCHES = /^(If|Switch|For|ForOf|ForIn|While|DoWhile)Statement$|^(Conditional|Logical)Expression$|^CatchClause$/;

/** Functions whose arguments are a kind and the description of a field of a CRM mapping. */
const DESCRIBED_FIELDS = /^(open|sensitive)$/;

/** The parts of a node that is called, or of its object. */
interface Callee {
  name?: string;
  object?: Node;
  property?: { name?: string };
  computed?: boolean;
  callee?: { name?: string };
}

/** Returns the role of the texts in one field of a node; null for the role of the node. */
function roleWithin(node: Node, field: string): TextRole | null {
  if (node.type === 'Property' && field === 'value') {
    const { name = '' } = node.key as { name?: string };
    // `detail` of a vendor's error goes into the page of all errors.
    if (name === 'detail') return 'description';
    return OF_OPERATIONS.test(name) ? 'declared' : null;
  }
  if (node.type === 'MemberExpression' && field === 'object') {
    return (node.property as { name?: string }).name === 'split' ? 'words' : null;
  }
  if (field !== 'arguments') return null;
  const { name, object, property, computed } = node.callee as Callee;
  const called = name ?? property?.name ?? '';
  if (node.type === 'NewExpression')
    return DEFECTS.test(called)
      ? 'assertion'
      : OUR_ERRORS.test(called)
        ? 'error'
        : OF_COMMANDS.test(called)
          ? 'declared'
          : null;
  if (name === 'words') return 'words';
  // `log.warn()`, `tenant.log[level]()`, `log().warn()`
  const { name: objectName = '', property: member, callee } = (object ?? {}) as Callee;
  const isLog = /log(ger)?$/i.test(member?.name ?? callee?.name ?? objectName);
  if (isLog && (computed === true || LOG_LEVELS.test(called))) return 'log';
  const isField = object === undefined && DESCRIBED_FIELDS.test(called);
  if (isField || DESCRIBING.test(called)) return 'description';
  return object !== undefined && OF_COMMANDS.test(called) ? 'declared' : null;
}

function isNoCode(node: Node): boolean {
  return NO_CODE.has(node.type) || (node.type === 'ExportNamedDeclaration' && node.source != null);
}

function importsOf(node: Node): string[] {
  const source = node.source as (Node & { value?: unknown }) | null | undefined;
  if (typeof source?.value !== 'string') return [];
  if (node.type === 'ImportExpression' || node.type === 'ExportAllDeclaration') return [source.value];
  if (node.type !== 'ImportDeclaration' && node.type !== 'ExportNamedDeclaration') return [];
  const kind = node.importKind ?? node.exportKind;
  const specifiers = (node.specifiers ?? []) as Node[];
  const isTypeOnly = (each: Node) => (each.importKind ?? each.exportKind) === 'type';
  if (kind === 'type' || (specifiers.length > 0 && specifiers.every(isTypeOnly))) return [];
  return [source.value];
}

function isFunction(node: Node): boolean {
  return ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression'].includes(node.type);
}

function functionOf(node: Node, parent: Node | null, lineAt: (offset: number) => number): SourceFunction {
  const parameters = (node.params ?? []) as Node[];
  const named = (node.id ?? parent?.key ?? parent?.id) as { name?: string } | null | undefined;
  return {
    name: named?.name ?? 'anonymous',
    line: lineAt(node.start),
    lines: lineAt(node.end - 1) - lineAt(node.start) + 1,
    parameters: parameters.length,
    declaresTests: declaresTests(node),
    takes: parameters.flatMap(typeNames),
  };
}

/** Names that a node declares: of bindings, of members with a name in the source, and of types. */
function declaredBy(node: Node): string[] {
  const nameIn = (value: unknown): string[] => {
    const { type, name, elements, properties, argument, left, value: inner } = (value ?? {}) as Record<string, unknown>;
    if (type === 'Identifier' || type === 'PrivateIdentifier') return [String(name)];
    if (type === 'ArrayPattern') return (elements as unknown[]).flatMap(nameIn);
    if (type === 'ObjectPattern') return (properties as unknown[]).flatMap(nameIn);
    if (type === 'Property') return nameIn(inner);
    if (type === 'RestElement') return nameIn(argument);
    return type === 'AssignmentPattern' ? nameIn(left) : [];
  };
  const parameters = isFunction(node) ? ((node.params ?? []) as unknown[]).flatMap(nameIn) : [];
  if (
    /^(VariableDeclarator|FunctionDeclaration|ClassDeclaration|TS(Interface|TypeAlias)Declaration)$/.test(node.type)
  ) {
    return [...nameIn(node.id), ...parameters];
  }
  if (/^(TSPropertySignature|TSMethodSignature|PropertyDefinition|MethodDefinition)$/.test(node.type)) {
    return node.computed === true ? [] : nameIn(node.key);
  }
  return parameters;
}

function calledBy(node: Node): string[] {
  if (node.type !== 'CallExpression') return [];
  const { name, property } = node.callee as { name?: string; property?: { name?: string } };
  const called = name ?? property?.name;
  return called === undefined ? [] : [called];
}

function declaresTests(node: Node): boolean {
  let isFound = false;
  visit(node, null, (each) => {
    let callee = each.type === 'CallExpression' ? (each.callee as Node) : null;
    while (callee !== null && callee.type !== 'Identifier') callee = ((callee.object ?? callee.callee) as Node) ?? null;
    isFound ||= callee !== null && TEST_FUNCTIONS.has(String(callee.name));
  });
  return isFound;
}

function typeNames(parameter: Node): string[] {
  const { left, typeAnnotation } = parameter as { left?: Node; typeAnnotation?: { typeAnnotation: Node } | null };
  if (left !== undefined) return typeNames(left);
  const named = typeAnnotation?.typeAnnotation as { type?: string; typeName?: { name?: string } } | undefined;
  return named?.type === 'TSTypeReference' && named.typeName?.name !== undefined ? [named.typeName.name] : [];
}

function textOf(node: Node, parent: Node | null): string | null {
  if (node.type === 'Literal' && typeof node.value === 'string') {
    return parent !== null && 'source' in parent && parent.source === node ? null : node.value;
  }
  if (node.type !== 'TemplateLiteral') return null;
  return (node.quasis as { value: { cooked: string | null } }[]).map(({ value }) => value.cooked ?? '').join('…');
}

/** Lines of which something other than white space remains outside of the ranges. */
function codeLines(content: string, blanked: readonly { start: number; end: number }[]): number {
  const characters = content.split('');
  for (const { start, end } of blanked) {
    for (let at = start; at < end; at++) if (characters[at] !== '\n') characters[at] = ' ';
  }
  return characters
    .join('')
    .split('\n')
    .filter((line) => line.trim() !== '').length;
}
