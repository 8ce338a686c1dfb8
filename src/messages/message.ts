import { DAEMON_EN } from './daemon-en.ts';
import { DAEMON_IT } from './daemon-it.ts';
import { EN } from './en.ts';
import { ERRORS_EN } from './errors-en.ts';
import { ERRORS_IT } from './errors-it.ts';
import { IT } from './it.ts';
import { SETTINGS_EN } from './settings-en.ts';
import { SETTINGS_IT } from './settings-it.ts';
import { VENDORS_EN } from './vendors-en.ts';
import { VENDORS_IT } from './vendors-it.ts';

/** Languages of pages, mails and terminals. */
export type Language = 'en' | 'it';
/** Locales with 24-hour times and only characters that a text message allows. */
export const LOCALES: Readonly<Record<Language, string>> = { it: 'it-IT', en: 'en-GB' };

/**
 * Joins tables. Without a prototype, the engine makes a hash table at once; a literal with more than a thousand spread properties costs
 * 0.3 s at each start.
 */
function joined<Tables extends readonly object[]>(...tables: Tables): Intersection<Tables> {
  return Object.assign(Object.create(null), ...tables);
}
type Intersection<Tables extends readonly object[]> = Tables extends readonly [
  infer First,
  ...infer Rest extends object[],
]
  ? First & Intersection<Rest>
  : unknown;

const ENGLISH = joined(EN, DAEMON_EN, ERRORS_EN, SETTINGS_EN, VENDORS_EN);
const ITALIAN = joined(IT, DAEMON_IT, ERRORS_IT, SETTINGS_IT, VENDORS_IT) satisfies Fitting<
  typeof IT & typeof DAEMON_IT & typeof ERRORS_IT & typeof SETTINGS_IT & typeof VENDORS_IT
>;
/** Every sentence by language and code. */
export const SENTENCES: Readonly<Record<Language, Readonly<Record<string, string>>>> = { en: ENGLISH, it: ITALIAN };

/** Code of a sentence. */
export type Code = keyof typeof ENGLISH;
/** Names of the values in a template. */
type NameIn<Template extends string> = Template extends `${string}{${infer Position}}${infer Rest}`
  ? PositionName<Position> | NameIn<Rest>
  : never;
/** Braces with a following space, as in `{ file: {path} }`, are literal. */
type PositionName<Position extends string> = Position extends `${string}{${infer Inner}`
  ? PositionName<Inner>
  : Position extends ` ${string}`
    ? never
    : Position extends `${infer Name}:${string}`
      ? Name
      : Position;
/** Sentences in another language: the compiler refuses values that the English sentence lacks. */
type Fitting<Table extends Record<Code, string>> = {
  [C in Code]: NameIn<Table[C]> extends NameIn<(typeof ENGLISH)[C]> ? Table[C] : never;
};

/** A sentence as data, for storage and output in each language. Values hold ids, names of fields and counts. */
export interface Message {
  readonly code: Code;
  readonly values?: Values;
}
/** A message, or an English-only text such as a library's message or a command. */
export type Text = Message | string;
type Values = Readonly<Record<string, Text | number>>;
type ValuesOf<C extends Code> = Readonly<Record<NameIn<(typeof ENGLISH)[C]>, Text | number>>;

/** Returns a sentence by its code. @param values value for each name of the template */
export function message<const C extends Code>(
  code: C,
  ...values: [NameIn<(typeof ENGLISH)[C]>] extends [never] ? [] : [ValuesOf<C>]
): Message {
  return values[0] === undefined ? { code } : { code, values: values[0] };
}

/** Returns event and remedy as messages `code` and `code.remedy`; each can use some of the values. */
export function withRemedy<const C extends CodeWithRemedy>(
  code: C,
  ...values: [NameIn<(typeof ENGLISH)[C | `${C}.remedy`]>] extends [never] ? [] : [ValuesOf<C | `${C}.remedy`>]
): [message: Message, remedy: Message] {
  const [first, remedy] = [code, `${code}.remedy`] as [Code, Code];
  return values[0] === undefined
    ? [{ code: first }, { code: remedy }]
    : [
        { code: first, values: values[0] },
        { code: remedy, values: values[0] },
      ];
}
type CodeWithRemedy = { [C in Code]: `${C}.remedy` extends Code ? C : never }[Code];

/** Joins texts with commas. */
export function listed(texts: readonly Text[]): Text {
  return texts.reduce((first, next) => {
    if (typeof first === 'string' && typeof next === 'string') return `${first}, ${next}`;
    return message('listed', { first, next });
  });
}

/** Returns a sentence as the message of a zod issue, which must be a string. */
export function issueText(text: Text): string {
  return typeof text === 'string' ? text : JSON.stringify(text);
}

/** Returns the sentence of a zod issue: the inverse of {@link issueText}. */
export function textOfIssue(written: string): Text {
  return written.startsWith('{"code":') ? (JSON.parse(written) as Message) : written;
}

/** Decides whether a sentence with this code exists. */
export function isCode(code: string): code is Code {
  return Object.hasOwn(ENGLISH, code);
}

/** Renders a sentence. A code unknown to this version is shown unchanged. */
export function render(text: Text, language: Language = 'en'): string {
  if (typeof text === 'string') return text;
  const { code, values = {} } = text;
  if (!isCode(code)) return String(code);
  return (SENTENCES[language][code] ?? code).replaceAll(
    VARIABLE,
    (match, name: string, one?: string, many?: string) => {
      const value = values[name] ?? match;
      const shown = typeof value === 'number' ? String(value) : render(value, language);
      return one === undefined ? shown : `${shown} ${Number(value) === 1 ? one : many}`;
    },
  );
}

/** A value in a template: `{name}`, or `{count:one|many}`. */
const VARIABLE = /\{(\w+)(?::([^|}]*)\|([^}]*))?\}/g;

/** Returns the names of the values in a template. */
export function namesIn(template: string): string[] {
  return [...template.matchAll(VARIABLE)].map(([, name = '']) => name);
}

/** Replaces `<tenant>` by a tenant's id, so that the command can be pasted; null for none. */
export function forTenant<Input extends Text>(text: Input | null | undefined, tenant: string): Input | null {
  if (text === null || text === undefined) return null;
  if (typeof text === 'string') return text.replaceAll('<tenant>', tenant) as Input;
  const values = Object.entries(text.values ?? {}).map(([name, value]) => {
    return [name, typeof value === 'number' ? value : forTenant(value, tenant)];
  });
  return values.length === 0 ? text : ({ code: text.code, values: Object.fromEntries(values) } as Input);
}
