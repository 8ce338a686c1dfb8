import type { MirrorError } from '../../core/model/errors.ts';
import { exactNumber, parseJson } from '../../core/model/json.ts';
import { isJsonObject, type JsonObject, parsePath, setAtPath, valueAt } from '../../described-api/paths.ts';
import { message, type Text } from '../../messages/message.ts';
import { clinicError } from '../http/errors.ts';
import { APART, asId, compilePaths } from '../http/rows.ts';
import type { RowZone } from '../read/place-zones.ts';
import { NO_SITE_ZONES, type SiteZones } from '../read/place-zones.ts';
import { createZone, formatInstant, type Zone } from '../read/timestamps.ts';
import {
  type ChoiceWords,
  type FieldPaths,
  isNested,
  type NestedField,
  type RecordOf,
  type ScalarField,
  type ScalarKind,
  type Shape,
} from '../schema/fields.ts';
import type { ClinicProfile } from '../schema/profile.ts';

/**
 * Converts clinic-mirror's values to the clinic's JSON. Each value is set at the first path of its field in the profile.
 * @param base the existing record, not modified; data unknown to clinic-mirror is kept
 * @param places zones of local times, for a resource with a zone for each row
 * @throws MirrorError `settings`: code `field-unmapped` for a field without a path in the profile, `word-unmapped` for a
 *   choice without a word; `contract`, code `bad-value`, for a value of another kind
 */
export type RecordWriter<Described extends Shape> = (
  values: Partial<RecordOf<Described>>,
  base?: JsonObject,
  sites?: SiteZones,
) => JsonObject;

type Rules = Pick<ClinicProfile, 'writes'> & { zone: Zone };

/** Spelling of a resource's values in the profile. */
interface Spelling {
  words?: ChoiceWords;
  /** Fields written as numbers; nested fields include their path. */
  numbers?: readonly string[];
}

/** Compiles the writer of a resource under a profile. */
export function compileWriter<Described extends Shape>(
  described: Described,
  fields: FieldPaths<Described>,
  profile: Pick<ClinicProfile, 'writes' | 'zone'> & { rowZone?: RowZone },
  { words = {}, numbers = [] }: Spelling = {},
): RecordWriter<Described> {
  const { rowZone } = profile;
  const rules = { writes: profile.writes, zone: rowZone ?? createZone(profile.zone) };
  return (values, base = {}, sites = NO_SITE_ZONES) => {
    const target = structuredClone(base);
    const where = { described, fields, words, numbers, prefix: '' };
    if (rowZone === undefined) return writeInto(target, where, values, rules);
    // Local times are written in the zone of the row after the change.
    const isTime = ([name]: [string, unknown]) => described[name]?.kind === 'instant';
    const [times, rest] = [true, false].map((wanted) =>
      Object.fromEntries(Object.entries(values).filter((entry) => isTime(entry) === wanted)),
    );
    writeInto(target, where, rest ?? {}, rules);
    // Parsed like a received row: ids beyond 2^53 become text.
    rowZone.begin(parseJson(JSON.stringify(target)), sites);
    return writeInto(target, where, times ?? {}, rules);
  };
}

/** Destination of one object's values. */
interface WriteTarget {
  described: Shape;
  fields: object;
  words: ChoiceWords;
  numbers: readonly string[];
  prefix: string;
}

function writeInto(target: JsonObject, where: WriteTarget, values: object, rules: Rules) {
  const { described, fields, words, numbers, prefix } = where;
  for (const [name, value] of Object.entries(values)) {
    const one = described[name];
    const label = `${prefix}${name}`;
    if (value === undefined) continue;
    if (one === undefined) throw unmapped(label);
    const found = (fields as Record<string, unknown>)[name];
    if (isNested(one)) {
      const { at, fields: inner } = found as { at: readonly string[]; fields: object };
      const current = compilePaths(at.slice(0, 1))(target);
      setValue(target, at, writeNested(one, { ...where, fields: inner }, { value, label, current }, rules), label);
    } else {
      const paths = found as readonly string[];
      const written = writeScalar(one, words[name], { value, label }, rules);
      if (paths[0]?.includes(APART) === true) setSplitTime(target, fields, { value, label, name, values }, rules);
      else setValue(target, paths, numbers.includes(label) ? asNumber(written, label) : written, label);
    }
  }
  return target;
}

/** Returns the number for an id or word of digits; 1 and 0 for yes and no. */
function asNumber(written: unknown, label: string): unknown {
  if (written === null) return null;
  if (typeof written === 'boolean') return written ? 1 : 0;
  const digits = String(written);
  if (!/^-?(?:0|[1-9]\d{0,38})$/.test(digits) && !/^-?\d{1,15}$/.test(digits)) {
    return badValue(label, message('clinic.bad-value.digits'));
  }
  return exactNumber(digits);
}

/** A value and the name of its field, for messages. */
interface FieldValue {
  value: unknown;
  label: string;
}

/** Existing rows are changed, not replaced, so that data unknown to clinic-mirror is kept in nested rows too. */
function writeNested(
  one: NestedField,
  { fields, numbers }: Pick<WriteTarget, 'fields' | 'numbers'>,
  { value, label, current }: FieldValue & { current: unknown },
  rules: Rules,
): unknown {
  const inner = { described: one.shape, fields, words: {}, numbers, prefix: `${label}.` };
  const write = (each: unknown, base: JsonObject) =>
    isJsonObject(each) ? writeInto(base, inner, each, rules) : badValue(label);
  if (one.kind === 'record') return value === null ? null : write(value, isJsonObject(current) ? current : {});
  if (!Array.isArray(value)) return badValue(label);
  const baseOf = rowFinder(one.shape, fields, Array.isArray(current) ? current : []);
  return value.map((each) => write(each, baseOf(each)));
}

/** Finds the row for a value by the id that the shape requires; otherwise an empty row. */
function rowFinder(described: Shape, fields: object, rows: unknown[]): (value: unknown) => JsonObject {
  const key = Object.entries(described).find(([, one]) => one.kind === 'id' && one.needed)?.[0];
  if (key === undefined) return () => ({});
  const readKey = compilePaths((fields as Record<string, readonly string[]>)[key] ?? []);
  const existing = new Map(rows.filter(isJsonObject).map((row) => [asId(readKey(row)), row] as const));
  return (value) => structuredClone((isJsonObject(value) ? existing.get(asId(value[key])) : undefined) ?? {});
}

const isText = (value: unknown) => typeof value === 'string';
/** Checks the kind of a value; decimals are plain, with a point. */
const FITS: Readonly<Record<ScalarKind, (value: unknown) => boolean>> = {
  id: isText,
  text: isText,
  word: isText,
  choice: isText,
  flag: (value) => typeof value === 'boolean',
  whole: Number.isSafeInteger,
  decimal: (value) => isText(value) && /^-?\d{1,15}(?:\.\d{1,9})?$/.test(String(value)),
  date: (value) => isText(value) && /^\d{4}-\d\d-\d\d$/.test(String(value)),
  instant: Number.isFinite,
};

function writeScalar(
  { kind, words = [] }: ScalarField,
  spellings: ChoiceWords[string] | undefined,
  { value, label }: FieldValue,
  { writes, zone }: Rules,
): unknown {
  if (value === null) return null;
  if (!FITS[kind](value)) return badValue(label);
  switch (kind) {
    case 'instant': {
      const written = formatInstant(value as number, writes.times, zone);
      return writes.times.startsWith('epoch') ? Number(written) : written;
    }
    case 'decimal':
      return writes.decimals === 'number' ? exactDecimal(value as string, label) : value;
    case 'choice':
      return spelled(value as string, spellings ?? Object.fromEntries(words.map((word) => [word, word])), label);
    default:
      return value;
  }
}

/** Separate paths of a local date and time of day. */
interface Apart {
  date: string;
  time: string;
}

/**
 * Sets a time with separate date and time of day. A shared date is changed only together with all fields that use it: moving the end of an
 * appointment to the next day must not move its start.
 */
function setSplitTime(
  target: JsonObject,
  fields: object,
  { value, label, name, values }: FieldValue & { name: string; values: object },
  { zone }: Rules,
): void {
  const apart = new Map(Object.entries(fields).flatMap(([field, paths]) => apartIn(field, paths)));
  const { date, time } = apart.get(name) as Apart;
  const others = [...apart].filter(([field, one]) => field !== name && one.date === date);
  setValue(target, [time], value === null ? null : formatInstant(value as number, 'local', zone).slice(11), label);
  if (value === null) {
    if (others.length === 0) setValue(target, [date], null, label);
    return;
  }
  const day = formatInstant(value as number, 'date', zone);
  const isMoved = ([field, one]: [string, Apart]) => {
    const instant = Reflect.get(values, field) as number | null | undefined;
    if (instant === undefined) return valueAt(target, date) !== day && (valueAt(target, one.time) ?? '') !== '';
    return instant !== null && formatInstant(instant, 'date', zone) !== day;
  };
  if (others.some(isMoved)) badValue(label, message('clinic.bad-value.one-day'));
  setValue(target, [date], day, label);
}

function apartIn(field: string, paths: unknown): [string, Apart][] {
  const [date, time] = Array.isArray(paths) ? (String(paths[0]).split(APART) as [string, string?]) : [];
  return date === undefined || time === undefined ? [] : [[field, { date, time }]];
}

/** Returns a JSON number with exactly these digits. A number with more digits than a double holds (15, IEEE 754) cannot be sent. */
function exactDecimal(decimal: string, label: string): number {
  const digits = decimal.replace(/^-?0*/, '').replace('.', '');
  return digits.length > 15 ? badValue(label) : Number(decimal);
}

function spelled(word: string, spellings: ChoiceWords[string], label: string): string {
  const spelling = Object.hasOwn(spellings, word) ? spellings[word] : null;
  if (typeof spelling === 'string') return spelling;
  throw clinicError('word-unmapped', message('clinic.word-unmapped', { field: label }));
}

/** Sets a value at the first path. */
function setValue(target: JsonObject, paths: readonly string[], value: unknown, field: string): void {
  const [path] = paths;
  if (path === undefined) throw unmapped(field);
  setAtPath(target, parsePath(path), value);
}

/** Refuses a value from the caller. @throws MirrorError `contract`, code `bad-value` */
export function badValue(field: string, remedy: Text = message('clinic.bad-value.remedy')): never {
  throw clinicError('bad-value', message('clinic.bad-value', { field }), { remedy });
}

function unmapped(field: string): MirrorError {
  return clinicError('field-unmapped', message('clinic.field-unmapped', { field }));
}
