import { asId, compilePaths, folded, isJsonObject, type JsonObject, type Mapped } from '../http/rows.ts';
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

import { dateText, FIRST_YEAR_OF_BIRTH, parseTimestamp } from './timestamps.ts';
import { createZone, type Zone } from './zone.ts';

/** Reads one value of a row; throws a {@link Fault} for one that can't be used. */
type Reader = (row: JsonObject) => unknown;

/** What is wrong with a row, thrown within this file only. */
class Fault {
  readonly code: string;
  readonly field: string;
  constructor(code: string, field: string) {
    this.code = code;
    this.field = field;
  }
}

interface TimeRules {
  zone: Zone;
  localTimes: ClinicProfile['localTimes'];
}

/** What the reading of one field needs. */
interface FieldRules extends TimeRules {
  /** Of a choice: folded words of the clinic → ours. */
  words: ReadonlyMap<string, string>;
}

/** Plain decimal notation, with a point or, as some systems write it, a comma; no thousands. */
const DECIMAL = /^[+-]?\d{1,15}(?:[.,]\d{1,9})?$/;

/**
 * Prepares the reading of a described resource under a profile. A row that can't be used is set aside with one of the codes
 * `missing-id`, `missing-field`, `wrong-type`, `bad-time`; the field is named with its path in our words, such as `items.quantity`.
 * Resources without an id of their own are set aside without one.
 * @param words how the clinic spells the words of choices; a word that is in none of them is kept
 */
export function compileRecords<Described extends Shape>(
  described: Described,
  fields: FieldPaths<Described>,
  profile: Pick<ClinicProfile, 'zone' | 'localTimes'>,
  words: ChoiceWords = {},
): (row: unknown) => Mapped<RecordOf<Described>> {
  const rules = { zone: createZone(profile.zone), localTimes: profile.localTimes };
  const read = compileShape(described, fields, rules, '', words);
  const idPaths: unknown = (fields as Record<string, unknown>).id;
  const readId = compilePaths(Array.isArray(idPaths) ? idPaths : []);
  return (row) => {
    const recordId = isJsonObject(row) ? asId(readId(row)) : null;
    try {
      return { record: read(row) as RecordOf<Described> };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      const code = error.field === 'id' && error.code === 'missing-field' ? 'missing-id' : error.code;
      return { setAside: { recordId, code, field: error.field } };
    }
  };
}

function compileShape(
  described: Shape,
  fields: object,
  rules: TimeRules,
  prefix: string,
  words: ChoiceWords = {},
): (row: unknown) => object {
  const readers = Object.entries(described).map(([name, one]) => {
    const where = (fields as Record<string, unknown>)[name];
    const place = `${prefix}${name}`;
    return [
      name,
      isNested(one)
        ? nested(one, where, rules, place)
        : scalar(one, where, { ...rules, words: wordsOf(one, words[name]) }, place),
    ] as const;
  });
  return (row) => {
    if (!isJsonObject(row)) throw new Fault('wrong-type', prefix === '' ? 'row' : prefix.slice(0, -1));
    return Object.fromEntries(readers.map(([name, read]) => [name, read(row)]));
  };
}

/** An absent list is an empty one. */
function nested(one: NestedField, where: unknown, rules: TimeRules, place: string): Reader {
  const { at, fields } = where as { at: readonly string[]; fields: object };
  const find = compilePaths(at);
  const read = compileShape(one.shape, fields, rules, `${place}.`);
  if (one.kind === 'record') {
    return (row) => {
      const value = find(row);
      return value === null ? null : read(value);
    };
  }
  return (row) => {
    const value = find(row) ?? [];
    if (!Array.isArray(value)) throw new Fault('wrong-type', place);
    return value.map(read);
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

function scalar(one: ScalarField, where: unknown, rules: FieldRules, place: string): Reader {
  const find = compilePaths(where as readonly string[]);
  return (row) => {
    const value = find(row);
    if (value === null || value === '') {
      if (one.needed) throw new Fault('missing-field', place);
      return null;
    }
    return READERS[one.kind](value, place, rules);
  };
}

const READERS: Readonly<Record<ScalarKind, (value: unknown, place: string, rules: FieldRules) => unknown>> = {
  id: (value, place) => asId(value) ?? fail('wrong-type', place),
  text: (value, place) => (typeof value === 'string' ? value : fail('wrong-type', place)),
  word: asWord,
  choice(value, place, { words }) {
    const word = asWord(value, place);
    return words.get(folded(word)) ?? word;
  },
  flag: (value, place) => (typeof value === 'boolean' ? value : fail('wrong-type', place)),
  whole(value, place) {
    const number = typeof value === 'string' ? Number(value) : value;
    return Number.isSafeInteger(number) ? number : fail('wrong-type', place);
  },
  decimal: (value, place) => asDecimal(value) ?? fail('wrong-type', place),
  date(value, place, { zone, localTimes }) {
    const told = typeof value === 'string' ? parseTimestamp(value, zone, localTimes, FIRST_YEAR_OF_BIRTH) : null;
    if (told === null) return fail('bad-time', place);
    return dateText(told.kind === 'date' ? told.dateMs : told.at + zone.offsetAt(told.at));
  },
  instant(value, place, { zone, localTimes }) {
    const told = typeof value === 'string' ? parseTimestamp(value, zone, localTimes) : null;
    if (told === null) return fail('bad-time', place);
    return told.kind === 'instant' ? told.at : zone.startOfDay(told.dateMs);
  },
};

function asWord(value: unknown, place: string): string {
  return typeof value === 'string' ? value : (asId(value) ?? fail('wrong-type', place));
}

/** A number, or a text in plain notation, as decimal text with a point; what is written without digits after it stays so. */
function asDecimal(value: unknown): string | null {
  const written = typeof value === 'number' && Number.isFinite(value) ? String(value) : value;
  if (typeof written !== 'string' || !DECIMAL.test(written.trim())) return null;
  return written.trim().replace(',', '.').replace(/^\+/, '');
}

function fail(code: string, place: string): never {
  throw new Fault(code, place);
}
