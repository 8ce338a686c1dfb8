import { createHmac } from 'node:crypto';
import type { AppointmentQuery } from '../../clinic/read/snapshot.ts';
import type { HttpClient } from '../../http/client.ts';
import { base32hex, derivedKey } from '../../model/hashes.ts';
import type { Appointment, Invoice } from '../../model/records.ts';
import type { AppointmentSnapshot, Lookup, Snapshot } from '../../model/snapshots.ts';
import type { Report, TriggerEvent, TriggerStatus } from '../../model/triggers.ts';
import type { TriggerFile } from '../../settings/tenant-schema.ts';
import type { TriggerStore } from './store.ts';

/** What triggers ask of the clinic. */
export interface TriggerSource {
  /** Every report; partial when the end of the list was not proved. */
  readReports(signal: AbortSignal): Promise<Snapshot<Report>>;
  readReport(id: string, signal: AbortSignal): Promise<Lookup<Report>>;
  readInvoices(query: { withDoctors: boolean; doctorsFrom: string }, signal: AbortSignal): Promise<Snapshot<Invoice>>;
  readInvoice(id: string, query: { withDoctors: boolean }, signal: AbortSignal): Promise<Lookup<Invoice>>;
  readAppointments(query: AppointmentQuery, signal: AbortSignal): Promise<AppointmentSnapshot>;
  readAppointment(id: string, signal: AbortSignal): Promise<Lookup<Appointment>>;
}

/** A tenant's triggers, opened. */
export interface OpenTriggers {
  file: TriggerFile;
  source: TriggerSource;
  store: TriggerStore;
  name: NameTrigger;
  http: HttpClient;
  /** Asks for a turn after the delay. @param options.read the clinic's lists too, not only what waits */
  wake(delayMs: number, options: { read: boolean }): Promise<void>;
  /** What waits for a person. */
  status(): Promise<TriggerStatus>;
}

declare module '../../jobs/tenant.ts' {
  interface OpenTenant {
    /** Null where none are configured. */
    triggers: OpenTriggers | null;
  }
}

/** What makes a message that one. */
interface TriggerSubject {
  endpoint: string;
  event: TriggerEvent;
  recordId: string;
  /** Tells apart the changes of one record; absent where it is told of once. */
  change?: string;
}

/** Names a message: 32 characters of `[0-9a-v]`, the same for every try and after the loss of all state, and tells nothing. */
type NameTrigger = (subject: TriggerSubject) => string;

/**
 * @param identityKey the installation's identity key, 32 bytes, never changed: without it nobody can guess a name
 * @param tenant the id under which its objects were first written
 */
export function createTriggerNames(identityKey: Uint8Array, tenant: string): NameTrigger {
  const key = derivedKey(identityKey, tenant, 'triggers');
  return ({ endpoint, event, recordId, change }) => {
    const whole = JSON.stringify([tenant, endpoint, event, recordId, ...(change === undefined ? [] : [change])]);
    return base32hex(createHmac('sha256', key()).update(whole).digest().subarray(0, 20));
  };
}
