import type { ClinicSandbox } from '../sandbox/clinic/index.ts';
import type { FaultProxy, ProxiedRequest } from '../sandbox/kit/fault-proxy.ts';
import type { Comparison } from './comparison.ts';

/** A target in a CRM, and how to look at it from outside the product. */
export interface CrmTarget {
  tenant: string;
  target: string;
  connector: 'hubspot' | 'salesforce';
  /** Every request of the daemon to this target passes here and is counted. */
  proxy: FaultProxy;
  /** Whether a request changes data: a read by key is a POST too. */
  isWrite(request: ProxiedRequest): boolean;
  /** @param asOf epoch ms of the time used for time-dependent values */
  compare(asOf: number): Promise<Comparison>;
}

/** A CRM with one account, and its part of the configuration. */
export interface DemoCrm {
  tenant: string;
  /** Consent required before a patient becomes a contact. */
  consent: 'privacy' | 'marketing';
  /** For the tenant file, by name. */
  connections: Record<string, object>;
  targets: Record<string, object>;
  /** For the daemon's settings. */
  settings: object;
  /** Environment to which the configuration refers. */
  env: Record<string, string>;
  shown: CrmTarget[];
  /** URLs to view the records in a browser. */
  places: { name: string; url: string }[];
  close(): Promise<void>;
}

/** Whose CRM it is: the daemon's tenant, and its id in the clinic system. */
export interface CrmOwner {
  tenant: string;
  clinic: ClinicSandbox;
  clinicId: string;
  /** Days of the targets' window. */
  window: { pastDays: number; futureDays: number };
  /** Status for which the clinic sometimes reports a value that is missing from the profile; null for none. */
  unexplained: 'booked' | null;
}
