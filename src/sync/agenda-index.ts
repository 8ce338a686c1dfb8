import { hash, randomUUID } from 'node:crypto';
import { lazily } from '../model/cache.ts';
import type { Appointment } from '../model/records.ts';
import { overlaps, type TimeWindow } from '../model/time.ts';

/** The appointments of one reading by agenda: a target looks at those of its own, not at everybody's. */
export interface AgendaIndex {
  /** Those of some agendas, or of all. */
  of(agendaIds: 'all' | readonly string[]): Generator<Appointment>;
  /** How many of the other agendas overlap a window. */
  countOverlapping(agendaIds: readonly string[], window: TimeWindow): number;
  /**
   * Names what the reading shows of some agendas: never the same as of a reading that showed others of them. The same as of one that showed
   * the same, where its index is in memory, or neither's was.
   */
  revisionOf(agendaIds: 'all' | readonly string[]): string;
  /** By agenda: its appointments, and a name for them. */
  readonly lists: ReadonlyMap<string, AgendaList>;
}

/** The appointments of one agenda, under a name that no other appointments ever have. */
interface AgendaList {
  appointments: Appointment[];
  /** Made when it is first asked for: what has just changed is planned without. */
  revision(): string;
}

/**
 * @param appointments each once
 * @param before that of an earlier reading; an appointment that is as it was then is the same object
 */
export function indexByAgenda(appointments: Iterable<Appointment>, before: AgendaIndex | null = null): AgendaIndex {
  const lists = listsOf(appointments, before);
  const namesIn = (agendaIds: 'all' | readonly string[]) => new Set(agendaIds === 'all' ? lists.keys() : agendaIds);
  const counts = new Map<string, ReadonlyMap<string, number>>();
  // Most targets of a tenant have the same window.
  const countsIn = (window: TimeWindow) => {
    const name = `${window.fromAt} ${window.toAt}`;
    const count = ({ appointments }: AgendaList) => appointments.filter(({ time }) => overlaps(time, window)).length;
    const cached = counts.get(name) ?? new Map([...lists].map(([agenda, those]) => [agenda, count(those)]));
    counts.set(name, cached);
    return cached;
  };
  return {
    lists,
    *of(agendaIds) {
      for (const id of namesIn(agendaIds)) yield* lists.get(id)?.appointments ?? [];
    },
    countOverlapping(agendaIds, window) {
      const own = new Set(agendaIds);
      let otherCount = 0;
      for (const [agenda, count] of countsIn(window)) if (!own.has(agenda)) otherCount += count;
      return otherCount;
    },
    revisionOf(agendaIds) {
      return [...namesIn(agendaIds)]
        .sort()
        .map((id) => `${id} ${lists.get(id)?.revision() ?? ''}`)
        .join('\n');
    },
  };
}

function listsOf(appointments: Iterable<Appointment>, before: AgendaIndex | null): Map<string, AgendaList> {
  const byAgenda = new Map<string, Appointment[]>();
  for (const appointment of appointments) {
    const those = byAgenda.get(appointment.agendaId);
    if (those === undefined) byAgenda.set(appointment.agendaId, [appointment]);
    else those.push(appointment);
  }
  const lists = new Map<string, AgendaList>();
  for (const [agenda, those] of byAgenda) {
    const cached = before?.lists.get(agenda);
    const isAsBefore =
      cached?.appointments.length === those.length && those.every((one, at) => one === cached.appointments[at]);
    lists.set(
      agenda,
      isAsBefore
        ? cached
        : { appointments: those, revision: lazily(cached === undefined ? nameOf(those) : randomUUID) },
    );
  }
  return lists;
}

/** By what they tell: with it alone a process knows them again. Where the last ones are in memory that costs less. */
function nameOf(appointments: readonly Appointment[]): () => string {
  return () => hash('sha256', JSON.stringify(appointments), 'base64url');
}
