import type { Instant } from './time.ts';

/** The statuses of appointments in our words; `unknown` is what the profile's table does not name. */
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

/** Where an appointment stands, in our words. */
export type AppointmentStatus = (typeof APPOINTMENT_STATUSES)[number];

/** When an appointment is: instants, or whole days (`endDate` exclusive, `YYYY-MM-DD`). */
export type AppointmentTime =
  | { kind: 'timed'; startAt: Instant; endAt: Instant }
  | { kind: 'all-day'; startDate: string; endDate: string; startAt: Instant; endAt: Instant };

/** The patient as far as an appointment tells; patient data, never logged. */
export interface AppointmentPatient {
  id: string;
  firstName: string | null;
  lastName: string | null;
}

/** One booking, or blocked time when `patientId` is null. Ids are opaque strings. */
export interface Appointment {
  id: string;
  agendaId: string;
  locationId: string | null;
  patientId: string | null;
  patient: AppointmentPatient | null;
  treatmentId: string | null;
  time: AppointmentTime;
  status: AppointmentStatus;
  /** The clinic's own status word, for reports of unknown ones. */
  rawStatus: string | null;
  updatedAt: Instant | null;
  /** Where the doctor and the patient see each other: https, and it names nobody. Absent for most. */
  teleVisitUrl?: string;
}

/** A calendar in the clinic: of a doctor, a resource or a workstation. */
export interface Agenda {
  id: string;
  name: string;
  locationId: string | null;
  isActive: boolean;
  /** Zone of the agenda's local times, as the clinic names it; absent where the clinic tells none. */
  zone?: string;
}

/** An operating site. `zone` is an IANA name when the clinic tells one. */
export interface Location {
  id: string;
  name: string;
  address: string | null;
  zone: string | null;
  /** What the clinic tells for a zone and IANA does not name; absent otherwise. */
  unknownZone?: string;
}

/** A service that the clinic delivers. */
export interface Treatment {
  id: string;
  name: string;
}

/** Where somebody lives; what is not told is null. */
export interface PostalAddress {
  street: string | null;
  postalCode: string | null;
  city: string | null;
  province: string | null;
  country: string | null;
}

/** A person in the clinic's registry; patient data, never logged. */
export interface Patient {
  id: string;
  firstName: string | null;
  lastName: string | null;
  email: string | null;
  /** As the clinic writes them; `mobilePhone` is the one for text messages. */
  phone: string | null;
  mobilePhone: string | null;
  /** BCP 47 tag or what the clinic has in its place; null when it tells none. */
  language: string | null;
  /** What the patient agreed to, by the names of the profile's `patients.consents`; one that the clinic doesn't tell is absent. */
  consents: Readonly<Record<string, boolean>>;
  isActive: boolean;
  taxCode: string | null;
  /** `YYYY-MM-DD`. */
  birthDate: string | null;
  /** `M`, `F`, `Other`, `Unknown`, or the clinic's word where its profile knows none. */
  gender: string | null;
  /** Null when no part of it is told. */
  address: PostalAddress | null;
  updatedAt: Instant | null;
}

/** A bill, as far as a CRM is told of it: no lines, since their texts tell what was done. */
export interface Invoice {
  id: string;
  patientId: string | null;
  number: string | null;
  /** `Invoice`, `CreditNote`, `Receipt`, or the clinic's word. */
  documentType: string | null;
  /** `Draft`, `Issued`, `PartiallyPaid`, `Paid`, `Cancelled`, or the clinic's word. */
  status: string | null;
  /** `YYYY-MM-DD`. */
  issueDate: string | null;
  /** ISO 4217. */
  currency: string | null;
  /** Decimals as texts, such as `80.50`. */
  totalAmount: string | null;
  paidAmount: string | null;
  /** Names of those who took part in what is billed, each once. */
  doctors: readonly string[];
}

/** A source row that could not become a record: set aside, counted and shown; the others go on. */
export interface InvalidRow {
  /** The row's id when it has one; a row without one cannot be told from an absent record. */
  recordId: string | null;
  /** Stable kebab-case code: `missing-id`, `bad-time`, `wrong-type`, … */
  code: string;
  /** The field at fault, never its value. */
  field: string;
  /** Of an appointment, where that much of it could be read. */
  agendaId?: string;
  /** The row is no fault: it says that its record is cancelled or deleted, and nothing else of it. */
  isTombstone?: true;
}
