import { stringify } from 'yaml';

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
  examples?: unknown[];
  format?: string;
  minimum?: number;
  maximum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: Schema | boolean;
  items?: Schema;
  definitions?: Record<string, Schema>;
}

/** A setting of a configuration file. */
export interface SchemaKey {
  /** Such as `targets.<name>.window.pastDays`; `[]` stands for each element of a list. */
  path: string;
  /** Allowed values in words; empty for a mapping. */
  values: string;
  /** Default in YAML flow style, or null. */
  fallback: string | null;
  isRequired: boolean;
  description: string;
  /** Example in YAML flow style, or null. */
  example: string | null;
  /** Kinds or styles of the parent mapping that have this setting; empty if all have the setting. */
  kinds: readonly string[];
}

const NO_BOUND = 1_000_000_000;

/** Returns every setting of a schema, in the schema's order. A choice between shapes returns the settings of each shape. */
export function keysOfSchema(root: object): SchemaKey[] {
  const whole = root as Schema;
  return below(resolve(whole, whole), '', whole);
}

/** Renders settings as a compact Markdown table. */
export function renderKeys(keys: readonly SchemaKey[]): string {
  const lines = keys.map(({ path, values, fallback, isRequired, description, example }) => {
    const shown = fallback === null ? (isRequired ? 'required' : '–') : `\`${fallback}\``;
    const text = example === null ? description : `${description} Example: \`${example}\`.`;
    return `| \`${path}\` | ${values === '' ? 'mapping' : values} | ${shown} | ${escapeAngles(text)} |`;
  });
  return ['| setting | value | default | description |', '|---|---|---|---|', ...lines.map(escapeCells)].join('\n');
}

/**
 * Renders one heading per setting, under a heading for each first name, after links to the first names.
 * @param level level of the headings of first names
 */
export function renderSettings(keys: readonly SchemaKey[], level: number): string {
  const groups = Map.groupBy(keys, ({ path }) => firstName(path));
  return [...groups].map(([name, those]) => renderGroup(name, those, level)).join('\n\n');
}

/** Returns the first name of a path: `targets` of `targets.<name>.title`. */
export function firstName(path: string): string {
  return /^[^.[]*/.exec(path)?.[0] ?? path;
}

function renderGroup(name: string, keys: readonly SchemaKey[], level: number): string {
  const mark = '#'.repeat(level);
  const [first, ...more] = keys;
  if (first === undefined) return '';
  if (first.path === name) return [setting(first, mark), ...more.map((key) => setting(key, `${mark}#`))].join('\n\n');
  return [`${mark} \`${name}\``, ...keys.map((key) => setting(key, `${mark}#`))].join('\n\n');
}

function setting({ path, values, fallback, isRequired, description, example, kinds }: SchemaKey, mark: string): string {
  const facts = [`Value: ${values === '' ? 'mapping' : values}`];
  if (fallback !== null) facts.push(`Default: \`${fallback}\``);
  else if (isRequired) facts.push('Required');
  if (kinds.length > 0) facts.push(`Only for: ${kinds.map((kind) => `\`${kind}\``).join(', ')}`);
  const last = path.split('.').at(-1)?.replace('[]', '') ?? path;
  const name = last === '<name>' || values === 'mapping' ? '' : `${last}: `;
  const shown = example === null ? [] : [`Example: \`${name}${example}\``];
  return [`${mark} \`${path}\``, `${facts.join('. ')}.`, escapeAngles(description), ...shown]
    .filter((part) => part !== '')
    .join('\n\n');
}

/** Escapes `<` outside of code, which Markdown takes for HTML. */
function escapeAngles(text: string): string {
  return text.replaceAll(/`[^`]*`|</g, (found) => (found === '<' ? '&lt;' : found));
}

/** Escapes a `|` within a cell. */
function escapeCells(line: string): string {
  return line.replaceAll(/(?<=\S)\|(?=\S)/g, '\\|');
}

function below(schema: Schema, path: string, root: Schema): SchemaKey[] {
  const shapes = shapesOf(schema).map((shape) => resolve(shape, root));
  const kinds = shapes.map(kindOf);
  const merged = new Map<string, SchemaKey>();
  for (const [index, shape] of shapes.entries()) {
    const kind = kinds[index];
    for (const key of keysOfShape(shape, path, root)) {
      const own = kind === undefined ? key : { ...key, kinds: [kind] };
      merged.set(key.path, mergeKeys(merged.get(key.path), own));
    }
  }
  const known = new Set(kinds.filter((kind) => kind !== undefined));
  return [...merged.values()].map((key) => (key.kinds.length === known.size ? { ...key, kinds: [] } : key));
}

/** Joins the settings of one path in two shapes: values and kinds of both; the rest of the first. */
function mergeKeys(known: SchemaKey | undefined, key: SchemaKey): SchemaKey {
  if (known === undefined) return key;
  const isKnown = known.values.split(', ').includes(key.values) || known.values === key.values;
  const values = isKnown || key.values === '' ? known.values : `${known.values}, ${key.values}`;
  return { ...known, values, kinds: [...new Set([...known.kinds, ...key.kinds])] };
}

/** Returns the constant that distinguishes a shape from its alternatives. */
function kindOf({ properties = {} }: Schema): string | undefined {
  const constant = Object.values(properties).find((property) => typeof property.const === 'string')?.const;
  return typeof constant === 'string' ? constant : undefined;
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
    const element = resolve(schema.items, root);
    return isSecret(element, root) ? [] : below(element, `${path}[]`, root);
  }
  if (typeof schema.additionalProperties === 'object') {
    const element = resolve(schema.additionalProperties, root);
    return isSecret(element, root) ? [] : below(element, `${path}.<name>`, root);
  }
  return below(schema, path, root);
}

function keyOf(path: string, schema: Schema, isRequired: boolean, root: Schema): SchemaKey {
  const { default: fallback, description = '', examples = [] } = schema;
  const isEmpty = typeof fallback === 'object' && fallback !== null && Object.keys(fallback).length === 0;
  const shown = fallback === undefined || (isEmpty && !Array.isArray(fallback)) ? null : flow(fallback);
  const example = examples.length === 0 ? null : flow(examples[0]);
  return { path, values: valuesOf(schema, root), fallback: shown, isRequired, description, example, kinds: [] };
}

/** Returns the allowed values in words; '' for a mapping, whose settings follow separately. */
function valuesOf(schema: Schema, root: Schema): string {
  if (isSecret(schema, root)) return '`{ env: NAME }` or `{ file: path }`';
  if (schema.const !== undefined) return `\`${flow(schema.const)}\``;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${flow(value)}\``).join(', ');
  const choices = schema.oneOf ?? schema.anyOf;
  if (choices !== undefined) {
    const words = [...new Set(choices.map((choice) => valuesOf(resolve(choice, root), root)))];
    return words.every((word) => word === '') ? '' : words.map((word) => word || 'mapping').join(' or ');
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
    return type === 'integer' ? `integer, ${bounds}` : `number, ${bounds}`;
  }
  if (type === 'boolean') return '`true`, `false`';
  if (type === 'null') return '`null`';
  if (type === 'string') return { uri: 'URL', email: 'e-mail address' }[format ?? ''] ?? 'string';
  return '';
}

/** Whether a schema is a choice between the forms of a reference to a secret. */
function isSecret(schema: Schema, root: Schema): boolean {
  const [one, other, ...more] = (schema.anyOf ?? []).map((choice) => resolve(choice, root));
  if (one?.properties?.env === undefined || other?.properties?.file === undefined) return false;
  return more.every((choice) => choice.properties?.sealed !== undefined);
}

/** A schema with what it refers to put in; its own words win. */
function resolve(schema: Schema, root: Schema): Schema {
  const { $ref, allOf = [], ...own } = schema;
  const referred = $ref === undefined ? {} : resolve(root.definitions?.[$ref.split('/').at(-1) ?? ''] ?? {}, root);
  const parts = allOf.map((part) => resolve(part, root));
  return Object.assign({}, ...parts, referred, own);
}

function flow(value: unknown): string {
  return stringify(value, { collectionStyle: 'flow', lineWidth: 0, flowCollectionPadding: false }).trim();
}
