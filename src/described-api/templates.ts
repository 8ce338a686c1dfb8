import { isPathSegment } from '../core/model/path-segment.ts';
import { isJsonObject, type JsonObject } from './paths.ts';

/** Values of placeholders by name. Absent values and null mean no value. */
export type TemplateValues = Readonly<Record<string, unknown>>;

/** Member name whose value is merged into the containing object of the template. */
const SPREAD = '...';

const ANY = /\{\{([A-Za-z]+)\}\}/g;
const WHOLE = /^\{\{([A-Za-z]+)\}\}$/;

/** Returns the names of all placeholders in a template. */
export function placeholdersIn(template: unknown): string[] {
  if (typeof template === 'string') return [...template.matchAll(ANY)].map(([, name = '']) => name);
  if (typeof template !== 'object' || template === null) return [];
  return Object.values(template).flatMap(placeholdersIn);
}

/**
 * Renders a template as JSON. A string with only one placeholder becomes the placeholder's value of any type; in a longer string, the value
 * becomes text. Values cannot change the structure, since the result is serialised afterwards. List elements without a value are omitted,
 * and an object whose only member has no value becomes null.
 */
export function renderBody(template: unknown, values: TemplateValues): unknown {
  if (typeof template === 'string') {
    const name = WHOLE.exec(template)?.[1];
    return name === undefined ? renderText(template, values) : (valueNamed(name, values) ?? null);
  }
  if (Array.isArray(template)) {
    return template.filter((element) => !rendersNothing(element, values)).map((element) => renderBody(element, values));
  }
  return isJsonObject(template) ? renderObject(template, values) : template;
}

/** Renders a template as text. A placeholder without a value becomes empty. */
export function renderText(template: string, values: TemplateValues, encode = (text: string) => text): string {
  return template.replaceAll(ANY, (_, name: string) => encode(asText(valueNamed(name, values))));
}

/** Returns the URL of an object's web page, or null if the URL is neither http nor https, or cannot contain the id. @param baseUrl start of the API */
export function pageAt(baseUrl: string, template: string, id: string): string | null {
  const url = isPathSegment(id) ? URL.parse(renderText(template, { id }, encodeURIComponent), `${baseUrl}/`) : null;
  return url !== null && /^https?:$/.test(url.protocol) ? url.href : null;
}

function renderObject(template: JsonObject, values: TemplateValues): unknown {
  const entries = Object.entries(template);
  const [only] = entries;
  if (entries.length === 1 && only?.[0] !== SPREAD && rendersNothing(only?.[1], values)) return null;
  const result = newObject();
  for (const [name, inner] of entries) {
    const value = renderBody(inner, values);
    if (name !== SPREAD) mergeInto(result, { [name]: value });
    else if (isJsonObject(value)) mergeInto(result, value);
  }
  return result;
}

function rendersNothing(template: unknown, values: TemplateValues): boolean {
  const name = typeof template === 'string' ? WHOLE.exec(template)?.[1] : undefined;
  return name !== undefined && (valueNamed(name, values) ?? null) === null;
}

function valueNamed(name: string, values: TemplateValues): unknown {
  return Object.hasOwn(values, name) ? values[name] : undefined;
}

function asText(value: unknown): string {
  if (Array.isArray(value)) return value.map(asText).join(',');
  return typeof value === 'object' || value === undefined ? '' : String(value);
}

/** Creates a JSON object for arbitrary keys, including `__proto__`, and therefore without a prototype. */
export function newObject(): JsonObject {
  return Object.create(null);
}

/** Merges the source into the target: objects are merged, other values are replaced. */
function mergeInto(target: JsonObject, source: JsonObject): JsonObject {
  for (const [name, value] of Object.entries(source)) {
    const there = Object.hasOwn(target, name) ? target[name] : undefined;
    target[name] = isJsonObject(value) ? mergeInto(isJsonObject(there) ? there : newObject(), value) : value;
  }
  return target;
}
