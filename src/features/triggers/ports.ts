import { createHmac } from 'node:crypto';
import type { AppointmentQuery } from '../../clinic/read/snapshot.ts';
import type { HttpClient } from '../../core/http/client.ts';
import { base32hex, derivedKey } from '../../core/model/hashes.ts';
import type { Appointment, Invoice } from '../../core/model/records.ts';
import type { AppointmentSnapshot, Lookup, Snapshot } from '../../core/model/snapshots.ts';
import type { Clock } from '../../core/model/time.ts';
import type { Report, TriggerEvent, TriggerStatus } from '../../core/model/triggers.ts';
import type { Questioner } from '../../engine/confirm.ts';
import type { Safeguard, Store } from '../../engine/store.ts';
import type { Outages } from '../../jobs/outages.ts';
import type { TriggerFile } from '../../settings/tenant-schema.ts';
import type { Leases } from '../../state/leases.ts';
import type { TriggerStore } from './store.ts';

/** Clinic reads for triggers. */
export interface TriggerSource {
  /** Returns every report; partial if the end of the list is unproven. */
  readReports(signal: AbortSignal): Promise<Snapshot<Report>>;
  readReport(id: string, signal: AbortSignal): Promise<Lookup<Report>>;
  readInvoices(query: { withDoctors: boolean; doctorsFrom: string }, signal: AbortSignal): Promise<Snapshot<Invoice>>;
  readInvoice(id: string, query: { withDoctors: boolean }, signal: AbortSignal): Promise<Lookup<Invoice>>;
  readAppointments(query: AppointmentQuery, signal: AbortSignal): Promise<AppointmentSnapshot>;
  readAppointment(id: string, signal: AbortSignal): Promise<Lookup<Appointment>>;
}

/** Open triggers of a tenant. */
export interface OpenTriggers {
  file: TriggerFile;
  source: TriggerSource;
  store: TriggerStore;
  name: NameTrigger;
  http: HttpClient;
  /** Schedules a job after the delay. @param options.read also reads the clinic's lists */
  wake(delayMs: number, options: { read: boolean }): Promise<void>;
  /** Returns required actions. */
  status(): Promise<TriggerStatus>;
}

/** A tenant, as far as its triggers concern it: what reading their lists and sending their messages uses. */
export interface TriggerTenant extends Questioner {
  id: string;
  clock: Clock;
  leases: Leases;
  outages: Outages;
  protection: Safeguard;
  storage: Store['storage'];
  tombstones: Store['tombstones'];
  /** Null without configured triggers. */
  triggers: OpenTriggers | null;
}

declare module '../../tenant/tenant.ts' {
  interface OpenTenant {
    /** Null without configured triggers. */
    triggers: OpenTriggers | null;
  }
}

/** Properties that identify a message. */
interface TriggerSubject {
  endpoint: string;
  event: TriggerEvent;
  recordId: string;
  /** Distinguishes changes of one record; absent for documents. */
  change?: string;
}

/**
 * Returns the name of a message: 32 characters of `[0-9a-v]` without information, constant for each attempt and after the loss of all
 * state.
 */
type NameTrigger = (subject: TriggerSubject) => string;

/**
 * @param identityKey the installation's identity key, 32 bytes, never changed; without the key, names are unguessable
 * @param tenant tenant id at the first write
 */
export function createTriggerNames(identityKey: Uint8Array, tenant: string): NameTrigger {
  const key = derivedKey(identityKey, tenant, 'triggers');
  return ({ endpoint, event, recordId, change }) => {
    const whole = JSON.stringify([tenant, endpoint, event, recordId, ...(change === undefined ? [] : [change])]);
    return base32hex(createHmac('sha256', key()).update(whole).digest().subarray(0, 20));
  };
}
