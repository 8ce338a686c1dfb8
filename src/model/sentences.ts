import { CALENDARS } from './italian/calendars.ts';
import { CAUSES } from './italian/causes.ts';
import { CRMS } from './italian/crms.ts';
import { PROBLEMS } from './italian/problems.ts';
import { lazily } from './lazily.ts';

/**
 * Sentences on problems and errors, in two languages. English is how they are made, kept and told by the command line and the API; pages and mails
 * may read them back and say them in Italian. A table pairs templates: `{name}` stands for a value, `{count:change|changes}` for a number
 * with the word that fits it, and `{cause}` for a sentence that is said in the other language too.
 */
export type SentenceTable = Readonly<Record<string, string>>;

/** Every table, by what its sentences are about. */
export const TABLES: Readonly<Record<string, SentenceTable>> = { PROBLEMS, CAUSES, CALENDARS, CRMS };

/** The sentences that are made from templates. */
type Template = keyof typeof PROBLEMS;
/** What stands for a value in a template. */
type NameIn<Text extends string> = Text extends `${string}{${infer Place}}${infer Rest}`
  ? (Place extends `${infer Name}:${string}` ? Name : Place) | NameIn<Rest>
  : never;
type Value = string | number;
type Values<Text extends string> = [NameIn<Text>] extends [never] ? [] : [Readonly<Record<NameIn<Text>, Value>>];

const PLACE = /\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g;
/** The label of a call, before the sentence on what became of it. */
const LABELLED = /^([\w.-]+): (.+)$/s;

/** A sentence in English. @param values what stands for each name of the template */
export function sentence<Text extends Template>(template: Text, ...values: Values<Text>): string {
  return fill(template, values[0] ?? {});
}

/** The same sentence in Italian; null where there are no words for it. Names, ids and commands stay as they are. */
export function inItalian(text: string): string | null {
  return itself(text) ?? afterLabel(text) ?? withDetails(text);
}

/** A sentence that stands in a table. */
function itself(text: string): string | null {
  const { whole, patterns } = readable();
  const known = whole.get(text);
  if (known !== undefined) return known;
  for (const { pattern, italian } of patterns) {
    const found = pattern.exec(text)?.groups;
    if (found === undefined) continue;
    const { cause } = found;
    return fill(italian, cause === undefined ? found : { ...found, cause: inItalian(cause) ?? cause });
  }
  return null;
}

/** `the call: what happened`. */
function afterLabel(text: string): string | null {
  const [, label, rest = ''] = LABELLED.exec(text) ?? [];
  const told = label === undefined ? null : (itself(rest) ?? withDetails(rest));
  return told === null ? null : `${label}: ${told}`;
}

/** `what happened: what it is about`. */
function withDetails(text: string): string | null {
  for (let at = text.indexOf(': '); at !== -1; at = text.indexOf(': ', at + 1)) {
    const head = itself(text.slice(0, at));
    if (head !== null) return `${head}${text.slice(at)}`;
  }
  return null;
}

/** Names of the values that a template has. */
export function namesIn(template: string): string[] {
  return [...template.matchAll(PLACE)].map(([, name = '']) => name);
}

function fill(template: string, values: Readonly<Record<string, Value>>): string {
  return template.replaceAll(PLACE, (place, name: string, one?: string, many?: string) => {
    const value = values[name] ?? place;
    return one === undefined ? String(value) : `${value} ${Number(value) === 1 ? one : many}`;
  });
}

const readable = lazily(() => {
  const pairs = Object.values(TABLES).flatMap((table) => Object.entries(table));
  const withPlaces = pairs.filter(([english]) => namesIn(english).length > 0);
  return {
    whole: new Map(pairs.filter(([english]) => namesIn(english).length === 0)),
    // The one that says most by itself first: what stands for a value may be anything.
    patterns: withPlaces
      .toSorted(([one], [other]) => literal(other).length - literal(one).length)
      .map(([english, italian]) => ({ pattern: patternOf(english), italian })),
  };
});

function literal(template: string): string {
  return template.replaceAll(PLACE, '');
}

function patternOf(template: string): RegExp {
  let source = '';
  let from = 0;
  for (const { 0: place, 1: name, 2: one, 3: many, index } of template.matchAll(PLACE)) {
    source += escaped(template.slice(from, index));
    source += one === undefined ? `(?<${name}>.+)` : `(?<${name}>\\d+) (?:${escaped(one)}|${escaped(many ?? '')})`;
    from = index + place.length;
  }
  return new RegExp(`^${source}${escaped(template.slice(from))}$`, 's');
}

function escaped(text: string): string {
  return text.replaceAll(/[\\^$.*+?()[\]{}|]/g, '\\$&');
}
