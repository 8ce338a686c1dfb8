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
  /** Whether a request that passed there changes something: reading by key is a POST too. */
  isWrite(request: ProxiedRequest): boolean;
  /** @param asOf epoch ms at which what depends on the time of day was computed */
  compare(asOf: number): Promise<Comparison>;
}

/** A CRM with one account, and what belongs to it in the configuration. */
export interface DemoCrm {
  tenant: string;
  /** What patients have to agree to before they become contacts. */
  consent: 'privacy' | 'marketing';
  /** For the tenant file, by name. */
  connections: Record<string, object>;
  targets: Record<string, object>;
  /** For the daemon's settings. */
  settings: object;
  /** Environment to which the configuration refers. */
  env: Record<string, string>;
  shown: CrmTarget[];
  /** Where a person can look at the records. */
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
  /** The status that the clinic now and then tells by a word that its profile doesn't explain; null where it has none such. */
  unexplained: 'booked' | null;
}
