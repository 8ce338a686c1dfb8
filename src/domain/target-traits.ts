import { MirrorError } from '../core/model/errors.ts';
import type { CalendarItem, Item, StreamName } from '../core/model/items.ts';
import type { Link } from '../core/model/operations.ts';
import { type FingerprintMemory, type TargetIdentity, UNKNOWN_FIELD } from '../engine/identity.ts';
import type { Dependency, TargetTraits } from '../engine/ports.ts';
import { type Message, message } from '../messages/message.ts';
import type { TargetConfiguration } from '../settings/configuration.ts';
import type { OpenCrm } from './cycle-input.ts';
import { windowOf } from './mapping-sources.ts';
import { refusedThere } from './refusals.ts';

/** Connections of an application with many accounts, or with limits per target: a rate limit does not affect the other targets. */
const OF_MANY_ACCOUNTS: ReadonlySet<string> = new Set(['google-service-account', 'microsoft-app']);

/** What the traits of a target are made of. */
export interface TraitParts {
  stream: StreamName;
  configuration: Pick<TargetConfiguration, 'crm' | 'window'>;
  /** Null for a calendar. */
  crm: Pick<OpenCrm, 'mapping' | 'refusals'> | null;
  identity: TargetIdentity;
  fingerprints: FingerprintMemory;
  /** Kind of the connection, as in the tenant file. */
  connectionKind: string;
}

/** Returns how the engine treats a target: a calendar, or the contacts, activities or deals of a CRM. */
export function traitsOf(parts: TraitParts): TargetTraits {
  const { stream, configuration, crm, identity, fingerprints, connectionKind } = parts;
  const isCalendar = crm === null;
  return {
    sharesLimits: !OF_MANY_ACCOUNTS.has(connectionKind),
    dependsOn: dependencyOf(configuration),
    hasDependents: stream === 'patients',
    // Users add notes to events, and a near event must not wait for a whole reading.
    ...{ takesOver: isCalendar, plansParts: isCalendar },
    // A CRM's connector may create its own properties.
    findsContainer: isCalendar,
    // A CRM's `prepare` checks that the key property exists; HubSpot and Salesforce refuse a write with an unknown property.
    readsBack: isCalendar,
    // A CRM's users merge copies themselves.
    listsCopies: !isCalendar,
    containerGone: 'calendar-gone',
    windowAt: (now) => windowOf({ stream, configuration }, now),
    invalidate: () => fingerprints.invalidate(),
    writable: (item, link, fingerprint) => withoutIdleDenials(asMappedNow(item, crm), link, fingerprint, parts),
    updateFacts: (item, link) =>
      'description' in item && link.isRebuilt !== true ? { hadDescription: hadDescription(link, item, identity) } : {},
    completed: wholeOf,
    refusedIn: (objects, written, before) =>
      refusedThere(objects, crm?.refusals ?? [], { ...written, identity }, before),
    containerMissing: () => settingsError('calendar-not-found', 'never', message('calendar-not-found.remedy')),
    firstWriteMissing: (tenant) => firstWriteMissing(tenant, isCalendar),
  };
}

/** Activities and deals depend on contacts. */
function dependencyOf({ crm }: TraitParts['configuration']): Dependency | null {
  if (crm?.contacts === undefined) return null;
  const keyOf = (item: Item) => ('contactKey' in item ? (item.contactKey ?? '') : '');
  return { target: crm.contacts, missing: 'contact-missing', keyOf };
}

/** Returns the error of a target that does not show the first write. `doctor` uses the same error. */
export function firstWriteMissing(tenant: string, isCalendar: boolean): MirrorError {
  const code = isCalendar ? 'events-not-kept' : 'key-not-kept';
  return settingsError(code, 'later', message(`${code}.remedy`, { tenant }));
}

function settingsError(
  code: 'calendar-not-found' | 'events-not-kept' | 'key-not-kept',
  retry: 'later' | 'never',
  remedy: Message,
): MirrorError {
  return new MirrorError(message(code), { actor: 'settings', code, retry, remedy });
}

/** Returns a predicate: whether the last write had a description. It errs once in 262,144 times. */
function hadDescription({ fingerprint }: Link, item: CalendarItem, identity: TargetIdentity) {
  return (description: string) => {
    const differing = identity.differingFields(fingerprint, identity.fingerprint({ ...item, description }));
    return !differing.includes('description') && !differing.includes(UNKNOWN_FIELD);
  };
}

/** Returns the stored item, completed with expected properties that the target's answer omits. */
export function wholeOf(stored: Item, wanted: Item | null): Item {
  if (wanted === null || !('properties' in wanted) || !('properties' in stored)) return stored;
  return { ...stored, properties: { ...wanted.properties, ...stored.properties } };
}

/**
 * Removes properties that the mapping no longer contains, since an operator may have removed them for privacy. The next plan finds the
 * difference and writes the other changes.
 */
function asMappedNow(item: Item, crm: TraitParts['crm']): Item {
  if (crm === null || !('properties' in item)) return item;
  const names = new Set(crm.mapping.properties.map(({ name }) => name));
  const retained = Object.entries(item.properties).filter(([name]) => names.has(name));
  return { ...item, properties: Object.fromEntries(retained) };
}

/**
 * Returns an item without negative refusals, unless they revert a refusal that the daemon wrote. Someone with the same email address may
 * have refused in the CRM since, and no other patient data may revert that refusal.
 */
function withoutIdleDenials(
  item: Item,
  link: Link | null,
  fingerprint: string,
  { crm, identity }: Pick<TraitParts, 'crm' | 'identity'>,
): Item {
  if (crm === null || crm.refusals.length === 0 || !('properties' in item)) return item;
  const changed = link === null ? [] : identity.differingFields(link.fingerprint, fingerprint);
  const isIdle = (name: string) =>
    crm.refusals.some(({ property }) => property === name) && item.properties[name] !== true && !changed.includes(name);
  const retained = Object.entries(item.properties).filter(([name]) => !isIdle(name));
  return { ...item, properties: Object.fromEntries(retained) };
}
