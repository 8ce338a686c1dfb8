import type { Refusal, StreamName } from '../core/model/items.ts';
import type { FactSearch } from '../core/model/patient-facts.ts';
import type { Appointment, Invoice, Patient } from '../core/model/records.ts';
import type { Snapshot } from '../core/model/snapshots.ts';
import type { Instant } from '../core/model/time.ts';
import type { FingerprintMemory } from '../engine/identity.ts';
import type { CycleInput as EngineInput, TargetInput as InputOf, OtherTarget } from '../engine/ports.ts';
import type { PlannableTarget, Reach } from '../engine/target.ts';
import type { TargetConfiguration, TenantConfiguration } from '../settings/configuration.ts';
import type { Confirmations } from './absence.ts';
import type { AgendaIndex } from './agenda-index.ts';
import type { PatientHistory } from './derive.ts';
import type { Mapping } from './mapping/contract.ts';
import type { Directory } from './project.ts';
import type { Taken } from './stream-memory.ts';

/** Input of a cycle's plan, with what the contents of targets are made of. Record ids are the clinic's, target ids are as configured. */
export interface CycleInput extends Omit<EngineInput, 'reach' | 'targets'> {
  clinicReading: ClinicShown;
  /** Appointments of the read. */
  byAgenda: AgendaIndex;
  confirmations: Confirmations;
  /** Whether an operator erased the patient (right to be forgotten). */
  isForgotten(patientId: string): boolean;
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

/** Clinic data of one cycle, as far as a plan uses it. */
export interface ClinicShown {
  /** `near`: only appointments of the next two days. */
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
export interface TargetSetup extends PlannableTarget {
  stream: StreamName;
  configuration: TargetConfiguration;
  /** Event presets that the target supports. */
  supports: { presets?: readonly string[] };
  /** Null for a calendar. `patientHistory` computes derived properties; null if the mapping uses none. */
  crm: {
    mapping: Pick<Mapping, 'needs' | 'map' | 'properties' | 'reads' | 'copies' | 'phone'>;
    patientHistory: Pick<PatientHistory, 'of' | 'covers'> | null;
    /** Mapped properties with which people refuse contact. */
    refusals: readonly Refusal[];
  } | null;
  /** Cache of fingerprints of unchanged records. A plan is the same without the cache. */
  fingerprints: FingerprintMemory;
}

/** A target of contacts that activities and deals depend on. */
export type ContactsInput = OtherTarget<TargetSetup>;

/** One target to be planned. */
export type TargetInput = InputOf<TargetSetup>;

/** Converts records to objects of a CRM. */
export interface OpenCrm {
  mapping: Mapping;
  /** Source of derived properties; null if the mapping uses none. */
  patientHistory: PatientHistory | null;
  /** Reads received by the patient history. */
  taken: Taken;
  /** Mapped properties with which people refuse contact. */
  refusals: readonly Refusal[];
}

/** A configured target, as far as reading the clinic uses it. */
export interface ClinicTarget extends TargetSetup {
  /** Null for a calendar. */
  crm: OpenCrm | null;
}
