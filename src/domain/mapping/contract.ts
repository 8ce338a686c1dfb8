import type { MappedProperty, PropertyValue } from '../../core/model/items.ts';
import type { Appointment, Patient } from '../../core/model/records.ts';
import type { DerivedFields } from '../derived-fields.ts';

/** An invoice as input for mappings; amounts are in units of the currency. */
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

/** A record with the data for its properties. */
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

/** Result of mapping a record. */
export interface MappedRecord {
  properties: Readonly<Record<string, PropertyValue>>;
  /** Properties left empty because `e164` found no telephone number; absent if there are none. */
  unusablePhones?: readonly string[];
}

/** Why a record cannot be mapped: a code of docs/errors.md. */
export interface MappingFault {
  fault: string;
}

/** The mapped record, or a fault. A record with a fault keeps its object unchanged. */
export type Mapped = MappedRecord | MappingFault;

/** Fields that distinguish patients, and that a mapping may copy unchanged. */
export const COPIED_FIELDS = ['firstName', 'lastName', 'fullName', 'email', 'phone', 'mobilePhone', 'taxCode'] as const;

export type CopiedField = (typeof COPIED_FIELDS)[number];

/** A target's compiled mapping. */
export interface Mapping {
  /** By name. */
  properties: readonly MappedProperty[];
  /** Possible content of properties: whether the mapping reads a field path, and the operator's texts. */
  reads: { field(path: string): boolean; texts: readonly string[] };
  /** Properties that copy a patient's field (ignoring case and spelling), with the field. */
  copies: ReadonlyMap<string, CopiedField>;
  /** Returns the number in E.164 that a telephone field gives a property; null if the property has the field's text. */
  phone(written: string): string | null;
  /** Additional data: appointment history for derived fields, invoices for amounts, doctors of invoices, catalogue of treatments. */
  needs: { history: boolean; invoices: boolean; doctors: boolean; treatment: boolean };
  /** Maps one record. A telephone number that was not seen before takes 0.2 ms; lists are mapped in pieces. */
  map(source: MappingSource): MappedRecord;
}
