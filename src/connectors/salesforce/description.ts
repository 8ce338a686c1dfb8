import type { MappedProperty, PropertyKind, PropertyValue, StreamName } from '../../core/model/items.ts';
import { message, type Text } from '../../messages/message.ts';
import type { CrmContext } from '../connector.ts';
import { parsedBy } from '../errors.ts';
import type { PropertyRule, PropertyRules, TextForm } from '../fitting.ts';
import { type Choices, chooseOptions, type ListOption, strangeWords } from '../fitting.ts';
import { readEach, type WireResponse } from '../wire.ts';
import type { OrgClient, Part } from './client.ts';
import { errors } from './errors.ts';
import { KEY_LENGTH, NAMELESS, REFUSALS, STAMP_LENGTH } from './limits.ts';
import {
  type DescribedField,
  describeSchema,
  fieldSchema,
  type IndividualRule,
  pageSchema,
  recordSchema,
  type SalesforceSettings,
} from './schemas.ts';

/** Reference from an object to its contact. */
export interface ContactReference {
  field: string;
  /** Relationship name for a parent by external key; null if the field is not a reference, which `prepare` refuses. */
  relationship: string | null;
  object: string;
  keyField: string;
}

/** Fields of the object Individual that store the refusals of contacts. */
export interface Individuals {
  keyField: string;
  rules: readonly IndividualRule[];
}

/** Structure of a target's objects. */
export interface RecordForm {
  stream: StreamName;
  object: string;
  keyField: string;
  stampField: string;
  properties: readonly MappedProperty[];
  /** Null for contacts. */
  contact: ContactReference | null;
  /** Contact fields for refusals that are visible to the connection and not mapped; they are only read. */
  refusalFields: readonly string[];
  /** Accepted values of the mapped fields, as far as the org reports them. */
  rules: PropertyRules;
  /** Picklist values for the mapping's words, by field. */
  choices: ReadonlyMap<string, Choices>;
  /** Values that clear mapped fields before a permanent deletion: null or a placeholder. Fields that accept neither are omitted. */
  blanks: Readonly<Record<string, PropertyValue>>;
  /** Individuals that also store refusals; null if unused. */
  individuals: Individuals | null;
  /** Names of all fields of the object type, which errors may repeat. */
  fieldNames: ReadonlySet<string>;
}

/** Description of the org and of a target's object types. */
export interface Description {
  orgId: string;
  form: RecordForm;
  /** Problems that prevent writing, one text each; texts contain only names of objects and fields. */
  faults: Text[];
}

/** Salesforce's object for data privacy preferences, and a contact's reference to it. */
export const INDIVIDUAL = 'Individual';
export const INDIVIDUAL_FIELD = 'IndividualId';

const OBJECTS: Readonly<Record<StreamName, string>> = {
  patients: 'Contact',
  appointments: 'Event',
  invoices: 'Opportunity',
};

/** Field types that can store values of a kind (Object Reference, Primitive Data Types and Field Types). */
const TYPES: Readonly<Record<PropertyKind, readonly string[]>> = {
  text: [
    'string',
    'textarea',
    'email',
    'phone',
    'url',
    'picklist',
    'multipicklist',
    'combobox',
    'reference',
    'encryptedstring',
  ],
  number: ['int', 'double', 'currency', 'percent', 'long'],
  boolean: ['boolean'],
  date: ['date'],
  instant: ['datetime'],
};

/** Returns the object type that a target writes. */
function objectOf(settings: SalesforceSettings, stream: StreamName): string {
  return settings.object ?? OBJECTS[stream];
}

/**
 * Fetches the org's id and object descriptions in one API call.
 * @throws MirrorError if an object cannot be described
 */
export async function describe(client: OrgClient, settings: SalesforceSettings, crm: CrmContext): Promise<Description> {
  const { stream } = crm;
  const object = objectOf(settings, stream);
  const hasIndividuals = stream === 'patients' && settings.individuals.length > 0;
  const objects = stream === 'patients' ? [object] : [object, settings.contactObject];
  if (hasIndividuals) objects.push(INDIVIDUAL);
  const parts: Part[] = [
    { method: 'GET', path: `/query?q=${encodeURIComponent('SELECT Id FROM Organization')}` },
    ...objects.map((name): Part => ({ method: 'GET', path: `/sobjects/${name}/describe` })),
  ];
  const [org, own, other] = await client.composite('salesforce.describe', parts);
  const orgId = recordSchema.safeParse(pageSchema.safeParse(required(org).body).data?.records[0]).data?.Id;
  if (orgId === undefined) throw errors.make('unexpected-answer');
  const fields = await describedFields(own, object);
  const contactFields = stream === 'patients' ? null : await describedFields(other, settings.contactObject);
  const individualFields = hasIndividuals ? await describedFields(other, INDIVIDUAL) : null;
  const form = formOf(settings, crm, fields.byName);
  const faults = [
    ...fields.faults,
    ...keyFaults(object, settings.keyField, fields.byName, true),
    ...stampFaults(object, settings.stampField, fields.byName),
    ...propertyFaults(form, fields.byName),
    ...(individualFields === null ? [] : individualFaults(form, fields.byName, individualFields)),
    ...(contactFields === null ? [] : contactFaults(form, fields.byName, contactFields.byName)),
  ];
  return { orgId, form, faults };
}

/** @throws MirrorError `settings`, code `crm-setup-incomplete`, with all missing parts */
export function requireFit({ faults }: Description): void {
  if (faults.length > 0) throw errors.make('crm-setup-incomplete', { names: faults });
}

type Fields = ReadonlyMap<string, DescribedField>;

function required(answer: WireResponse | null | undefined): WireResponse {
  if (!answer) throw errors.make('answer-missing');
  if (answer.status !== 200) throw errors.of(answer);
  return answer;
}

async function describedFields(
  answer: WireResponse | null | undefined,
  object: string,
): Promise<{ byName: Fields; faults: Text[] }> {
  if (answer?.status === 404)
    throw errors.make('crm-setup-incomplete', { names: [message('salesforce.object-hidden', { object })] });
  const { createable, updateable, deletable, fields } = parsedBy(errors, describeSchema, required(answer).body);
  const readable = await readEach(fields, (field) => fieldSchema.safeParse(field).data ?? null);
  const isWritable = createable && updateable && deletable;
  return {
    byName: new Map(readable.map((field) => [field.name, field])),
    faults: isWritable ? [] : [message('salesforce.object-read-only', { object })],
  };
}

function formOf(settings: SalesforceSettings, { stream, properties }: CrmContext, fields: Fields): RecordForm {
  const { keyField, stampField, contactObject, contactKeyField } = settings;
  const object = objectOf(settings, stream);
  const field = settings.contactField ?? (object === 'Event' ? 'WhoId' : 'Contact__c');
  const relationship = fields.get(field)?.relationshipName ?? null;
  const contact =
    stream === 'patients' ? null : { field, relationship, object: contactObject, keyField: contactKeyField };
  const mapped = new Set(properties.map(({ name }) => name));
  const isExtra = (name: string) => stream === 'patients' && fields.get(name)?.type === 'boolean' && !mapped.has(name);
  const refusalFields = REFUSALS.map(({ property }) => property).filter(isExtra);
  const fieldNames = new Set(fields.keys());
  const blanks = Object.fromEntries(properties.flatMap((property) => blankOf(property, fields.get(property.name))));
  const { individuals: consents, individualKeyField } = settings;
  const hasConsents = stream === 'patients' && consents.length > 0;
  const individuals = hasConsents ? { keyField: individualKeyField, rules: consents } : null;
  const choices = new Map(
    properties.map(({ name, words = [] }) => [name, chooseOptions(words, picklistOf(fields.get(name)))]),
  );
  const rules = new Map(
    properties.flatMap(({ name }): [string, PropertyRule][] => {
      const field = fields.get(name);
      return field === undefined ? [] : [[name, ruleOf(field)]];
    }),
  );
  const written = { stream, object, keyField, stampField, properties, contact, blanks, choices, rules };
  return { ...written, refusalFields, individuals, fieldNames };
}

/** Returns the options of a picklist. If an unrestricted picklist lacks a value, the value is written unchanged. */
function picklistOf(field: DescribedField | undefined): ListOption[] {
  if (field?.type !== 'picklist') return [];
  return field.picklistValues.map(({ value, label }) => ({ value, label: label ?? value }));
}

/** Field types with free text. A part of any other type is a different value (Object Reference, Primitive Data Types and Field Types). */
const FREE_TEXTS = ['string', 'textarea', 'encryptedstring'];

function ruleOf({ type, length, nillable, defaultedOnCreate }: DescribedField): PropertyRule {
  const form: TextForm | undefined = type === 'email' ? 'email' : FREE_TEXTS.includes(type) ? undefined : 'whole';
  return { longest: length > 0 ? length : undefined, form, required: !nillable && !defaultedOnCreate };
}

function blankOf(
  { name, kind }: RecordForm['properties'][number],
  field: DescribedField | undefined,
): [string, PropertyValue][] {
  if (kind === 'boolean') return [[name, false]];
  if (field?.nillable === true) return [[name, null]];
  return field?.type === 'string' ? [[name, NAMELESS]] : [];
}

function keyFaults(object: string, name: string, fields: Fields, isOwn: boolean): Text[] {
  const field = fields.get(name);
  if (field === undefined) return [missing(object, name)];
  const named = `${object}.${name}`;
  return [
    ...(field.type !== 'string' || field.length < KEY_LENGTH
      ? [message('salesforce.field-short', { field: named, length: KEY_LENGTH })]
      : []),
    ...(field.externalId ? [] : [message('salesforce.field-not-external', { field: named })]),
    ...(field.unique ? [] : [message('salesforce.field-not-unique', { field: named })]),
    ...(isOwn && !isWritable(field) ? [readOnly(object, name)] : []),
  ];
}

function stampFaults(object: string, name: string, fields: Fields): Text[] {
  const field = fields.get(name);
  if (field === undefined) return [missing(object, name)];
  return [
    ...(field.type !== 'string' || field.length < STAMP_LENGTH
      ? [message('salesforce.stamp-short', { field: `${object}.${name}`, length: STAMP_LENGTH })]
      : []),
    ...(isWritable(field) ? [] : [readOnly(object, name)]),
  ];
}

function propertyFaults({ object, properties, keyField, stampField, contact }: RecordForm, fields: Fields): Text[] {
  const own = new Set(['Id', keyField, stampField, contact?.field]);
  return properties.flatMap(({ name, kind, words = [] }) => {
    const field = fields.get(name);
    if (own.has(name)) return [message('salesforce.field-own', { field: `${object}.${name}` })];
    if (field === undefined) return [missing(object, name)];
    if (!isWritable(field)) return [readOnly(object, name)];
    if (!TYPES[kind].includes(field.type))
      return [message('salesforce.field-type', { field: `${object}.${name}`, type: field.type, kind })];
    const options = picklistOf(field);
    const { strange } = chooseOptions(field.restrictedPicklist ? words : [], options);
    return strange.length === 0 ? [] : [strangeWords(`${object}.${name}`, strange, options)];
  });
}

function contactFaults({ object, contact }: RecordForm, fields: Fields, contactFields: Fields): Text[] {
  if (contact === null) return [];
  const field = fields.get(contact.field);
  if (field === undefined)
    return [missing(object, contact.field), ...keyFaults(contact.object, contact.keyField, contactFields, false)];
  const refers = contact.relationship !== null && field.referenceTo?.includes(contact.object) === true;
  return [
    ...(refers
      ? []
      : [message('salesforce.field-refers-not', { field: `${object}.${contact.field}`, object: contact.object })]),
    ...(isWritable(field) ? [] : [readOnly(object, contact.field)]),
    ...keyFaults(contact.object, contact.keyField, contactFields, false),
  ];
}

function individualFaults(
  { object, individuals, properties }: RecordForm,
  fields: Fields,
  { byName, faults }: Awaited<ReturnType<typeof describedFields>>,
): Text[] {
  if (individuals === null) return [];
  const { keyField, rules } = individuals;
  const kinds = new Map(properties.map(({ name, kind }) => [name, kind]));
  const link = fields.get(INDIVIDUAL_FIELD);
  return [
    ...faults,
    ...(object === 'Contact' ? [] : [message('salesforce.individuals-elsewhere', { object })]),
    ...(link !== undefined && isWritable(link) ? [] : [readOnly(object, INDIVIDUAL_FIELD)]),
    ...keyFaults(INDIVIDUAL, keyField, byName, true),
    ...rules.flatMap(({ property, optOut }) => {
      const field = byName.get(optOut);
      return [
        ...(kinds.get(property) === 'boolean' ? [] : [message('salesforce.consent-unmapped', { field: property })]),
        ...(field === undefined ? [missing(INDIVIDUAL, optOut)] : []),
      ];
    }),
  ];
}

function missing(object: string, field: string): Text {
  return message('salesforce.field-hidden', { field: `${object}.${field}` });
}

function readOnly(object: string, field: string): Text {
  return message('salesforce.field-read-only', { field: `${object}.${field}` });
}

function isWritable({ createable, updateable }: DescribedField): boolean {
  return createable && updateable;
}
