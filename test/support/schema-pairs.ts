import { parseSync, visitorKeys } from 'oxc-parser';

interface Node {
  type: string;
  start: number;
  [field: string]: unknown;
}

interface Parsed {
  path: string;
  text: string;
  nodes: Node[];
  /** Object literals and calls by the name of their constant. */
  constants: Map<string, Node>;
}

/** A type that is written by hand although a schema has its keys. */
export interface SchemaPair {
  /** Name of the type. */
  name: string;
  /** File and line of the type. */
  type: string;
  /** File and line of each schema. */
  schemas: string[];
}

/** Returns each interface and each object type with a name whose keys equal the keys of a zod object. One key is no pair. */
export function schemaPairs(files: ReadonlyMap<string, string>): SchemaPair[] {
  const parsed = Array.from(files, ([path, text]) => parse(path, text));
  const interfaces = new Map(parsed.flatMap(({ nodes }) => nodes.filter(isInterface).map((one) => [nameOf(one), one])));
  const schemas = parsed.flatMap((file) =>
    file.nodes.filter(isZodObject).map((node) => ({
      keys: keyText(literalKeys((node.arguments as Node[])[0], file, parsed)),
      place: placeOf(node, file),
    })),
  );
  const schemasByKeys = Map.groupBy(schemas, ({ keys }) => keys);
  return parsed.flatMap((file) =>
    file.nodes.flatMap((node) => {
      const keys = isInterface(node) ? interfaceKeys(node, interfaces) : aliasKeys(node);
      const found = keys === null || keys.length < 2 ? undefined : schemasByKeys.get(keyText(keys));
      if (found === undefined) return [];
      return [{ name: nameOf(node), type: placeOf(node, file), schemas: found.map(({ place }) => place) }];
    }),
  );
}

function parse(path: string, text: string): Parsed {
  const nodes = [...nodesOf(parseSync(path, text).program as unknown as Node)];
  const declared = nodes.filter(({ type, init }) => type === 'VariableDeclarator' && init !== null);
  return { path, text, nodes, constants: new Map(declared.map((node) => [nameOf(node), node.init as Node])) };
}

function* nodesOf(node: Node): Generator<Node> {
  yield node;
  for (const field of visitorKeys[node.type] ?? []) {
    for (const child of [node[field]].flat() as (Node | null | undefined)[]) if (child != null) yield* nodesOf(child);
  }
}

function nameOf(node: Node): string {
  return (node.id as { name?: string }).name ?? '';
}

function placeOf({ start }: Node, { path, text }: Parsed): string {
  return `${path}:${text.slice(0, start).split('\n').length}`;
}

/** Null, for keys that the source does not show, equals nothing. */
function keyText(keys: readonly string[] | null): string | null {
  return keys && [...new Set(keys)].sort().join();
}

function isInterface({ type }: Node): boolean {
  return type === 'TSInterfaceDeclaration';
}

function isZodObject({ type, callee, arguments: given }: Node): boolean {
  const { object, property } = (callee ?? {}) as { object?: { name?: string }; property?: { name?: string } };
  const isObject = /^(strict|loose|)[oO]bject$/.test(property?.name ?? '');
  return type === 'CallExpression' && object?.name === 'z' && isObject && (given as Node[]).length > 0;
}

function interfaceKeys(node: Node, interfaces: ReadonlyMap<string, Node>): string[] | null {
  const parents = (node.extends as { expression: { name?: string } }[]).map(({ expression }) => {
    const parent = interfaces.get(expression.name ?? '');
    return parent === undefined ? null : interfaceKeys(parent, interfaces);
  });
  const all = [memberKeys((node.body as { body: Node[] }).body), ...parents];
  return all.includes(null) ? null : all.flatMap((keys) => keys ?? []);
}

function aliasKeys({ type, typeAnnotation }: Node): string[] | null {
  const written = typeAnnotation as { type: string; members: Node[] };
  return type === 'TSTypeAliasDeclaration' && written.type === 'TSTypeLiteral' ? memberKeys(written.members) : null;
}

/** Null if a member is more than data. */
function memberKeys(members: readonly Node[]): string[] | null {
  if (members.some(({ type }) => type !== 'TSPropertySignature')) return null;
  return members.map(({ key }) => keyName(key as Node));
}

function keyName(key: Node): string {
  return String(key.name ?? key.value);
}

/** Keys of an object literal, with those of spread literals and of the `shape` of schemas. */
function literalKeys(node: Node | undefined, file: Parsed, all: readonly Parsed[]): string[] | null {
  if (node?.type === 'TSAsExpression') return literalKeys(node.expression as Node, file, all);
  if (node?.type === 'Identifier') {
    const owner = [file, ...all].find(({ constants }) => constants.has(String(node.name)));
    return owner === undefined ? null : literalKeys(owner.constants.get(String(node.name)), owner, all);
  }
  if (node?.type === 'MemberExpression' && (node.property as { name?: string }).name === 'shape') {
    return literalKeys(node.object as Node, file, all);
  }
  if (node?.type === 'CallExpression') return literalKeys((node.arguments as Node[])[0], file, all);
  if (node?.type !== 'ObjectExpression') return null;
  const keys = (node.properties as Node[]).map((property) =>
    property.type === 'SpreadElement'
      ? literalKeys(property.argument as Node, file, all)
      : [keyName(property.key as Node)],
  );
  return keys.includes(null) ? null : keys.flatMap((each) => each ?? []);
}
