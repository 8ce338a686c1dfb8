import { folded } from '../../clinic/http/rows.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import { isJsonObject } from '../../described-api/paths.ts';
import { commonNames } from './names.ts';

/** Unit of numeric times. */
export type EpochUnit = 'seconds' | 'ms';

/** Schema of a JSON value, from a document or samples. */
export interface ValueSchema {
  /** Null: unknown. A number without a fraction is `integer`. */
  type: 'object' | 'array' | 'string' | 'number' | 'integer' | 'boolean' | null;
  /** Such as `date-time` or `date`. */
  format: string | null;
  /** Words of an enumeration, numbers in digits; null for none. */
  words: readonly string[] | null;
  /** Unit since 1970 of a numeric time; otherwise null. */
  epochUnit: EpochUnit | null;
  /** Of an object. */
  members: ReadonlyMap<string, ValueSchema>;
  /** Of an array. */
  rows: ValueSchema | null;
  /** An example in the document; null for none. */
  example: string | number | boolean | null;
}

/** An unknown schema. */
export const UNTOLD: ValueSchema = {
  type: null,
  format: null,
  words: null,
  epochUnit: null,
  members: new Map(),
  rows: null,
  example: null,
};

/** A value in a record with its path. */
export interface Spot {
  path: string;
  schema: ValueSchema;
}

/** Deepest object in a record whose fields are used. */
const DEEPEST_SPOT = 3;

/** Returns the paths of a record for a profile, including objects and arrays, but not array elements. */
export function spotsOf(row: ValueSchema, prefix = '', depth = 1): Spot[] {
  return [...row.members].flatMap(([name, schema]) => {
    if (name === '' || /[\s.]/.test(name)) return [];
    const path = `${prefix}${name}`;
    return [{ path, schema }, ...(depth < DEEPEST_SPOT ? spotsOf(schema, `${path}.`, depth + 1) : [])];
  });
}

/** Instants from 2000 to 2100 in seconds; counts and most ids are smaller. */
const EPOCH_SECONDS = [946_684_800, 4_102_444_800] as const;

/** Returns the unit of a number that is a plausible time; null for others. */
export function epochUnitOfNumber(value: number): EpochUnit | null {
  const isWithin = (number: number) => number >= EPOCH_SECONDS[0] && number <= EPOCH_SECONDS[1];
  return isWithin(value) ? 'seconds' : isWithin(value / 1_000) ? 'ms' : null;
}

/** Maximum nesting of samples. */
const DEEPEST_SAMPLE = 6;
/** More different words are no enumeration. */
const MOST_WORDS = 25;
/** Form of an enumeration word; other text is possibly a name. */
const WORD = /^(?:[\p{L}][\p{L}\d_ -]{0,30}|-?\d{1,4})$/u;
const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/;

/**
 * Returns the common schema of observed values. Of strings and numbers, only states and time formats are kept.
 * @param states folded names of state fields
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

/** Numbers that are all plausible times, or 0 for none, are treated as times. */
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

/** Time format in a profile. */
export type TimeForm = ClinicProfile['writes']['times'];

/** Returns the time format by the unit, otherwise by examples; null if examples disagree or are missing. */
export function timeFormOf(unit: EpochUnit | null, examples: readonly string[]): TimeForm | null {
  if (unit !== null) return `epoch-${unit}`;
  const [form = null, ...others] = new Set(examples.map(formOfExample));
  return others.length === 0 ? form : null;
}

/** Returns the format of a time; null for other text. */
export function formOfExample(example: string): TimeForm | null {
  if (/T[\d:.]+Z$/i.test(example)) return 'utc';
  if (/T[\d:.]+[+-]\d\d:?\d\d$/.test(example)) return 'offset';
  if (/^\d{4}-\d\d-\d\dT[\d:.]+$/.test(example)) return 'local';
  return /^\d{4}-\d\d-\d\d [\d:.]+$/.test(example) ? 'local-space' : null;
}
