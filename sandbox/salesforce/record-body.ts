import type { Field, FieldValue } from './fields.ts';
import type { SObject } from './schema.ts';
import { isLive, type StoredRecord } from './store.ts';
import { toInstant } from './values.ts';

/** Returns the value of a field, including system fields such as Id and CreatedDate. */
export function fieldValue(record: StoredRecord, field: Field): FieldValue {
  switch (field.name) {
    case 'Id':
      return record.id;
    case 'IsDeleted':
      return !isLive(record);
    case 'CreatedDate':
      return toInstant(record.createdAt);
    case 'LastModifiedDate':
    case 'SystemModstamp':
      return toInstant(record.modifiedAt);
    case 'MasterRecordId':
      return record.masterRecordId ?? null;
    default:
      return record.fields[field.name] ?? (field.type === 'boolean' ? false : null);
  }
}

/** Returns a record in the form of the API. `base` is `/services/data/vXX.X`. */
export function toBody(record: StoredRecord, object: SObject, fields: readonly Field[], base: string): object {
  const values = fields.map((field) => [field.name, fieldValue(record, field)]);
  return { attributes: attributesOf(record, object, base), ...Object.fromEntries(values) };
}

/** Returns the `attributes` with which every record in an answer begins. */
export function attributesOf({ id }: StoredRecord, { name }: SObject, base: string): { type: string; url: string } {
  return { type: name, url: `${base}/sobjects/${name}/${id}` };
}
