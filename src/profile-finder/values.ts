import { folded, isJsonObject } from '../clinic/http/rows.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { commonNames } from './names.ts';

/** What numbers count that are times. */
export type EpochUnit = 'seconds' | 'ms';

/** What a JSON value looks like, by a document or by samples. */
export interface ValueSchema {
  /** Null: not told. A number without a fraction is `integer`. */
  type: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | null;
  /** Such as `date-time` or `date`. */
  format: string | null;
  /** The words of an enumeration, numbers in digits; null for none. */
  words: readonly string[] | null;
  /** Of a number that is a time: what it counts since 1970; null for any other. */
  epochUnit: EpochUnit | null;
  /** Of an object. */
  members: ReadonlyMap<string, ValueSchema>;
  /** Of an array. */
  rows: ValueSchema | null;
  /** An example that the document gives; null for none. */
  example: string | number | boolean | null;
}

/** A schema of which nothing is told. */
export const UNTOLD: ValueSchema = {
  type: null,
  format: null,
  words: null,
  epochUnit: null,
  members: new Map(),
  rows: null,
  example: null,
};

/** A value in a row, by the names that lead there. */
export interface Spot {
  path: string;
  schema: ValueSchema;
}

/** Deepest object within a row whose fields are looked at. */
const DEEPEST_SPOT = 3;

/** The paths of a row that a profile can name, objects and arrays included; what is in arrays is not looked into. */
export function spotsOf(row: ValueSchema, prefix = '', depth = 1): Spot[] {
  return [...row.members].flatMap(([name, schema]) => {
    if (name === '' || /[\s.]/.test(name)) return [];
    const path = `${prefix}${name}`;
    return [{ path, schema }, ...(depth < DEEPEST_SPOT ? spotsOf(schema, `${path}.`, depth + 1) : [])];
  });
}

/** Instants from 2000 to 2100, which no count and hardly an id reaches, in seconds. */
const EPOCH_SECONDS = [946_684_800, 4_102_444_800] as const;

/** What a number counts since 1970 if it is a time of our days; null for other numbers. */
export function epochUnitOfNumber(value: number): EpochUnit | null {
  const isWithin = (number: number) => number >= EPOCH_SECONDS[0] && number <= EPOCH_SECONDS[1];
  return isWithin(value) ? 'seconds' : isWithin(value / 1_000) ? 'ms' : null;
}

/** Deepest nesting of samples that is looked at. */
const DEEPEST_SAMPLE = 6;
/** More different words than this are no enumeration. */
const MOST_WORDS = 25;
/** What a word of an enumeration looks like; anything else might be a person's name. */
const WORD = /^(?:[\p{L}][\p{L}\d_ -]{0,30}|-?\d{1,4})$/u;
const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/;

/**
 * What values that were seen have in common, in the terms of a document. Of texts and numbers only states and forms of times are kept.
 * @param states names of fields that hold a state, folded
 */
export function sampled(
  values: readonly unknown[],
  states: ReadonlySet<string> = new Set(commonNames('status')),
  name = '',
  depth = 0,
): ValueSchema {
  const present = values.filter((value) => value !== null && value !== undefined);
  if (present.length === 0 || depth > DEEPEST_SAMPLE) return UNTOLD;
  if (present.every(Array.isArray)) {
    const rows: unknown[] = present.flat();
    const row = rows.length === 0 ? { ...UNTOLD, type: 'object' as const } : sampled(rows, states, name, depth + 1);
    return { ...UNTOLD, type: 'array', rows: row };
  }
  const isState = states.has(folded(name));
  if (present.every(isJsonObject)) {
    const names = [...new Set(present.flatMap(Object.keys))];
    const members = names.map((each) => {
      const inner = present.map((one) => (Object.hasOwn(one, each) ? one[each] : undefined));
      return [each, sampled(inner, states, isState ? name : each, depth + 1)] as const;
    });
    return { ...UNTOLD, type: 'object', members: new Map(members) };
  }
  if (present.every((value) => typeof value === 'boolean')) return { ...UNTOLD, type: 'boolean' };
  if (present.every((value) => typeof value === 'number')) return sampledNumbers(present, isState);
  return present.every((value) => typeof value === 'string') ? sampledTexts(present, isState) : UNTOLD;
}

/** Numbers that are all times of our days, or 0 for none, count as times. */
function sampledNumbers(numbers: readonly number[], isState: boolean): ValueSchema {
  const units = new Set(numbers.filter((value) => value !== 0).map(epochUnitOfNumber));
  const [epochUnit = null] = units.size === 1 ? units : [];
  const type = numbers.every(Number.isInteger) ? 'integer' : 'number';
  return { ...UNTOLD, type, epochUnit, words: isState && type === 'integer' ? wordsOf(numbers.map(String)) : null };
}

function sampledTexts(texts: readonly string[], isState: boolean): ValueSchema {
  const time = texts.find((text) => TIME.test(text));
  const areTimes = texts.every((text) => TIME.test(text) || DATE.test(text));
  return {
    ...UNTOLD,
    type: 'string',
    format: !areTimes ? null : time === undefined ? 'date' : 'date-time',
    words: isState ? wordsOf(texts.filter((text) => WORD.test(text))) : null,
    example: areTimes ? (time ?? null) : null,
  };
}

function wordsOf(seen: readonly string[]): string[] | null {
  const words = [...new Set(seen)];
  return words.length > 0 && words.length <= MOST_WORDS ? words : null;
}

/** A form of times as a profile names it. */
export type TimeForm = ClinicProfile['writes']['times'];

/** The form of times: of numbers by their unit, else by examples; null if examples don't agree or there are none. */
export function timeFormOf(unit: EpochUnit | null, examples: readonly string[]): TimeForm | null {
  if (unit !== null) return `epoch-${unit}`;
  const [form = null, ...others] = new Set(examples.map(formOfExample));
  return others.length === 0 ? form : null;
}

/** The form of one time; null for other texts. */
export function formOfExample(example: string): TimeForm | null {
  if (/T[\d:.]+Z$/i.test(example)) return 'utc';
  if (/T[\d:.]+[+-]\d\d:?\d\d$/.test(example)) return 'offset';
  if (/^\d{4}-\d\d-\d\dT[\d:.]+$/.test(example)) return 'local';
  return /^\d{4}-\d\d-\d\d [\d:.]+$/.test(example) ? 'local-space' : null;
}
