import type { MappedProperty, PropertyValue } from '../../model/items.ts';
import type { Appointment, Patient } from '../../model/records.ts';
import type { DerivedFields } from '../derived-fields.ts';

/** An invoice as mappings see it; amounts in units of the currency. */
export interface InvoiceFacts {
  id: string;
  patientId: string | null;
  number: string | null;
  /** `YYYY-MM-DD`. */
  date: string | null;
  total: number | null;
  paid: number | null;
  currency: string | null;
  doctors: string[];
  status: string | null;
}

/** A record with what its properties are made of. */
export type MappingSource =
  | { stream: 'patients'; patient: Patient; derived: DerivedFields | null }
  | {
      stream: 'appointments';
      appointment: Appointment;
      agenda: string | null;
      location: string | null;
      treatment: string | null;
    }
  | { stream: 'invoices'; invoice: InvoiceFacts };

/** A record's properties. */
export interface MappedRecord {
  properties: Readonly<Record<string, PropertyValue>>;
  /** Names of properties that the transform `e164` left empty, since their text is no telephone number; none when absent. */
  unusablePhones?: readonly string[];
}

/** Why a record can't be mapped: a code of docs/errors.md, and the property whose expression is at fault. */
export interface MappingFault {
  fault: string;
  property?: string;
}

/** What a record is mapped to, or what keeps it from being mapped: then its object stays as it is. */
export type Mapped = MappedRecord | MappingFault;

/** Fields that tell patients apart, and that a mapping may take as they are. */
export const COPIED_FIELDS = ['firstName', 'lastName', 'fullName', 'email', 'phone', 'mobilePhone', 'taxCode'] as const;

/** One of {@link COPIED_FIELDS}. */
export type CopiedField = (typeof COPIED_FIELDS)[number];

/** A target's mapping, compiled. */
export interface Mapping {
  /** By name. */
  properties: readonly MappedProperty[];
  /** What properties may tell: whether a field is read, by its path, and the texts that the operator wrote. */
  reads: { field(path: string): boolean; texts: readonly string[] };
  /** Properties that hold a field of the patient as it is, but for case and spelling: which one, by property. */
  copies: ReadonlyMap<string, CopiedField>;
  /** What must be read beside the records: the past, for derived fields; invoices, for amounts; the doctors behind them; the catalogue of treatments. */
  needs: { history: boolean; invoices: boolean; doctors: boolean; treatment: boolean };
  /** It holds no expressions: `mapNow` can be used. */
  isPlain: boolean;
  /** Maps one record at once. @throws TypeError for a mapping with expressions */
  mapNow(source: MappingSource): MappedRecord;
  /**
   * Maps records, expressions included; answers are in the records' order.
   * @throws MirrorError `expressions-unavailable` when no thread for expressions can be had; nobody must act, it is tried again
   */
  mapAll(sources: readonly MappingSource[], signal: AbortSignal): Promise<Mapped[]>;
}
