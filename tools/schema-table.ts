/** The part of JSON Schema (draft 7) that `src/settings/json-schemas.ts` writes. */
interface Schema {
  $ref?: string;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  type?: string | string[];
  const?: unknown;
  enum?: unknown[];
  default?: unknown;
  description?: string;
  format?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  definitions?: Record<string, Schema>;
}

/** One key that a file may hold. */
export interface SchemaKey {
  /** Such as `targets.<name>.window.pastDays`; `[]` for the entries of a list. */
  path: string;
  /** What may stand there, in words. */
  values: string;
  /** As it is written in YAML (flow style); null where there is none. */
  fallback: string | null;
  isRequired: boolean;
  description: string;
}

const NO_BOUND = 1_000_000_000;

/** Every key below a schema, in its order. A choice between several shapes gives the keys of each. */
export function keysOfSchema(root: object): SchemaKey[] {
  const whole = root as Schema;
  return below(resolve(whole, whole), '', whole);
}

/** Keys as a Markdown table. */
export function renderKeys(keys: readonly SchemaKey[]): string {
  const rows = keys.map(({ path, values, fallback, isRequired, description }) => {
    const shown = fallback === null ? (isRequired ? '**needed**' : '–') : `\`${fallback}\``;
    return `| \`${path}\` | ${values === '' ? 'keys below' : values} | ${shown} | ${description.replaceAll('<', '&lt;')} |`;
  });
  return ['| key | value | default | what it does |', '|---|---|---|---|', ...rows.map(escapeCells)].join('\n');
}

/** A `|` within a cell would end it. */
function escapeCells(row: string): string {
  return row.replaceAll(/(?<=\S)\|(?=\S)/g, '\\|');
}

function below(schema: Schema, path: string, root: Schema): SchemaKey[] {
  const shapes = shapesOf(schema).map((shape) => resolve(shape, root));
  const keys = shapes.flatMap((shape) => keysOfShape(shape, path, root));
  const seen = new Map<string, SchemaKey>();
  for (const key of keys) if (!seen.has(`${key.path} ${key.values}`)) seen.set(`${key.path} ${key.values}`, key);
  return mergeConstants([...seen.values()]);
}

/** `kind: google`, `kind: caldav` of several shapes become one line. */
function mergeConstants(keys: readonly SchemaKey[]): SchemaKey[] {
  const merged = new Map<string, SchemaKey>();
  for (const key of keys) {
    const known = merged.get(key.path);
    if (known === undefined) merged.set(key.path, key);
    else if (!known.values.split(', ').includes(key.values)) {
      merged.set(key.path, { ...known, values: `${known.values}, ${key.values}` });
    }
  }
  return [...merged.values()];
}

function shapesOf(schema: Schema): Schema[] {
  const choices = schema.oneOf ?? schema.anyOf;
  const { oneOf: _one, anyOf: _any, ...own } = schema;
  if (choices === undefined) return [schema];
  return schema.properties === undefined ? choices : [own, ...choices];
}

function keysOfShape(schema: Schema, path: string, root: Schema): SchemaKey[] {
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, property]) => {
    const resolved = resolve(property, root);
    const at = path === '' ? name : `${path}.${name}`;
    const inner = isSecret(resolved, root) ? [] : innerKeys(resolved, at, root);
    const isRequired = schema.required?.includes(name) ?? false;
    const isOnlyParent = inner.length > 0 && resolved.description === undefined && !isRequired;
    if (isOnlyParent) return inner;
    const mustBeWritten = isRequired && (inner.length === 0 || resolved.type === 'array');
    return [keyOf(at, resolved, mustBeWritten, root), ...inner];
  });
  return own.filter(({ values, description }) => values !== '' || description !== '');
}

function innerKeys(schema: Schema, path: string, root: Schema): SchemaKey[] {
  if (schema.type === 'array' && schema.items !== undefined) {
    return below(resolve(schema.items, root), `${path}[]`, root);
  }
  if (typeof schema.additionalProperties === 'object') {
    return below(resolve(schema.additionalProperties, root), `${path}.<name>`, root);
  }
  return below(schema, path, root);
}

function keyOf(path: string, schema: Schema, isRequired: boolean, root: Schema): SchemaKey {
  const { default: fallback, description = '' } = schema;
  const isEmpty = typeof fallback === 'object' && fallback !== null && Object.keys(fallback).length === 0;
  const shown = fallback === undefined || (isEmpty && !Array.isArray(fallback)) ? null : flow(fallback);
  return { path, values: valuesOf(schema, root), fallback: shown, isRequired, description };
}

/** What may stand at a key: '' for a mapping, whose keys have lines of their own. */
function valuesOf(schema: Schema, root: Schema): string {
  if (isSecret(schema, root)) return '`{ env: NAME }` or `{ file: path }`';
  if (schema.const !== undefined) return `\`${flow(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${flow(value)}\``).join(', ');
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) {
    const words = choices.map((choice) => valuesOf(resolve(choice, root), root)).filter((word) => word !== '');
    return [...new Set(words)].join(' or ');
  }
  if (schema.type === 'array') {
    const entries = schema.items === undefined ? '' : valuesOf(resolve(schema.items, root), root);
    return entries === '' ? 'list' : `list of ${entries}`;
  }
  if (typeof schema.additionalProperties === 'object') {
    const entries = valuesOf(resolve(schema.additionalProperties, root), root);
    return entries === '' ? 'mapping by name' : `mapping to ${entries}`;
  }
  return scalar(schema);
}

function scalar({ type, format, minimum, maximum }: Schema): string {
  if (Array.isArray(type)) return type.map((one) => scalar({ type: one })).join(' or ');
  if (type === 'integer' || type === 'number') {
    const from = minimum ?? 0;
    const bounds = maximum === undefined || maximum >= NO_BOUND ? `${from} or more` : `${from} to ${maximum}`;
    return type === 'integer' ? bounds : `number, ${bounds}`;
  }
  if (type === 'boolean') return '`true`, `false`';
  if (type === 'null') return '`null`';
  if (type === 'string') return { uri: 'address', email: 'e-mail address' }[format ?? ''] ?? 'text';
  return '';
}

function isSecret(schema: Schema, root: Schema): boolean {
  const [one, other, ...more] = (schema.anyOf ?? []).map((choice) => resolve(choice, root));
  return one?.properties?.env !== undefined && other?.properties?.file !== undefined && more.length === 0;
}

/** A schema with what it refers to put in; its own words win. */
function resolve(schema: Schema, root: Schema): Schema {
  const { $ref, allOf = [], ...own } = schema;
  const referred = $ref === undefined ? {} : resolve(root.definitions?.[$ref.split('/').at(-1) ?? ''] ?? {}, root);
  const parts = allOf.map((part) => resolve(part, root));
  return Object.assign({}, ...parts, referred, own);
}

function flow(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(flow).join(', ')}]`;
  if (typeof value === 'object' && value !== null) {
    return `{ ${Object.entries(value)
      .map(([key, inner]) => `${key}: ${flow(inner)}`)
      .join(', ')} }`;
  }
  return String(value);
}
