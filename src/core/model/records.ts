import type { Instant } from './time.ts';

/** Appointment statuses of clinic-mirror; `unknown` is a status that the profile's table lacks. */
export const APPOINTMENT_STATUSES = [
  'booked',
  'confirmed',
  'arrived',
  'in_progress',
  'completed',
  'cancelled',
  'no_show',
  'unknown',
] as const;

export type AppointmentStatus = (typeof APPOINTMENT_STATUSES)[number];

/** Time of an appointment: instants, or whole days (`endDate` exclusive, `YYYY-MM-DD`). */
export type AppointmentTime =
  | { kind: 'timed'; startAt: Instant; endAt: Instant }
  | { kind: 'all-day'; startDate: string; endDate: string; startAt: Instant; endAt: Instant };

/** The patient's data in an appointment; never logged. */
export interface AppointmentPatient {
  id: string;
  firstName: string | null;
  lastName: string | null;
}

/** One appointment, or blocked time if `patientId` is null. Ids are opaque strings. */
export interface Appointment {
  id: string;
  agendaId: string;
  locationId: string | null;
  patientId: string | null;
  patient: AppointmentPatient | null;
  treatmentId: string | null;
  time: AppointmentTime;
  status: AppointmentStatus;
  /** The clinic's own status, for reports of unknown ones. */
  rawStatus: string | null;
  updatedAt: Instant | null;
  /** URL of the video visit: https, without a name. Absent for most. */
  teleVisitUrl?: string;
  /** All agendas, `agendaId` first, if the clinic names several; otherwise absent. */
  agendaIds?: readonly string[];
  /** All patients, `patientId` first, if the clinic names several and each has a visit of its own; otherwise absent. */
  patientIds?: readonly string[];
  /** Fields with several values of which the profile uses only the first; absent for most. */
  cut?: readonly ('agendaId' | 'patientId')[];
}

/** Returns every agenda that the clinic names for an appointment. */
export function agendasOf({ agendaId, agendaIds }: Pick<Appointment, 'agendaId' | 'agendaIds'>): readonly string[] {
  return agendaIds ?? [agendaId];
}

/**
 * Returns whether an appointment belongs to any of the agendas. `unclear`: the clinic names one of them, but only as a further value that
 * the profile does not use.
 */
export function belongsTo(
  appointment: Pick<Appointment, 'agendaId' | 'agendaIds' | 'cut'>,
  agendas: 'all' | readonly string[],
): boolean | 'unclear' {
  if (agendas === 'all' || agendas.includes(appointment.agendaId)) return true;
  if (!agendasOf(appointment).some((id) => agendas.includes(id))) return false;
  return appointment.cut?.includes('agendaId') === true ? 'unclear' : true;
}

/** A calendar in the clinic: of a doctor, a resource or a workstation. */
export interface Agenda {
  id: string;
  name: string;
  locationId: string | null;
  isActive: boolean;
  /** Zone of the agenda's local times, named by the clinic; absent if unnamed. */
  zone?: string;
}

/** An operating site. `zone` is an IANA name if the clinic provides one. */
export interface Location {
  id: string;
  name: string;
  address: string | null;
  zone: string | null;
  /** The clinic's zone name if IANA does not know it; otherwise absent. */
  unknownZone?: string;
}

/** A service that the clinic delivers. */
export interface Treatment {
  id: string;
  name: string;
}

/** A postal address; missing parts are null. */
export interface PostalAddress {
  street: string | null;
  postalCode: string | null;
  city: string | null;
  province: string | null;
  country: string | null;
}

/** A patient in the clinic's registry; never logged. */
export interface Patient {
  id: string;
  firstName: string | null;
  lastName: string | null;
  email: string | null;
  /** Spelled by the clinic; `mobilePhone` receives text messages. */
  phone: string | null;
  mobilePhone: string | null;
  /** BCP 47 tag or the clinic's own value; null if missing. */
  language: string | null;
  /** Consents by the names in the profile's `patients.consents`; missing values are absent. */
  consents: Readonly<Record<string, boolean>>;
  isActive: boolean;
  taxCode: string | null;
  /** `YYYY-MM-DD`. */
  birthDate: string | null;
  /** `M`, `F`, `Other`, `Unknown`, or the clinic's value if the profile maps none. */
  gender: string | null;
  /** Null if no part is known. */
  address: PostalAddress | null;
  updatedAt: Instant | null;
}

/** An invoice for a CRM, without lines because their texts reveal the treatment. */
export interface Invoice {
  id: string;
  patientId: string | null;
  number: string | null;
  /** `Invoice`, `CreditNote`, `Receipt`, or the clinic's value. */
  documentType: string | null;
  /** `Draft`, `Issued`, `PartiallyPaid`, `Paid`, `Cancelled`, or the clinic's value. */
  status: string | null;
  /** `YYYY-MM-DD`. */
  issueDate: string | null;
  /** ISO 4217. */
  currency: string | null;
  /** Decimals as strings, such as `80.50`. */
  totalAmount: string | null;
  paidAmount: string | null;
  /** Names of the practitioners in the billed treatment, each once. */
  doctors: readonly string[];
}

/** A source record that is invalid: skipped, counted and shown. Other records continue. */
export interface InvalidRow {
  /** Id of the source record; null if missing. An invalid record without an id is indistinguishable from an absent record. */
  recordId: string | null;
  /** Stable kebab-case code: `missing-id`, `bad-time`, `wrong-type`, … */
  code: string;
  /** Name of the invalid field, never its value. */
  field: string;
  /** Agenda of an appointment, if readable. */
  agendaId?: string;
  /** Not a fault: the source only reports that the record is cancelled or deleted. */
  isTombstone?: true;
  /** Of a patient merged into another one: id of the remaining patient. */
  mergedInto?: string;
}
