import type { Refusal, RefusedThere, StreamName } from '../model/items.ts';
import type { FactSearch } from '../model/patient-facts.ts';
import type { Hold, RecentEvent } from '../model/plan.ts';
import type { Appointment, Invoice, Patient } from '../model/records.ts';
import type { Snapshot } from '../model/snapshots.ts';
import type { Instant } from '../model/time.ts';
import type { TargetConfiguration, TenantConfiguration } from '../settings/configuration.ts';
import type { Confirmations } from './absence.ts';
import type { AgendaIndex } from './agenda-index.ts';
import type { PatientHistory } from './derive.ts';
import type { PushedState } from './diff.ts';
import type { GuardInput } from './guard.ts';
import type { FingerprintMemory, TargetIdentity } from './identity.ts';
import type { Mapping } from './mapping/contract.ts';
import type { Directory } from './project.ts';

/**
 * Input of a cycle's plan, loaded beforehand: planning sends no requests and changes nothing here. Instants are epoch milliseconds; record
 * ids are the clinic's, target ids are as configured.
 */
export interface CycleInput {
  /** Time of loading. */
  now: Instant;
  clinicReading: ClinicShown;
  /** Appointments of the read. */
  byAgenda: AgendaIndex;
  confirmations: Confirmations;
  /** Whether an operator erased the patient (right to be forgotten). */
  isForgotten(patientId: string): boolean;
  /** Whether the list of erased patients may be incomplete. */
  isUncertain: boolean;
  /** The tenant's newest configuration: its number, and whether this cycle plans under it. */
  configVersion: { number: number; isOurs: boolean };
  /** Holds of all targets. Later decisions apply in the next cycle. */
  holds: readonly Hold[];
  /** Language and time zone of the tenant. */
  locale: Pick<TenantConfiguration, 'language' | 'zone'>;
  /** Time within which a removed appointment and a new one of the patient are one move; 0: never. */
  rescheduleWithinMs: number;
  /** Targets to be planned. Plans have the same order. */
  targets: readonly TargetInput[];
  /** By id: targets of contacts that this cycle does not plan and that planned activities or deals depend on. */
  unplannedContacts: ReadonlyMap<string, ContactsInput>;
}

/** Cycle input with a cache for texts and names that many records share. */
export interface Planning extends CycleInput {
  facts: FactSearch;
}

/** Extent of an appointments read: all that targets show, or the next two days. */
export type Reach = 'whole' | 'near';

/** Clinic data of one cycle, as far as a plan uses it. */
export interface ClinicShown {
  reach: Reach;
  snapshot: Snapshot<Appointment>;
  directory: Directory;
  /** A hash of the catalogue. */
  clinic: { catalogue: string };
  /** Additional streams for CRM targets; null if a plan cannot use the stream. */
  streams: {
    patients: (ListShown<Patient> & Departed) | null;
    invoices: ListShown<Invoice> | null;
    /** Read time of the list of patients that the last plan used. */
    plannedBy: { patients?: Instant };
  };
  /** Start of the appointments read. A plan describes this instant. */
  startedAt: Instant;
}

/** A list that is not read in each cycle. */
interface ListShown<Source> {
  snapshot: Snapshot<Source>;
  readAt: Instant;
}

/** What single answers said about patients that the list lacks. */
interface Departed {
  /** Patients found gone since the list was read, by target of contacts. */
  gone: ReadonlyMap<string, ReadonlySet<string>>;
  /** Ids of remaining patients by the ids of patients merged into them. */
  merged: ReadonlyMap<string, string>;
}

/** A configured target, as far as a plan uses it. */
export interface TargetSetup {
  id: string;
  stream: StreamName;
  configuration: TargetConfiguration;
  identity: TargetIdentity;
  /** Event presets that the target supports. */
  supports: { presets?: readonly string[] };
  /** Null for a calendar. `patientHistory` computes derived properties; null if the mapping uses none. */
  crm: {
    mapping: Pick<Mapping, 'needs' | 'map' | 'properties' | 'reads' | 'copies'>;
    patientHistory: Pick<PatientHistory, 'of' | 'covers'> | null;
    /** Mapped properties with which people refuse contact. */
    refusals: readonly Refusal[];
  } | null;
  /** Cache of fingerprints of unchanged records. A plan is the same without the cache. */
  fingerprints: FingerprintMemory;
}

/** A target of contacts that activities and deals depend on. */
export interface ContactsInput {
  target: TargetSetup;
  state: PushedState;
  /** Records that an administrator restored: the target's rules do not remove them. */
  pinned: ReadonlySet<string>;
}

/** One target to be planned. */
export interface TargetInput extends ContactsInput {
  /** Records missing from a complete list. */
  absent: readonly string[];
  /** Records of `absent`, and some records outside the window: the daemon fetched each of them individually. */
  missing: readonly string[];
  stored: {
    firstRunApprovedAt: Instant | null;
    /** Number of the configuration under which contents were last comparable; null if links were rebuilt since. */
    comparableUnder: number | null;
    refusedThere: RefusedThere;
    /** Records with a change that the policy withheld in the last plan. */
    withheldBefore: ReadonlySet<string>;
  };
  /** Recent removals from the target. */
  gone: GuardInput['gone'];
  /** Restorations of each object today, by record. */
  restorations: ReadonlyMap<string, number>;
  /** Events of a calendar that were created or removed in the last minutes, by record. */
  recent: ReadonlyMap<string, RecentEvent>;
}
