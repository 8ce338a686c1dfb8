import { folded, isJsonObject } from '../../clinic/http/rows.ts';
import { knownNames } from '../specification/known-names.ts';
import { SELECTORS } from '../specification/match-fields.ts';
import { epochUnitOfNumber, UNTOLD, type ValueSchema } from '../specification/schemas.ts';

/** Deepest nesting that is looked at. */
const DEEPEST = 6;
/** More different words than this are no enumeration. */
const MOST_WORDS = 25;
/** What a word of an enumeration looks like; anything else might be somebody's name. */
const WORD = /^(?:[\p{L}][\p{L}\d_ -]{0,30}|-?\d{1,4})$/u;
const DATE = /^\d{4}-\d\d-\d\d$/;
const TIME = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/;

/** Fields that hold a state, folded. */
const STATES = new Set(knownNames('status'));

/**
 * What values that were seen have in common, in the terms of a document. Of texts and numbers only states and forms of times are kept.
 * @param states names of fields that hold a state, folded
 */
export function sampled(
  values: readonly unknown[],
  states: ReadonlySet<string> = STATES,
  name = '',
  depth = 0,
): ValueSchema {
  const told = values.filter((value) => value !== null && value !== undefined);
  const [first] = told;
  if (first === undefined || depth > DEEPEST) return UNTOLD;
  if (told.every(Array.isArray)) {
    const rows = (told as unknown[][]).flat();
    return {
      ...UNTOLD,
      type: 'array',
      rows:
        rows.length === 0 ? { ...UNTOLD, type: 'object' } : sampled(rows, withKinds(states, depth), name, depth + 1),
    };
  }
  if (told.every(isJsonObject)) {
    const names = [...new Set(told.flatMap((one) => Object.keys(one)))];
    const members = names.map((each) => {
      const inner = told.map((one) => (Object.hasOwn(one, each) ? one[each] : undefined));
      return [each, sampled(inner, states, states.has(folded(name)) ? name : each, depth + 1)] as const;
    });
    return { ...UNTOLD, type: 'object', members: new Map(members) };
  }
  if (told.every((value) => typeof value === 'boolean')) return { ...UNTOLD, type: 'boolean' };
  if (told.every((value) => typeof value === 'number')) {
    return numbers(told as number[], states.has(folded(name)));
  }
  return told.every((value) => typeof value === 'string') ? texts(told as string[], states.has(folded(name))) : UNTOLD;
}

/** In a list within a row a field that says of which kind an element is holds few words too. */
function withKinds(states: ReadonlySet<string>, depth: number): ReadonlySet<string> {
  return depth < 2 ? states : new Set([...states, ...SELECTORS]);
}

/** Numbers that are all times of our days, or 0 for none, count as times. */
function numbers(told: readonly number[], isState: boolean): ValueSchema {
  const units = new Set(told.filter((value) => value !== 0).map(epochUnitOfNumber));
  const [epochUnit = null] = units.size === 1 ? units : [];
  const type = told.every(Number.isInteger) ? 'integer' : 'number';
  return { ...UNTOLD, type, epochUnit, words: isState && type === 'integer' ? wordsOf(told.map(String)) : null };
}

function wordsOf(told: readonly string[]): string[] | null {
  const words = [...new Set(told)];
  return words.length > 0 && words.length <= MOST_WORDS ? words : null;
}

function texts(told: readonly string[], isState: boolean): ValueSchema {
  const isTime = told.some((text) => TIME.test(text)) && told.every((text) => TIME.test(text) || DATE.test(text));
  const isDate = !isTime && told.every((text) => DATE.test(text));
  return {
    ...UNTOLD,
    type: 'string',
    format: isTime ? 'date-time' : isDate ? 'date' : null,
    words: isState ? wordsOf(told.filter((text) => WORD.test(text))) : null,
    example: isTime ? (told.find((text) => TIME.test(text)) ?? null) : null,
  };
}
