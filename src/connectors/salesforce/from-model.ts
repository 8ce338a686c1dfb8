import type { CrmItem, PropertyKind, PropertyValue } from '../../core/model/items.ts';
import type { RemoteItem, Write } from '../../core/model/operations.ts';
import { belongingOf, ownedByStamp, stampedPart, toStamp } from '../owner.ts';
import type { RecordForm } from './description.ts';
import type { SeenRecord } from './schemas.ts';

/** Builds one element of a collection: key, stamp, all properties of the item, and the contact by key, if any. */
export function toRow(
  form: RecordForm,
  ownerTag: string,
  { key, sealedRecordId, item, revision }: Write<CrmItem>,
): Record<string, unknown> {
  const { contactKey, properties } = item;
  const values = form.properties.flatMap(({ name, kind }) => {
    const value = properties[name];
    return value === undefined
      ? []
      : [[name, toWire(kind, form.choices.get(name)?.toValue.get(String(value)) ?? value)]];
  });
  return {
    attributes: { type: form.object },
    [form.keyField]: key,
    [form.stampField]: toStamp(ownerTag, { sealedRecordId, ...belongingOf(item), revision }),
    ...Object.fromEntries(values),
    ...contactOf(form, contactKey),
  };
}

function contactOf({ contact }: RecordForm, contactKey: string | null): Record<string, unknown> {
  if (contact === null) return {};
  if (contactKey === null || contact.relationship === null) return { [contact.field]: null };
  return { [contact.relationship]: { attributes: { type: contact.object }, [contact.keyField]: contactKey } };
}

/** A checkbox cannot be empty. JSON distinguishes numbers and strings, and Salesforce checks them against the field's type. */
function toWire(kind: PropertyKind, value: PropertyValue): PropertyValue {
  if (kind === 'boolean') return value ?? false;
  return kind === 'text' && value !== null ? String(value) : value;
}

/** Returns the names of the fields to fetch. */
export function fieldsOf({ keyField, stampField, properties, contact, refusalFields }: RecordForm): string[] {
  const names = ['Id', keyField, stampField, ...properties.map(({ name }) => name), ...refusalFields];
  return contact === null ? names : [...names, contact.field];
}

/** Returns the id of the referenced contact, or null. */
export function contactIdOf({ contact }: RecordForm, record: SeenRecord): string | null {
  const id = contact === null ? null : record[contact.field];
  return typeof id === 'string' ? id : null;
}

/**
 * Converts an object to the contract's form, or returns null if the object has no owner tag of this target.
 * @param contactKey key of the referenced contact
 */
export function toRemoteItem(
  form: RecordForm,
  ownerTag: string,
  record: SeenRecord,
  contactKey: string | null,
): RemoteItem<CrmItem> | null {
  const { stamp } = ownedByStamp(ownerTag, record[form.stampField]);
  if (stamp === null) return null;
  const key = record[form.keyField];
  const properties = propertiesOf(form, record);
  const refuses = form.refusalFields.filter((name) => record[name] === true);
  return {
    key: typeof key === 'string' ? key : '',
    remoteId: record.Id,
    versionTag: null,
    item: properties === null ? null : { properties, ...belongingOf(stamp), contactKey },
    ...stampedPart(stamp),
    ...(refuses.length === 0 ? {} : { refuses }),
  };
}

/** Converts an object with a key whose stamp was lost or damaged, without its content. Returns null for any other object. */
export function toUnstamped(form: RecordForm, ownerTag: string, record: SeenRecord): RemoteItem<CrmItem> | null {
  const key = record[form.keyField];
  if (typeof key !== 'string' || ownedByStamp(ownerTag, record[form.stampField]).owner !== 'bare') return null;
  return { key, sealedRecordId: null, remoteId: record.Id, versionTag: null, item: null };
}

/** Returns the mapped fields of an object, or null if a value does not fit its kind. */
export function propertiesOf({ properties, choices }: RecordForm, record: SeenRecord): CrmItem['properties'] | null {
  const values: Record<string, PropertyValue> = {};
  for (const { name, kind } of properties) {
    const rawValue = fromWire(kind, record[name] ?? null);
    const value = typeof rawValue === 'string' ? (choices.get(name)?.toWord.get(rawValue) ?? rawValue) : rawValue;
    if (value === undefined) return null;
    values[name] = value;
  }
  return values;
}

function fromWire(kind: PropertyKind, value: unknown): PropertyValue | undefined {
  if (value === null) return null;
  if (kind === 'number') return typeof value === 'number' ? value : undefined;
  if (kind === 'boolean') return typeof value === 'boolean' ? value : undefined;
  if (typeof value !== 'string') return undefined;
  return kind === 'instant' ? toInstant(value) : value;
}

/** Salesforce writes `2027-03-01T09:00:00.000+0000`, without the colon of the extended ISO 8601 form. */
function toInstant(text: string): string | undefined {
  const at = Date.parse(text.replace(/([+-]\d{2})(\d{2})$/, '$1:$2'));
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}
