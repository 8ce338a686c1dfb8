import { message, type Text } from '../../messages/message.ts';
import type { MirrorError } from '../../model/errors.ts';
import { exactNumber, parseExactly } from '../../model/json.ts';
import { clinicError } from '../http/errors.ts';
import { APART, asId, compilePaths, isJsonObject, type JsonObject, valueAt } from '../http/rows.ts';
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
import { parsePath, setAtPath } from '../schema/paths.ts';
import type { ClinicProfile } from '../schema/profile.ts';

/**
 * Turns values of ours into the clinic's JSON: each goes to the first path that the profile names for its field.
 * @param base the record as the clinic has it, so that what we don't know of stays; not changed
 * @param places zones of local times, where the resource has a zone for each row
 * @throws MirrorError `settings`: code `field-unmapped` for a value whose field the profile does not place, `word-unmapped` for a
 *   choice that it has no word for; `contract`, code `bad-value`, for a value that is not of its field's kind
 */
export type RecordWriter<Described extends Shape> = (
  values: Partial<RecordOf<Described>>,
  base?: JsonObject,
  sites?: SiteZones,
) => JsonObject;

type Rules = Pick<ClinicProfile, 'writes'> & { zone: Zone };

/** How a resource's values are spelled, as its part of the profile says. */
interface Spelling {
  words?: ChoiceWords;
  /** Fields that are written as numbers, nested ones with their path. */
  numbers?: readonly string[];
}

/** Prepares the writing of a described resource under a profile. */
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
    // Local times are written in the zone of the row as it will be.
    const isTime = ([name]: [string, unknown]) => described[name]?.kind === 'instant';
    const [times, rest] = [true, false].map((wanted) =>
      Object.fromEntries(Object.entries(values).filter((entry) => isTime(entry) === wanted)),
    );
    writeInto(target, where, rest ?? {}, rules);
    // As it is read: an id beyond 2^53 as text.
    rowZone.begin(parseExactly(JSON.stringify(target)), sites);
    return writeInto(target, where, times ?? {}, rules);
  };
}

/** Where the values of one object go. */
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

/** An id or word as the number that its digits make, yes and no as 1 and 0. */
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

/** Rows that the record has already are changed, not replaced, so that what we don't know of stays in them too. */
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

/** Finds the row of a list that a value is meant for, by the id that its shape needs; an empty one where there is none. */
function rowFinder(described: Shape, fields: object, rows: unknown[]): (value: unknown) => JsonObject {
  const key = Object.entries(described).find(([, one]) => one.kind === 'id' && one.needed)?.[0];
  if (key === undefined) return () => ({});
  const readKey = compilePaths((fields as Record<string, readonly string[]>)[key] ?? []);
  const existing = new Map(rows.filter(isJsonObject).map((row) => [asId(readKey(row)), row] as const));
  return (value) => structuredClone((isJsonObject(value) ? existing.get(asId(value[key])) : undefined) ?? {});
}

const isText = (value: unknown) => typeof value === 'string';
/** Whether a value is one of its kind; decimals are plain, with a point. */
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

/** A date and a time of day that have places of their own, in local time. */
interface Apart {
  date: string;
  time: string;
}

/**
 * Sets a time whose date and time of day come apart. A date that other fields share is changed with all of them, or not at all: who moves
 * the end of an appointment to the next day must not move its start.
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

/** A JSON number that tells the same digits; more than a double holds (15, IEEE 754) can't be sent as one. */
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

/** Refuses a value that the caller gave. @throws MirrorError `contract`, code `bad-value` */
export function badValue(field: string, remedy: Text = message('clinic.bad-value.remedy')): never {
  throw clinicError('bad-value', message('clinic.bad-value', { field }), { remedy });
}

function unmapped(field: string): MirrorError {
  return clinicError('field-unmapped', message('clinic.field-unmapped', { field }));
}
