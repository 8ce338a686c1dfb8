import type { Appointment, Patient } from '../../../src/core/model/records.ts';
import type { DerivedFields } from '../../../src/domain/derived-fields.ts';
import type { InvoiceFacts, MappingSource } from '../../../src/domain/mapping/contract.ts';

/** A patient with every field set. */
export const PATIENT: Patient = {
  id: 'secret-id-1',
  firstName: ' Maria\u00A0 Pia',
  lastName: 'D’Angelo',
  email: 'maria@example.test',
  phone: '06 698 12345',
  mobilePhone: '333 1234567',
  language: 'it',
  consents: { privacy: true, marketing: false },
  isActive: true,
  taxCode: 'DNGMRP80A41H501X',
  birthDate: '1980-01-01',
  gender: 'F',
  address: { street: 'Via Roma 1\nint. 3', postalCode: '00100', city: 'Roma', province: 'RM', country: 'IT' },
  updatedAt: Date.UTC(2026, 5, 1, 10),
};

/** A patient with every optional field empty. */
export const BARE_PATIENT: Patient = {
  id: 'secret-id-2',
  firstName: null,
  lastName: ' ',
  email: '',
  phone: null,
  mobilePhone: null,
  language: null,
  consents: {},
  isActive: false,
  taxCode: null,
  birthDate: null,
  gender: null,
  address: null,
  updatedAt: null,
};

/** Just before and after midnight in Rome, which is one or two hours ahead of UTC. */
const DERIVED: DerivedFields = {
  lastVisitAt: Date.UTC(2026, 0, 31, 23, 30),
  nextAppointmentAt: Date.UTC(2026, 6, 1, 21, 59),
  visits: 3,
  noShows: 1,
  firstSeenAt: Date.UTC(2020, 1, 29, 12),
  patientStatus: 'active',
  invoiced: 100.3,
  paid: 80.1,
};

/** A patient's record as a mapping takes it. */
export function ofPatient(patient: Patient = PATIENT, derived: DerivedFields | null = DERIVED): MappingSource {
  return { stream: 'patients', patient, derived };
}

const APPOINTMENT: Appointment = {
  id: 'a1',
  agendaId: 'g1',
  locationId: 'l1',
  patientId: 'p1',
  patient: null,
  treatmentId: 't1',
  time: { kind: 'timed', startAt: Date.UTC(2026, 5, 30, 22, 15), endAt: Date.UTC(2026, 5, 30, 23, 0) },
  status: 'confirmed',
  rawStatus: null,
  updatedAt: null,
};

/** An appointment just after midnight in Rome, with the names behind its ids. */
export function ofAppointment(change: Partial<Appointment> = {}): MappingSource {
  const appointment = { ...APPOINTMENT, ...change };
  return { stream: 'appointments', appointment, agenda: 'Dr. Bianchi', location: 'Centro', treatment: 'Igiene' };
}

const INVOICE: InvoiceFacts = {
  id: 'i1',
  patientId: 'p1',
  number: '12/2026',
  date: '2026-03-01',
  total: 100.1,
  paid: 70.05,
  currency: 'EUR',
  doctors: ['Anna Bianchi', 'Ugo Verdi'],
  status: 'Issued',
};

/** An invoice that is paid in part. */
export function ofInvoice(change: Partial<InvoiceFacts> = {}): MappingSource {
  return { stream: 'invoices', invoice: { ...INVOICE, ...change } };
}
