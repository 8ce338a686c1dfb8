import { asFlag, asId, compilePaths, folded, isJsonObject, type JsonObject, type RowMapper } from '../http/rows.ts';
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
import {
  createZone,
  dateMsOf,
  dateText,
  FIRST_YEAR_OF_BIRTH,
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

/** @property rowZone the zone of each row, where rows have zones of their own */
type TimeProfile = Pick<ClinicProfile, 'zone' | 'localTimes' | 'epochUnit'> & { rowZone?: Zone };

/** What the reading of one field needs. */
interface FieldRules extends TimeRules {
  /** For a choice: normalised words of the clinic → words of clinic-mirror. */
  words: ReadonlyMap<string, string>;
}

/** Plain decimal notation with a point or a comma, without thousands separators. */
const DECIMAL = /^[+-]?\d{1,15}(?:[.,]\d{1,9})?$/;

/**
 * Prepares the reading of a described resource under a profile, field by field.
 * @param words how the clinic spells the words of choices; a word that is in none of them is kept
 */
export function compileFields<Described extends Shape>(
  described: Described,
  fields: FieldPaths<Described>,
  profile: TimeProfile,
  words: ChoiceWords = {},
): FieldReaders<Described> {
  return compileShape(described, fields, timeRulesOf(profile), { words }) as unknown as FieldReaders<Described>;
}

/** Prepares the reading of a field that holds a date or a time, where it matters which. @param field its name in our words */
export function compileTimestamp(
  paths: readonly string[],
  field: string,
  profile: TimeProfile,
): FieldReader<Timestamp | null> {
  const find = compilePaths(paths);
  const rules = timeRulesOf(profile);
  return (row) => {
    const value = find(row);
    return isNoTime(value, rules) ? null : asTimestamp(value, field, rules);
  };
}

/**
 * Compiles the conversion of rows to records. An unusable row has one of the codes `missing-id`, `missing-field`, `wrong-type`, `bad-time`,
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

function timeRulesOf({ zone, rowZone, localTimes, epochUnit }: TimeProfile): TimeRules {
  return { zone: rowZone ?? createZone(zone), localTimes, epochUnit };
}

function compileShape(
  described: Shape,
  fields: object,
  rules: TimeRules,
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

/** All that the readers read, under their names. */
function gathered(readers: Readonly<Record<string, FieldReader<unknown>>>): FieldReader<object> {
  const entries = Object.entries(readers);
  return (row, onUnreadable) => {
    const record: JsonObject = {};
    for (const [name, read] of entries) record[name] = read(row, onUnreadable);
    return record;
  };
}

/** An absent list is an empty one. */
function nested(one: NestedField, where: unknown, rules: TimeRules, path: string): FieldReader<unknown> {
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

/** Both spellings of a choice's words, the clinic's before ours. */
function wordsOf({ words = [] }: ScalarField, theirs: ChoiceWords[string] = {}): ReadonlyMap<string, string> {
  const own = words.map((word) => [folded(word), word] as const);
  const spelled = Object.entries(theirs).flatMap(([word, spelling]) =>
    spelling === null ? [] : [[folded(spelling), word] as const],
  );
  return new Map([...own, ...spelled]);
}

/** A text that is needed may be empty: an agenda without a name is still an agenda. */
function scalar({ kind, needed }: ScalarField, where: unknown, rules: FieldRules, path: string): FieldReader<unknown> {
  const find = compilePaths(where as readonly string[]);
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

/** An empty text tells as little as a field that is not there. */
function isNothing(value: unknown): boolean {
  return value === null || value === '';
}

/** Where times are numbers, 0 stands for none: nothing was booked or changed when 1970 began. */
function isNoTime(value: unknown, { epochUnit }: TimeRules): boolean {
  return isNothing(value) || (epochUnit !== null && (value === 0 || value === '0'));
}

const READERS: Readonly<Record<ScalarKind, (value: unknown, path: string, rules: FieldRules) => unknown>> = {
  id: (value, path) => asId(value) ?? fail('wrong-type', path),
  text: (value, path) => asText(value) ?? fail('wrong-type', path),
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

/** A text as it is; a number in digits, as systems write postal codes and telephone numbers. */
function asText(value: unknown): string | null {
  if (typeof value === 'string') return value;
  return typeof value === 'number' && Number.isFinite(value) ? String(value) : null;
}

function asWord(value: unknown, path: string): string {
  return typeof value === 'string' ? value : (asId(value) ?? fail('wrong-type', path));
}

/** A number, or a text in plain notation, as decimal text with a point; what is written without digits after it stays so. */
function asDecimal(value: unknown): string | null {
  const written = typeof value === 'number' && Number.isFinite(value) ? String(value) : value;
  if (typeof written !== 'string' || !DECIMAL.test(written.trim())) return null;
  return written.trim().replace(',', '.').replace(/^\+/, '');
}

/** @param firstYear years before count as no time; those of appointments when absent */
function asTimestamp(value: unknown, path: string, rules: TimeRules, firstYear?: number): Timestamp {
  const isTime = typeof value === 'string' || (typeof value === 'number' && rules.epochUnit !== null);
  return timestampOf(value, rules, firstYear) ?? fail(isTime ? 'bad-time' : 'wrong-type', path);
}

/** A name in two parts; what is not told is null. */
export interface Names {
  firstName: string | null;
  lastName: string | null;
}

/** Words that begin a family name, or go on with one. */
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

/** The first word of the family name: a particle behind the given name, else the last word. */
function familyFrom(words: readonly string[]): number {
  const particle = words.findIndex((word, at) => at > 0 && at < words.length - 1 && isParticle(word));
  return particle === -1 ? Math.max(0, words.length - 1) : particle;
}

/** The word behind the family name: particles and one more. */
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

/** Prepares a name that stands in one field, where a row does not tell its parts. */
export function compileFullName(rule: FullName | null): (row: JsonObject, names: Names) => Names {
  if (rule === null) return (_row, names) => names;
  const read = compilePaths([rule.path]);
  return (row, names) => {
    if (names.firstName !== null || names.lastName !== null) return names;
    const text = read(row);
    return typeof text === 'string' && text.trim() !== '' ? splitName(text, rule) : names;
  };
}
