import type { PropertyKind, PropertyValue } from '../../model/items.ts';
import { SECOND_MS } from '../../model/time.ts';

/** What a template may ask for, by name. */
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

/** One of {@link PLACEHOLDERS}. */
export type Placeholder = (typeof PLACEHOLDERS)[number];

/** What placeholders stand for; what is absent or null counts as nothing. */
export type TemplateValues = Partial<Record<Placeholder, unknown>>;

/** The name in an object of a template whose value is put into that object instead of under a name. */
const SPREAD = '...';

const ANY = /\{\{([A-Za-z]+)\}\}/g;
const WHOLE = /^\{\{([A-Za-z]+)\}\}$/;

/** Names of the placeholders anywhere in a template. */
export function placeholdersIn(template: unknown): string[] {
  if (typeof template === 'string') return [...template.matchAll(ANY)].map(([, name = '']) => name);
  if (typeof template !== 'object' || template === null) return [];
  return Object.values(template).flatMap(placeholdersIn);
}

/**
 * A template as a value of JSON. A text that is one placeholder becomes its value, whatever that is; in a longer text it becomes a
 * part of the text. No value can become structure: the result is put into JSON afterwards. Elements of a list that stand for nothing
 * are left out, and an object whose only value stands for nothing is null.
 */
export function renderBody(template: unknown, values: TemplateValues): unknown {
  if (typeof template === 'string') {
    const name = WHOLE.exec(template)?.[1];
    return name === undefined ? renderText(template, values) : (valueNamed(name, values) ?? null);
  }
  if (Array.isArray(template)) {
    return template.filter((element) => !rendersNothing(element, values)).map((element) => renderBody(element, values));
  }
  return isObject(template) ? renderObject(template, values) : template;
}

/** A template as text; a placeholder that stands for nothing leaves nothing. */
export function renderText(template: string, values: TemplateValues, encode = (text: string) => text): string {
  return template.replaceAll(ANY, (_, name: string) => encode(asText(valueNamed(name, values))));
}

/** The address of a record's page; null when the template gives none of http or https. @param baseUrl where the API begins */
export function pageAt(baseUrl: string, template: string, id: string): string | null {
  const url = URL.parse(renderText(template, { id }, encodeURIComponent), `${baseUrl}/`);
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
    else if (isObject(value)) mergeInto(result, value);
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

/** An object of JSON whose keys may be anything, `__proto__` too: made without a prototype. */
export type JsonObject = Record<string, unknown>;

const SEGMENT = /^([^[\]]*)(?:\[([^=\]]+)=([^\]]*)\])?$/;

/** Whether a text is a path: names between dots, each perhaps with a choice from a list, as in `data.objects[name=person].fields`. */
export function isPath(path: string): boolean {
  return path === '' || path.split('.').every((segment) => segment !== '' && SEGMENT.test(segment));
}

/**
 * The value at a path, undefined when there is none.
 * @param path names between dots; `list[name=value]` chooses the element of a list; the empty path is the value itself
 */
export function valueAt(value: unknown, path: string): unknown {
  if (path === '') return value;
  return path.split('.').reduce<unknown>((current, segment) => {
    const [, name = '', key, wanted] = SEGMENT.exec(segment) ?? [];
    const inner = name === '' ? current : memberOf(current, name);
    if (key === undefined) return inner;
    return Array.isArray(inner) ? inner.find((element) => String(memberOf(element, key)) === wanted) : undefined;
  }, value);
}

/** A JSON object without a prototype. */
export function newObject(): JsonObject {
  return Object.create(null);
}

/** Whether a value is an object of JSON and no list. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Sets what stands at a path of names, making the objects on the way. */
export function setAt(target: JsonObject, path: string, value: unknown): void {
  const names = path.split('.');
  const last = names.pop() ?? '';
  let current = target;
  for (const name of names) {
    const next = Object.hasOwn(current, name) ? current[name] : undefined;
    const inner = isObject(next) ? next : newObject();
    current[name] = inner;
    current = inner;
  }
  current[last] = value;
}

/** Puts one object into another, object into object, everything else in place of what was there. */
function mergeInto(target: JsonObject, source: JsonObject): JsonObject {
  for (const [name, value] of Object.entries(source)) {
    const there = Object.hasOwn(target, name) ? target[name] : undefined;
    target[name] = isObject(value) ? mergeInto(isObject(there) ? there : newObject(), value) : value;
  }
  return target;
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return Reflect.get(value, name);
}

/** How a CRM wants dates, the first being the default. `instant`: midnight UTC in its style of instants. */
export const DATE_STYLES = ['date', 'instant', 'epoch-seconds', 'epoch-milliseconds'] as const;
/**
 * How a CRM wants instants: with milliseconds and Z, with seconds and Z, with seconds and `+00:00`, as `2027-01-31 09:30:00` in UTC,
 * or counted since 1970.
 */
export const INSTANT_STYLES = [
  'iso',
  'iso-seconds',
  'iso-offset',
  'sql',
  'epoch-seconds',
  'epoch-milliseconds',
] as const;
/** How a CRM wants truth: as JSON has it, 1 and 0, or `true` and `false` as text. */
export const BOOLEAN_STYLES = ['boolean', 'number', 'text'] as const;
/** What empties a property. */
export const NULL_STYLES = ['null', 'empty-text'] as const;

/** How a CRM wants values written. */
export interface ValueStyles {
  date: (typeof DATE_STYLES)[number];
  instant: (typeof INSTANT_STYLES)[number];
  boolean: (typeof BOOLEAN_STYLES)[number];
  null: (typeof NULL_STYLES)[number];
}

/** A value of the model as the CRM wants it. */
export function renderValue(value: PropertyValue, kind: PropertyKind, styles: ValueStyles): PropertyValue {
  if (value === null) return styles.null === 'null' ? null : '';
  if (kind === 'boolean' && typeof value === 'boolean') return BOOLEANS[styles.boolean](value);
  if (kind === 'instant' && typeof value === 'string') return instantIn(value, styles.instant);
  if (kind === 'date' && typeof value === 'string') return dateIn(value, styles);
  return value;
}

/** What a CRM gave for a property as a value of the model; what is not of the kind comes as text, so that it differs. */
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

/** An instant in any of the styles, as ISO 8601 in UTC with milliseconds; a count is one of the style's unit. */
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
