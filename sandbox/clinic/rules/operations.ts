import { agendaOf, type ClinicData } from '../data/clinic-data.ts';
import type { Appointment, AppointmentStatus, Payment } from '../data/records.ts';
import { conflict, notFound, ruleBroken } from './errors.ts';
import type { InvoiceRules } from './invoices.ts';
import { isFinal, mayMove } from './statuses.ts';

/** How this clinic system decides what the specification leaves open. Changed on demand. */
export interface ClinicRules extends InvoiceRules {
  /** Cancelled and NoShow may go back to Booked. */
  allowReopen: boolean;
  /** A second check-in: the same answer again (200), or 409. */
  repeatedCheckIn: 'same' | 'conflict';
  /** DELETE leaves a Cancelled appointment, or nothing. */
  deleteMode: 'soft' | 'hard';
  /** Two uncancelled appointments may share time in one agenda. */
  allowDoubleBooking: boolean;
  /** Largest PDF of a report. */
  maxReportBytes: number;
  /** The answer to a larger one. */
  oversizeStatus: 400 | 413 | 422;
}

/** What a writer may say of an appointment; times are epoch ms, the end exclusive. */
export interface AppointmentInput {
  agendaId: string;
  patientId: string | null;
  treatmentId: string | null;
  startAt: number;
  endAt: number;
  allDay: boolean;
  notes: string | null;
  externalId: string | null;
}

/**
 * The writing operations. Routes, tests and the front-desk simulator all go through these.
 * Each throws ClinicError: 404 unknown, 409 for state or a taken slot, 422 for a broken rule.
 */
/** A payment; `paidAt` defaults to now. */
type PaymentInput = Omit<Payment, 'paidAt'> & { paidAt?: number };

export interface Operations {
  get(tenantId: string, id: string): Appointment;
  book(tenantId: string, input: AppointmentInput, source?: Appointment['source']): Appointment;
  /** Replaces what a writer may say; the status stays. */
  update(tenantId: string, id: string, input: AppointmentInput): Appointment;
  setStatus(tenantId: string, id: string, status: AppointmentStatus, reason?: string): Appointment;
  checkIn(tenantId: string, id: string): Appointment;
  setPayment(tenantId: string, id: string, payment: PaymentInput): Appointment;
  removePayment(tenantId: string, id: string): void;
  /** Follows the rules' delete mode unless `mode` is given. */
  remove(tenantId: string, id: string, mode?: ClinicRules['deleteMode']): void;
}

export function createOperations(data: ClinicData, rules: ClinicRules): Operations {
  function get(tenantId: string, id: string): Appointment {
    const appointment = data.appointments.get(tenantId, id);
    if (appointment === undefined || appointment.deletedAt !== null) throw notFound('appointment');
    return appointment;
  }

  function save(appointment: Appointment): Appointment {
    const saved = { ...appointment, updatedAt: data.clock() };
    data.appointments.save(saved);
    return saved;
  }

  function book(tenantId: string, input: AppointmentInput, source: Appointment['source'] = 'Api'): Appointment {
    checkInput(data, tenantId, input);
    if (!rules.allowDoubleBooking) checkFree(data, input);
    const createdAt = data.clock();
    return save({ ...NEW_APPOINTMENT, ...writable(input), id: data.ids.next('apt'), tenantId, source, createdAt });
  }

  function update(tenantId: string, id: string, input: AppointmentInput): Appointment {
    const current = get(tenantId, id);
    checkInput(data, tenantId, input);
    const moved = isMoved(current, input);
    if (moved && isFinal(current.status)) {
      throw conflict('status_conflict', `An appointment that is ${current.status} cannot be moved`);
    }
    if (moved && !rules.allowDoubleBooking) checkFree(data, input, id);
    return save({ ...current, ...writable(input) });
  }

  function setStatus(tenantId: string, id: string, status: AppointmentStatus, reason?: string): Appointment {
    const current = get(tenantId, id);
    if (!mayMove(current.status, status, rules.allowReopen)) {
      throw conflict('status_conflict', `An appointment that is ${current.status} cannot become ${status}`);
    }
    if (status === 'Booked' && !rules.allowDoubleBooking) checkFree(data, current, id);
    return save({ ...current, ...statusTimes(status, data.clock()), status, statusReason: reason ?? null });
  }

  function checkIn(tenantId: string, id: string): Appointment {
    const current = get(tenantId, id);
    if (current.status === 'CheckedIn' && rules.repeatedCheckIn === 'same') return current;
    return setStatus(tenantId, id, 'CheckedIn');
  }

  function setPayment(tenantId: string, id: string, payment: PaymentInput): Appointment {
    const current = get(tenantId, id);
    if (current.patientId === null) throw ruleBroken('amount', 'Blocked time cannot be paid');
    return save({ ...current, payment: { ...payment, paidAt: payment.paidAt ?? data.clock() } });
  }

  function removePayment(tenantId: string, id: string): void {
    const current = get(tenantId, id);
    if (current.payment === null) throw notFound('payment');
    save({ ...current, payment: null });
  }

  function remove(tenantId: string, id: string, mode: ClinicRules['deleteMode'] = rules.deleteMode): void {
    const current = get(tenantId, id);
    if (mode === 'hard') {
      save({ ...current, deletedAt: data.clock() });
    } else if (current.status !== 'Cancelled') {
      setStatus(tenantId, id, 'Cancelled');
    }
  }

  return { get, book, update, setStatus, checkIn, setPayment, removePayment, remove };
}

const NEW_APPOINTMENT = {
  status: 'Booked',
  statusReason: null,
  confirmedAt: null,
  checkedInAt: null,
  cancelledAt: null,
  payment: null,
  updatedAt: 0,
  deletedAt: null,
} as const;

/** Only what a writer may say, when the argument is a whole appointment. */
function writable(input: AppointmentInput): AppointmentInput {
  const { agendaId, patientId, treatmentId, startAt, endAt, allDay, notes, externalId } = input;
  return { agendaId, patientId, treatmentId, startAt, endAt, allDay, notes, externalId };
}

function checkInput(data: ClinicData, tenantId: string, input: AppointmentInput): void {
  if (input.endAt <= input.startAt) throw ruleBroken('end', 'The end must be after the start');
  if (agendaOf(data, tenantId, input.agendaId) === undefined) throw ruleBroken('agendaId', 'Unknown agenda');
  if (input.patientId !== null && data.patients.get(tenantId, input.patientId) === undefined) {
    throw ruleBroken('patientId', 'Unknown patient');
  }
  const treatments = data.tenants.get(tenantId)?.treatments ?? [];
  if (input.treatmentId !== null && !treatments.some((treatment) => treatment.id === input.treatmentId)) {
    throw ruleBroken('treatmentId', 'Unknown treatment');
  }
}

function checkFree(data: ClinicData, slot: { agendaId: string; startAt: number; endAt: number }, ownId?: string): void {
  const others = data.appointments.occupying(slot.agendaId, slot.startAt, slot.endAt);
  if (others.some((other) => other.id !== ownId)) {
    throw conflict('slot_taken', 'The agenda already holds an appointment at that time');
  }
}

function isMoved(current: Appointment, input: AppointmentInput): boolean {
  return current.agendaId !== input.agendaId || current.startAt !== input.startAt || current.endAt !== input.endAt;
}

/** The timestamps that reaching a status sets or, when it is reopened, clears. */
function statusTimes(
  status: AppointmentStatus,
  now: number,
): Partial<Pick<Appointment, 'confirmedAt' | 'checkedInAt' | 'cancelledAt'>> {
  switch (status) {
    case 'Booked':
      return { confirmedAt: null, checkedInAt: null, cancelledAt: null };
    case 'Confirmed':
      return { confirmedAt: now };
    case 'CheckedIn':
      return { checkedInAt: now };
    case 'Cancelled':
      return { cancelledAt: now };
    default:
      return {};
  }
}
