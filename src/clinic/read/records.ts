import { compileAll, isJsonObject, type JsonObject } from '../../described-api/paths.ts';
import { asFlag, asId, compilePaths, folded, type RowMapper } from '../http/rows.ts';
import {
  type ChoiceWords,
  type FieldPaths,
  type FullName,
  isNested,
  type NestedField,
  type RecordOf,
  type ScalarField,
  type ScalarKind,
  type Shape,
} from '../schema/fields.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { unescaped } from './escapes.ts';
import { splitInterval } from './intervals.ts';
import {
  createZone,
  dateMsOf,
  dateText,
  FIRST_YEAR_OF_BIRTH,
  isAmbiguousDate,
  type TimeRules,
  type Timestamp,
  timestampOf,
  type Zone,
} from './timestamps.ts';

/** Receives an unreadable value, which is treated as absent. */
export type OnUnreadable = (code: string, field: string) => void;

/**
 * Reads one field of a row; null if absent. An unreadable value makes the row unusable in {@link compileRows}. An optional text of another
 * type is recorded and read as null.
 */
export type FieldReader<Value> = (row: JsonObject, onUnreadable?: OnUnreadable) => Value;

/** A reader for each field of a resource. A user of some fields loses no row because of other fields. */
export type FieldReaders<Described extends Shape> = {
  readonly [Name in keyof Described]: FieldReader<RecordOf<Described>[Name]>;
};

/** Why a row is unusable; used only in this file. */
class Fault {
  readonly code: string;
  readonly field: string;
  constructor(code: string, field: string) {
    this.code = code;
    this.field = field;
  }
}

/** @property rowZone zone of the current row, if rows have individual zones */
type TimeProfile = Pick<ClinicProfile, 'zone' | 'localTimes' | 'epochUnit'> &
  Partial<Pick<ClinicProfile, 'dateOrder' | 'unescapeTexts'>> & { rowZone?: Zone };

/** Rules for all values. */
interface ValueRules extends TimeRules {
  unescapeTexts: boolean;
}

/** Rules for one field. */
interface FieldRules extends ValueRules {
  /** For a choice: normalised words of the clinic → words of clinic-mirror. */
  words: ReadonlyMap<string, string>;
}

/** Plain decimal notation with a point or a comma, without thousands separators. */
const DECIMAL = /^[+-]?\d{1,15}(?:[.,]\d{1,9})?$/;

/**
 * Compiles the readers of a resource's fields under a profile.
 * @param words the clinic's spelling of choices; an unmapped word is unchanged
 */
export function compileFields<Described extends Shape>(
  described: Described,
  fields: FieldPaths<Described>,
  profile: TimeProfile,
  words: ChoiceWords = {},
): FieldReaders<Described> {
  return compileShape(described, fields, timeRulesOf(profile), { words }) as unknown as FieldReaders<Described>;
}

/**
 * Compiles the reader of a field with a date or a time, for callers that distinguish the two. @param field clinic-mirror's name of the
 * field
 */
export function compileTimestamp(
  paths: readonly string[],
  field: string,
  profile: TimeProfile,
): FieldReader<Timestamp | null> {
  const find = compilePaths(paths);
  const rules = timeRulesOf(profile);
  return (row) => {
    const stated = find(row);
    const value = splitInterval(stated)?.start ?? stated;
    return isNoTime(value, rules) ? null : asTimestamp(value, field, rules);
  };
}

/**
 * Compiles the conversion of rows to records. An unusable row has one of the codes `missing-id`, `missing-field`, `wrong-type`, `bad-time`,
 * `ambiguous-date`,
 * or a code that `build` passes to {@link fail}.
 * @param readId reads a row's id; absent for a resource without ids
 */
export function compileRows<Model>(
  readId: FieldReader<string | null> | undefined,
  build: (row: JsonObject, onUnreadable: OnUnreadable) => Model,
): RowMapper<Model> {
  const idOf = readId === undefined ? () => null : tolerant(readId);
  return (row) => {
    try {
      const unread: string[] = [];
      const record = build(isJsonObject(row) ? row : fail('wrong-type', 'row'), (_, field) => unread.push(field));
      return unread.length === 0 ? { record } : { record, unread };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const { code, field } = error;
      const recordId = isJsonObject(row) ? idOf(row) : null;
      return { unusable: { recordId, code: field === 'id' ? 'missing-id' : code, field } };
    }
  };
}

/**
 * Compiles the mapping of a resource with all its fields. An error contains the field's path in clinic-mirror's names, such as
 * `items.quantity`.
 */
export function compileRecords<Described extends Shape>(
  described: Described,
  fields: FieldPaths<Described>,
  profile: TimeProfile,
  words: ChoiceWords = {},
): RowMapper<RecordOf<Described>> {
  const readers = compileShape(described, fields, timeRulesOf(profile), { words });
  return compileRows(
    readers.id as FieldReader<string | null> | undefined,
    gathered(readers) as FieldReader<RecordOf<Described>>,
  );
}

/** Compiles the mapping of some fields only: other fields make no row unusable. */
export function compileSome<Described extends Shape, Name extends keyof Described & string>(
  described: Described,
  names: readonly Name[],
  { fields, words = {} }: { fields: FieldPaths<Described>; words?: ChoiceWords },
  profile: TimeProfile,
): RowMapper<Pick<RecordOf<Described>, Name>> {
  const readers = compileFields(described, fields, profile, words);
  const some = Object.fromEntries(names.map((name) => [name, readers[name]]));
  return compileRows(
    some.id as FieldReader<string | null> | undefined,
    gathered(some) as FieldReader<Pick<RecordOf<Described>, Name>>,
  );
}

/** Compiles the reader of every different id in a field, in the row's order; none if absent. */
export function compileIds(paths: readonly string[], field: string): FieldReader<string[]> {
  const all = compileAll(paths);
  return (row) => [...new Set(all(row).map((value) => asId(value) ?? fail('wrong-type', field)))];
}

/** Marks the current row as unusable. */
export function fail(code: string, field: string): never {
  throw new Fault(code, field);
}

/** Wraps a reader: an unreadable value is recorded and treated as absent. */
export function tolerant<Value>(read: FieldReader<Value>): FieldReader<Value | null> {
  return (row, onUnreadable) => {
    try {
      return read(row, onUnreadable);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      onUnreadable?.(error.code, error.field);
      return null;
    }
  };
}

function timeRulesOf({
  zone,
  rowZone,
  localTimes,
  epochUnit,
  dateOrder = null,
  unescapeTexts,
}: TimeProfile): ValueRules {
  const rules = { zone: rowZone ?? createZone(zone), localTimes: { ...localTimes, dateOrder }, epochUnit };
  return { ...rules, unescapeTexts: unescapeTexts === true };
}

function compileShape(
  described: Shape,
  fields: object,
  rules: ValueRules,
  { prefix = '', words = {} }: { prefix?: string; words?: ChoiceWords },
): Record<string, FieldReader<unknown>> {
  const readers = Object.entries(described).map(([name, one]) => {
    const where = (fields as Record<string, unknown>)[name];
    const path = `${prefix}${name}`;
    return [
      name,
      isNested(one)
        ? nested(one, where, rules, path)
        : scalar(one, where, { ...rules, words: wordsOf(one, words[name]) }, path),
    ] as const;
  });
  return Object.fromEntries(readers);
}

/** Combines readers into a reader of an object with the same keys. */
function gathered(readers: Readonly<Record<string, FieldReader<unknown>>>): FieldReader<object> {
  const entries = Object.entries(readers);
  return (row, onUnreadable) => {
    const record: JsonObject = {};
    for (const [name, read] of entries) record[name] = read(row, onUnreadable);
    return record;
  };
}

/** An absent list is read as an empty list. */
function nested(one: NestedField, where: unknown, rules: ValueRules, path: string): FieldReader<unknown> {
  const { at, fields } = where as { at: readonly string[]; fields: object };
  const find = compilePaths(at);
  const build = gathered(compileShape(one.shape, fields, rules, { prefix: `${path}.` }));
  const read = (value: unknown, onUnreadable?: OnUnreadable) =>
    build(isJsonObject(value) ? value : fail('wrong-type', path), onUnreadable);
  if (one.kind === 'record') {
    return (row, onUnreadable) => {
      const value = find(row);
      return value === null ? null : read(value, onUnreadable);
    };
  }
  return (row, onUnreadable) => {
    const value = find(row) ?? [];
    return Array.isArray(value) ? value.map((each) => read(each, onUnreadable)) : fail('wrong-type', path);
  };
}

/** Returns the clinic's and clinic-mirror's spellings of a choice's words; the clinic's spelling takes precedence. */
function wordsOf({ words = [] }: ScalarField, theirs: ChoiceWords[string] = {}): ReadonlyMap<string, string> {
  const own = words.map((word) => [folded(word), word] as const);
  const spelled = Object.entries(theirs).flatMap(([word, spelling]) =>
    spelling === null ? [] : [[folded(spelling), word] as const],
  );
  return new Map([...own, ...spelled]);
}

/** A required text may be empty: an agenda without a name is still an agenda. */
function scalar(one: ScalarField, where: unknown, rules: FieldRules, path: string): FieldReader<unknown> {
  const { kind, needed } = one;
  const [ids, only] = [compileIds(where as string[], path), compilePaths(where as string[])];
  const find = one.isFirstOfList === true ? (row: JsonObject) => ids(row)[0] ?? null : only;
  const read = READERS[kind];
  const isUntold = kind === 'instant' ? isNoTime : isNothing;
  const stated: FieldReader<unknown> = (row) => {
    const value = find(row);
    if (!isUntold(value, rules)) return read(value, path, rules);
    if (!needed) return null;
    return value === '' && kind === 'text' ? value : fail('missing-field', path);
  };
  return kind === 'text' && !needed ? tolerant(stated) : stated;
}

/** Empty text is treated as absent. */
function isNothing(value: unknown): boolean {
  return value === null || value === '';
}

/** In numeric times, 0 means absent: no appointment was booked or changed at the start of 1970. */
function isNoTime(value: unknown, { epochUnit }: TimeRules): boolean {
  return isNothing(value) || (epochUnit !== null && (value === 0 || value === '0'));
}

const READERS: Readonly<Record<ScalarKind, (value: unknown, path: string, rules: FieldRules) => unknown>> = {
  id: (value, path) => asId(value) ?? fail('wrong-type', path),
  text(value, path, { unescapeTexts }) {
    const text = asText(value) ?? fail('wrong-type', path);
    return unescapeTexts ? unescaped(text) : text;
  },
  word: asWord,
  choice(value, path, { words }) {
    const word = asWord(value, path);
    return words.get(folded(word)) ?? word;
  },
  flag: (value, path) => asFlag(value) ?? fail('wrong-type', path),
  whole(value, path) {
    const number = typeof value === 'string' ? Number(value) : value;
    return Number.isSafeInteger(number) ? number : fail('wrong-type', path);
  },
  decimal: (value, path) => asDecimal(value) ?? fail('wrong-type', path),
  date(value, path, rules) {
    return dateText(dateMsOf(asTimestamp(value, path, rules, FIRST_YEAR_OF_BIRTH), rules.zone));
  },
  instant(value, path, rules) {
    const stated = asTimestamp(value, path, rules);
    return stated.kind === 'instant' ? stated.at : rules.zone.startOfDay(stated.dateMs);
  },
};

/** Returns a text unchanged, and a number as digits: some systems send postal codes and phone numbers as numbers. */
function asText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : null;
}

function asWord(value: unknown, path: string): string {
  return typeof value === 'string' ? value : (asId(value) ?? fail('wrong-type', path));
}

/** Returns a number, or a text in plain notation, as decimal text with a point. Decimal places are never added. */
function asDecimal(value: unknown): string | null {
  const written = typeof value === 'number' && Number.isFinite(value) ? String(value) : value;
  if (typeof written !== 'string' || !DECIMAL.test(written.trim())) return null;
  return written.trim().replace(',', '.').replace(/^\+/, '');
}

/** @param firstYear first valid year; the limit for appointments by default */
function asTimestamp(value: unknown, path: string, rules: TimeRules, firstYear?: number): Timestamp {
  const isTime = typeof value === 'string' || (typeof value === 'number' && rules.epochUnit !== null);
  const stated = timestampOf(value, rules, firstYear);
  if (stated === null && isAmbiguousDate(value, rules, firstYear)) return fail('ambiguous-date', path);
  return stated ?? fail(isTime ? 'bad-time' : 'wrong-type', path);
}

/** First and last name; null if absent. */
export interface Names {
  firstName: string | null;
  lastName: string | null;
}

/** Words at the start of, or within, a family name. */
const PARTICLES = new Set(
  'd da dal dalla de del degli dei della delle dello den der di do dos du el la las le li lo los san santa ten ter van von zu'.split(
    ' ',
  ),
);

/** Splits a full name. A separator marks the end of the family name in either order; a single word is a family name. */
export function splitName(text: string, { order, separator }: Pick<FullName, 'order' | 'separator'>): Names {
  const cut = text.indexOf(separator);
  if (cut !== -1) {
    return { firstName: nonEmpty(text.slice(cut + separator.length)), lastName: nonEmpty(text.slice(0, cut)) };
  }
  const words = text.split(/\s+/).filter((word) => word !== '');
  const at = order === 'given-first' ? familyFrom(words) : familyTo(words);
  const [first, second] = [words.slice(0, at).join(' '), words.slice(at).join(' ')];
  return order === 'given-first'
    ? { firstName: nonEmpty(first), lastName: nonEmpty(second) }
    : { firstName: nonEmpty(second), lastName: nonEmpty(first) };
}

/** Returns the index of the first word of the family name: a particle after the given name, or the last word. */
function familyFrom(words: readonly string[]): number {
  const particle = words.findIndex((word, at) => at > 0 && at < words.length - 1 && isParticle(word));
  return particle === -1 ? Math.max(0, words.length - 1) : particle;
}

/** Returns the index after the family name: any particles and one word. */
function familyTo(words: readonly string[]): number {
  const name = words.findIndex((word) => !isParticle(word));
  return name === -1 ? words.length : name + 1;
}

function isParticle(word: string): boolean {
  return PARTICLES.has(word.toLowerCase());
}

function nonEmpty(text: string): string | null {
  return text.trim() === '' ? null : text.trim();
}

/** Compiles the reading of a full name from one field, for rows without separate first and last names. */
export function compileFullName(
  rule: FullName | null,
  { unescapeTexts }: Pick<ClinicProfile, 'unescapeTexts'>,
): (row: JsonObject, names: Names) => Names {
  if (rule === null) return (_row, names) => names;
  const read = compilePaths([rule.path]);
  return (row, names) => {
    if (names.firstName !== null || names.lastName !== null) return names;
    const stated = read(row);
    const text = typeof stated === 'string' && unescapeTexts ? unescaped(stated) : stated;
    return typeof text === 'string' && text.trim() !== '' ? splitName(text, rule) : names;
  };
}
