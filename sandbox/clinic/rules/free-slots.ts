import { agendaOf, type ClinicData } from '../data/clinic-data.ts';
import { SESSIONS, UNIT_MS } from '../data/working-day.ts';
import { addDays, dayOfWeek } from '../data/zone.ts';

export interface Slot {
  agendaId: string;
  startAt: number;
  endAt: number;
}

/** The first free slot of an agenda in the working hours of one local date, after `notBefore` (epoch ms). */
export function freeSlotOnDate(
  data: ClinicData,
  agendaId: string,
  date: string,
  durationMs: number,
  notBefore: number,
): Slot | undefined {
  if (dayOfWeek(date) > 5) return undefined;
  const taken = data.appointments.occupying(
    agendaId,
    data.zone.startOfDay(date),
    data.zone.startOfDay(addDays(date, 1)),
  );
  for (const session of SESSIONS) {
    const sessionEnd = data.zone.at(date, session.toHour);
    let startAt = Math.max(data.zone.at(date, session.fromHour), Math.ceil(notBefore / UNIT_MS) * UNIT_MS);
    for (const appointment of taken) {
      if (appointment.startAt >= startAt + durationMs) break;
      startAt = Math.max(startAt, appointment.endAt);
    }
    if (startAt + durationMs <= sessionEnd) return { agendaId, startAt, endAt: startAt + durationMs };
  }
  return undefined;
}

/**
 * The first free slot of an agenda on or after `fromDate` (`YYYY-MM-DD`), within a year.
 * Throws RangeError when the agenda is unknown or full.
 */
export function firstFreeSlot(
  data: ClinicData,
  tenantId: string,
  agendaId: string,
  fromDate: string,
  durationMs: number,
): Slot {
  if (agendaOf(data, tenantId, agendaId) === undefined) throw new RangeError('the sandbox does not have this agenda');
  for (let day = 0; day < 366; day++) {
    const slot = freeSlotOnDate(data, agendaId, addDays(fromDate, day), durationMs, data.clock());
    if (slot !== undefined) return slot;
  }
  throw new RangeError('the agenda has no free slot within a year');
}
