import type { Logger } from '../../core/log/logger.ts';
import type { CrmItem, MappedProperty, PropertyValue, StreamName } from '../../core/model/items.ts';
import type { ItemKey, Operation, RemoteItem } from '../../core/model/operations.ts';
import { storableTag } from '../../core/model/stored-limits.ts';
import { ITSELF, isJsonObject, type JsonObject, parsePath, setAtPath, valueAt } from '../../described-api/paths.ts';
import { newObject } from '../../described-api/templates.ts';
import { readValue, renderValue } from '../../described-api/value-styles.ts';
import type { ContactStamp } from '../connector.ts';
import type { Choices, PropertyRule } from '../fitting.ts';
import { belongingOf, ownedByStamp, stampedPart, toStamp } from '../owner.ts';
import type { CrmClient } from './client.ts';
import type { CrmDescription, CrmResource, CrmValues } from './description.ts';

/** Keys are 32 characters of base32hex. Other values of the key property come from users or other programs. */
const KEY = /^[0-9a-v]{32}$/;

/** Object of the CRM, with the properties that show its owner. */
export interface CrmRow {
  id: string;
  key: ItemKey | null;
  /** `ours`: has the owner tag; `bare`: has no stamp, or the CRM stores none; `foreign`: has a different owner tag. */
  owner: 'ours' | 'bare' | 'foreign';
  remote: Omit<RemoteItem<CrmItem>, 'key'>;
  /** Ids of the object's contacts; null if unknown. */
  contactIds: readonly string[] | null;
}

/** Fields of a write that an object contains. */
type Sent = Pick<Extract<Operation<CrmItem>, { item: CrmItem }>, 'key' | 'sealedRecordId' | 'item' | 'revision'>;

/** Returns the template values of a write. */
export function writeValues(
  scope: Scope,
  { key, sealedRecordId, item, revision }: Sent,
  contactId: string | null,
): CrmValues {
  const { description, resource, properties, ownerTag } = scope;
  const { values, names } = description;
  const body = newObject();
  const put = (name: string, value: PropertyValue) => {
    if (names === 'nested') setAtPath(body, parsePath(name), value);
    else body[name] = value;
  };
  for (const { name, kind } of properties) {
    const value = item.properties[name];
    if (value === undefined) continue;
    const chosen = scope.choices.get(name)?.toValue.get(String(value)) ?? value;
    put(name, renderValue(chosen, kind, values));
  }
  put(resource.keyField, key);
  if (resource.stampField !== undefined) {
    put(resource.stampField, toStamp(ownerTag, { sealedRecordId, ...belongingOf(item), revision }));
  }
  const startAt = renderValue(new Date(item.startAt).toISOString(), 'instant', values);
  return { key, properties: body, contactId, startAt };
}

/** Parses an object of the CRM, or returns null if it has no id. */
export function readRow(scope: Scope, resource: CrmResource, row: unknown): CrmRow | null {
  if (!isJsonObject(row)) return null;
  const id = idAt(row, resource.row.id);
  if (id === null) return null;
  const read = memberReader(scope, row);
  const key = read(resource.keyField);
  const stampText = resource.stampField === undefined ? null : read(resource.stampField);
  const { owner, stamp } = ownedByStamp(scope.ownerTag, stampText);
  const tag = resource.row.versionTag === undefined ? null : (valueAt(row, resource.row.versionTag) ?? null);
  // Without a stamp, only a contact is complete; other objects need the stamp's data.
  const isReadable = stamp !== null || (resource.stampField === undefined && scope.stream === 'patients');
  return {
    id,
    key: typeof key === 'string' && KEY.test(key) ? key : null,
    owner,
    remote: {
      remoteId: id,
      versionTag: storableTag(tag === null ? null : String(tag)),
      item: isReadable
        ? {
            properties: propertiesIn(scope, read),
            ...(stamp === null ? { contactKey: null, startAt: 0 } : belongingOf(stamp)),
          }
        : null,
      ...stampedPart(stamp),
    },
    contactIds: resource.row.contact === undefined ? null : idsIn(valueAt(row, resource.row.contact)),
  };
}

function idsIn(link: unknown): string[] | null {
  if (link === undefined) return null;
  return (Array.isArray(link) ? link : [link]).flatMap((one) => idAt(one, isJsonObject(one) ? 'id' : ITSELF) ?? []);
}

/** Returns the id at a path: a string, or a number as a string. */
export function idAt(body: unknown, path: string): string | null {
  const id = valueAt(body, path);
  return (typeof id === 'string' && id !== '') || typeof id === 'number' ? String(id) : null;
}

/** Checks whether an object equals the result of this write. @param contactId contact of the object; null for none */
export function isSameItem(
  scope: Scope,
  row: CrmRow,
  { sealedRecordId, item, revision }: Sent,
  contactId: string | null,
): boolean {
  if (contactId !== null && row.contactIds?.includes(contactId) === false) return false;
  const stored = row.remote.item;
  const isStamped = row.remote.sealedRecordId === sealedRecordId && row.remote.revision === revision;
  if (stored === null || (scope.resource.stampField !== undefined && !isStamped)) return false;
  return (
    stored.contactKey === item.contactKey &&
    stored.contactRecreations === item.contactRecreations &&
    stored.startAt === item.startAt &&
    Object.entries(item.properties).every(([name, value]) => (stored.properties[name] ?? null) === value)
  );
}

/** Returns the mapped properties of any object, also a foreign one. */
export function propertiesOf(scope: Scope, row: unknown): CrmItem['properties'] {
  return isJsonObject(row) ? propertiesIn(scope, memberReader(scope, row)) : {};
}

function memberReader({ description }: Scope, row: JsonObject): (name: string) => unknown {
  return (name) => (description.names === 'nested' ? valueAt(row, name) : row[name]);
}

/** Returns the key and stamp for a contact, or null values to clear them. */
export function stampValues({ description, resource, ownerTag }: Scope, as: ContactStamp['as']): JsonObject {
  const { values, names } = description;
  const stamp = as && toStamp(ownerTag, { sealedRecordId: as.sealedRecordId, contactKey: null, startAt: 0 });
  const body = newObject();
  for (const [name, value] of [
    [resource.keyField, as?.key ?? null],
    [resource.stampField, stamp],
  ] as const) {
    if (name === undefined) continue;
    const written = renderValue(value, 'text', values);
    if (names === 'nested') setAtPath(body, parsePath(name), written);
    else body[name] = written;
  }
  return body;
}

function propertiesIn(
  { properties, description, choices }: Scope,
  read: (name: string) => unknown,
): CrmItem['properties'] {
  const found: Record<string, PropertyValue> = newObject() as Record<string, PropertyValue>;
  for (const { name, kind } of properties) {
    const value = readValue(read(name), kind, description.values);
    found[name] = typeof value === 'string' ? (choices.get(name)?.toWord.get(value) ?? value) : value;
  }
  return { ...found };
}

/** Data and settings for the calls of one target. */
export interface Scope {
  client: CrmClient;
  description: CrmDescription;
  /** Calls for finding and writing the stream's objects. */
  resource: CrmResource;
  stream: StreamName;
  properties: readonly MappedProperty[];
  /** The CRM's list values for the mapping's words, by property. */
  choices: ReadonlyMap<string, Choices>;
  /** Known limits of properties; complete after the target is prepared. */
  rules: Map<string, PropertyRule>;
  /** Property names that errors may repeat: mapped properties and properties that the CRM lists. */
  codes: Set<string>;
  ownerTag: string;
  baseUrl: string;
  log: Logger;
  signal: AbortSignal;
}

/** Returns the template values that all calls of a resource may use. */
export function selection(
  { description, properties }: Pick<Scope, 'description' | 'properties'>,
  resource: CrmResource,
) {
  const { keyField, stampField, row } = resource;
  const names = [keyField, ...(stampField === undefined ? [] : [stampField]), ...properties.map(({ name }) => name)];
  const first = (name: string) => (description.names === 'nested' ? (name.split('.')[0] ?? name) : name);
  const fields = [...new Set([first(row.id), ...names.map(first)])].join(',');
  return { fields, keyField, stampField };
}
