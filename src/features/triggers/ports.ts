import type { AppointmentQuery } from '../../clinic/read/snapshot.ts';
import type { HttpClient } from '../../http/client.ts';
import type { Appointment, Invoice } from '../../model/records.ts';
import type { AppointmentSnapshot, Lookup, Snapshot } from '../../model/snapshots.ts';
import type { Report, TriggerStatus } from '../../model/triggers.ts';
import type { TriggerFile } from '../../settings/tenant-schema.ts';
import type { NameTrigger } from './identity.ts';
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
