import { type BlockedTime, createBlockedTime, type DateRange, workingDates } from './blocked-time.ts';
import type { Ids } from './ids.ts';
import type { Random } from './random.ts';
import type { Agenda, Appointment, AppointmentStatus, Tenant } from './records.ts';
import { DAILY_CAPACITY, layOutDay } from './working-day.ts';
import type { Zone } from './zone.ts';

const DAY_MS = 86_400_000;

/** Appointments per agenda and day that leave enough free time for a front desk to book and move. */
const COMFORTABLE_PER_DAY = 14;

/** Fewest and most agendas of a clinic when the options do not set the number. */
const FEWEST_AGENDAS = 4;

/** What a tenant's appointments are made from. */
export interface GeneratorInput {
  tenant: Tenant;
  patientIds: readonly string[];
  /** How many appointments, blocked time included. */
  count: number;
  range: DateRange;
  /** Epoch ms; appointments before this instant are in the past. */
  now: number;
  zone: Zone;
  random: Random;
  ids: Ids;
}

/** How many agendas `count` appointments need in a range of days. */
export function comfortableAgendaCount(count: number, range: DateRange): number {
  const days = Math.max(workingDates(range).length, 1);
  return Math.max(FEWEST_AGENDAS, Math.ceil(count / (days * COMFORTABLE_PER_DAY)));
}

/**
 * Yields exactly `count` appointments one at a time: blocked time, then day by day and agenda by agenda, without
 * double booking. Throws RangeError when the agendas cannot hold so many.
 */
export function* generateAppointments(input: GeneratorInput): Generator<Appointment> {
  const { tenant, range, zone, random, count } = input;
  const blocked = createBlockedTime(tenant.agendas, range, count, zone, random);
  for (const block of blocked) yield blockedAppointment(input, block);

  const absences = blocked.filter((block) => block.allDay);
  const cells = workingDates(range).flatMap((date) =>
    tenant.agendas
      .filter((agenda) => !isAbsent(absences, agenda, zone.at(date, 12)))
      .map((agenda) => ({ date, agenda })),
  );
  const visits = count - blocked.length;
  if (visits > cells.length * DAILY_CAPACITY) {
    throw new RangeError(
      `${tenant.agendas.length} agendas cannot hold ${count} appointments: give more agendas or days`,
    );
  }
  let placed = 0;
  for (const [index, cell] of cells.entries()) {
    const due = Math.round((visits * (index + 1)) / cells.length);
    for (const [startAt, endAt] of layOutDay(cell.date, due - placed, zone, random)) {
      yield visit(input, cell.agenda, startAt, endAt);
    }
    placed = due;
  }
}

function isAbsent(absences: readonly BlockedTime[], agenda: Agenda, instant: number): boolean {
  return absences.some((block) => block.agendaId === agenda.id && block.startAt <= instant && instant < block.endAt);
}

function blockedAppointment(input: GeneratorInput, block: BlockedTime): Appointment {
  const createdAt = Math.min(block.startAt, input.now) - input.random.integer(1, 20) * DAY_MS;
  return {
    ...emptyAppointment(input, block.agendaId, createdAt),
    startAt: block.startAt,
    endAt: block.endAt,
    allDay: block.allDay,
    notes: block.reason,
  };
}

function visit(input: GeneratorInput, agenda: Agenda, startAt: number, endAt: number): Appointment {
  const { random, now, tenant } = input;
  const createdAt = Math.min(startAt, now) - random.integer(1, 40) * (DAY_MS / 2);
  const status = likelyStatus(random, startAt, endAt, now);
  const confirmed = status !== 'Booked' && status !== 'Cancelled';
  const arrived = status === 'CheckedIn' || status === 'InProgress' || status === 'Completed';
  const paid = status === 'Completed' && random.chance(0.6);
  const confirmedAt = confirmed ? createdAt + DAY_MS / 4 : null;
  const checkedInAt = arrived ? startAt - random.integer(0, 20) * 60_000 : null;
  const cancelledAt = status === 'Cancelled' ? createdAt + random.integer(1, 11) * (DAY_MS / 24) : null;
  const doneAt = status === 'Completed' ? endAt : null;
  return {
    ...emptyAppointment(input, agenda.id, createdAt),
    patientId: random.pick(input.patientIds),
    treatmentId: random.pick(tenant.treatments).id,
    startAt,
    endAt,
    status,
    confirmedAt,
    checkedInAt,
    cancelledAt,
    payment: paid
      ? { amount: random.integer(3, 18) * 10, currency: 'EUR', method: 'Card', paidAt: endAt, reference: null }
      : null,
    source: random.pick(['FrontDesk', 'FrontDesk', 'Online'] as const),
    updatedAt: Math.max(createdAt, confirmedAt ?? 0, checkedInAt ?? 0, cancelledAt ?? 0, doneAt ?? 0),
  };
}

function emptyAppointment({ tenant, ids }: GeneratorInput, agendaId: string, createdAt: number): Appointment {
  return {
    id: ids.next('apt'),
    tenantId: tenant.id,
    agendaId,
    patientId: null,
    treatmentId: null,
    startAt: createdAt,
    endAt: createdAt,
    allDay: false,
    status: 'Booked',
    statusReason: null,
    confirmedAt: null,
    checkedInAt: null,
    cancelledAt: null,
    payment: null,
    notes: null,
    source: 'FrontDesk',
    externalId: null,
    createdAt,
    updatedAt: createdAt,
    deletedAt: null,
  };
}

/** Past visits are mostly completed, a current one is in progress, and future ones are booked or confirmed. */
function likelyStatus(random: Random, startAt: number, endAt: number, now: number): AppointmentStatus {
  const chance = random.next();
  if (chance < 0.05) return 'Cancelled';
  if (endAt <= now) return chance < 0.11 ? 'NoShow' : 'Completed';
  if (startAt <= now) return chance < 0.8 ? 'InProgress' : 'CheckedIn';
  return chance < 0.4 ? 'Confirmed' : 'Booked';
}
