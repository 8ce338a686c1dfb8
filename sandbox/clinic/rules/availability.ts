import type { ClinicData } from '../data/clinic-data.ts';
import type { Agenda, Tenant } from '../data/records.ts';
import { SESSIONS, UNIT_MS } from '../data/working-day.ts';
import { addDays, dayOfWeek } from '../data/zone.ts';

/** A request for free slots; instants are epoch ms. */
export interface AvailabilityQuery {
  from: number;
  to: number;
  agendaIds: readonly string[] | undefined;
  locationId: string | undefined;
  doctorId: string | undefined;
  /** Length of a slot; undefined: the agenda's own. */
  durationMs: number | undefined;
}

/** Free time in an agenda that can be booked online. */
export interface AvailableSlot {
  agenda: Agenda;
  startAt: number;
  endAt: number;
}

/** Every free slot in working hours from now on, by start and then agenda; slots begin on quarters of an hour. */
export function availableSlots(data: ClinicData, tenant: Tenant, query: AvailabilityQuery): AvailableSlot[] {
  const agendas = tenant.agendas.filter(
    (agenda) =>
      agenda.isBookableOnline &&
      (query.agendaIds === undefined || query.agendaIds.includes(agenda.id)) &&
      (query.locationId === undefined || agenda.locationId === query.locationId) &&
      (query.doctorId === undefined || agenda.doctor?.id === query.doctorId),
  );
  const from = Math.max(query.from, data.clock());
  const slots = agendas.flatMap((agenda) => [...slotsOf(data, agenda, { ...query, from })]);
  return slots.sort((one, other) => one.startAt - other.startAt || (one.agenda.id < other.agenda.id ? -1 : 1));
}

function* slotsOf(data: ClinicData, agenda: Agenda, query: AvailabilityQuery): Generator<AvailableSlot> {
  const { from, to } = query;
  const lengthMs = query.durationMs ?? agenda.slotMinutes * 60_000;
  const stepMs = Math.max(UNIT_MS, Math.ceil(lengthMs / UNIT_MS) * UNIT_MS);
  const taken = data.appointments.occupying(agenda.id, from, to);
  for (let date = data.zone.formatDate(from); data.zone.startOfDay(date) < to; date = addDays(date, 1)) {
    if (dayOfWeek(date) > 5) continue;
    for (const session of SESSIONS) {
      const end = data.zone.at(date, session.toHour);
      for (let startAt = data.zone.at(date, session.fromHour); startAt + lengthMs <= end; startAt += stepMs) {
        const endAt = startAt + lengthMs;
        const isFree = !taken.some((other) => other.startAt < endAt && other.endAt > startAt);
        if (startAt >= from && startAt < to && isFree) yield { agenda, startAt, endAt };
      }
    }
  }
}
