import { MirrorError } from '../model/errors.ts';
import {
  type FieldPaths,
  isNested,
  type NestedField,
  type RecordOf,
  type ScalarField,
  type Shape,
} from '../settings/clinic-fields.ts';
import type { ClinicProfile } from '../settings/clinic-profile.ts';
import { isJsonObject, type JsonObject } from './rows.ts';
import { formatInstant } from './timestamps.ts';
import { createZone, type Zone } from './zone.ts';

/**
 * Turns values of ours into the clinic's JSON: each goes to the first path that the profile names for its field.
 * @param base the record as the clinic has it, so that what we don't know of stays; not changed
 * @throws MirrorError `settings`, code `field-unmapped`, for a value whose field the profile does not place
 */
export type RecordWriter<Described extends Shape> = (
  values: Partial<RecordOf<Described>>,
  base?: JsonObject,
) => JsonObject;

type Rules = Pick<ClinicProfile, 'writes'> & { zone: Zone };

/** Prepares the writing of a described resource under a profile. */
export function compileWriter<Described extends Shape>(
  described: Described,
  fields: FieldPaths<Described>,
  profile: Pick<ClinicProfile, 'writes' | 'zone'>,
): RecordWriter<Described> {
  const rules = { writes: profile.writes, zone: createZone(profile.zone) };
  return (values, base = {}) => writeInto(structuredClone(base), described, fields, values, rules);
}

function writeInto(target: JsonObject, described: Shape, fields: object, values: object, rules: Rules): JsonObject {
  for (const [name, value] of Object.entries(values)) {
    const one = described[name];
    if (one === undefined || value === undefined) continue;
    const where = (fields as Record<string, unknown>)[name];
    if (isNested(one)) {
      const { at, fields: inner } = where as { at: readonly string[]; fields: object };
      place(target, at, writeNested(one, inner, value, rules), name);
    } else place(target, where as readonly string[], writeScalar(one, value, rules), name);
  }
  return target;
}

function writeNested(one: NestedField, fields: object, value: unknown, rules: Rules): unknown {
  const write = (each: unknown) => writeInto({}, one.shape, fields, each as object, rules);
  if (value === null) return null;
  return Array.isArray(value) ? value.map(write) : write(value);
}

function writeScalar({ kind }: ScalarField, value: unknown, { writes, zone }: Rules): unknown {
  if (value === null) return null;
  if (kind === 'instant') return formatInstant(value as number, writes.times, zone);
  return kind === 'decimal' && writes.decimals === 'number' ? Number(value) : value;
}

/** Sets a value at a path of field names joined by dots; objects on the way are made where they lack. */
function place(target: JsonObject, paths: readonly string[], value: unknown, field: string): void {
  const [path] = paths;
  if (path === undefined) throw unmapped(field);
  const names = path.split('.');
  const last = names.pop() as string;
  let current = target;
  for (const name of names) {
    const next = Object.hasOwn(current, name) ? current[name] : undefined;
    const inner = isJsonObject(next) ? next : {};
    define(current, name, inner);
    current = inner;
  }
  define(current, last, value);
}

/** Names come from configuration; `__proto__` is one like any other. */
function define(target: JsonObject, name: string, value: unknown): void {
  Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
}

function unmapped(field: string): MirrorError {
  return new MirrorError(`the clinic profile names no place for the field ${field}`, {
    actor: 'settings',
    code: 'field-unmapped',
    retry: 'never',
    remedy: 'give the field a path in the clinic profile, or leave it out',
  });
}
