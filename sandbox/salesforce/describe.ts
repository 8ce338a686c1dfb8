import type { Field } from './fields.ts';
import type { Schema, SObject } from './schema.ts';

/** Returns the answer of `/sobjects`: a short description of every object. */
export function describeGlobal(schema: Schema, base: string): object {
  const sobjects = schema.objects.map((object) => ({ ...inShort(object), urls: urlsOf(object, base) }));
  return { encoding: 'UTF-8', maxBatchSize: 200, sobjects };
}

/** Returns the answer of `/sobjects/{object}/describe`, without fields that are hidden from the user. */
export function describeObject(schema: Schema, object: SObject, base: string): object {
  const fields = schema.visibleFields(object).map((field) => describeField(schema, object, field));
  return { ...inShort(object), fields, urls: urlsOf(object, base) };
}

function inShort(object: SObject): object {
  const isWritable = object.readOnly !== true;
  return {
    name: object.name,
    label: object.name,
    keyPrefix: object.keyPrefix,
    custom: false,
    createable: isWritable,
    updateable: isWritable,
    deletable: isWritable,
    undeletable: isWritable,
    mergeable: object.mergeable ?? false,
    queryable: true,
    retrieveable: true,
  };
}

function urlsOf(object: SObject, base: string): Record<string, string> {
  const sobject = `${base}/sobjects/${object.name}`;
  return { sobject, describe: `${sobject}/describe`, rowTemplate: `${sobject}/{ID}` };
}

function describeField(schema: Schema, object: SObject, field: Field): object {
  const isWritable = !field.readOnly && !object.readOnly && schema.access(object, field) === 'edit';
  const isText = ['string', 'textarea', 'email', 'phone', 'url', 'picklist'].includes(field.type);
  return {
    name: field.name,
    label: field.label,
    type: field.type,
    length: field.length,
    byteLength: field.length * 3,
    custom: field.isCustom,
    createable: isWritable,
    updateable: isWritable,
    nillable: !field.required && field.type !== 'boolean' && field.type !== 'id',
    defaultedOnCreate: field.type === 'boolean' || field.readOnly || field.name === 'OwnerId',
    externalId: field.externalId,
    unique: field.unique,
    idLookup: field.externalId || field.type === 'id',
    caseSensitive: field.caseSensitive,
    filterable: field.type !== 'textarea' || field.length <= 255,
    calculated: false,
    encrypted: false,
    referenceTo: field.referenceTo,
    relationshipName: field.relationshipName ?? null,
    restrictedPicklist: field.restricted,
    picklistValues: isText
      ? field.values.map((value) => ({ active: true, label: field.labels[value] ?? value, value }))
      : [],
  };
}
