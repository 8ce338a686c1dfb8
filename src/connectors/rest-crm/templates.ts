import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../described-api/paths.ts';
import type { PropertyKind, PropertyValue } from '../../model/items.ts';
import { isPathSegment } from '../../model/path-segment.ts';
import { SECOND_MS } from '../../model/time.ts';

/** Names that templates may use. */
const PLACEHOLDERS = [
  'key',
  'keys',
  'keyField',
  'stampField',
  'fields',
  'id',
  'ids',
  'contactId',
  'properties',
  'startAt',
  'rows',
  'versionTag',
  'ownerTag',
  'page',
  'offset',
  'size',
  'cursor',
] as const;

export type Placeholder = (typeof PLACEHOLDERS)[number];

/** Values of placeholders. Absent values and null mean no value. */
export type TemplateValues = Partial<Record<Placeholder, unknown>>;

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
  return Object.hasOwn(values, name) ? values[name as Placeholder] : undefined;
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

/** Date formats of CRMs, the default first. `instant`: midnight UTC in the CRM's format of instants. */
export const DATE_STYLES = ['date', 'instant', 'epoch-seconds', 'epoch-milliseconds'] as const;
/**
 * Instant formats of CRMs: with milliseconds and Z, with seconds and Z, with seconds and `+00:00`, as `2027-01-31 09:30:00` in UTC, or as a
 * number since 1970.
 */
export const INSTANT_STYLES = [
  'iso',
  'iso-seconds',
  'iso-offset',
  'sql',
  'epoch-seconds',
  'epoch-milliseconds',
] as const;
/** Boolean formats of CRMs: JSON, 1 and 0, or `true` and `false` as text. */
export const BOOLEAN_STYLES = ['boolean', 'number', 'text'] as const;
/** Values that clear a property. */
export const NULL_STYLES = ['null', 'empty-text'] as const;

export const valueStyles = z.strictObject({
  date: z.enum(DATE_STYLES).default('date'),
  instant: z.enum(INSTANT_STYLES).default('iso'),
  boolean: z.enum(BOOLEAN_STYLES).default('boolean'),
  null: z.enum(NULL_STYLES).default('null'),
});
/** Value formats of a CRM. */
export type ValueStyles = z.infer<typeof valueStyles>;

/** Converts a value of the model to the CRM's format. */
export function renderValue(value: PropertyValue, kind: PropertyKind, styles: ValueStyles): PropertyValue {
  if (value === null) return styles.null === 'null' ? null : '';
  if (kind === 'boolean' && typeof value === 'boolean') return BOOLEANS[styles.boolean](value);
  if (kind === 'instant' && typeof value === 'string') return instantIn(value, styles.instant);
  if (kind === 'date' && typeof value === 'string') return dateIn(value, styles);
  return value;
}

/**
 * Converts a CRM's value to a value of the model. A value that does not fit the kind becomes text, and therefore differs from the desired
 * value.
 */
export function readValue(raw: unknown, kind: PropertyKind, styles: ValueStyles): PropertyValue {
  if (raw === null || raw === undefined || raw === '') return null;
  const text = typeof raw === 'object' ? JSON.stringify(raw) : String(raw);
  switch (kind) {
    case 'text':
      return text;
    case 'number':
      return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text;
    case 'boolean':
      return TRUTH.get(text.toLowerCase()) ?? text;
    case 'date':
      return readDate(text, styles) ?? text;
    case 'instant':
      return isoOf(text, styles.instant) ?? text;
  }
}

const BOOLEANS: Readonly<Record<ValueStyles['boolean'], (value: boolean) => PropertyValue>> = {
  boolean: (value) => value,
  number: (value) => (value ? 1 : 0),
  text: String,
};

const WRITTEN_INSTANT = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?)(Z|[+-]\d{2}:?\d{2})?$/;

const TRUTH = new Map([
  ['true', true],
  ['1', true],
  ['false', false],
  ['0', false],
]);

function readDate(text: string, { date, instant }: ValueStyles): string | null {
  const written = /^\d{4}-\d{2}-\d{2}(?=$|[T ])/.exec(text)?.[0];
  return written ?? isoOf(text, date === 'instant' || date === 'date' ? instant : date)?.slice(0, 10) ?? null;
}

function instantIn(iso: string, style: ValueStyles['instant']): PropertyValue {
  const at = Date.parse(iso);
  if (Number.isNaN(at)) return iso;
  const seconds = new Date(at).toISOString().slice(0, 19);
  switch (style) {
    case 'iso':
      return new Date(at).toISOString();
    case 'iso-seconds':
      return `${seconds}Z`;
    case 'iso-offset':
      return `${seconds}+00:00`;
    case 'sql':
      return seconds.replace('T', ' ');
    case 'epoch-seconds':
      return Math.floor(at / SECOND_MS);
    case 'epoch-milliseconds':
      return at;
  }
}

function dateIn(date: string, styles: ValueStyles): PropertyValue {
  if (styles.date === 'date') return date;
  return instantIn(`${date}T00:00:00.000Z`, styles.date === 'instant' ? styles.instant : styles.date);
}

/** Converts an instant in any format to ISO 8601 in UTC with milliseconds. A number has the unit of the configured format. */
function isoOf(text: string, style: ValueStyles['instant']): string | null {
  if (/^-?\d{1,15}$/.test(text)) {
    return style.startsWith('epoch-') ? asIso(Number(text) * (style === 'epoch-seconds' ? SECOND_MS : 1)) : null;
  }
  const [, date, time, zone] = WRITTEN_INSTANT.exec(text) ?? [];
  return date === undefined ? null : asIso(Date.parse(`${date}T${time}${zone ?? 'Z'}`));
}

function asIso(at: number): string | null {
  return Number.isNaN(at) || Math.abs(at) > 8.64e15 ? null : new Date(at).toISOString();
}
