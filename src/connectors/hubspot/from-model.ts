import type { Logger } from '../../log/logger.ts';
import type { CrmItem, MappedProperty, PropertyKind, PropertyValue, StreamName } from '../../model/items.ts';
import type { ItemKey, Operation, RemoteItem } from '../../model/operations.ts';
import { DAY_MS } from '../../model/time.ts';
import type { Choices } from '../fitting.ts';
import { belongingOf, fromStamp, isStampOfAnother, type Stamp, toStamp, withRevision } from '../owner.ts';
import type { HubSpotClient, Paths } from './client.ts';
import { recordSchema, type SubscriptionRule } from './schemas.ts';

/** Values as they go over the wire: strings, an empty one to clear. */
export type Values = Record<string, string>;

/** One record that is written; it is known by its key in both directions. */
export interface Row {
  key: ItemKey;
  values: Values;
  /** HubSpot's id of the record, where keys are not unique and there is one. */
  id?: string;
}

/** A record, read far enough to know whose it is. */
export interface StoredRecord {
  id: string;
  key: ItemKey | null;
  /** Null when it is not ours, or somebody removed the stamp. */
  stamp: Stamp | null;
  /** It carries a stamp that is not ours. */
  isForeign: boolean;
  /** Strings as HubSpot tells them; null for what is empty, absent for what it didn't tell. */
  values: Readonly<Record<string, string | null>>;
  /** In lists of what belongs to contacts: whether it is joined with any. */
  hasContact?: boolean;
  /** With upserts: whether it was made by this one. */
  isNew: boolean | null;
  traceId: string | null;
}

/** What of a write goes into a record. */
type Sent = Pick<Extract<Operation<CrmItem>, { item: CrmItem }>, 'key' | 'sealedRecordId' | 'item' | 'revision'>;

/**
 * What a record is given: every property of the item, our two, and for a meeting the times that its place in HubSpot needs, unless the
 * mapping fills them (developers.hubspot.com, engagements, meetings: `hs_timestamp` is required).
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

/** Dates and instants are texts already, in a form that HubSpot takes. Half surrogates become U+FFFD. */
function toText(value: PropertyValue): string {
  if (value === null) return '';
  return typeof value === 'number' ? numberText(value) : String(value).toWellFormed();
}

const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** HubSpot takes no exponents. */
function numberText(value: number): string {
  const text = String(value);
  return text.includes('e') ? value.toFixed(20).replace(/\.?0+$/, '') : text;
}

/** Reads a record of any answer; null for what is none. */
export function readRecord(
  { keyProperty, stampProperty, ownerTag }: Pick<Scope, 'keyProperty' | 'stampProperty' | 'ownerTag'>,
  answered: unknown,
): StoredRecord | null {
  const record = recordSchema.safeParse(answered).data;
  if (record === undefined) return null;
  const values = Object.fromEntries(
    Object.entries(record.properties).map(([name, value]) => [name, typeof value === 'string' && value ? value : null]),
  );
  const stampText = values[stampProperty] ?? null;
  const stamp = fromStamp(ownerTag, stampText);
  return {
    id: record.id,
    key: values[keyProperty] ?? null,
    stamp,
    isForeign: isStampOfAnother(ownerTag, stampText),
    values,
    isNew: record.new ?? null,
    traceId: record.objectWriteTraceId ?? null,
  };
}

/**
 * The item that a record holds.
 * @param sent what was written, for the properties that the answer doesn't tell
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
 * A record of ours as the contract shows it; one without its stamp has no item. Stamp and values are written before it is joined with its
 * contact, so one that is joined with nobody, because that broke off or somebody undid it, shows generation 0, as nothing is wanted.
 */
export function toRemoteItem(scope: Scope, record: StoredRecord): RemoteItem<CrmItem> {
  const { id: remoteId, key, stamp } = record;
  const isAlone = record.hasContact === false && stamp !== null && stamp.contactKey !== null;
  const item = stamp === null ? null : toItem(scope, record, isAlone ? { ...stamp, contactRecreations: 0 } : stamp);
  const base = { key: key ?? '', sealedRecordId: stamp?.sealedRecordId ?? null, remoteId, versionTag: null, item };
  return { ...base, ...withRevision(stamp?.revision), ...refusalsIn(scope, record, item) };
}

/** What somebody refused in HubSpot itself: who refuses in the clinic was unsubscribed by us. */
function refusalsIn(scope: Scope, { values }: StoredRecord, item: CrmItem | null): Pick<RemoteItem, 'refuses'> {
  const isRefusedInClinic = (consent: string | null) => consent !== null && item?.properties[consent] === false;
  const refuses = optOutsOf(scope).filter(
    ({ name, consent }) => values[name] === 'true' && !isRefusedInClinic(consent),
  );
  return refuses.length === 0 ? {} : { refuses: refuses.map(({ name }) => name) };
}

const EPOCH_MS = /^-?\d{1,16}$/;
const ISO = /^\d{4}-\d{2}-\d{2}T/;

/** A value of a kind, from the text that HubSpot tells; a text that is none of that kind stays as it is, and so differs. */
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

/** Epoch ms of epoch ms or of ISO 8601; null for anything else. */
function instantOf(text: string): number | null {
  const at = EPOCH_MS.test(text) ? Number(text) : ISO.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(new Date(at).getTime()) ? null : at;
}

/** What all work on one target goes by. */
export interface Scope {
  /** Calls under the signal of the work. */
  client: HubSpotClient;
  stream: StreamName;
  /** The kind of record that the stream becomes: `contacts`, `meetings`, `deals`, or a custom object. */
  object: string;
  /** Every property that the mapping fills. */
  properties: readonly MappedProperty[];
  ownerTag: string;
  keyProperty: string;
  stampProperty: string;
  propertyGroup: string;
  /**
   * Names of properties that hold instants in HubSpot and whose mapping gives days. Known once the target is prepared; they are written
   * as midnight in UTC, as HubSpot keeps days.
   */
  daysAsInstants: ReadonlySet<string>;
  /**
   * HubSpot holds the keys of this kind of record unique, so that records can be named by them. It documents that of all but meetings: of
   * those it is known once the target is prepared, and keys are looked up until then.
   */
  hasUniqueKey: boolean;
  /** What words of the mapping stand for in lists of HubSpot, by property. Null until it is known. */
  choices: ReadonlyMap<string, Choices> | null;
  /** Names of all properties of the kind of record, which errors may repeat. Known once the target is prepared. */
  catalogueNames: ReadonlySet<string>;
  /** Which mails follow which consents. */
  subscriptions: readonly SubscriptionRule[];
  paths: Paths;
  log: Logger;
}

/** Names of everything that a reading asks for. */
export function namesToRead(scope: Scope): string[] {
  const { properties, keyProperty, stampProperty } = scope;
  const mapped = properties.map(({ name }) => name);
  return [...new Set([keyProperty, stampProperty, ...mapped, ...optOutsOf(scope).map(({ name }) => name)])];
}

/** A property of HubSpot's own that is true for whoever unsubscribed. */
interface OptOut {
  name: string;
  /** The mapped consent that is told as this subscription; null for all mails. */
  consent: string | null;
}

/**
 * What tells of unsubscriptions: from all mails, and from those that follow consents. HubSpot sets both by the address; they can't be written.
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
