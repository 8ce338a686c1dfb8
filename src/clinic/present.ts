import type { MirrorError } from '../model/errors.ts';
import { clinicError } from './http/errors.ts';
import { isJsonObject, type JsonObject } from './http/rows.ts';
import { isNested, type Shape } from './schema/fields.ts';
import { badValue } from './write/writing.ts';

/** A record as people read it: instants as ISO 8601 in UTC, everything else as it is. */
export function presented(shape: Shape, record: object): JsonObject {
  return walked(shape, record, (value) => (typeof value === 'number' ? isoOf(value) : value));
}

/**
 * The other way round: values as people write them, instants as ISO 8601 with an offset.
 * @throws MirrorError `contract`, code `bad-value`, for an instant that is none; `settings`, code `no-such-field`
 */
export function valuesOf(shape: Shape, written: JsonObject): JsonObject {
  return walked(shape, written, instantOf, (within, name) => {
    throw noSuchField(within, name);
  });
}

/** Changes the instants of a record, those of nested rows too. @param onUnknown told of a name that is none of its fields */
function walked(
  shape: Shape,
  record: object,
  change: (instant: unknown, name: string) => unknown,
  onUnknown: (shape: Shape, name: string) => void = () => {},
): JsonObject {
  const entries = Object.entries(record).map(([name, value]) => {
    const one = Object.hasOwn(shape, name) ? shape[name] : undefined;
    if (one === undefined) onUnknown(shape, name);
    if (one === undefined || value === null) return [name, value];
    if (!isNested(one)) return [name, one.kind === 'instant' ? change(value, name) : value];
    const inner = (each: unknown) => (isJsonObject(each) ? walked(one.shape, each, change, onUnknown) : each);
    return [name, Array.isArray(value) ? value.map(inner) : inner(value)];
  });
  return Object.fromEntries(entries);
}

function isoOf(at: number): string {
  return new Date(at).toISOString().replace('.000Z', 'Z');
}

function instantOf(written: unknown, name: string): number {
  const text = typeof written === 'string' ? written : '';
  const at = /(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(at) ? badValue(name) : at;
}

/** A name is repeated when it can be one of a field: a person may have put anything in its place. */
function noSuchField(shape: Shape, name: string): MirrorError {
  const shown = /^[A-Za-z][\w.]{0,40}$/.test(name) ? `the field ${name}` : 'a field';
  const fields = Object.keys(shape);
  const remedy = fields.length === 0 ? 'leave --data out' : `give some of: ${fields.join(', ')}`;
  return clinicError('no-such-field', `a value is given for ${shown}, which is not taken here`, { remedy });
}
