import { z } from 'zod';
import type { PropertyKind, PropertyValue } from '../core/model/items.ts';
import { SECOND_MS } from '../core/model/time.ts';

/** Date formats of APIs, the default first. `instant`: midnight UTC in the API's format of instants. */
export const DATE_STYLES = ['date', 'instant', 'epoch-seconds', 'epoch-milliseconds'] as const;
/**
 * Instant formats of APIs: with milliseconds and Z, with seconds and Z, with seconds and `+00:00`, as `2027-01-31 09:30:00` in UTC, or as a
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
/** Boolean formats of APIs: JSON, 1 and 0, or `true` and `false` as text. */
export const BOOLEAN_STYLES = ['boolean', 'number', 'text'] as const;
/** Values that clear a property. */
export const NULL_STYLES = ['null', 'empty-text'] as const;

export const valueStyles = z.strictObject({
  date: z.enum(DATE_STYLES).default('date'),
  instant: z.enum(INSTANT_STYLES).default('iso'),
  boolean: z.enum(BOOLEAN_STYLES).default('boolean'),
  null: z.enum(NULL_STYLES).default('null'),
});
/** Value formats of an API. */
export type ValueStyles = z.infer<typeof valueStyles>;

/** Converts a value of the model to the API's format. */
export function renderValue(value: PropertyValue, kind: PropertyKind, styles: ValueStyles): PropertyValue {
  if (value === null) return styles.null === 'null' ? null : '';
  if (kind === 'boolean' && typeof value === 'boolean') return BOOLEANS[styles.boolean](value);
  if (kind === 'instant' && typeof value === 'string') return instantIn(value, styles.instant);
  if (kind === 'date' && typeof value === 'string') return dateIn(value, styles);
  return value;
}

/**
 * Converts an API's value to a value of the model. A value that does not fit the kind becomes text, and therefore differs from the desired
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
