import { setImmediate } from 'node:timers/promises';
import type { PropertyKind, PropertyValue } from '../../model/items.ts';
import { type ExpressionOutline, outlineExpression } from '../../settings/crm-expressions.ts';
import type { CrmFile, CrmRule } from '../../settings/crm-schema.ts';
import { CRM_SOURCES, type CrmTransform, crmSourceOf, kindAfter, type SourceKind } from '../../settings/crm-schema.ts';
import {
  COPIED_FIELDS,
  type CopiedField,
  type Mapped,
  type MappedRecord,
  type Mapping,
  type MappingSource,
} from './contract.ts';
import type { EvaluateExpressions } from './evaluate.ts';
import type { ExpressionInput, ExpressionOutcome, ExpressionRule } from './expressions.ts';
import {
  asProperty,
  consentPaths,
  type FieldRules,
  type FieldValue,
  fieldReader,
  noSuchField,
  phoneReader,
  transformed,
} from './fields.ts';
import { cleanLines, guardFormula } from './text.ts';

/** One property: its source, and the conversion of the value. */
interface CompiledRule {
  name: string;
  kind: PropertyKind;
  transforms: readonly CrmTransform[];
  /** CRM values for the transformed values; null if the CRM takes transformed values unchanged. */
  values: ReadonlyMap<string, PropertyValue> | null;
  /** Kind of the key in `values`, or of the property. */
  declared: PropertyKind;
  /** Kind before the transforms. */
  actual: SourceKind;
  origin:
    | { field: string; read: (source: MappingSource) => FieldValue }
    | { constant: PropertyValue }
    | { expression: ExpressionRule; outline: ExpressionOutline | null };
}

/**
 * Compiles a target's mapping. The result depends only on the record, never on the time.
 * @param crm validated configuration
 * @param zone the clinic's zone, for the start of days
 * @param evaluate evaluates expressions in threads; never called for a mapping without expressions
 * @throws TypeError for a mapping that validation would refuse
 */
export function compileMapping(crm: CrmFile, zone: string, evaluate: EvaluateExpressions): Mapping {
  const rules: FieldRules = { zone, phone: phoneReader(crm.region) };
  const compiled = [...crm.mapping]
    .map(([name, rule]) => compileRule(name, rule, crm, rules))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  const expressions = compiled.flatMap(({ origin }) => ('expression' in origin ? [origin.expression] : []));
  const copies = copiesIn(compiled);
  const readInput = inputReader(crm, rules);
  const isPlain = expressions.length === 0;
  return {
    properties: compiled.map(({ name, kind, ...rule }) => ({
      ...{ name, kind },
      ...wordsOf(rule),
      ...namePartOf(copies.get(name)),
    })),
    reads: { field: (path) => uses(compiled, (field) => field === path), texts: textsIn(compiled) },
    copies,
    needs: needsOf(compiled),
    isPlain,
    mapNow(source) {
      if (!isPlain) throw new TypeError('a mapping with expressions takes time: use mapAll');
      return mapPlain(compiled, source, rules);
    },
    async mapAll(sources, signal) {
      if (isPlain) return withBreaks(sources, (source) => mapPlain(compiled, source, rules), signal);
      const inputs = await withBreaks(sources, readInput, signal);
      const outcomes = await evaluate(expressions, inputs, signal);
      return withBreaks(sources, (source, index) => mapWith(compiled, source, outcomes[index] ?? [], rules), signal);
    },
  };
}

function copiesIn(compiled: readonly CompiledRule[]): Map<string, CopiedField> {
  return new Map(
    compiled.flatMap(({ name, origin, values, transforms }) => {
      const field = 'field' in origin ? COPIED_FIELDS.find((one) => one === origin.field) : undefined;
      return field === undefined || values !== null || transforms.includes('first-line') ? [] : [[name, field]];
    }),
  );
}

function namePartOf(field: CopiedField | undefined): { namePart?: 'first' | 'last' } {
  if (field === 'firstName') return { namePart: 'first' };
  return field === 'lastName' ? { namePart: 'last' } : {};
}

function wordsOf({ origin, values }: Pick<CompiledRule, 'origin' | 'values'>): { words?: readonly string[] } {
  const outputs = 'constant' in origin ? [origin.constant] : [...(values?.values() ?? [])];
  const words = outputs.filter((value) => typeof value === 'string');
  return words.length === 0 ? {} : { words: [...new Set(words)] };
}

/** Records between two pauses: parsing a new telephone number takes 0.2 ms. */
const AT_ONCE = 100;

/** Processes a list with pauses for other tasks. */
async function withBreaks<Entry, Result>(
  list: readonly Entry[],
  work: (entry: Entry, index: number) => Result,
  signal: AbortSignal,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [index, entry] of list.entries()) {
    if (index % AT_ONCE === AT_ONCE - 1) {
      await setImmediate();
      signal.throwIfAborted();
    }
    results.push(work(entry, index));
  }
  return results;
}

function compileRule(name: string, rule: CrmRule, { stream }: CrmFile, rules: FieldRules): CompiledRule {
  const { from, value, expression, transforms } = rule;
  if (from !== undefined) {
    const source = crmSourceOf(stream, from);
    if (source === null) throw noSuchField(stream);
    const origin = { field: from, read: fieldReader(stream, from, rules) };
    return withValues(
      { name, transforms, actual: source.kind, origin, declared: lastKind(source.kind, transforms) },
      rule,
    );
  }
  if (expression !== undefined) {
    const sourceKind = rule.kind ?? 'text';
    const origin = { expression: { expression, kind: sourceKind }, outline: outlineExpression(expression) };
    return withValues(
      { name, transforms, actual: sourceKind, origin, declared: lastKind(sourceKind, transforms) },
      rule,
    );
  }
  if (value === undefined) throw new TypeError('a property is made of nothing');
  const kind = kindOf(value);
  return { name, kind, declared: kind, values: null, transforms: [], actual: kind, origin: { constant: value } };
}

function withValues(rule: Omit<CompiledRule, 'kind' | 'values'>, { values }: CrmRule): CompiledRule {
  const [first] = values?.values() ?? [];
  return { ...rule, kind: first === undefined ? rule.declared : kindOf(first), values: values ?? null };
}

function kindOf(value: string | number | boolean): 'text' | 'number' | 'boolean' {
  return typeof value === 'string' ? 'text' : typeof value === 'number' ? 'number' : 'boolean';
}

function lastKind(kind: SourceKind, transforms: readonly CrmTransform[]): SourceKind {
  const after = kindAfter(kind, transforms);
  if ('misfit' in after) throw new TypeError('a transform does not fit what it is given');
  return after.kind;
}

function mapPlain(compiled: readonly CompiledRule[], source: MappingSource, rules: FieldRules): MappedRecord {
  return collect(
    compiled,
    (rule) => {
      if ('constant' in rule.origin) return rule.origin.constant;
      return 'read' in rule.origin ? rule.origin.read(source) : null;
    },
    rules,
  );
}

/**
 * Maps one record.
 * @param outcomes results of the expressions, in the order of the rules
 */
function mapWith(
  compiled: readonly CompiledRule[],
  source: MappingSource,
  outcomes: readonly ExpressionOutcome[],
  rules: FieldRules,
): Mapped {
  const named = compiled.filter(({ origin }) => 'expression' in origin).map(({ name }, index) => ({ name, index }));
  const results = new Map<string, PropertyValue>();
  for (const { name, index } of named) {
    const outcome = outcomes[index] ?? { code: 'expression-failed' as const };
    if ('code' in outcome) return { fault: outcome.code, property: name };
    results.set(name, outcome.value);
  }
  return collect(
    compiled,
    ({ name, origin }) => {
      if ('constant' in origin) return origin.constant;
      return 'read' in origin ? origin.read(source) : (results.get(name) ?? null);
    },
    rules,
  );
}

function collect(
  compiled: readonly CompiledRule[],
  read: (rule: CompiledRule) => FieldValue,
  rules: FieldRules,
): MappedRecord {
  const unusablePhones: string[] = [];
  const properties = compiled.map((rule) => {
    const { value, isPhoneUnusable } = finish(rule, read(rule), rules);
    if (isPhoneUnusable) unusablePhones.push(rule.name);
    return [rule.name, value] as const;
  });
  const mapped = { properties: Object.fromEntries(properties) };
  return unusablePhones.length === 0 ? mapped : { ...mapped, unusablePhones };
}

/** Writes constants unchanged; transforms and guards values from records. */
function finish(
  { origin, transforms, declared, actual, values }: CompiledRule,
  value: FieldValue,
  rules: FieldRules,
): { value: PropertyValue; isPhoneUnusable: boolean } {
  if ('constant' in origin) return { value, isPhoneUnusable: false };
  const start = 'expression' in origin ? asField(value, actual) : value;
  const done = transformed(start, transforms, rules);
  const property = asProperty(done.value, declared);
  if (values !== null) return { value: values.get(String(property)) ?? null, isPhoneUnusable: done.isPhoneUnusable };
  const isText = declared === 'text' && typeof property === 'string';
  return { value: isText ? guardFormula(property) : property, isPhoneUnusable: done.isPhoneUnusable };
}

/** Converts an expression's result to a field value. */
function asField(result: FieldValue, kind: SourceKind): FieldValue {
  if (typeof result !== 'string') return result;
  if (kind === 'instant') return Date.parse(result);
  return cleanLines(result) || null;
}

const AMOUNTS = ['invoiced', 'paid', 'open'];

/** Returns additional data for the mapping. An expression with unknown fields requires all data. */
function needsOf(compiled: readonly CompiledRule[]): Mapping['needs'] {
  const derived = (field: string) => (field.startsWith('derived.') ? field.slice('derived.'.length) : null);
  return {
    history: uses(compiled, (field) => derived(field) !== null),
    invoices: uses(compiled, (field) => AMOUNTS.includes(derived(field) ?? '')),
    doctors: uses(compiled, (field) => field === 'doctors'),
    treatment: uses(compiled, (field) => field === 'treatment'),
  };
}

/** Returns whether a property may use a matching field. An expression with unknown fields may use any. */
function uses(compiled: readonly CompiledRule[], isMeant: (field: string) => boolean): boolean {
  return compiled.some(({ origin }) => {
    if ('field' in origin) return isMeant(origin.field);
    if (!('expression' in origin)) return false;
    return origin.outline === null || origin.outline.isOpen || namedIn(origin.outline).some(isMeant);
  });
}

/** Texts written by the operator: constants, texts in expressions, CRM values. */
function textsIn(compiled: readonly CompiledRule[]): string[] {
  const written = compiled.flatMap(({ origin, values }): PropertyValue[] => [
    ...('constant' in origin ? [origin.constant] : []),
    ...('expression' in origin ? (origin.outline?.texts ?? []) : []),
    ...(values?.values() ?? []),
  ]);
  return written.filter((value) => typeof value === 'string');
}

/** Returns the fields that an expression's names may mean; a plain `derived` means all derived fields. */
function namedIn({ names, texts }: ExpressionOutline): string[] {
  const words = [...names, ...texts];
  return words.includes('derived') ? [...words, ...words.map((word) => `derived.${word}`)] : words;
}

/**
 * Returns a function that builds the input tree of expressions: all fields that are not sensitive, and the sensitive fields that the target
 * allows. Empty fields are omitted, since JSONata converts null to the text "null". Instants are ISO 8601 in UTC.
 */
function inputReader(
  { stream, sensitive }: Pick<CrmFile, 'stream' | 'sensitive'>,
  rules: FieldRules,
): (source: MappingSource) => ExpressionInput {
  const fields = Object.entries(CRM_SOURCES[stream])
    .filter(([path, source]) => !source.sensitive || sensitive.has(path))
    .map(([path, { kind }]) => ({ keys: path.split('.'), kind, read: fieldReader(stream, path, rules) }));
  return (source) => {
    const tree: Tree = new Map();
    for (const { keys, kind, read } of fields) put(tree, keys, asProperty(read(source), kind));
    for (const path of consentPaths(source)) {
      const name = path.slice(path.indexOf('.') + 1);
      put(tree, ['consents', name], fieldReader(stream, path, rules)(source));
    }
    return asObject(tree);
  };
}

type Tree = Map<string, unknown>;

function put(tree: Tree, [key, ...rest]: readonly string[], value: unknown): void {
  if (key === undefined || value === null) return;
  if (rest.length === 0) {
    tree.set(key, value);
    return;
  }
  const branch = tree.get(key) ?? new Map();
  if (!(branch instanceof Map)) return;
  put(branch, rest, value);
  tree.set(key, branch);
}

/** `Object.fromEntries` defines own properties for any name, and never calls a setter. */
function asObject(tree: Tree): ExpressionInput {
  return Object.fromEntries([...tree].map(([key, value]) => [key, value instanceof Map ? asObject(value) : value]));
}
