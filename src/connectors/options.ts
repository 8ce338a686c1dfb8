import type { MappedProperty } from '../model/items.ts';

/** One value of a list that a CRM lets people choose from. */
export interface ListOption {
  /** What goes over the wire. */
  value: string;
  /** What people see. */
  label: string;
}

/** What the words of a mapping stand for in a list of the CRM, in both directions; a word that is a value itself is in neither. */
export interface Choices {
  toValue: ReadonlyMap<string, string>;
  toWord: ReadonlyMap<string, string>;
}

/** {@link Choices}, and words that stand for nothing there, or for several values. */
export interface Chosen extends Choices {
  strange: readonly string[];
}

/** Names that an error lists, at most. Our choice. */
const LISTED = 20;

/** Reads words as values of the list, else as what people see of them, whatever its case. */
export function chooseOptions(words: readonly string[], options: readonly ListOption[]): Chosen {
  const toValue = new Map<string, string>();
  const strange: string[] = [];
  const values = new Set(options.map(({ value }) => value));
  for (const word of words) {
    if (values.has(word)) continue;
    const [found, ...others] = options.filter(({ label }) => folded(label) === folded(word));
    if (found === undefined || others.length > 0) strange.push(word);
    else toValue.set(word, found.value);
  }
  return { toValue, toWord: new Map([...toValue].map(([word, value]) => [value, word])), strange };
}

/**
 * What the words of a mapping stand for in the lists of a CRM. A property without a list takes what it is given.
 * @param nameOf a property as errors name it
 * @param missing makes the error of words that no list has; it lists the names there are
 */
export async function chooseAll(
  properties: readonly MappedProperty[],
  optionsOf: (property: MappedProperty) => readonly ListOption[] | Promise<readonly ListOption[]>,
  nameOf: (name: string) => string,
  missing: (names: string[]) => Error,
): Promise<Map<string, Choices>> {
  const choices = new Map<string, Choices>();
  const faults: string[] = [];
  for (const property of properties) {
    const { name, words = [] } = property;
    const options = words.length === 0 ? [] : await optionsOf(property);
    if (options.length === 0) continue;
    const chosen = chooseOptions(words, options);
    if (chosen.strange.length > 0) faults.push(strangeWords(nameOf(name), chosen.strange, options));
    choices.set(name, chosen);
  }
  if (faults.length > 0) throw missing(faults);
  return choices;
}

/** Says of a property which words it does not know, and which names there are. None of it comes from the clinic. */
export function strangeWords(property: string, words: readonly string[], options: readonly ListOption[]): string {
  const quoted = words.map((word) => JSON.stringify(word)).join(', ');
  const isDouble = words.some((word) => options.filter(({ label }) => folded(label) === folded(word)).length > 1);
  const names = options.slice(0, LISTED).map(({ label, value }) => (label === value ? value : `${label} (${value})`));
  const more = options.length > LISTED ? ` and ${options.length - LISTED} more` : '';
  const what = isDouble ? 'has several called' : 'has no';
  return `${property} ${what} ${quoted}; there are ${names.join(', ')}${more}`;
}

function folded(text: string): string {
  return text.trim().toLowerCase();
}
