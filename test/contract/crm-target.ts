import type { CrmItem, MappedProperty, PropertyKind, PropertyValue, StreamName } from '../../src/model/items.ts';
import type { ItemKey } from '../../src/model/operations.ts';
import type { Instant } from '../../src/model/time.ts';
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
  /** What the CRM calls the properties; all of them can be written. */
  names: Readonly<Record<CrmRole, string>>;
  /** Roles beside the title whose property the CRM lets nobody empty. */
  required: readonly CrmRole[];
  /** Of contacts: the property of the first name, and whether none is made without the last, which is the title. */
  firstName: { property: string; isLastRequired: boolean };
  /** Of contacts: a property that takes `north` and `south` alone, which the connector is not told. */
  list: string;
  /** What the CRM wants of every object beside them, the same for each. */
  constants: readonly (MappedProperty & { value: PropertyValue })[];
  /** What the suite's ordinary items belong to: no contact and 0 for a contact, else a contact that is there. */
  belonging: { contactKey: ItemKey | null; startAt: Instant };
  server: CrmServer;
  /** Another stream of the same account, through the same proxy. Closed with this one. */
  beside(stream: StreamName): Promise<CrmTarget>;
}

/** A person's hands on the CRM. */
export interface CrmServer extends ServerOf<RemoteRow> {
  /** At the place of a key the foreign object carries the stamp of another target: that is what makes it foreign there. */
  putForeign(title: string, key?: string): Promise<string>;
  /** Puts an object with these values and nothing of ours. Gives its remote id. */
  addByHand(values: Partial<CrmValues>): Promise<string>;
  /** A person empties the property that says whose the object is, and leaves its key. */
  removeStampByHand(remoteId: string): Promise<void>;
  /** A person gives an activity or a deal to another contact. Absent where readings don't tell to whom it belongs. */
  giveByHand?(remoteId: string, contactId: string): Promise<void>;
  /** Joins two objects, as a person does who takes them for one; gives the remote id of what is left. */
  mergeByHand?(keptId: string, otherId: string): Promise<string>;
  /** The administrator takes a property away from us. */
  removeProperty(role: CrmRole): Promise<void>;
  /** A person can still bring the deleted object back. */
  isInBin(remoteId: string): Promise<boolean>;
}

/** An object as a person sees it on the CRM's pages, its values in the form of our items. */
export interface RemoteRow extends ShownObject {
  /** What stands in the property that holds our key. */
  key: string | null;
  values: CrmValues;
  /** Remote ids of the contacts that it belongs to. */
  contactIds: readonly string[];
}

/** The suite's properties as a worker is told of them. */
export function mappedProperties(names: CrmTarget['names']): MappedProperty[] {
  const roles = Object.entries(CRM_ROLES) as [CrmRole, PropertyKind][];
  return roles.map(([role, kind]) => ({ name: names[role], kind }));
}
