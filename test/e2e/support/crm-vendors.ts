import type { FaultPlan } from '../../../sandbox/kit/faults.ts';
import type { StreamName } from '../../../src/core/model/items.ts';

/** A CRM record with shared field names; null for a field that is empty in the CRM. */
export interface CrmRecord {
  id: string;
  /** The key of clinic-mirror; null for records created by users. */
  key: string | null;
  values: Readonly<Record<string, string | number | boolean | null>>;
  /** Ids of the contacts that it belongs to. */
  contactIds: readonly string[];
}

/** A request that reached a CRM. */
export interface CrmRequest {
  method: string;
  url: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: string;
}

/** What a request to a CRM is for: looking at properties and the like comes before any record is read or written. */
export type CrmPurpose = 'login' | 'prepare' | 'read' | 'write';

/** User actions in a CRM, and the visible records. */
export interface CrmHands {
  /** Returns the records visible to a user. */
  records(stream: StreamName): CrmRecord[];
  /** Deletes the property behind a shared name, or hides it from the connection. @returns a function that restores it */
  removeProperty(stream: StreamName, shared: string): () => void;
  /** Creates a contact as a user, with values by shared names. @returns its id */
  addByHand(values: Readonly<Record<string, string>>): string;
  editByHand(stream: StreamName, id: string, shared: string, value: string): void;
  deleteByHand(stream: StreamName, id: string): void;
}

/** Failures between the product and a CRM. */
export interface CrmFailures {
  /** Every write from now on is refused in these words. */
  refuseWrites(status: number, body: object): void;
  /** So many of the next writes are done, but their answers are lost. */
  loseAnswers(times: number): void;
  /** How many were lost so far. */
  lostAnswers(): number;
}

/** A CRM on loopback: its section in a tenant's file, and its content for users. */
export interface CrmVendor extends CrmHands, CrmFailures {
  name: VendorName;
  /** Of targets in the tenant file. */
  connector: string;
  connection(tenant: string): object;
  /** Registrations, for the settings. */
  settings: Readonly<Record<string, object>>;
  /** Environment to which the settings refer, and a tenant's connection. */
  secrets(tenant: string): Readonly<Record<string, string>>;
  /** A target's own part. */
  targetSettings: object;
  /** Property of the CRM for each of the shared names, by stream. */
  names: Readonly<Record<StreamName, Readonly<Record<string, string>>>>;
  /** Additional properties that the CRM requires with every record. */
  constants: Readonly<Partial<Record<StreamName, Readonly<Record<string, object>>>>>;
  /** Every request since the start with all its bytes, the last 10,000. */
  recorded(): CrmRequest[];
  purposeOf(request: CrmRequest): CrmPurpose;
  /** Requests to the API since the start, as the sandbox counts them, without sign-ins. */
  counted(): number;
  /** Signs in as a user; null for a connection without sign-in. */
  authorize: ((url: string) => Promise<string>) | null;
  close(): Promise<void>;
}

/** The CRMs that the product is tried with as a whole. */
export const VENDORS = ['hubspot', 'salesforce', 'rest-crm'] as const;

/** One of {@link VENDORS}. */
export type VendorName = (typeof VENDORS)[number];

/** Type of the value under each shared name. */
export const CRM_FIELDS = {
  patients: {
    firstName: 'text',
    lastName: 'text',
    email: 'text',
    phone: 'text',
    newsletter: 'boolean',
    visits: 'number',
    nextOn: 'date',
    standing: 'text',
    taxCode: 'text',
  },
  appointments: { title: 'text', startAt: 'instant', endAt: 'instant', status: 'text', treatment: 'text' },
  invoices: { name: 'text', date: 'date', amount: 'number', doctors: 'text' },
} as const satisfies Record<StreamName, Record<string, 'text' | 'number' | 'boolean' | 'date' | 'instant'>>;

/** Converts a value of a CRM by the type of its field: booleans and numbers unchanged, instants as ISO 8601 in UTC. */
function sharedValue(stream: StreamName, name: string, value: unknown): string | number | boolean | null {
  const kinds: Readonly<Record<string, string>> = CRM_FIELDS[stream];
  if (value === null || value === undefined || value === '') return null;
  switch (kinds[name]) {
    case 'number':
      return Number(value);
    case 'boolean':
      return value === true || value === 'true';
    case 'date':
      return String(value).slice(0, 10);
    case 'instant':
      return new Date(String(value).replace('+0000', 'Z')).toISOString();
    default:
      return String(value);
  }
}

/** The values of a record under the shared names. */
export function sharedValues(
  stream: StreamName,
  names: Readonly<Record<string, string>>,
  read: (property: string) => unknown,
): CrmRecord['values'] {
  const values = Object.entries(names).map(([name, property]) => [name, sharedValue(stream, name, read(property))]);
  return Object.fromEntries(values);
}

/** A CRM's name for a shared one. */
export function propertyOf(names: Readonly<Record<string, string>>, shared: string): string {
  return names[shared] ?? shared;
}

/** Renames values from shared names to the CRM's names. */
export function underOwnNames(
  names: Readonly<Record<string, string>>,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  return Object.fromEntries(Object.entries(values).map(([shared, value]) => [propertyOf(names, shared), value]));
}

/** @param path of the sandbox's requests that write, as the source of a regular expression */
export function failuresAt(faults: FaultPlan, path: string): CrmFailures {
  return {
    refuseWrites: (status, body) => faults.add({ match: { path }, fault: { kind: 'status', status, body } }),
    loseAnswers: (times) => faults.add({ match: { path }, times, fault: { kind: 'lost-answer' } }),
    lostAnswers: () => faults.list().reduce((sum, { applied }) => sum + applied, 0),
  };
}
