import type { Logger } from '../core/log/logger.ts';
import { asMirrorError } from '../core/model/errors.ts';
import type { CrmItem, MappedProperty, PropertyValue } from '../core/model/items.ts';
import type { Operation, Outcome, Write } from '../core/model/operations.ts';
import { shortened } from '../core/model/text.ts';
import { message, type Text } from '../messages/message.ts';
import { failed } from './outcomes.ts';

/** Limits of a CRM property, as far as the CRM reports or documents them. */
export interface PropertyRule {
  /** Length of a text in UTF-16 code units. */
  longest?: number | undefined;
  /**
   * Required form of a text. `whole`: a text above the length is omitted, since a part would be a different value. Absent for free text.
   */
  form?: TextForm | undefined;
  /** Whether the CRM requires a value for new objects. */
  required?: boolean | undefined;
}

/** Text forms that CRMs validate. */
export const TEXT_FORMS = ['email', 'telephone', 'whole'] as const;
export type TextForm = (typeof TEXT_FORMS)[number];

/** Rules by property. */
export type PropertyRules = ReadonlyMap<string, PropertyRule>;

/** Settings for fitting writes to a CRM. */
interface Fitting {
  properties: readonly MappedProperty[];
  rules: PropertyRules;
  log: Logger;
  /** Operations of a full call: a full call is one of several. */
  batchSize: number;
  /** State that the connector keeps between calls. */
  refused: RefusedValues;
}

/** Refused values by record from full calls, until the record is written without them. */
export type RefusedValues = Map<string, Properties>;

type Properties = Readonly<Record<string, PropertyValue>>;

/** Largest number of attempts per object, for CRMs that report one property per refusal. Own choice. */
const MOST_ROUNDS = 5;
/** Largest number of records with stored refused values; additional records are written again at once. Own choice. */
const MOST_REFUSED = 10_000;

/**
 * Carries out operations so that the value of an optional property does not prevent a write. Invalid values are omitted or shortened before
 * the write. Values that the CRM refuses by name are omitted afterwards: the affected records are written once more, at once or, after a
 * full call, with those of other calls (`put-off`). `stored` contains the written values for the link, and the original value is written
 * again when the record changes.
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

/** Returns an operation with values that fit the CRM's limits. */
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

/** Of a required value, only the length is fitted; the CRM decides about the rest. */
export function fittedText(text: string, { longest = Number.POSITIVE_INFINITY, form, required }: PropertyRule) {
  if (form === undefined) return text.length > longest ? shortened(text, longest) : text;
  const isFit = text.length <= longest && (form === 'whole' || FORMS[form](text));
  return isFit || required === true ? text : null;
}

const FORMS: Readonly<Record<Exclude<TextForm, 'whole'>, (text: string) => boolean>> = {
  email: (text) => EMAIL.test(text.trim()),
  telephone: (text) => TELEPHONE.test(text.trim()) && text.replaceAll(/\D/g, '').length >= 3,
};

/** One e-mail address with a host name (RFC 5321, section 4.1.2, without quoted strings and IP literals). */
const EMAIL =
  /^[^\s@<>()[\]",;:\\.]+(?:\.[^\s@<>()[\]",;:\\.]+)*@(?:[\p{L}\p{N}](?:[\p{L}\p{N}-]*[\p{L}\p{N}])?\.)+[\p{L}\p{N}-]{2,}$/u;
/** Digits with separators, and an extension. */
const TELEPHONE = /^\+?[\d\s().\-/]+(?:(?:;?ext\.?=?|x|#|,)\s*\d+)?$/i;

/** A patient with only one name has it in the required name property. */
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

/** Returns the write without its refused values, or an empty list if no refused value can be omitted. */
function withoutRefused(
  operation: Operation<CrmItem> | undefined,
  end: Outcome<CrmItem> | undefined,
  { properties, rules }: Fitting,
): Write<CrmItem>[] {
  if (operation === undefined || operation.kind === 'delete' || end?.result !== 'failed') return [];
  const { refuses = [] } = end.error;
  const values = { ...operation.item.properties };
  const omitted = properties.filter((property) => {
    const value = values[property.name] ?? null;
    // An option that the operator configured concerns the settings, not this record.
    const isOwnWord = typeof value === 'string' && property.words?.includes(value) === true;
    return refuses.includes(property.name) && value !== null && !isOwnWord && !rules.get(property.name)?.required;
  });
  for (const { name } of omitted) values[name] = null;
  return omitted.length === 0 ? [] : [withProperties(operation, values)];
}

/** Returns the write without earlier refused values of the record that are still unchanged. */
function withoutRefusedBefore(operation: Operation<CrmItem>, refused: RefusedValues): Operation<CrmItem> {
  const refusedValues = refused.get(operation.recordId);
  if (refusedValues === undefined || operation.kind === 'delete') return operation;
  const values: Record<string, PropertyValue> = { ...operation.item.properties };
  for (const [name, value] of Object.entries(refusedValues)) if (values[name] === value) values[name] = null;
  return withProperties(operation, values);
}

/** Stores the omitted values of a write for its next call. */
function putOff(
  operation: Write<CrmItem>,
  sent: Operation<CrmItem> | undefined,
  refused: RefusedValues,
): Outcome<CrmItem> {
  const { recordId } = operation;
  const names = namesChanged(operation, sent);
  const values = sent === undefined || sent.kind === 'delete' ? {} : sent.item.properties;
  const omitted = Object.fromEntries(names.map((name) => [name, values[name] ?? null]));
  refused.set(recordId, { ...refused.get(recordId), ...omitted });
  return { recordId, result: 'put-off' };
}

function withProperties(operation: Write<CrmItem>, properties: Properties): Write<CrmItem> {
  return { ...operation, item: { ...operation.item, properties } };
}

/** The first of two refusals is more specific: the second may only report a missing value. */
function moreSpecific(before: Outcome<CrmItem>, after: Outcome<CrmItem>): Outcome<CrmItem> {
  const isRefusal = after.result === 'failed' && after.error.retry === 'never' && after.error.refuses === undefined;
  return isRefusal ? before : after;
}

/** Adds the written values to an outcome if the connector does not report them. */
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
    log.info({ counts }, 'values that the CRM does not accept were omitted or shortened');
}

/** Option of a CRM's list. */
export interface ListOption {
  /** Value in requests. */
  value: string;
  /** Label in the CRM's user interface. */
  label: string;
}

/** The CRM's list values for the mapping's words, in both directions; words that are values are in neither map. */
export interface Choices {
  toValue: ReadonlyMap<string, string>;
  toWord: ReadonlyMap<string, string>;
}

/** {@link Choices}, with words that match no value, or several values. */
interface Chosen extends Choices {
  strange: readonly string[];
}

/** Largest number of names in an error. Own choice. */
const LISTED = 20;

/** Resolves words as values of the list, otherwise as labels without regard to case. */
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
 * Resolves the mapping's words to the CRM's list values. A property without a list keeps the word.
 * @param nameOf returns a property's name for errors
 * @param missing creates the error of words without a value; the error lists the available names
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

/** Returns a text with the unknown words of a property and the available names. The text contains no clinic data. */
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
