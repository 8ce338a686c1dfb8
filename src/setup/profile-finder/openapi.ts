import { parseDocument } from 'yaml';
import { MirrorError, withoutStacks } from '../../core/model/errors.ts';
import { parseJson } from '../../core/model/json.ts';
import { totalHeader } from '../../described-api/answers.ts';
import { isJsonObject, type JsonObject } from '../../described-api/paths.ts';
import { epochUnitOfNumber, UNTOLD, type ValueSchema } from './values.ts';

/** A query parameter of an operation. */
export interface QueryParameter {
  name: string;
  required: boolean;
  /** Observed to filter by agenda, whatever its name. */
  isAgenda?: boolean;
  /** Observed to continue a list by a cursor, whatever its name. */
  isCursor?: boolean;
  schema: ValueSchema;
  /** Form of a list: `a=1&a=2` or `a=1,2`; null for a single value. */
  several: 'repeated' | 'comma' | null;
  /** Minimum, otherwise default value. */
  first: number | null;
  maximum: number | null;
}

/** Returns a partly known parameter with defaults. */
export function queryParameter(name: string, more: Partial<QueryParameter> = {}): QueryParameter {
  return { name, required: false, schema: UNTOLD, several: null, first: null, maximum: null, ...more };
}

/** An operation in the clinic's document. */
export interface SpecifiedOperation {
  method: string;
  /** With the base path. */
  path: string;
  query: readonly QueryParameter[];
  /** JSON schema of a success; null if not described. */
  answer: ValueSchema | null;
  /** A success has a `Link` header. */
  hasLinkHeader: boolean;
  /** Location of a total in a header, as in a profile; null for none. */
  totalHeader: string | null;
  /** Observed paths of a cursor and a URL of the next page, whatever their names. */
  next?: { cursorPath: string | null; linkPath: string | null };
  /** Schemas of non-empty failures. */
  failures: readonly ValueSchema[];
  /** Request schemas by media type; empty for forms of OpenAPI 2.0. */
  bodies: ReadonlyMap<string, ValueSchema>;
  /** Required scopes. */
  scopes: readonly string[];
}

/** A clinic's API, from its document or a probe. */
export interface Specification {
  operations: readonly SpecifiedOperation[];
  /** Unreadable parts of the document. */
  remarks: readonly string[];
}

/** Longest document in characters. Documents of large systems are below 5 million. */
const LONGEST_TEXT = 20_000_000;
/** More aliases are treated as an attack on memory. */
const MOST_ALIASES = 100;
const METHODS = ['get', 'put', 'post', 'delete'] as const;
/** Maximum number of operations. */
const MOST_OPERATIONS = 5_000;
const JSON_TYPE = /^application\/(json|[\w.+-]*\+json)|^\*\/\*$/;

/**
 * Parses an OpenAPI 2.0 or 3.x document (swagger.io/specification/v2, spec.openapis.org/oas/v3.1.0), JSON or YAML.
 * @throws MirrorError `settings`, codes `spec-too-large`, `spec-unreadable`, `spec-not-openapi`: the operator must provide another file
 */
export function readSpecification(text: string): Specification {
  if (text.length > LONGEST_TEXT) {
    throw unusable('spec-too-large', `the document is longer than ${LONGEST_TEXT / 1e6} million characters`);
  }
  const document = parseText(text);
  const version = isJsonObject(document) ? versionOf(document) : null;
  if (!isJsonObject(document) || !isJsonObject(document.paths) || version === null) {
    throw unusable('spec-not-openapi', 'the document is no OpenAPI 2.0 or 3.x: it has no version or no paths');
  }
  const reader = new OperationReader(document, version);
  const base = version === 2 ? String(document.basePath ?? '') : serverPath(document);
  const all = Object.entries(document.paths).flatMap(([path, value]) => {
    const item = reader.schemas.resolve(value) ?? {};
    return METHODS.map((method) => ({ method, path, item, operation: item[method] }));
  });
  const operations = all
    .filter(({ operation }) => reader.schemas.resolve(operation) !== null)
    .slice(0, MOST_OPERATIONS)
    .map(({ method, path, item, operation }) => ({
      method: method.toUpperCase(),
      path: `${base.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`,
      ...reader.read(item, operation),
    }));
  const { references, isExcess } = reader.schemas;
  const remarks = [
    ...[...references].slice(0, 5).map((one) => `the reference ${one} leads out of the document or nowhere`),
    ...(isExcess() ? ['the document contains more schemas than clinic-mirror checks'] : []),
    ...(operations.length >= MOST_OPERATIONS
      ? ['the document contains more operations than clinic-mirror checks']
      : []),
  ];
  return { operations, remarks };
}

function versionOf(document: JsonObject): 2 | 3 | null {
  if (String(document.swagger).startsWith('2.')) return 2;
  return String(document.openapi).startsWith('3.') ? 3 : null;
}

/** JSON first, because it is much faster, and a YAML parser refuses tabs in JSON. */
function parseText(text: string): unknown {
  const plain = text.startsWith('\uFEFF') ? text.slice(1) : text;
  const value = parseJson(plain);
  if (value !== undefined) return value;
  try {
    const options = { prettyErrors: false, logLevel: 'silent', uniqueKeys: false } as const;
    const document = withoutStacks(() => parseDocument(plain, options));
    if (document.errors.length === 0) return document.toJS({ maxAliasCount: MOST_ALIASES });
  } catch {
    // Too many aliases, or nesting beyond the stack: refused below like other unreadable text.
  }
  throw unusable('spec-unreadable', 'the document is neither JSON nor YAML that can be read');
}

function unusable(code: string, message: string): MirrorError {
  const remedy = "give the file of the clinic system's own OpenAPI document, as JSON or YAML";
  return new MirrorError(message, { actor: 'settings', code, retry: 'never', remedy });
}

/** Returns the path of the first server (3.x); the host is irrelevant for a profile. */
function serverPath(document: JsonObject): string {
  const [server] = listOf(document.servers);
  const url = isJsonObject(server) && typeof server.url === 'string' ? server.url : '';
  return url.replace(/^[a-z]+:\/\/[^/]*/i, '');
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function entriesOf(value: unknown): [string, unknown][] {
  return isJsonObject(value) ? Object.entries(value) : [];
}

/** Reads the operations of a document. */
class OperationReader {
  readonly schemas: ReturnType<typeof createSchemaReader>;
  private readonly document: JsonObject;
  private readonly version: 2 | 3;

  constructor(document: JsonObject, version: 2 | 3) {
    this.document = document;
    this.version = version;
    this.schemas = createSchemaReader(document);
  }

  /** Reads an operation of a path item. */
  read(item: JsonObject, reference: unknown): Omit<SpecifiedOperation, 'method' | 'path'> {
    const { resolve } = this.schemas;
    const operation = resolve(reference) ?? {};
    const all = [...listOf(item.parameters), ...listOf(operation.parameters)].map(resolve);
    const parameters = all.filter((one) => one !== null);
    const responses = entriesOf(operation.responses).map(([status, value]) => ({
      status,
      response: resolve(value) ?? {},
    }));
    const successes = responses.filter(({ status }) => /^2(\d\d|XX)$/i.test(status));
    const failures = responses.filter(({ status }) => /^([45](\d\d|XX)|default)$/i.test(status));
    const headers = successes.flatMap(({ response }) => entriesOf(response.headers).map(([name]) => name));
    const query = parameters.filter((each) => each.in === 'query').map((each) => this.parameter(each));
    const security = listOf(operation.security ?? this.document.security);
    const scopes = security.flatMap((each) => entriesOf(each).flatMap(([, names]) => names));
    return {
      query: [...new Map(query.map((each) => [each.name, each])).values()],
      answer: successes.flatMap(({ response }) => this.bodyOf(response) ?? [])[0] ?? null,
      hasLinkHeader: headers.some((name) => name.toLowerCase() === 'link'),
      totalHeader: totalHeader(headers),
      failures: failures.flatMap(({ response }) => this.bodyOf(response) ?? []),
      bodies: this.bodiesOf(operation, parameters),
      scopes: [...new Set(scopes.filter((scope) => typeof scope === 'string'))],
    };
  }

  private bodyOf(response: JsonObject): ValueSchema | null {
    const media = entriesOf(response.content).find(([type]) => JSON_TYPE.test(type))?.[1];
    const schema = this.version === 2 ? response.schema : this.schemas.resolve(media)?.schema;
    return schema === undefined ? null : this.schemas.read(schema);
  }

  private parameter(one: JsonObject): QueryParameter {
    const inner = (isJsonObject(one.schema) ? this.schemas.resolve(one.schema) : one) ?? {};
    const schema = this.schemas.read({ description: one.description, example: one.example, ...inner });
    const number = (value: unknown) => (typeof value === 'number' ? value : null);
    return queryParameter(String(one.name), {
      required: one.required === true,
      schema,
      several: schema.type === 'array' ? severalOf(one) : null,
      first: number(inner.minimum) ?? number(inner.default),
      maximum: number(inner.maximum),
    });
  }

  /** Returns the request schemas; in 2.0 from the body parameter. */
  private bodiesOf(operation: JsonObject, parameters: readonly JsonObject[]): Map<string, ValueSchema> {
    const { resolve, read } = this.schemas;
    const body = parameters.find((each) => each.in === 'body');
    if (body !== undefined) return new Map([['application/json', read(body.schema)]]);
    const content = entriesOf(resolve(operation.requestBody)?.content);
    return new Map(content.map(([type, media]) => [type, read(resolve(media)?.schema)]));
  }
}

/** 2.0: `collectionFormat`, default comma. 3.x: `style` and `explode`, default repeated. */
function severalOf({ schema, collectionFormat, explode }: JsonObject): 'repeated' | 'comma' {
  if (schema === undefined) return collectionFormat === 'multi' ? 'repeated' : 'comma';
  return explode === false ? 'comma' : 'repeated';
}

function scalarOf(value: unknown): ValueSchema['example'] {
  return typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;
}

/** Maximum number of schemas per document; the rest is treated as unknown. */
const MOST_SCHEMAS = 100_000;
/** Maximum nesting; deeper fields are useless for a profile. */
const DEEPEST = 8;
/** Longest chain of references. */
const LONGEST_CHAIN = 32;

/** Reads schemas of a document: follows local references, merges `allOf`, and treats cycles and excess as unknown. */
function createSchemaReader(document: JsonObject) {
  const references = new Set<string>();
  let looked = 0;

  /** Resolves a `$ref`, or returns the object itself; null if unresolvable. */
  function resolve(value: unknown): JsonObject | null {
    let current = value;
    for (let step = 0; step < LONGEST_CHAIN && isJsonObject(current); step += 1) {
      const { $ref: reference } = current;
      if (typeof reference !== 'string') return current;
      current = follow(document, reference);
      if (current === undefined) references.add(reference.slice(0, 200));
    }
    return null;
  }

  function readWithin(value: unknown, depth: number, within: readonly JsonObject[]): ValueSchema {
    looked += 1;
    const schema = resolve(value);
    if (schema === null || depth > DEEPEST || looked > MOST_SCHEMAS || within.includes(schema)) return UNTOLD;
    const inside = [...within, schema];
    const own = readOwn(schema, (inner) => readWithin(inner, depth + 1, inside));
    // Nullable variants reduce to the other variant (OpenAPI 3.1).
    const variants = [...listOf(schema.oneOf), ...listOf(schema.anyOf)].filter(
      (each) => !(isJsonObject(each) && each.type === 'null'),
    );
    const parts = [...listOf(schema.allOf), ...variants];
    return parts.map((part) => readWithin(part, depth, inside)).reduce(merged, own);
  }

  const read = (value: unknown) => readWithin(value, 0, []);
  return { read, resolve, references, isExcess: () => looked > MOST_SCHEMAS };
}

/** Resolves a JSON pointer in the document (RFC 6901, as a URI fragment). */
function follow(document: JsonObject, reference: string): unknown {
  if (!reference.startsWith('#/')) return undefined;
  let current: unknown = document;
  for (const escaped of reference.slice(2).split('/')) {
    const name = decoded(escaped).replaceAll('~1', '/').replaceAll('~0', '~');
    const isThere = typeof current === 'object' && current !== null && Object.hasOwn(current, name);
    current = isThere ? (current as JsonObject)[name] : undefined;
  }
  return current;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean'] as const;

function readOwn(schema: JsonObject, inner: (value: unknown) => ValueSchema): ValueSchema {
  const { format, items } = schema;
  const said = Array.isArray(schema.type) ? schema.type.find((one) => one !== 'null') : schema.type;
  const untyped = schema.properties !== undefined ? 'object' : items === undefined ? null : 'array';
  const type = TYPES.find((one) => one === said) ?? untyped;
  const words = listOf(schema.enum).filter((word) => typeof word === 'string' || Number.isSafeInteger(word));
  const example = scalarOf(schema.example ?? listOf(schema.examples)[0]);
  const isNumber = type === 'integer' || type === 'number';
  return {
    type,
    format: typeof format === 'string' ? format : null,
    words: words.length > 0 ? words.map(String) : null,
    epochUnit: isNumber ? epochUnitOf(`${format} ${schema.description}`, example) : null,
    members: new Map(entriesOf(schema.properties).map(([name, value]) => [name, inner(value)])),
    rows: items === undefined ? null : inner(items),
    example,
  };
}

function epochUnitOf(said: string, example: ValueSchema['example']): ValueSchema['epochUnit'] {
  if (/\b(unix|epoch|1970|timestamp)/i.test(said)) return /milli|\bms\b/i.test(said) ? 'ms' : 'seconds';
  return typeof example === 'number' ? epochUnitOfNumber(example) : null;
}

/** Merges two schemas; the second fills gaps of the first. */
function merged(one: ValueSchema, other: ValueSchema): ValueSchema {
  const words = [...new Set([...(one.words ?? []), ...(other.words ?? [])])];
  return {
    type: one.type ?? other.type,
    format: one.format ?? other.format,
    words: words.length > 0 ? words : null,
    epochUnit: one.epochUnit ?? other.epochUnit,
    members: new Map([...other.members, ...one.members]),
    rows: one.rows ?? other.rows,
    example: one.example ?? other.example,
  };
}
