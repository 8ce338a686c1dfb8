import { isJsonObject, type JsonObject } from '../../clinic/http/rows.ts';

/** What numbers count that are times. */
export type EpochUnit = 'seconds' | 'ms';

/** What a JSON value looks like, by a document or by samples. */
export interface ValueSchema {
  /** Null: not told. A number without a fraction is `integer`. */
  type: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | null;
  /** Such as `date-time` or `date`. */
  format: string | null;
  /** The words of an enumeration, numbers in digits; null for none. */
  words: readonly string[] | null;
  /** What the words are said to stand for, beside them. */
  labels: ReadonlyMap<string, string>;
  /** Of a number that is a time: what it counts since 1970; null for any other. */
  epochUnit: EpochUnit | null;
  /** Of an object. */
  members: ReadonlyMap<string, ValueSchema>;
  /** Of an array. */
  rows: ValueSchema | null;
  /** An example that the document gives; null for none. */
  example: string | number | boolean | null;
  description: string;
}

/** Most schemas that are looked at in one document; beyond it the rest counts as not told. */
const MOST_SCHEMAS = 100_000;
/** Deepest nesting that is followed; deeper fields are of no use to a profile. */
const DEEPEST = 8;
/** Longest chain of references. */
const LONGEST_CHAIN = 32;

/** A schema of which nothing is told. */
export const UNTOLD: ValueSchema = {
  type: null,
  format: null,
  words: null,
  labels: new Map(),
  epochUnit: null,
  members: new Map(),
  rows: null,
  example: null,
  description: '',
};

/** Reads schemas of one document: references within it are followed, `allOf` is merged, circles and excess end as not told. */
export interface SchemaReader {
  schema(value: unknown): ValueSchema;
  /** What a `$ref` leads to, else the object itself; null for what leads nowhere. */
  resolve(value: unknown): JsonObject | null;
  /** What was left out: references to other files or to nothing, and the excess. */
  leftOut: { references: Set<string>; excess: boolean };
}

/** Prepares the reading of a document's schemas. */
export function createSchemaReader(document: JsonObject): SchemaReader {
  const leftOut = { references: new Set<string>(), excess: false };
  let looked = 0;

  function resolve(value: unknown): JsonObject | null {
    let current = value;
    for (let step = 0; step < LONGEST_CHAIN && isJsonObject(current); step += 1) {
      const { $ref: reference } = current;
      if (typeof reference !== 'string') return current;
      current = follow(document, reference);
      if (current === undefined) leftOut.references.add(reference.slice(0, 200));
    }
    return null;
  }

  function read(value: unknown, depth: number, within: Within | null): ValueSchema {
    looked += 1;
    if (looked > MOST_SCHEMAS) leftOut.excess = true;
    const schema = resolve(value);
    if (schema === null || depth > DEEPEST || looked > MOST_SCHEMAS || isWithin(schema, within)) return UNTOLD;
    const inside = { schema, outer: within };
    const own = readOwn(schema, (inner) => read(inner, depth + 1, inside));
    const parts = [...partsOf(schema.allOf), ...alternatives(schema)];
    return parts.length === 0 ? own : parts.map((part) => read(part, depth, inside)).reduce(merged, own);
  }

  return { schema: (value) => read(value, 0, null), resolve, leftOut };
}

/** The schemas that one is read within, the innermost first. */
interface Within {
  schema: JsonObject;
  outer: Within | null;
}

function isWithin(schema: JsonObject, within: Within | null): boolean {
  for (let each = within; each !== null; each = each.outer) if (each.schema === schema) return true;
  return false;
}

/** A JSON pointer within the document (RFC 6901, as a URI fragment). */
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

function partsOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Variants of a value that may be null are what it is otherwise (OpenAPI 3.1). */
function alternatives(schema: JsonObject): unknown[] {
  return [...partsOf(schema.oneOf), ...partsOf(schema.anyOf)].filter(
    (each) => !(isJsonObject(each) && each.type === 'null'),
  );
}

function readOwn(schema: JsonObject, inner: (value: unknown) => ValueSchema): ValueSchema {
  const members = isJsonObject(schema.properties) ? Object.entries(schema.properties) : [];
  const words = partsOf(schema.enum).filter((word) => typeof word === 'string' || Number.isSafeInteger(word));
  const type = typeOf(schema);
  const format = typeof schema.format === 'string' ? schema.format : null;
  const description = typeof schema.description === 'string' ? schema.description.slice(0, 1_000) : '';
  const example = exampleOf(schema);
  return {
    type,
    format,
    words: words.length > 0 ? words.map(String) : null,
    labels: labelsOf(schema, words.map(String), description),
    epochUnit: type === 'integer' || type === 'number' ? epochUnitOf(`${format} ${description}`, example) : null,
    members: new Map(members.map(([name, value]) => [name, inner(value)])),
    rows: schema.items === undefined ? null : inner(schema.items),
    example,
    description,
  };
}

function exampleOf(schema: JsonObject): ValueSchema['example'] {
  const example = schema.example ?? partsOf(schema.examples)[0];
  return typeof example === 'string' || typeof example === 'number' || typeof example === 'boolean' ? example : null;
}

/** Instants from 2000 to 2100, which no count and hardly an id reaches, in seconds. */
const EPOCH_SECONDS = [946_684_800, 4_102_444_800] as const;

/** What a number counts since 1970 if it is a time of our days; null for other numbers. */
export function epochUnitOfNumber(value: number): EpochUnit | null {
  const isWithin = (number: number) => number >= EPOCH_SECONDS[0] && number <= EPOCH_SECONDS[1];
  return isWithin(value) ? 'seconds' : isWithin(value / 1_000) ? 'ms' : null;
}

function epochUnitOf(said: string, example: ValueSchema['example']): EpochUnit | null {
  if (/\b(unix|epoch|1970|timestamp)/i.test(said)) return /milli|\bms\b/i.test(said) ? 'ms' : 'seconds';
  return typeof example === 'number' ? epochUnitOfNumber(example) : null;
}

/** Names of an enumeration's values, as generators of documents write them, else of numbers as the description has them: `90 = cancelled`. */
function labelsOf(schema: JsonObject, words: readonly string[], description: string): Map<string, string> {
  const lists = [schema['x-enum-varnames'], schema['x-enumNames'], schema['x-enum-descriptions']];
  // Beside a list of another length, such as one with null in it, nobody knows which name is whose.
  const isWhole = partsOf(schema.enum).length === words.length;
  const names = lists.map(partsOf).find(({ length }) => isWhole && length > 0 && length === words.length);
  return new Map(
    words.flatMap((word, index) => {
      const named = names?.[index];
      if (typeof named === 'string') return [[word, named] as const];
      if (!/^-?\d+$/.test(word)) return [];
      const said = new RegExp(`(?<![\\w.-])${word}\\s*[=:–→]\\s*["'\u201c]?(\\p{L}[\\p{L} _-]*)`, 'u');
      const listed = said.exec(description)?.[1];
      return listed === undefined ? [] : [[word, listed.trim()] as const];
    }),
  );
}

const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean'] as const;

function typeOf({ type, properties, items }: JsonObject): ValueSchema['type'] {
  const told = Array.isArray(type) ? type.find((one) => one !== 'null') : type;
  const known = TYPES.find((one) => one === told);
  if (known !== undefined) return known;
  if (properties !== undefined) return 'object';
  return items === undefined ? null : 'array';
}

/** Both together: what the first does not tell, the second may. */
function merged(one: ValueSchema, other: ValueSchema): ValueSchema {
  const words = [...new Set([...(one.words ?? []), ...(other.words ?? [])])];
  return {
    type: one.type ?? other.type,
    format: one.format ?? other.format,
    words: words.length > 0 ? words : null,
    labels: new Map([...other.labels, ...one.labels]),
    epochUnit: one.epochUnit ?? other.epochUnit,
    members: new Map([...other.members, ...one.members]),
    rows: one.rows ?? other.rows,
    example: one.example ?? other.example,
    description: one.description || other.description,
  };
}
