import { guardFormula } from '../../core/model/csv.ts';
import type { PropertyKind, PropertyValue } from '../../core/model/items.ts';
import { STORED_LIMITS } from '../../core/model/stored-limits.ts';
import { formatText, type TextFormat, valuesOf } from '../../core/model/text-format.ts';
import type { CrmCondition, CrmFile, CrmRule } from '../../settings/crm-schema.ts';
import { type CrmTransform, crmSourceOf, kindAfter, type SourceKind } from '../../settings/crm-schema.ts';
import { COPIED_FIELDS, type CopiedField, type MappedRecord, type Mapping, type MappingSource } from './contract.ts';
import {
  asProperty,
  type FieldRules,
  type FieldValue,
  fieldReader,
  noSuchField,
  phoneReader,
  transformed,
} from './fields.ts';

/** Value of a property. */
interface Written {
  value: PropertyValue;
  isPhoneUnusable: boolean;
}

/** One property: the fields it reads, what it can write, and the conversion of a record. */
interface CompiledRule {
  name: string;
  kind: PropertyKind;
  /** Fields of the record, those of the condition included. */
  fields: readonly string[];
  /** Constants of the operator that the rule can write. */
  constants: readonly PropertyValue[];
  /** Texts of the operator that are parts of the value. */
  texts: readonly string[];
  /** Field that the property copies unchanged; null for other rules. */
  copied: CopiedField | null;
  write(source: MappingSource): Written;
}

/** Source of a value before the transforms. */
interface Origin {
  kind: SourceKind;
  fields: readonly string[];
  texts: readonly string[];
  read(source: MappingSource): FieldValue;
}

type ReadField = (source: MappingSource) => FieldValue;

/** Compiles fields of one stream. */
interface Fields {
  kindOf(path: string): SourceKind;
  readerOf(path: string): ReadField;
}

/**
 * Compiles a target's mapping. The result depends only on the record, never on the time, and takes a time proportional to the record's
 * fields.
 * @param crm validated configuration
 * @param zone the clinic's zone, for the start of days
 * @throws TypeError for a mapping that validation would refuse
 */
export function compileMapping(crm: CrmFile, zone: string): Mapping {
  const rules: FieldRules = { zone, phone: phoneReader(crm.region) };
  const fields = fieldsOf(crm, rules);
  const compiled = [...crm.mapping]
    .map(([name, rule]) => compileRule(name, rule, fields, rules))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
  const uses = (isMeant: (field: string) => boolean) => compiled.some((rule) => rule.fields.some(isMeant));
  return {
    properties: compiled.map(({ name, kind, constants, copied }) => ({
      ...{ name, kind },
      ...wordsOf(constants),
      ...namePartOf(copied),
    })),
    reads: {
      field: (path) => uses((field) => field === path),
      texts: compiled.flatMap(({ constants, texts }) => [...constants.filter(isText), ...texts]),
    },
    copies: new Map(compiled.flatMap(({ name, copied }) => (copied === null ? [] : [[name, copied]]))),
    phone: rules.phone,
    needs: {
      history: uses((field) => derivedField(field) !== null),
      invoices: uses((field) => AMOUNTS.includes(derivedField(field) ?? '')),
      doctors: uses((field) => field === 'doctors'),
      treatment: uses((field) => field === 'treatment'),
    },
    map: (source) => mapRecord(compiled, source),
  };
}

const AMOUNTS = ['invoiced', 'paid', 'open'];

function derivedField(field: string): string | null {
  return field.startsWith('derived.') ? field.slice('derived.'.length) : null;
}

function isText(value: PropertyValue): value is string {
  return typeof value === 'string';
}

function wordsOf(constants: readonly PropertyValue[]): { words?: readonly string[] } {
  const words = constants.filter(isText);
  return words.length === 0 ? {} : { words: [...new Set(words)] };
}

function namePartOf(field: CopiedField | null): { namePart?: 'first' | 'last' } {
  if (field === 'firstName') return { namePart: 'first' };
  return field === 'lastName' ? { namePart: 'last' } : {};
}

function fieldsOf({ stream }: Pick<CrmFile, 'stream'>, rules: FieldRules): Fields {
  return {
    kindOf(path) {
      const source = crmSourceOf(stream, path);
      if (source === null) throw noSuchField(stream);
      return source.kind;
    },
    readerOf: (path) => fieldReader(stream, path, rules),
  };
}

function compileRule(name: string, rule: CrmRule, fields: Fields, rules: FieldRules): CompiledRule {
  const { value, transforms, values, when, otherwise } = rule;
  const constants = [value, ...(values?.values() ?? []), otherwise].filter((one) => one !== undefined);
  const origin = value === undefined ? originOf(rule, fields) : constantOrigin(value);
  const declared = lastKind(origin.kind, transforms);
  const [word] = values?.values() ?? [];
  const convert = value === undefined ? converter({ transforms, values, declared }, rules) : unchanged;
  const isMet = when === undefined ? () => true : compileCondition(when, fields);
  const missing = otherwise ?? null;
  return {
    name,
    kind: word === undefined ? declared : kindOfConstant(word),
    fields: [...origin.fields, ...(when === undefined ? [] : [when.field])],
    constants,
    texts: origin.texts,
    copied: copiedBy(rule),
    write(source) {
      const written = isMet(source) ? convert(origin.read(source)) : NOTHING;
      return written.value === null ? { ...written, value: missing } : written;
    },
  };
}

const NOTHING: Written = { value: null, isPhoneUnusable: false };

/** Writes constants of the operator unchanged. */
function unchanged(value: FieldValue): Written {
  return { value, isPhoneUnusable: false };
}

function constantOrigin(value: string | number | boolean): Origin {
  return { kind: kindOfConstant(value), fields: [], texts: [], read: () => value };
}

function originOf({ from, first, template }: CrmRule, fields: Fields): Origin {
  if (template !== undefined) return templateOrigin(template, fields);
  const paths = first ?? (from === undefined ? [] : [from]);
  const [path, ...others] = paths;
  if (path === undefined) throw new TypeError('a property is made of nothing');
  const readers = paths.map(fields.readerOf);
  const kind = fields.kindOf(path);
  if (others.some((other) => fields.kindOf(other) !== kind)) throw new TypeError('the fields have several kinds');
  return { kind, fields: paths, texts: [], read: (source) => firstValue(readers, source) };
}

function firstValue(readers: readonly ReadField[], source: MappingSource): FieldValue {
  for (const read of readers) {
    const value = read(source);
    if (value !== null) return value;
  }
  return null;
}

/** A template without any value is empty: texts of the operator alone say nothing about the record. */
function templateOrigin(template: TextFormat, fields: Fields): Origin {
  const paths = [...new Set(valuesOf(template))];
  const readers = paths.map((path) => [path, textReader(path, fields)] as const);
  return {
    kind: 'text',
    fields: paths,
    texts: template.flatMap(({ parts }) => parts.filter((part) => typeof part === 'string')),
    read(source) {
      const values = new Map(readers.map(([path, read]) => [path, read(source)]));
      if ([...values.values()].every((value) => value === null)) return null;
      return formatText(template, (path) => values.get(path) ?? null) || null;
    },
  };
}

/** Returns a function that reads a field as text, as a CRM shows the field. */
function textReader(path: string, fields: Fields): (source: MappingSource) => string | null {
  const read = fields.readerOf(path);
  const kind = fields.kindOf(path);
  return (source) => {
    const value = asProperty(read(source), kind);
    return value === null ? null : String(value);
  };
}

function compileCondition(when: CrmCondition, fields: Fields): (source: MappingSource) => boolean {
  const read = textReader(when.field, fields);
  const { empty } = when;
  if (empty !== undefined) return (source) => (read(source) === null) === empty;
  const list = when.in ?? (when.equals === undefined ? [] : [when.equals]);
  const wanted = new Set(list.map(String));
  return (source) => wanted.has(read(source) ?? '');
}

function copiedBy({ from, values, transforms, otherwise }: CrmRule): CopiedField | null {
  if (values !== undefined || otherwise !== undefined || transforms.includes('first-line')) return null;
  return COPIED_FIELDS.find((one) => one === from) ?? null;
}

function kindOfConstant(value: string | number | boolean): 'text' | 'number' | 'boolean' {
  return typeof value === 'string' ? 'text' : typeof value === 'number' ? 'number' : 'boolean';
}

function lastKind(kind: SourceKind, transforms: readonly CrmTransform[]): SourceKind {
  const after = kindAfter(kind, transforms);
  if ('misfit' in after) throw new TypeError('a transform does not fit what it is given');
  return after.kind;
}

/** Returns a function that transforms, translates and guards a value of a record. */
function converter(
  { transforms, values, declared }: Pick<CrmRule, 'transforms' | 'values'> & { declared: SourceKind },
  rules: FieldRules,
): (value: FieldValue) => Written {
  return (value) => {
    const done = transformed(value, transforms, rules);
    const property = asProperty(done.value, declared);
    const { isPhoneUnusable } = done;
    if (values !== undefined) return { value: values.get(String(property)) ?? null, isPhoneUnusable };
    const isFree = declared === 'text' && typeof property === 'string';
    return {
      value: isFree ? guardFormula(property.slice(0, STORED_LIMITS.property).toWellFormed()) : property,
      isPhoneUnusable,
    };
  };
}

function mapRecord(compiled: readonly CompiledRule[], source: MappingSource): MappedRecord {
  const unusablePhones: string[] = [];
  const properties = compiled.map(({ name, write }) => {
    const { value, isPhoneUnusable } = write(source);
    if (isPhoneUnusable) unusablePhones.push(name);
    return [name, value] as const;
  });
  const mapped = { properties: Object.fromEntries(properties) };
  return unusablePhones.length === 0 ? mapped : { ...mapped, unusablePhones };
}
