import type { CrmItem, PropertyKind, PropertyValue } from '../../model/items.ts';
import type { Operation, RemoteItem } from '../../model/operations.ts';
import { belongingOf, fromStamp, toStamp, withRevision } from '../owner.ts';
import type { RecordForm } from './description.ts';
import type { SeenRecord } from './schemas.ts';

/** An operation that writes. */
export type Write = Exclude<Operation<CrmItem>, { kind: 'delete' }>;

/** A row of a collection: the key, the stamp, every property of the item, and the contact by its key, or none. */
export function toRow(
  form: RecordForm,
  ownerTag: string,
  { key, sealedRecordId, item, revision }: Write,
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

/** A checkbox knows no empty; numbers and texts are told apart by JSON, which Salesforce holds against the field's type. */
function toWire(kind: PropertyKind, value: PropertyValue): PropertyValue {
  if (kind === 'boolean') return value ?? false;
  return kind === 'text' && value !== null ? String(value) : value;
}

/** Names of the fields that are read. */
export function fieldsOf({ keyField, stampField, properties, contact, refusalFields }: RecordForm): string[] {
  const names = ['Id', keyField, stampField, ...properties.map(({ name }) => name), ...refusalFields];
  return contact === null ? names : [...names, contact.field];
}

/** The record that this one refers to as its contact; null when there is none. */
export function contactIdOf({ contact }: RecordForm, record: SeenRecord): string | null {
  const id = contact === null ? null : record[contact.field];
  return typeof id === 'string' ? id : null;
}

/**
 * A record as an object of ours; null when it doesn't carry our owner tag.
 * @param contactKey key of the contact that it refers to
 */
export function toRemoteItem(
  form: RecordForm,
  ownerTag: string,
  record: SeenRecord,
  contactKey: string | null,
): RemoteItem<CrmItem> | null {
  const stamp = fromStamp(ownerTag, record[form.stampField]);
  if (stamp === null) return null;
  const key = record[form.keyField];
  const properties = propertiesOf(form, record);
  const refuses = form.refusalFields.filter((name) => record[name] === true);
  return {
    key: typeof key === 'string' ? key : '',
    sealedRecordId: stamp.sealedRecordId,
    remoteId: record.Id,
    versionTag: null,
    item: properties === null ? null : { properties, ...belongingOf(stamp), contactKey },
    ...withRevision(stamp.revision),
    ...(refuses.length === 0 ? {} : { refuses }),
  };
}

/** The mapped fields of a record; null when one holds something else than its kind. */
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

/** Salesforce writes `2027-03-01T09:00:00.000+0000`, without the colon that ISO 8601 has in its extended form. */
function toInstant(text: string): string | undefined {
  const at = Date.parse(text.replace(/([+-]\d{2})(\d{2})$/, '$1:$2'));
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}
