import type { Random } from './random.ts';
import type { Agenda } from './records.ts';
import { addDays, dayOfWeek, offsetChangeDates, type Zone } from './zone.ts';

/** The days a generator fills, both included, `YYYY-MM-DD`. */
export interface DateRange {
  first: string;
  last: string;
}

/** Time in an agenda that cannot be booked. */
export interface BlockedTime {
  agendaId: string;
  startAt: number;
  endAt: number;
  allDay: boolean;
  reason: string;
}

/** Largest share of all appointments that is blocked time. */
const BLOCKED_SHARE = 0.05;

/**
 * Invents blocked time: absences of whole days, nights across every change of the clocks, blocks that begin or end at
 * midnight, and lunch meetings. Awkward kinds come first, so that a small sandbox has them too.
 */
export function createBlockedTime(
  agendas: readonly Agenda[],
  range: DateRange,
  appointmentCount: number,
  zone: Zone,
  random: Random,
): BlockedTime[] {
  const limit = Math.floor(appointmentCount * BLOCKED_SHARE);
  const blocked = [
    ...clockChanges(agendas, range, zone),
    ...absences(agendas, range, zone, random),
    ...midnights(agendas, range, zone),
    ...meetings(agendas, range, zone),
  ];
  return withoutOverlaps(blocked).slice(0, limit);
}

/** Per change of the clocks: one night across it (22:00 to 07:00) and, in another agenda, the whole day. */
function clockChanges(agendas: readonly Agenda[], range: DateRange, zone: Zone): BlockedTime[] {
  const [nightAgenda, dayAgenda] = agendas;
  return offsetChangeDates(zone, range.first, range.last).flatMap((date) => {
    const blocks: BlockedTime[] = [];
    if (nightAgenda !== undefined) {
      const startAt = zone.at(addDays(date, -1), 22);
      blocks.push({
        agendaId: nightAgenda.id,
        startAt,
        endAt: zone.at(date, 7),
        allDay: false,
        reason: 'Reperibilità',
      });
    }
    if (dayAgenda !== undefined) blocks.push(wholeDays(dayAgenda.id, date, 1, zone, 'Manutenzione'));
    return blocks;
  });
}

/** One absence of one to five whole days for every second agenda, somewhere in the range. */
function absences(agendas: readonly Agenda[], range: DateRange, zone: Zone, random: Random): BlockedTime[] {
  const days = workingDates(range);
  return agendas.flatMap((agenda, index) => {
    if (index % 2 === 1 || days.length === 0) return [];
    return [wholeDays(agenda.id, random.pick(days), random.integer(1, 5), zone, 'Ferie')];
  });
}

/** An evening that ends at midnight and a night that begins there, for every third agenda. */
function midnights(agendas: readonly Agenda[], range: DateRange, zone: Zone): BlockedTime[] {
  const days = workingDates(range);
  return agendas.flatMap((agenda, index) => {
    const date = days[(index * 7 + 3) % Math.max(days.length, 1)];
    if (index % 3 !== 0 || date === undefined) return [];
    const midnight = zone.startOfDay(addDays(date, 1));
    return [
      { agendaId: agenda.id, startAt: zone.at(date, 20), endAt: midnight, allDay: false, reason: 'Turno serale' },
      { agendaId: agenda.id, startAt: midnight, endAt: zone.at(addDays(date, 1), 6), allDay: false, reason: 'Turno' },
    ];
  });
}

/** A meeting in the lunch break (13:00 to 14:00), every Wednesday, for every fourth agenda. */
function meetings(agendas: readonly Agenda[], range: DateRange, zone: Zone): BlockedTime[] {
  const wednesdays = workingDates(range).filter((date) => dayOfWeek(date) === 3);
  return agendas
    .filter((_, index) => index % 4 === 0)
    .flatMap((agenda) =>
      wednesdays.map((date) => ({
        agendaId: agenda.id,
        startAt: zone.at(date, 13),
        endAt: zone.at(date, 14),
        allDay: false,
        reason: 'Riunione',
      })),
    );
}

function wholeDays(agendaId: string, date: string, days: number, zone: Zone, reason: string): BlockedTime {
  const startAt = zone.startOfDay(date);
  return { agendaId, startAt, endAt: zone.startOfDay(addDays(date, days)), allDay: true, reason };
}

/** Keeps each block that overlaps no earlier one of its agenda. */
function withoutOverlaps(blocks: readonly BlockedTime[]): BlockedTime[] {
  const kept: BlockedTime[] = [];
  for (const block of blocks) {
    if (!kept.some((other) => other.agendaId === block.agendaId && overlaps(other, block))) kept.push(block);
  }
  return kept;
}

/** Whether two spans of time share an instant; both ends are exclusive. */
function overlaps(one: { startAt: number; endAt: number }, other: { startAt: number; endAt: number }): boolean {
  return one.startAt < other.endAt && other.startAt < one.endAt;
}

/** Monday to Friday within a range. */
export function workingDates(range: DateRange): string[] {
  const dates: string[] = [];
  for (let date = range.first; date <= range.last; date = addDays(date, 1)) {
    if (dayOfWeek(date) <= 5) dates.push(date);
  }
  return dates;
}
