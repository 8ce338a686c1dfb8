/** Statuses on the wire, and the order of a normal visit. */
export const APPOINTMENT_STATUSES = [
  'Booked',
  'Confirmed',
  'CheckedIn',
  'InProgress',
  'Completed',
  'Cancelled',
  'NoShow',
] as const;

export type AppointmentStatus = (typeof APPOINTMENT_STATUSES)[number];

/** Whether a value is one of the seven statuses. */
export function isAppointmentStatus(value: unknown): value is AppointmentStatus {
  return APPOINTMENT_STATUSES.some((status) => status === value);
}

export interface Payment {
  amount: number;
  currency: string;
  method: string;
  /** Epoch ms. */
  paidAt: number;
  reference: string | null;
}

/** An appointment as the sandbox keeps it; every `…At` is epoch ms. */
export interface Appointment {
  id: string;
  tenantId: string;
  agendaId: string;
  /** Null for blocked time. */
  patientId: string | null;
  treatmentId: string | null;
  startAt: number;
  /** Exclusive. */
  endAt: number;
  /** Start and end are local midnights and go over the wire as dates. */
  allDay: boolean;
  status: AppointmentStatus;
  statusReason: string | null;
  confirmedAt: number | null;
  checkedInAt: number | null;
  cancelledAt: number | null;
  payment: Payment | null;
  notes: string | null;
  source: 'FrontDesk' | 'Online' | 'Api';
  externalId: string | null;
  createdAt: number;
  updatedAt: number;
  /** Set by a hard delete: the API then answers 404, the truth iterator still shows it. */
  deletedAt: number | null;
}

/** The part of a patient that appointment lists include. */
export interface PatientSummary {
  id: string;
  firstName: string;
  lastName: string;
  phone: string | null;
  email: string | null;
}

/** A patient; `details` holds the fields that the sandbox does not search by. */
export interface Patient extends PatientSummary {
  tenantId: string;
  details: PatientDetails;
  createdAt: number;
  updatedAt: number;
}

export interface Address {
  street: string;
  city: string;
  province: string;
  postalCode: string;
  country: string;
}

export interface PatientDetails {
  taxCode: string | null;
  birthDate: string | null;
  birthPlace: string | null;
  gender: 'M' | 'F' | 'Other' | 'Unknown';
  mobilePhone: string | null;
  address: Address | null;
  vatNumber: string | null;
  notes: string | null;
  externalId: string | null;
  consents: Record<string, { granted: boolean; date: string | null }>;
  isActive: boolean;
}

export interface Agenda {
  id: string;
  name: string;
  type: 'Doctor' | 'Resource' | 'Workstation';
  doctor: { id: string; firstName: string; lastName: string } | null;
  locationId: string;
  color: string;
  slotMinutes: number;
  isBookableOnline: boolean;
  isActive: boolean;
}

export interface Location {
  id: string;
  name: string;
  code: string;
  address: Address;
  phone: string;
  email: string;
  timeZone: string;
  isActive: boolean;
}

export interface Treatment {
  id: string;
  code: string;
  name: string;
  description: string | null;
  category: string;
  durationMinutes: number;
  type: 'Service' | 'Product';
  isBookableOnline: boolean;
  isActive: boolean;
  vatRate: number;
  vatExemptionCode: string | null;
  updatedAt: string;
}

export interface TenantInfo {
  tenantId: string;
  businessName: string;
  address: Address;
  vatNumber: string;
  taxCode: string;
  phone: string;
  email: string;
  certifiedEmail: string;
  website: string;
  timeZone: string;
  currency: string;
  configuration: Record<string, unknown>;
}

/** One clinic with its catalogue, which never changes while the sandbox runs. */
export interface Tenant {
  id: string;
  name: string;
  info: TenantInfo;
  locations: Location[];
  agendas: Agenda[];
  treatments: Treatment[];
}
