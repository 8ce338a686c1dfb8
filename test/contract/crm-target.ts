import type { CrmItem, MappedProperty, PropertyKind, PropertyValue, StreamName } from '../../src/core/model/items.ts';
import type { ItemKey } from '../../src/core/model/operations.ts';
import type { Instant } from '../../src/core/model/time.ts';
import type { ServerOf, ShownObject, TargetOf } from './contract-target.ts';

/** What a property of the suite's items is for, with the kind of its values. */
export const CRM_ROLES = {
  /** A text that every object must have, such as a contact's last name. */
  title: 'text',
  email: 'text',
  phone: 'text',
  /** A long text. */
  note: 'text',
  number: 'number',
  boolean: 'boolean',
  date: 'date',
  instant: 'instant',
} as const satisfies Readonly<Record<string, PropertyKind>>;

export type CrmRole = keyof typeof CRM_ROLES;

/** Values by role. */
export type CrmValues = Readonly<Record<CrmRole, PropertyValue>>;

/** One kind of record of a CRM on a sandbox server, behind a fault proxy. */
export interface CrmTarget extends TargetOf<CrmItem, RemoteRow> {
  stream: StreamName;
  /** Names of the properties in the CRM; all of them can be written. */
  names: Readonly<Record<CrmRole, string>>;
  /** Roles other than the title whose property cannot be emptied in the CRM. */
  required: readonly CrmRole[];
  /** Of contacts: the property of the first name, and whether none is made without the last, which is the title. */
  firstName: { property: string; isLastRequired: boolean };
  /** Of contacts: a property that takes `north` and `south` alone, which the connector is not told. */
  list: string;
  /** Further properties that the CRM requires, equal for every object. */
  constants: readonly (MappedProperty & { value: PropertyValue })[];
  /** The contact of the suite's ordinary items: none and 0 for a contact, otherwise an existing contact. */
  belonging: { contactKey: ItemKey | null; startAt: Instant };
  server: CrmServer;
  /** Another stream of the same account, through the same proxy. Closed with this one. */
  beside(stream: StreamName): Promise<CrmTarget>;
}

/** Manual changes in the CRM. */
export interface CrmServer extends ServerOf<RemoteRow> {
  /** If a key is given, the foreign object carries the stamp of another target: in a CRM, only the stamp makes an object foreign. */
  putForeign(title: string, key?: string): Promise<string>;
  /** Creates an unmanaged object with these values. Returns its remote id. */
  addByHand(values: Partial<CrmValues>): Promise<string>;
  /** A user empties the property with the owner's stamp and leaves the key. */
  removeStampByHand(remoteId: string): Promise<void>;
  /** A user or a program changes the owner's stamp and leaves the key; null empties the stamp. */
  damageStamp(remoteId: string, damage: (stamp: string) => string | null): Promise<void>;
  /** A user moves an activity or a deal to another contact. Absent if reads do not report the contact. */
  giveByHand?(remoteId: string, contactId: string): Promise<void>;
  /** Merges two objects, as a user does. Returns the remote id of the remaining object. */
  mergeByHand?(keptId: string, otherId: string): Promise<string>;
  /** The administrator takes a property away from us. */
  removeProperty(role: CrmRole): Promise<void>;
  /** A user can still restore the deleted object. */
  isInBin(remoteId: string): Promise<boolean>;
}

/** An object as a user sees it on the CRM's pages, its values in the form of clinic-mirror's items. */
export interface RemoteRow extends ShownObject {
  /** Value of the property that holds the key. */
  key: string | null;
  values: CrmValues;
  /** Remote ids of the contacts that it belongs to. */
  contactIds: readonly string[];
}

/** Returns the suite's properties as the settings of a worker. */
export function mappedProperties(names: CrmTarget['names']): MappedProperty[] {
  const roles = Object.entries(CRM_ROLES) as [CrmRole, PropertyKind][];
  return roles.map(([role, kind]) => ({ name: names[role], kind }));
}
