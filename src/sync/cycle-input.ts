import type { MirrorError } from '../model/errors.ts';
import type { Refusal, RefusedThere, StreamName } from '../model/items.ts';
import type { FactSearch } from '../model/patient-facts.ts';
import type { Hold } from '../model/plan.ts';
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
import type { Mapped, Mapping } from './mapping/contract.ts';
import type { Directory } from './project.ts';

/**
 * Everything that the plan of a cycle goes by. It is loaded before: planning asks nobody, and changes nothing of it. Instants are epoch
 * milliseconds; ids of records are the clinic's, those of targets are as configured.
 */
export interface CycleInput {
  /** When it was loaded. */
  now: Instant;
  clinicReading: ClinicShown;
  /** The appointments that were read. */
  byAgenda: AgendaIndex;
  confirmations: Confirmations;
  /** Whether an operator had a patient forgotten. */
  isForgotten(patientId: string): boolean;
  /** That is not known for sure. */
  isUncertain: boolean;
  /** The newest configuration of the tenant: its number, and whether it is the one that this is planned under. */
  configVersion: { number: number; isOurs: boolean };
  /** Of all targets: what is decided meanwhile counts in the next cycle. */
  holds: readonly Hold[];
  /** How texts and local times of the tenant are written. */
  locale: Pick<TenantConfiguration, 'language' | 'zone'>;
  /** What is to be planned. Plans come in the same order. */
  targets: readonly TargetInput[];
  /** By id: targets of contacts that others' records belong to and that are not planned in this cycle. */
  unplannedContacts: ReadonlyMap<string, ContactsInput>;
}

/** The same with what planning it remembers: of texts and names that many records share. */
export interface Planning extends CycleInput {
  facts: FactSearch;
}

/** How far a reading of the appointments reaches: over all that the targets show, or over the next two days of it. */
export type Reach = 'whole' | 'near';

/** What the clinic showed in one cycle, as far as a plan goes by it. */
export interface ClinicShown {
  reach: Reach;
  snapshot: Snapshot<Appointment>;
  directory: Directory;
  /** A hash of the catalogue. */
  clinic: { catalogue: string };
  /** What targets in CRMs need beside; null where it can't be planned by. */
  streams: {
    patients: (ListShown<Patient> & Departed) | null;
    invoices: ListShown<Invoice> | null;
    /** When the list of patients was read that was planned by last. */
    plannedBy: { patients?: Instant };
  };
  /** When reading the appointments began: what is planned from them is as of then. */
  startedAt: Instant;
}

/** A list that is not read with each cycle. */
interface ListShown<Source> {
  snapshot: Snapshot<Source>;
  readAt: Instant;
}

/** Patients who were found to be gone since the list was read, by target of contacts. */
interface Departed {
  gone: ReadonlyMap<string, ReadonlySet<string>>;
}

/** What of a configured target a plan goes by. */
export interface TargetSetup {
  id: string;
  stream: StreamName;
  configuration: TargetConfiguration;
  identity: TargetIdentity;
  /** What of an event's presets the target has a place for. */
  supports: { presets?: readonly string[] };
  /** Null for a calendar. The patient history answers for derived properties; null where the mapping uses none. */
  crm: {
    mapping: Pick<Mapping, 'needs' | 'isPlain' | 'mapNow' | 'properties' | 'reads' | 'copies'>;
    patientHistory: Pick<PatientHistory, 'of' | 'covers'> | null;
    /** Mapped properties by which people refuse. */
    refusals: readonly Refusal[];
  } | null;
  /** What was computed before of records that may come again as they are: with it and without, a plan is the same. */
  fingerprints: FingerprintMemory;
}

/** A target of contacts, as others' records go by it. */
export interface ContactsInput {
  target: TargetSetup;
  state: PushedState;
  /** Records that a person put back: the target's rules don't take them out again. */
  pinned: ReadonlySet<string>;
}

/** One target that is to be planned. */
export interface TargetInput extends ContactsInput {
  /** Records that a complete list should have shown and did not. */
  absent: readonly string[];
  /** Those, and some that lie outside the window: they were read alone. */
  missing: readonly string[];
  stored: {
    firstRunApprovedAt: Instant | null;
    /** Number of the configuration under which contents were last comparable; null when links were rebuilt since. */
    comparableUnder: number | null;
    refusedThere: RefusedThere;
  };
  /** What left the target lately. */
  gone: GuardInput['gone'];
  /** How often today each object was restored, by record. */
  restorations: ReadonlyMap<string, number>;
  /** By record, where the mapping holds expressions: these are worked out in a thread of their own, before. Null where it holds none. */
  mapped: ReadonlyMap<string, Mapped> | null;
  /** Why it can't be planned now; null when it can. */
  fault: MirrorError | null;
}
