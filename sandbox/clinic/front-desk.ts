import { type ClinicData, tenantOf } from './data/clinic-data.ts';
import { createRandom, type Random } from './data/random.ts';
import type { Appointment } from './data/records.ts';
import { addDays } from './data/zone.ts';
import { firstFreeSlot, freeSlotOnDate, type Slot } from './rules/free-slots.ts';
import type { Operations } from './rules/operations.ts';

/** How many changes of each kind `simulate` does; absent means none. */
export interface SimulatedWork {
  booked?: number;
  moved?: number;
  cancelled?: number;
  checkedIn?: number;
}

/** One change that the front desk did. A cancellation is a status Cancelled or a DELETE (`removed`). */
export interface SimulatedChange {
  kind: 'booked' | 'moved' | 'cancelled' | 'removed' | 'checkedIn';
  tenantId: string;
  id: string;
}

export interface FrontDesk {
  /**
   * Makes exactly this many changes, each to a different appointment, and returns them. Throws RangeError before the first change when the
   * tenant has too few upcoming appointments.
   */
  simulate(tenantId: string, work: SimulatedWork): SimulatedChange[];
  /** Does one change every `everyMs` in a tenant by chance until the returned function is called. */
  start(options: { everyMs: number; onChange?: (change: SimulatedChange) => void }): () => void;
  /** Stops everything that was started. */
  stopAll(): void;
}

/** Days ahead in which the front desk looks for a slot. */
const HORIZON_DAYS = 60;
const SLOT_TRIES = 30;
const DURATIONS_MINUTES = [15, 30, 30, 45] as const;
const AGENDA_CHANGE_SHARE = 0.25;
const DELETE_SHARE = 0.3;

/** Frequency of each kind while the front desk runs at random. */
const USUAL_WORK: readonly (keyof SimulatedWork)[] = [
  'booked',
  'booked',
  'booked',
  'moved',
  'moved',
  'cancelled',
  'checkedIn',
];

export function createFrontDesk(data: ClinicData, operations: Operations, seed: number): FrontDesk {
  const random = createRandom(seed);
  const running = new Set<NodeJS.Timeout>();

  function simulate(tenantId: string, work: SimulatedWork): SimulatedChange[] {
    const { booked = 0, moved = 0, cancelled = 0, checkedIn = 0 } = work;
    const arrivals = soonest(data, tenantId, checkedIn);
    const used = new Set(arrivals.map((appointment) => appointment.id));
    const others = chooseUpcoming(data, tenantId, moved + cancelled, used, random);
    return [
      ...Array.from({ length: booked }, () => book(data, operations, tenantId, random)),
      ...others.slice(0, moved).map((appointment) => move(data, operations, appointment, random)),
      ...others.slice(moved).map((appointment) => cancel(operations, appointment, random)),
      ...arrivals.map((appointment) => checkIn(operations, appointment)),
    ];
  }

  function start({ everyMs, onChange }: Parameters<FrontDesk['start']>[0]): () => void {
    const timer = setInterval(() => {
      const tenantId = random.pick([...data.tenants.keys()]);
      for (const change of oneChange(tenantId)) onChange?.(change);
    }, everyMs);
    running.add(timer);
    return () => {
      clearInterval(timer);
      running.delete(timer);
    };
  }

  function oneChange(tenantId: string): SimulatedChange[] {
    try {
      return simulate(tenantId, { [random.pick(USUAL_WORK)]: 1 });
    } catch (error) {
      // A clinic that ran out of upcoming visits or free slots has a quiet moment.
      if (error instanceof RangeError) return [];
      throw error;
    }
  }

  function stopAll(): void {
    for (const timer of running) clearInterval(timer);
    running.clear();
  }

  return { simulate, start, stopAll };
}

function book(data: ClinicData, operations: Operations, tenantId: string, random: Random): SimulatedChange {
  const tenant = tenantOf(data, tenantId);
  const patient = data.patients.atPosition(tenantId, random.integer(0, data.patients.count(tenantId) - 1));
  const slot = chooseSlot(
    data,
    tenantId,
    random.pick(tenant.agendas).id,
    random.pick(DURATIONS_MINUTES) * 60_000,
    random,
  );
  const appointment = operations.book(
    tenantId,
    {
      ...slot,
      patientId: patient?.id ?? null,
      treatmentId: random.pick(tenant.treatments).id,
      allDay: false,
      notes: null,
      externalId: null,
    },
    'FrontDesk',
  );
  return { kind: 'booked', tenantId, id: appointment.id };
}

function move(data: ClinicData, operations: Operations, appointment: Appointment, random: Random): SimulatedChange {
  const { tenantId, id } = appointment;
  const agendas = tenantOf(data, tenantId).agendas;
  const agendaId = random.chance(AGENDA_CHANGE_SHARE) ? random.pick(agendas).id : appointment.agendaId;
  const slot = chooseSlot(data, tenantId, agendaId, appointment.endAt - appointment.startAt, random);
  operations.update(tenantId, id, { ...appointment, ...slot });
  return { kind: 'moved', tenantId, id };
}

function cancel(operations: Operations, { tenantId, id }: Appointment, random: Random): SimulatedChange {
  if (random.chance(DELETE_SHARE)) {
    operations.remove(tenantId, id);
    return { kind: 'removed', tenantId, id };
  }
  operations.setStatus(tenantId, id, 'Cancelled', 'Disdetta dal paziente');
  return { kind: 'cancelled', tenantId, id };
}

function checkIn(operations: Operations, { tenantId, id }: Appointment): SimulatedChange {
  operations.checkIn(tenantId, id);
  return { kind: 'checkedIn', tenantId, id };
}

/** A free slot on a day by chance, or the first free one when luck fails. */
function chooseSlot(data: ClinicData, tenantId: string, agendaId: string, durationMs: number, random: Random): Slot {
  const today = data.zone.formatDate(data.clock());
  for (let tries = 0; tries < SLOT_TRIES; tries++) {
    const date = addDays(today, random.integer(1, HORIZON_DAYS));
    const slot = freeSlotOnDate(data, agendaId, date, durationMs, data.clock());
    if (slot !== undefined) return slot;
  }
  return firstFreeSlot(data, tenantId, agendaId, addDays(today, 1), durationMs);
}

/** The next `count` visits that are still expected. Throws RangeError when there are fewer. */
function soonest(data: ClinicData, tenantId: string, count: number): Appointment[] {
  const found = data.appointments.visitsFrom(tenantId, ['Booked', 'Confirmed'], data.clock(), count);
  if (found.length < count) throw tooFew(count);
  return found;
}

/** `count` different upcoming visits by chance, none of `used`. Throws RangeError when there are fewer. */
function chooseUpcoming(
  data: ClinicData,
  tenantId: string,
  count: number,
  used: ReadonlySet<string>,
  random: Random,
): Appointment[] {
  const now = data.clock();

  function upcoming(startAt: number, limit: number): Appointment[] {
    return data.appointments
      .visitsFrom(tenantId, ['Booked', 'Confirmed'], startAt, limit)
      .filter((visit) => !used.has(visit.id));
  }

  const nearest = upcoming(now, count + used.size);
  if (nearest.length < count) throw tooFew(count);
  const chosen = new Map<string, Appointment>();
  for (let tries = 0; tries < count * 4 && chosen.size < count; tries++) {
    const [visit] = upcoming(now + random.integer(0, HORIZON_DAYS * 86_400_000), 1);
    if (visit !== undefined) chosen.set(visit.id, visit);
  }
  for (const visit of nearest) {
    if (chosen.size < count) chosen.set(visit.id, visit);
  }
  return [...chosen.values()];
}

function tooFew(count: number): RangeError {
  return new RangeError(`the tenant has fewer than ${count} upcoming appointments left to change`);
}
