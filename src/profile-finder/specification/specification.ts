import { totalHeader } from '../../clinic/http/answer-places.ts';
import { isJsonObject, type JsonObject } from '../../clinic/http/rows.ts';
import { readOpenApi, versionOf } from './document.ts';
import { createSchemaReader, type SchemaReader, UNTOLD, type ValueSchema } from './schemas.ts';

/** A parameter of an operation in the query. */
export interface QueryParameter {
  name: string;
  required: boolean;
  /** It was seen to ask for agendas, whatever its name. */
  isAgenda?: boolean;
  schema: ValueSchema;
  /** Of a list of values: `a=1&a=2`, else `a=1,2`; null for a single value. */
  several: 'repeated' | 'comma' | null;
  minimum: number | null;
  maximum: number | null;
  default: string | number | boolean | null;
  description: string;
}

/** One operation as a clinic's own document describes it. */
export interface SpecifiedOperation {
  method: string;
  /** With the base path. */
  path: string;
  query: readonly QueryParameter[];
  /** What a success holds as JSON; null when the document does not say. */
  answer: ValueSchema | null;
  /** A success carries a `Link` header. */
  hasLinkHeader: boolean;
  /** The place of a total in a header of it, as a profile names it; null for none. */
  totalHeader: string | null;
  /** What a failure holds, by status (`default` too). */
  failures: ReadonlyMap<string, ValueSchema>;
  /** A form's fields, or what JSON is sent; by media type. */
  bodies: ReadonlyMap<string, ValueSchema>;
  /** Scopes that it needs. */
  scopes: readonly string[];
}

/** A clinic's API, by its document or as far as a probe saw it. */
export interface Specification {
  operations: readonly SpecifiedOperation[];
  /** What of the document could not be read. */
  remarks: readonly string[];
}

const METHODS = ['get', 'put', 'post', 'delete'] as const;
/** Most operations that are read. */
const MOST_OPERATIONS = 5_000;
const JSON_TYPE = /^application\/(json|[\w.+-]*\+json)|^\*\/\*$/;

/**
 * Reads an OpenAPI 2.0 or 3.x document.
 * @throws as `readOpenApi`
 */
export function readSpecification(text: string): Specification {
  const document = readOpenApi(text);
  const reader = createSchemaReader(document);
  const version = versionOf(document) ?? 3;
  const base = version === 2 ? String(document.basePath ?? '') : serverPath(document);
  const operations: SpecifiedOperation[] = [];
  for (const [path, value] of Object.entries(document.paths as JsonObject)) {
    const item = reader.resolve(value);
    if (item === null) continue;
    for (const method of METHODS) {
      const operation = reader.resolve(item[method]);
      if (operation === null || operations.length >= MOST_OPERATIONS) continue;
      const parameters = [...listOf(item.parameters), ...listOf(operation.parameters)].map(reader.resolve);
      const place = { method: method.toUpperCase(), path: joined(base, path) };
      const known = parameters.filter((each) => each !== null);
      operations.push({ ...place, ...readOperation(document, operation, known, reader, version) });
    }
  }
  return { operations, remarks: remarksOf(reader, operations.length) };
}

function remarksOf({ leftOut }: SchemaReader, operations: number): string[] {
  const references = [...leftOut.references].slice(0, 5);
  return [
    ...references.map((reference) => `the reference ${reference} leads out of the document or nowhere`),
    ...(leftOut.excess ? ['the document holds more schemas than are looked at'] : []),
    ...(operations >= MOST_OPERATIONS ? ['the document holds more operations than are looked at'] : []),
  ];
}

/** The path of the first server (3.x); its host says nothing of the profile. */
function serverPath(document: JsonObject): string {
  const [server] = listOf(document.servers);
  const url = isJsonObject(server) && typeof server.url === 'string' ? server.url : '';
  return url.replace(/^[a-z]+:\/\/[^/]*/i, '');
}

function joined(base: string, path: string): string {
  return `${base.replace(/\/+$/, '')}/${path.replace(/^\/+/, '')}`;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function readOperation(
  document: JsonObject,
  operation: JsonObject,
  parameters: JsonObject[],
  reader: SchemaReader,
  version: 2 | 3,
): Omit<SpecifiedOperation, 'method' | 'path'> {
  const responses = Object.entries(isJsonObject(operation.responses) ? operation.responses : {});
  const told = responses.map(([status, value]) => {
    const response = reader.resolve(value) ?? {};
    const schema = version === 2 ? response.schema : jsonOf(response.content, reader);
    return [status, schema === undefined ? null : reader.schema(schema)] as const;
  });
  const headers = responses.flatMap(([status, value]) => {
    const all = isSuccess(status) ? reader.resolve(value)?.headers : undefined;
    return isJsonObject(all) ? Object.keys(all) : [];
  });
  const byName = new Map(
    parameters.filter((each) => each.in === 'query').map((each) => [String(each.name), queryParameter(each, reader)]),
  );
  return {
    query: [...byName.values()],
    answer: told.find(([status, schema]) => isSuccess(status) && schema !== null)?.[1] ?? null,
    hasLinkHeader: headers.some((name) => name.toLowerCase() === 'link'),
    totalHeader: totalHeader(headers),
    failures: new Map(told.flatMap(([status, schema]) => (isFailure(status) && schema ? [[status, schema]] : []))),
    bodies: version === 2 ? bodiesOfForms(document, operation, parameters, reader) : bodiesOf(operation, reader),
    scopes: scopesOf(operation.security ?? document.security),
  };
}

function isSuccess(status: string): boolean {
  return /^2(\d\d|XX)$/i.test(status);
}

function isFailure(status: string): boolean {
  return /^[45](\d\d|XX)$/i.test(status) || status === 'default';
}

function jsonOf(content: unknown, reader: SchemaReader): unknown {
  if (!isJsonObject(content)) return undefined;
  const media = Object.entries(content).find(([type]) => JSON_TYPE.test(type))?.[1];
  return reader.resolve(media)?.schema;
}

function queryParameter(parameter: JsonObject, reader: SchemaReader): QueryParameter {
  const inner = isJsonObject(parameter.schema) ? reader.resolve(parameter.schema) : parameter;
  const schema = inner === null ? UNTOLD : reader.schema(inner);
  const number = (value: unknown) => (typeof value === 'number' ? value : null);
  const preset = inner?.default;
  return {
    name: String(parameter.name),
    required: parameter.required === true,
    schema: {
      ...schema,
      example: schema.example ?? (typeof parameter.example === 'string' ? parameter.example : null),
    },
    several: schema.type === 'array' ? severalOf(parameter) : null,
    minimum: number(inner?.minimum),
    maximum: number(inner?.maximum),
    default: typeof preset === 'string' || typeof preset === 'number' || typeof preset === 'boolean' ? preset : null,
    description: typeof parameter.description === 'string' ? parameter.description.slice(0, 1_000) : '',
  };
}

/** 2.0: `collectionFormat`, commas unless told; 3.x: `style` and `explode`, repeated unless told. */
function severalOf({ schema, collectionFormat, explode }: JsonObject): 'repeated' | 'comma' {
  if (schema === undefined) return collectionFormat === 'multi' ? 'repeated' : 'comma';
  return explode === false ? 'comma' : 'repeated';
}

function bodiesOf(operation: JsonObject, reader: SchemaReader): Map<string, ValueSchema> {
  const content = reader.resolve(operation.requestBody)?.content;
  const entries = isJsonObject(content) ? Object.entries(content) : [];
  return new Map(entries.map(([type, media]) => [type, reader.schema(reader.resolve(media)?.schema)]));
}

function bodiesOfForms(
  document: JsonObject,
  operation: JsonObject,
  parameters: JsonObject[],
  reader: SchemaReader,
): Map<string, ValueSchema> {
  const body = parameters.find((each) => each.in === 'body');
  if (body !== undefined) return new Map([['application/json', reader.schema(body.schema)]]);
  const fields = parameters.filter((each) => each.in === 'formData');
  if (fields.length === 0) return new Map();
  const type = listOf(operation.consumes ?? document.consumes)[0] ?? 'multipart/form-data';
  const members = new Map(
    fields.map((each) => {
      const schema = reader.schema(each.type === 'file' ? { type: 'string', format: 'binary' } : each);
      return [String(each.name), schema] as const;
    }),
  );
  return new Map([[String(type), { ...UNTOLD, type: 'object', members }]]);
}

function scopesOf(security: unknown): string[] {
  const wanted = listOf(security).flatMap((each) => (isJsonObject(each) ? Object.values(each).flat() : []));
  return [...new Set(wanted.filter((scope) => typeof scope === 'string'))];
}
