import type { Logger } from '../log/logger.ts';
import { message, type Text } from '../messages/message.ts';
import { asMirrorError } from '../model/errors.ts';
import type { CrmItem, MappedProperty, PropertyValue } from '../model/items.ts';
import type { Operation, Outcome } from '../model/operations.ts';
import { shortened } from '../model/text.ts';
import { failed } from './outcomes.ts';

/** What a property of a CRM takes, as far as the CRM tells it or documents it. */
export interface PropertyRule {
  /** UTF-16 code units of a text. */
  longest?: number | undefined;
  /** What a text must be; `whole`: what is too long is left out, since a part of it is another value. Free text when absent. */
  form?: TextForm | undefined;
  /** The CRM makes no record without a value. */
  required?: boolean | undefined;
}

/** Forms of texts that CRMs look at. */
export const TEXT_FORMS = ['email', 'telephone', 'whole'] as const;
export type TextForm = (typeof TEXT_FORMS)[number];

/** Rules by property. */
export type PropertyRules = ReadonlyMap<string, PropertyRule>;

/** How writes are fitted to a CRM. */
interface Fitting {
  properties: readonly MappedProperty[];
  rules: PropertyRules;
  log: Logger;
  /** Operations of a full call: one that is full is one of several. */
  batchSize: number;
  /** Kept from call to call by the connector. */
  refused: RefusedValues;
}

/** Values by record that were refused in a full call, until the record is written without them. */
export type RefusedValues = Map<string, Properties>;

type Write = Exclude<Operation<CrmItem>, { kind: 'delete' }>;
type Properties = Readonly<Record<string, PropertyValue>>;

/** A CRM that names one property in each refusal is asked so often for one record. Our choice. */
const MOST_ROUNDS = 5;
/** Records whose refused values are kept for their next call; further ones are written again at once. Our choice. */
const MOST_REFUSED = 10_000;

/**
 * Carries out operations so that no value of an optional property keeps a record out. What can't be valid is left out, or shortened, before
 * the write. What the CRM refuses by name is left out after it: those records alone are written once more, at once or, after a full call,
 * with those of other calls (`put-off`). `stored` tells what was written instead, by which the link remembers it: it is tried again when the
 * record changes.
 * @param apply carries out operations as a connector does; the first call's error is thrown
 */
export async function applyFitting(
  operations: readonly Operation<CrmItem>[],
  fitting: Fitting,
  apply: (operations: readonly Operation<CrmItem>[]) => Promise<Outcome<CrmItem>[]>,
): Promise<Outcome<CrmItem>[]> {
  const { refused, batchSize, log } = fitting;
  const sent = new Map(
    operations.map((operation) => [operation.recordId, withoutRefusedBefore(fitted(operation, fitting), refused)]),
  );
  const ends = new Map((await apply([...sent.values()])).map((outcome) => [outcome.recordId, outcome]));
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const again = operations.flatMap(({ recordId }) => withoutRefused(sent.get(recordId), ends.get(recordId), fitting));
    if (again.length === 0) break;
    if (operations.length >= batchSize && refused.size + again.length <= MOST_REFUSED) {
      for (const operation of again)
        ends.set(operation.recordId, putOff(operation, sent.get(operation.recordId), refused));
      break;
    }
    const outcomes = await apply(again).catch((error) => again.map((one) => failed(one, asMirrorError(error))));
    for (const operation of again) sent.set(operation.recordId, operation);
    for (const outcome of outcomes) ends.set(outcome.recordId, moreSpecific(ends.get(outcome.recordId)!, outcome));
  }
  for (const { recordId, result } of ends.values()) {
    if (result !== 'put-off' && result !== 'failed') refused.delete(recordId);
  }
  logOmissions(operations, sent, log);
  return operations.flatMap((operation) => asStored(operation, sent, ends.get(operation.recordId)));
}

/** What an operation writes, as far as the CRM can take it. */
function fitted(operation: Operation<CrmItem>, { properties, rules }: Fitting): Operation<CrmItem> {
  if (operation.kind === 'delete') return operation;
  const values: Record<string, PropertyValue> = { ...operation.item.properties };
  for (const { name, kind } of properties) {
    const value = values[name];
    const rule = kind === 'text' ? rules.get(name) : undefined;
    if (rule !== undefined && typeof value === 'string') values[name] = fittedText(value, rule);
  }
  nameWithWhatIsThere(values, properties, rules);
  return withProperties(operation, values);
}

/** Of a required value only the length is brought to what fits: whether the CRM takes the rest is its own to say. */
export function fittedText(text: string, { longest = Number.POSITIVE_INFINITY, form, required }: PropertyRule) {
  if (form === undefined) return text.length > longest ? shortened(text, longest) : text;
  const isFit = text.length <= longest && (form === 'whole' || FORMS[form](text));
  return isFit || required === true ? text : null;
}

const FORMS: Readonly<Record<Exclude<TextForm, 'whole'>, (text: string) => boolean>> = {
  email: (text) => EMAIL.test(text.trim()),
  telephone: (text) => TELEPHONE.test(text.trim()) && text.replaceAll(/\D/g, '').length >= 3,
};

/** One address, with a name of a host behind it (RFC 5321, section 4.1.2, without quoted texts and addresses in brackets). */
const EMAIL =
  /^[^\s@<>()[\]",;:\\.]+(?:\.[^\s@<>()[\]",;:\\.]+)*@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]{2,}$/u;
/** Digits with what stands between them, and an extension. */
const TELEPHONE = /^\+?[\d\s().\-/]+(?:(?:;?ext\.?=?|x|#|,)\s*\d+)?$/i;

/** A patient who has one name only has it in the property that must not be empty. */
function nameWithWhatIsThere(
  values: Record<string, PropertyValue>,
  properties: readonly MappedProperty[],
  rules: PropertyRules,
): void {
  const isRequired = (name: string) => rules.get(name)?.required === true;
  const named = properties.filter(({ namePart, name }) => namePart !== undefined && Object.hasOwn(values, name));
  for (const { name, namePart } of named) {
    if (values[name] !== null || !isRequired(name)) continue;
    const other = named.find((one) => one.namePart !== namePart && typeof values[one.name] === 'string');
    if (other === undefined) continue;
    values[name] = fittedText(String(values[other.name]), rules.get(name)!);
    if (!isRequired(other.name)) values[other.name] = null;
  }
}

/** The write without what was refused of it; empty when that was nothing that can be left out. */
function withoutRefused(
  operation: Operation<CrmItem> | undefined,
  end: Outcome<CrmItem> | undefined,
  { properties, rules }: Fitting,
): Write[] {
  if (operation === undefined || operation.kind === 'delete' || end?.result !== 'failed') return [];
  const { refuses = [] } = end.error;
  const values = { ...operation.item.properties };
  const omitted = properties.filter((property) => {
    const value = values[property.name] ?? null;
    // What the operator wrote is a matter of settings, and not of this record.
    const isOwnWord = typeof value === 'string' && property.words?.includes(value) === true;
    return refuses.includes(property.name) && value !== null && !isOwnWord && !rules.get(property.name)?.required;
  });
  for (const { name } of omitted) values[name] = null;
  return omitted.length === 0 ? [] : [withProperties(operation, values)];
}

/** The write without values that were refused of the record before, as long as it is to have the same. */
function withoutRefusedBefore(operation: Operation<CrmItem>, refused: RefusedValues): Operation<CrmItem> {
  const refusedValues = refused.get(operation.recordId);
  if (refusedValues === undefined || operation.kind === 'delete') return operation;
  const values: Record<string, PropertyValue> = { ...operation.item.properties };
  for (const [name, value] of Object.entries(refusedValues)) if (values[name] === value) values[name] = null;
  return withProperties(operation, values);
}

/** Keeps the values that a write goes without, for its next call. */
function putOff(operation: Write, sent: Operation<CrmItem> | undefined, refused: RefusedValues): Outcome<CrmItem> {
  const { recordId } = operation;
  const names = namesChanged(operation, sent);
  const values = sent === undefined || sent.kind === 'delete' ? {} : sent.item.properties;
  const omitted = Object.fromEntries(names.map((name) => [name, values[name] ?? null]));
  refused.set(recordId, { ...refused.get(recordId), ...omitted });
  return { recordId, result: 'put-off' };
}

function withProperties(operation: Write, properties: Properties): Write {
  return { ...operation, item: { ...operation.item, properties } };
}

/** Of two refusals the first says what is wrong with the record: the second may be that a value is missing now. */
function moreSpecific(before: Outcome<CrmItem>, after: Outcome<CrmItem>): Outcome<CrmItem> {
  const isRefusal = after.result === 'failed' && after.error.retry === 'never' && after.error.refuses === undefined;
  return isRefusal ? before : after;
}

/** Tells what was written in place of what was wanted, where the connector does not. */
function asStored(
  operation: Operation<CrmItem>,
  sent: ReadonlyMap<string, Operation<CrmItem>>,
  end: Outcome<CrmItem> | undefined,
): Outcome<CrmItem>[] {
  if (end === undefined) return [];
  const written = sent.get(operation.recordId);
  if (end.result !== 'written' || end.stored !== undefined || written?.kind === 'delete') return [end];
  return namesChanged(operation, written).length === 0 ? [end] : [{ ...end, stored: written!.item }];
}

function namesChanged(wanted: Operation<CrmItem>, sent: Operation<CrmItem> | undefined): string[] {
  if (wanted.kind === 'delete' || sent === undefined || sent.kind === 'delete') return [];
  const { properties } = sent.item;
  return Object.entries(wanted.item.properties).flatMap(([name, value]) => (properties[name] === value ? [] : [name]));
}

function logOmissions(
  operations: readonly Operation<CrmItem>[],
  sent: ReadonlyMap<string, Operation<CrmItem>>,
  log: Logger,
): void {
  const counts: Record<string, number> = {};
  for (const operation of operations) {
    for (const name of namesChanged(operation, sent.get(operation.recordId))) counts[name] = (counts[name] ?? 0) + 1;
  }
  if (Object.keys(counts).length > 0)
    log.info({ counts }, 'values that the CRM does not take were left out or shortened');
}

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
interface Chosen extends Choices {
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
  missing: (names: Text[]) => Error,
): Promise<Map<string, Choices>> {
  const choices = new Map<string, Choices>();
  const faults: Text[] = [];
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
export function strangeWords(property: string, words: readonly string[], options: readonly ListOption[]): Text {
  const quoted = words.map((word) => JSON.stringify(word)).join(', ');
  const isDouble = words.some((word) => options.filter(({ label }) => folded(label) === folded(word)).length > 1);
  const shown = options.slice(0, LISTED).map(({ label, value }) => (label === value ? value : `${label} (${value})`));
  const count = options.length - LISTED;
  const names = count > 0 ? message('option.more', { names: shown.join(', '), count }) : shown.join(', ');
  return message(isDouble ? 'option.several' : 'option.none', { property, words: quoted, names });
}

function folded(text: string): string {
  return text.trim().toLowerCase();
}
