import { type AccessParts, type AccessVerbs, createAccessVerbs } from './access-verbs.ts';
import { type ClinicData, tenantOf } from './data/clinic-data.ts';
import type { Appointment, AppointmentStatus } from './data/records.ts';
import { addDays } from './data/zone.ts';
import { createPlantingVerbs, type PlantingVerbs } from './planting.ts';
import { createRegistryVerbs, type RegistryVerbs } from './registry-verbs.ts';
import { firstFreeSlot, type Slot } from './rules/free-slots.ts';
import type { ClinicRules, Operations } from './rules/operations.ts';

/** The truth about one appointment; `start` and `end` are epoch ms, the end exclusive. */
export interface TrueAppointment {
  id: string;
  agendaId: string;
  start: number;
  end: number;
  allDay: boolean;
  status: AppointmentStatus;
  /** Null for blocked time. */
  patientId: string | null;
  /** Hard-deleted: the API answers 404. */
  deleted: boolean;
  /** On the waiting list: the API answers no start and no end. Absent otherwise. */
  waits?: true;
}

/** Everything may be left out: first agenda, any patient, its first free half hour from tomorrow on. */
export interface Booking {
  agendaId?: string;
  /** Null books blocked time. */
  patientId?: string | null;
  treatmentId?: string | null;
  start?: number;
  end?: number;
  allDay?: boolean;
  notes?: string;
}

/** Without a start: the first free slot of the agenda on a later day. Without an end: as long as before. */
export interface Move {
  agendaId?: string;
  start?: number;
  end?: number;
}

/**
 * Changes that a test or an operator makes by hand, through the same rules as the routes. They throw ClinicError when a
 * rule says no, RangeError when a tenant, user or agenda does not exist.
 */
export interface ClinicVerbs extends AccessVerbs, PlantingVerbs, RegistryVerbs {
  book(tenantId: string, booking?: Booking): TrueAppointment;
  move(tenantId: string, id: string, move?: Move): TrueAppointment;
  /** To the status Cancelled; the appointment stays readable. */
  cancel(tenantId: string, id: string, reason?: string): TrueAppointment;
  /** DELETE, by the clinic's delete mode unless stated. */
  remove(tenantId: string, id: string, mode?: ClinicRules['deleteMode']): void;
  setStatus(tenantId: string, id: string, status: AppointmentStatus, reason?: string): TrueAppointment;
  /** Takes the start from an appointment, or gives it back. The appointment stays readable. */
  putOnWaitingList(tenantId: string, id: string, waits: boolean): TrueAppointment;
  /** The truth about every appointment, hard-deleted ones too, by id. */
  appointments(tenantId: string): Iterable<TrueAppointment>;
}

export interface VerbParts extends AccessParts {
  data: ClinicData;
  operations: Operations;
}

const HALF_HOUR_MS = 30 * 60_000;

export function createVerbs(parts: VerbParts): ClinicVerbs {
  const { data, operations } = parts;

  function book(tenantId: string, booking: Booking = {}): TrueAppointment {
    const { treatmentId = null, notes = null, allDay = false } = booking;
    const patientId = booking.patientId === undefined ? anyPatient(data, tenantId) : booking.patientId;
    const slot = slotOf(data, tenantId, booking);
    return truth(
      operations.book(tenantId, { ...slot, patientId, treatmentId, notes, allDay, externalId: null }, 'FrontDesk'),
    );
  }

  function move(tenantId: string, id: string, { agendaId, start, end }: Move = {}): TrueAppointment {
    const current = operations.get(tenantId, id);
    const wanted = agendaId ?? current.agendaId;
    const durationMs = current.endAt - current.startAt;
    const nextDay = addDays(data.zone.formatDate(current.startAt), 1);
    const slot =
      start === undefined
        ? firstFreeSlot(data, tenantId, wanted, nextDay, durationMs)
        : { agendaId: wanted, startAt: start, endAt: end ?? start + durationMs };
    return truth(operations.update(tenantId, id, { ...current, ...slot }));
  }

  function putOnWaitingList(tenantId: string, id: string, waits: boolean): TrueAppointment {
    const appointment = operations.get(tenantId, id);
    if (waits) data.waiting.add(id);
    else data.waiting.delete(id);
    data.appointments.save({ ...appointment, updatedAt: data.clock() });
    return truthOf(appointment);
  }

  /** The truth with the waiting list. */
  function truthOf(appointment: Appointment): TrueAppointment {
    return { ...truth(appointment), ...(data.waiting.has(appointment.id) ? { waits: true } : {}) };
  }

  function* appointments(tenantId: string): Generator<TrueAppointment> {
    tenantOf(data, tenantId);
    for (const appointment of data.appointments.walk(tenantId)) yield truthOf(appointment);
  }

  return {
    book,
    move,
    cancel: (tenantId, id, reason) => truth(operations.setStatus(tenantId, id, 'Cancelled', reason)),
    remove: operations.remove,
    setStatus: (tenantId, id, status, reason) => truth(operations.setStatus(tenantId, id, status, reason)),
    putOnWaitingList,
    appointments,
    ...createAccessVerbs(parts),
    ...createPlantingVerbs(data),
    ...createRegistryVerbs(data),
  };
}

function anyPatient(data: ClinicData, tenantId: string): string | null {
  return data.patients.atPosition(tenantId, 0)?.id ?? null;
}

function slotOf(data: ClinicData, tenantId: string, booking: Booking): Slot {
  const agendaId = booking.agendaId ?? tenantOf(data, tenantId).agendas[0]?.id ?? '';
  const { start, end } = booking;
  if (start !== undefined) return { agendaId, startAt: start, endAt: end ?? start + HALF_HOUR_MS };
  const tomorrow = addDays(data.zone.formatDate(data.clock()), 1);
  return firstFreeSlot(data, tenantId, agendaId, tomorrow, HALF_HOUR_MS);
}

function truth(appointment: Appointment): TrueAppointment {
  const { id, agendaId, startAt, endAt, allDay, status, patientId, deletedAt } = appointment;
  return { id, agendaId, start: startAt, end: endAt, allDay, status, patientId, deleted: deletedAt !== null };
}
