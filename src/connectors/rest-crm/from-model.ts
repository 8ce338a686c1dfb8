import type { Logger } from '../../log/logger.ts';
import type { CrmItem, MappedProperty, PropertyValue, StreamName } from '../../model/items.ts';
import type { ItemKey, Operation, RemoteItem } from '../../model/operations.ts';
import type { ContactStamp } from '../connector.ts';
import type { Choices, PropertyRule } from '../fitting.ts';
import { belongingOf, fromStamp, isStampOfAnother, toStamp, withRevision } from '../owner.ts';
import type { CrmClient } from './client.ts';
import type { CrmDescription, CrmResource } from './description.ts';
import {
  isObject,
  type JsonObject,
  newObject,
  readValue,
  renderValue,
  setAt,
  type TemplateValues,
  valueAt,
} from './templates.ts';

/** Keys are 32 characters of base32hex; anything else in the key's property was written by somebody else. */
const KEY = /^[0-9a-v]{32}$/;

/** An object of the CRM as far as it can be told whose it is. */
export interface CrmRow {
  id: string;
  key: ItemKey | null;
  /** `ours`: carries our owner tag; `bare`: no stamp, or none is kept; `foreign`: another's. */
  owner: 'ours' | 'bare' | 'foreign';
  remote: Omit<RemoteItem<CrmItem>, 'key'>;
  /** Ids of the contacts that it belongs to; null where the row does not tell. */
  contactIds: readonly string[] | null;
}

/** What of a write goes into an object. */
type Sent = Pick<Extract<Operation<CrmItem>, { item: CrmItem }>, 'key' | 'sealedRecordId' | 'item' | 'revision'>;

/** What a write's templates are filled with. */
export function writeValues(
  scope: Scope,
  { key, sealedRecordId, item, revision }: Sent,
  contactId: string | null,
): TemplateValues {
  const { description, resource, properties, ownerTag } = scope;
  const { values, names } = description;
  const body = newObject();
  const put = (name: string, value: PropertyValue) => {
    if (names === 'nested') setAt(body, name, value);
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

/** Reads a row of the CRM; null for what has no id. */
export function readRow(scope: Scope, resource: CrmResource, row: unknown): CrmRow | null {
  if (!isObject(row)) return null;
  const id = idAt(row, resource.row.id);
  if (id === null) return null;
  const read = memberReader(scope, row);
  const key = read(resource.keyField);
  const stampText = resource.stampField === undefined ? null : (read(resource.stampField) ?? null);
  const stamp = fromStamp(scope.ownerTag, stampText);
  const tag = resource.row.versionTag === undefined ? null : (valueAt(row, resource.row.versionTag) ?? null);
  // Without a stamp only a contact is wholly there: nothing else is known of it.
  const isReadable = stamp !== null || (resource.stampField === undefined && scope.stream === 'patients');
  return {
    id,
    key: typeof key === 'string' && KEY.test(key) ? key : null,
    owner: stamp !== null ? 'ours' : isStampOfAnother(scope.ownerTag, stampText) ? 'foreign' : 'bare',
    remote: {
      sealedRecordId: stamp?.sealedRecordId ?? null,
      remoteId: id,
      versionTag: tag === null ? null : String(tag),
      item: isReadable
        ? {
            properties: propertiesIn(scope, read),
            ...(stamp === null ? { contactKey: null, startAt: 0 } : belongingOf(stamp)),
          }
        : null,
      ...withRevision(stamp?.revision),
    },
    contactIds: resource.row.contact === undefined ? null : idsIn(valueAt(row, resource.row.contact)),
  };
}

function idsIn(link: unknown): string[] | null {
  if (link === undefined) return null;
  return (Array.isArray(link) ? link : [link]).flatMap((one) => idAt(one, isObject(one) ? 'id' : '') ?? []);
}

/** The id at a path: a text, or a number as text. */
export function idAt(body: unknown, path: string): string | null {
  const id = valueAt(body, path);
  return (typeof id === 'string' && id !== '') || typeof id === 'number' ? String(id) : null;
}

/** Whether an object is as this very write leaves it. @param contactId the contact that it belongs to; null for none */
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

/** Values of the mapped properties of a row, whoever's it is. */
export function propertiesOf(scope: Scope, row: unknown): CrmItem['properties'] {
  return isObject(row) ? propertiesIn(scope, memberReader(scope, row)) : {};
}

function memberReader({ description }: Scope, row: JsonObject): (name: string) => unknown {
  return (name) => (description.names === 'nested' ? valueAt(row, name) : row[name]);
}

/** What a contact is given to carry, or with null to carry no more. */
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
    if (names === 'nested') setAt(body, name, written);
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

/** One target, as a call works with it. */
export interface Scope {
  client: CrmClient;
  description: CrmDescription;
  /** How the stream's records are found and written. */
  resource: CrmResource;
  stream: StreamName;
  properties: readonly MappedProperty[];
  /** What words of the mapping stand for in lists of the CRM, by property. */
  choices: ReadonlyMap<string, Choices>;
  /** What properties take, as far as it is known: more once the target is prepared. */
  rules: Map<string, PropertyRule>;
  /** Names of properties that errors may tell: the mapped ones, and those that the CRM lists. */
  codes: Set<string>;
  ownerTag: string;
  baseUrl: string;
  log: Logger;
  signal: AbortSignal;
}

/** What every call of a resource may ask for. */
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
