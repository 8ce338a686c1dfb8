import type { PropertyKind } from '../../model/items.ts';
import type { StreamName } from '../../model/streams.ts';
import type { CrmContext } from '../connector.ts';
import type { WireResponse } from '../wire.ts';
import type { OrgClient, Part } from './client.ts';
import { errors } from './errors.ts';
import { KEY_LENGTH, STAMP_LENGTH } from './limits.ts';
import { type DescribedField, describeSchema, pageSchema, type SalesforceSettings } from './schemas.ts';

/** How records refer to the contact that they belong to. */
export interface ContactReference {
  field: string;
  /** The name under which a parent is given by its own key; null when the field refers to nothing, which `prepare` refuses. */
  relationship: string | null;
  object: string;
  keyField: string;
}

/** What a target's records are made of. */
export interface RecordForm {
  stream: StreamName;
  object: string;
  keyField: string;
  stampField: string;
  properties: readonly { name: string; kind: PropertyKind }[];
  /** Null for contacts themselves. */
  contact: ContactReference | null;
  /** Names of all fields of the object: what an error may name. */
  fieldNames: ReadonlySet<string>;
}

/** What the org says of itself and of a target's objects. */
export interface Description {
  orgId: string;
  form: RecordForm;
  /** What stands in the target's way, one each; names of objects and fields only. */
  faults: string[];
}

const OBJECTS: Readonly<Record<StreamName, string>> = {
  patients: 'Contact',
  appointments: 'Event',
  invoices: 'Opportunity',
};

/** Types of fields that hold values of a kind (Object Reference, Primitive Data Types and Field Types). */
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

/** The name of the object that a target writes. */
function objectOf(settings: SalesforceSettings, stream: StreamName): string {
  return settings.object ?? OBJECTS[stream];
}

/**
 * Asks the org for its id and for its objects, in one API call.
 * @throws MirrorError when an object can't be described
 */
export async function describe(
  client: OrgClient,
  settings: SalesforceSettings,
  crm: CrmContext,
  signal: AbortSignal,
): Promise<Description> {
  const { stream } = crm;
  const object = objectOf(settings, stream);
  const objects = stream === 'patients' ? [object] : [object, settings.contactObject];
  const parts: Part[] = [
    { method: 'GET', path: `/query?q=${encodeURIComponent('SELECT Id FROM Organization')}` },
    ...objects.map((name): Part => ({ method: 'GET', path: `/sobjects/${name}/describe` })),
  ];
  const [org, own, contact] = await client.composite('salesforce.describe', parts, signal);
  const orgId = pageSchema.safeParse(required(org).body).data?.records[0]?.Id;
  if (orgId === undefined) throw errors.make('unexpected-answer');
  const fields = describedFields(own, object);
  const contactFields = stream === 'patients' ? null : describedFields(contact, settings.contactObject);
  const form = formOf(settings, crm, fields.byName);
  const faults = [
    ...fields.faults,
    ...keyFaults(object, settings.keyField, fields.byName, true),
    ...stampFaults(object, settings.stampField, fields.byName),
    ...propertyFaults(form, fields.byName),
    ...(contactFields === null ? [] : contactFaults(form, fields.byName, contactFields.byName)),
  ];
  return { orgId, form, faults };
}

/** @throws MirrorError `settings`, code `crm-setup-incomplete`, naming all that is missing */
export function requireFit({ faults }: Description): void {
  if (faults.length > 0) throw errors.make('crm-setup-incomplete', { names: faults });
}

type Fields = ReadonlyMap<string, DescribedField>;

function required(answer: WireResponse | null | undefined): WireResponse {
  if (!answer) throw errors.make('answer-missing');
  if (answer.status !== 200) throw errors.of(answer);
  return answer;
}

function describedFields(
  answer: WireResponse | null | undefined,
  object: string,
): { byName: Fields; faults: string[] } {
  if (answer?.status === 404)
    throw errors.make('crm-setup-incomplete', { names: [`object ${object} is not there, or hidden from the login`] });
  const described = describeSchema.safeParse(required(answer).body);
  if (!described.success) throw errors.make('unexpected-answer');
  const { createable, updateable, deletable, fields } = described.data;
  const isWritable = createable && updateable && deletable;
  return {
    byName: new Map(fields.map((field) => [field.name, field])),
    faults: isWritable ? [] : [`the login may not create, edit and delete records of ${object}`],
  };
}

function formOf(settings: SalesforceSettings, { stream, properties }: CrmContext, fields: Fields): RecordForm {
  const { keyField, stampField, contactObject, contactKeyField } = settings;
  const object = objectOf(settings, stream);
  const field = settings.contactField ?? (object === 'Event' ? 'WhoId' : 'Contact__c');
  const relationship = fields.get(field)?.relationshipName ?? null;
  const contact =
    stream === 'patients' ? null : { field, relationship, object: contactObject, keyField: contactKeyField };
  return { stream, object, keyField, stampField, properties, contact, fieldNames: new Set(fields.keys()) };
}

function keyFaults(object: string, name: string, fields: Fields, isOwn: boolean): string[] {
  const field = fields.get(name);
  if (field === undefined) return [missing(object, name)];
  const faults: string[] = [];
  if (field.type !== 'string' || field.length < KEY_LENGTH)
    faults.push(`must be text of at least ${KEY_LENGTH} characters`);
  if (!field.externalId) faults.push('must have External ID ticked');
  if (!field.unique) faults.push('must have Unique ticked');
  if (isOwn && !isWritable(field)) faults.push('must be editable for the login');
  return faults.map((fault) => `${object}.${name} ${fault}`);
}

function stampFaults(object: string, name: string, fields: Fields): string[] {
  const field = fields.get(name);
  if (field === undefined) return [missing(object, name)];
  const faults: string[] = [];
  if (field.type !== 'string' || field.length < STAMP_LENGTH) faults.push('must be text of 255 characters');
  if (!isWritable(field)) faults.push('must be editable for the login');
  return faults.map((fault) => `${object}.${name} ${fault}`);
}

function propertyFaults({ object, properties, keyField, stampField, contact }: RecordForm, fields: Fields): string[] {
  const own = new Set(['Id', keyField, stampField, contact?.field]);
  return properties.flatMap(({ name, kind }) => {
    const field = fields.get(name);
    if (own.has(name)) return [`${object}.${name} is ours to fill, and can't be mapped`];
    if (field === undefined) return [missing(object, name)];
    if (!isWritable(field)) return [`${object}.${name} must be editable for the login`];
    return TYPES[kind].includes(field.type) ? [] : [`${object}.${name} is ${field.type} and can't hold ${kind}`];
  });
}

function contactFaults({ object, contact }: RecordForm, fields: Fields, contactFields: Fields): string[] {
  if (contact === null) return [];
  const field = fields.get(contact.field);
  if (field === undefined)
    return [missing(object, contact.field), ...keyFaults(contact.object, contact.keyField, contactFields, false)];
  const refers = contact.relationship !== null && field.referenceTo?.includes(contact.object) === true;
  return [
    ...(refers ? [] : [`${object}.${contact.field} must refer to ${contact.object}`]),
    ...(isWritable(field) ? [] : [`${object}.${contact.field} must be editable for the login`]),
    ...keyFaults(contact.object, contact.keyField, contactFields, false),
  ];
}

function missing(object: string, field: string): string {
  return `${object}.${field} is not there, or hidden from the login`;
}

function isWritable({ createable, updateable }: DescribedField): boolean {
  return createable && updateable;
}
