import type { Logger } from '../../log/logger.ts';
import type { MappedProperty } from '../../model/items.ts';
import type { StreamName } from '../../model/streams.ts';
import type { Choices } from '../options.ts';
import type { Paths } from './paths.ts';
import type { SubscriptionRule } from './schemas.ts';

/** What all work on one target goes by. */
export interface Scope {
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
export function optOutsOf({ object, subscriptions }: Pick<Scope, 'object' | 'subscriptions'>): OptOut[] {
  if (object !== 'contacts') return [];
  const each = subscriptions.map(({ subscription, property }) => ({
    name: `${OPT_OUT}_${subscription}`,
    consent: property,
  }));
  return [{ name: OPT_OUT, consent: null }, ...each];
}

const OPT_OUT = 'hs_email_optout';
