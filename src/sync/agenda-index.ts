import type { Appointment } from '../model/records.ts';
import { overlaps, type TimeWindow } from '../model/time.ts';

/** The appointments of one reading by agenda: a target looks at those of its own, not at everybody's. */
export interface AgendaIndex {
  /** Those of some agendas. */
  of(agendaIds: readonly string[]): Generator<Appointment>;
  /** How many of the other agendas overlap a window. */
  countBeside(agendaIds: readonly string[], window: TimeWindow): number;
}

/** @param appointments each once */
export function indexByAgenda(appointments: Iterable<Appointment>): AgendaIndex {
  const byAgenda = new Map<string, Appointment[]>();
  for (const appointment of appointments) {
    const those = byAgenda.get(appointment.agendaId);
    if (those === undefined) byAgenda.set(appointment.agendaId, [appointment]);
    else those.push(appointment);
  }
  const counts = new Map<string, ReadonlyMap<string, number>>();
  // Most targets of a tenant have the same window.
  const countsIn = (window: TimeWindow) => {
    const name = `${window.fromAt} ${window.toAt}`;
    const count = (those: readonly Appointment[]) => those.filter(({ time }) => overlaps(time, window)).length;
    const known = counts.get(name) ?? new Map([...byAgenda].map(([agenda, those]) => [agenda, count(those)]));
    counts.set(name, known);
    return known;
  };
  return {
    *of(agendaIds) {
      for (const id of new Set(agendaIds)) yield* byAgenda.get(id) ?? [];
    },
    countBeside(agendaIds, window) {
      const own = new Set(agendaIds);
      let beside = 0;
      for (const [agenda, count] of countsIn(window)) if (!own.has(agenda)) beside += count;
      return beside;
    },
  };
}
