import type { Logger } from '../../core/log/logger.ts';
import type { CrmItem, MappedProperty, PropertyKind, PropertyValue, StreamName } from '../../core/model/items.ts';
import type { ItemKey, Operation, RemoteItem } from '../../core/model/operations.ts';
import { DAY_MS } from '../../core/model/time.ts';
import type { Choices } from '../fitting.ts';
import { belongingOf, ownedByStamp, type Stamp, stampedPart, toStamp } from '../owner.ts';
import type { HubSpotClient, Paths } from './client.ts';
import { recordSchema, type SubscriptionRule } from './schemas.ts';

/** Property values in requests: strings, empty to clear. */
export type Values = Record<string, string>;

/** Object to write, with its key as the identifier in both directions. */
export interface Row {
  key: ItemKey;
  values: Values;
  /** HubSpot's id of an existing object, if keys are not unique. */
  id?: string;
}

/** Stored object, with the properties that show its owner. */
export interface StoredRecord {
  id: string;
  key: ItemKey | null;
  /** Null if the object is foreign, or a user removed the stamp. */
  stamp: Stamp | null;
  /** Whether the object carries a foreign stamp. */
  isForeign: boolean;
  /** Values from HubSpot as strings: null if empty, absent if the response omits the property. */
  values: Readonly<Record<string, string | null>>;
  /** In lists of objects that belong to contacts: whether the object has a contact. */
  hasContact?: boolean;
  /** With upserts: whether this upsert created the object. */
  isNew: boolean | null;
  traceId: string | null;
}

/** Fields of a write that an object contains. */
type Sent = Pick<Extract<Operation<CrmItem>, { item: CrmItem }>, 'key' | 'sealedRecordId' | 'item' | 'revision'>;

/**
 * Returns the values of an object: all properties of the item, key and stamp. A meeting also has times that HubSpot requires, unless the
 * mapping contains them (developers.hubspot.com, engagements, meetings: `hs_timestamp` is required).
 */
export function toValues(scope: Scope, { key, sealedRecordId, item, revision }: Sent): Values {
  const values: Values = {};
  for (const { name } of scope.properties) {
    const value = item.properties[name];
    if (value === undefined) continue;
    const word = toText(value);
    const text = scope.choices?.get(name)?.toValue.get(word) ?? word;
    values[name] = scope.daysAsInstants.has(name) && DAY.test(text) ? `${text}T00:00:00.000Z` : text;
  }
  if (scope.object === 'meetings') {
    const startAt = new Date(item.startAt).toISOString();
    for (const name of ['hs_timestamp', 'hs_meeting_start_time']) values[name] ||= startAt;
  }
  values[scope.keyProperty] = key;
  values[scope.stampProperty] = toStamp(scope.ownerTag, { sealedRecordId, ...belongingOf(item), revision });
  return values;
}

/** Dates and instants are already strings in a form that HubSpot accepts. Half surrogates become U+FFFD. */
function toText(value: PropertyValue): string {
  if (value === null) return '';
  return typeof value === 'number' ? numberText(value) : String(value).toWellFormed();
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** HubSpot does not accept exponents. */
function numberText(value: number): string {
  const text = String(value);
  return text.includes('e') ? value.toFixed(20).replace(/\.?0+$/, '') : text;
}

/** Parses an object from any response, or returns null for invalid data. */
export function readRecord(
  { keyProperty, stampProperty, ownerTag }: Pick<Scope, 'keyProperty' | 'stampProperty' | 'ownerTag'>,
  answered: unknown,
): StoredRecord | null {
  const record = recordSchema.safeParse(answered).data;
  if (record === undefined) return null;
  const values = Object.fromEntries(
    Object.entries(record.properties).map(([name, value]) => [name, typeof value === 'string' && value ? value : null]),
  );
  const { owner, stamp } = ownedByStamp(ownerTag, values[stampProperty]);
  return {
    id: record.id,
    key: values[keyProperty] ?? null,
    stamp,
    isForeign: owner === 'foreign',
    values,
    isNew: record.new ?? null,
    traceId: record.objectWriteTraceId ?? null,
  };
}

/**
 * Returns the item of an object.
 * @param sent written values, for properties that the response omits
 */
export function toItem(
  { properties, choices }: Pick<Scope, 'properties' | 'choices'>,
  { values }: Pick<StoredRecord, 'values'>,
  belonging: Omit<CrmItem, 'properties'>,
  sent: Readonly<Values> = {},
): CrmItem {
  const read = ({ name, kind }: MappedProperty): [string, PropertyValue] => {
    const rawValue = values[name] === undefined ? (sent[name] ?? '') : (values[name] ?? '');
    return [name, fromText(kind, choices?.get(name)?.toWord.get(rawValue) ?? rawValue)];
  };
  return { properties: Object.fromEntries(properties.map(read)), ...belongingOf(belonging) };
}

/**
 * Converts an own object to the contract's form. An object without a stamp has no item. Stamp and values are written before the association
 * with the contact. An object without a contact, after an interrupted write or a user's change, therefore has generation 0, so that the
 * planner writes it again.
 */
export function toRemoteItem(scope: Scope, record: StoredRecord): RemoteItem<CrmItem> {
  const { id: remoteId, key, stamp } = record;
  const isAlone = record.hasContact === false && stamp !== null && stamp.contactKey !== null;
  const item = stamp === null ? null : toItem(scope, record, isAlone ? { ...stamp, contactRecreations: 0 } : stamp);
  const base = { key: key ?? '', remoteId, versionTag: null, item };
  return { ...base, ...stampedPart(stamp), ...refusalsIn(scope, record, item) };
}

/**
 * Returns the consents that a patient refused in HubSpot. Refusals in the clinic are excluded, since clinic-mirror unsubscribed those
 * patients.
 */
function refusalsIn(scope: Scope, { values }: StoredRecord, item: CrmItem | null): Pick<RemoteItem, 'refuses'> {
  const isRefusedInClinic = (consent: string | null) => consent !== null && item?.properties[consent] === false;
  const refuses = optOutsOf(scope).filter(
    ({ name, consent }) => values[name] === 'true' && !isRefusedInClinic(consent),
  );
  return refuses.length === 0 ? {} : { refuses: refuses.map(({ name }) => name) };
}

const EPOCH_MS = /^-?\d{1,16}$/;
const ISO = /^\d{4}-\d{2}-\d{2}T/;

/**
 * Converts a string from HubSpot to a value of a kind. A string that does not fit the kind is returned unchanged, and therefore differs
 * from the desired value.
 */
export function fromText(kind: PropertyKind, text: string): PropertyValue {
  if (text === '') return null;
  switch (kind) {
    case 'number':
      return Number.isFinite(Number(text)) ? Number(text) : text;
    case 'boolean':
      return text === 'true' ? true : text === 'false' ? false : text;
    case 'date': {
      const at = instantOf(text);
      return at !== null && at % DAY_MS === 0 ? new Date(at).toISOString().slice(0, 10) : text;
    }
    case 'instant': {
      const at = instantOf(text);
      return at === null ? text : new Date(at).toISOString();
    }
    case 'text':
      return text;
  }
}

/** Converts epoch ms or ISO 8601 to epoch ms; null for other strings. */
function instantOf(text: string): number | null {
  const at = EPOCH_MS.test(text) ? Number(text) : ISO.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(new Date(at).getTime()) ? null : at;
}

/** Data and settings for all work on one target. */
export interface Scope {
  /** Sends calls under the signal of the work. */
  client: HubSpotClient;
  stream: StreamName;
  /** Type of object for the stream: `contacts`, `meetings`, `deals`, or a custom object. */
  object: string;
  /** All mapped properties. */
  properties: readonly MappedProperty[];
  ownerTag: string;
  keyProperty: string;
  stampProperty: string;
  propertyGroup: string;
  /**
   * Properties that contain instants in HubSpot and days in the mapping. Set after the target is prepared. Days are written as midnight
   * UTC, which is HubSpot's form of days.
   */
  daysAsInstants: ReadonlySet<string>;
  /**
   * Whether HubSpot enforces unique keys for this type, so that keys can identify objects. HubSpot documents unique keys for all types
   * except meetings. For meetings, the value is known after the target is prepared, and keys are searched until then.
   */
  hasUniqueKey: boolean;
  /** HubSpot's list values for the mapping's words, by property. Null before they are fetched. */
  choices: ReadonlyMap<string, Choices> | null;
  /** Names of all properties of the type, which errors may repeat. Set after the target is prepared. */
  catalogueNames: ReadonlySet<string>;
  /** Subscriptions that depend on consents. */
  subscriptions: readonly SubscriptionRule[];
  paths: Paths;
  log: Logger;
}

/** Returns the names of all properties to fetch. */
export function namesToRead(scope: Scope): string[] {
  const { properties, keyProperty, stampProperty } = scope;
  const mapped = properties.map(({ name }) => name);
  return [...new Set([keyProperty, stampProperty, ...mapped, ...optOutsOf(scope).map(({ name }) => name)])];
}

/** HubSpot property that is true for unsubscribed contacts. */
interface OptOut {
  name: string;
  /** Mapped consent of this subscription; null for all mails. */
  consent: string | null;
}

/**
 * Returns the properties that show unsubscriptions: from all mails, and from mails that depend on consents. HubSpot sets these read-only
 * properties by e-mail address.
 * @see https://community.hubspot.com/t5/CRM/Handling-Marketing-Contact-Status-and-Opt-Outs-when-importing/m-p/623337
 */
function optOutsOf({ object, subscriptions }: Pick<Scope, 'object' | 'subscriptions'>): OptOut[] {
  if (object !== 'contacts') return [];
  const each = subscriptions.map(({ subscription, property }) => ({
    name: `${OPT_OUT}_${subscription}`,
    consent: property,
  }));
  return [{ name: OPT_OUT, consent: null }, ...each];
}

const OPT_OUT = 'hs_email_optout';
