import { hash, randomUUID } from 'node:crypto';
import { lazily } from '../model/cache.ts';
import { type Appointment, agendasOf } from '../model/records.ts';
import { overlaps, type TimeWindow } from '../model/time.ts';

/** The appointments of one read by agenda: a target processes only its own agendas. */
export interface AgendaIndex {
  /** Appointments of the given agendas. */
  of(agendaIds: 'all' | readonly string[]): Generator<Appointment>;
  /** Number of appointments of other agendas that overlap a window. */
  countOverlapping(agendaIds: readonly string[], window: TimeWindow): number;
  /**
   * Identifies the content of some agendas. Different contents never share a revision. Equal contents share a revision if the earlier index
   * is in memory, or if neither index is.
   */
  revisionOf(agendaIds: 'all' | readonly string[]): string;
  /** Appointments and revision by agenda. */
  readonly lists: ReadonlyMap<string, AgendaList>;
}

/** The appointments of one agenda, with a revision that no other list of appointments ever has. */
interface AgendaList {
  appointments: Appointment[];
  /** Computed on first use, because a plan for changed appointments needs no revision. */
  revision(): string;
}

/**
 * Groups appointments by agenda.
 * @param appointments each appointment once
 * @param before index of an earlier read. An unchanged appointment is the same object in both.
 */
export function indexByAgenda(appointments: Iterable<Appointment>, before: AgendaIndex | null = null): AgendaIndex {
  const lists = listsOf(appointments, before);
  const namesIn = (agendaIds: 'all' | readonly string[]) => new Set(agendaIds === 'all' ? lists.keys() : agendaIds);
  const isShared = ({ agendaIds }: Appointment) => agendaIds !== undefined;
  const shared = lazily(() => new Set([...lists.values()].flatMap((list) => list.appointments.filter(isShared))));
  const counts = new Map<string, ReadonlyMap<string, number>>();
  // Most targets of a tenant have the same window.
  const countsIn = (window: TimeWindow) => {
    const name = `${window.fromAt} ${window.toAt}`;
    const count = ({ appointments }: AgendaList) =>
      appointments.filter((one) => !isShared(one) && overlaps(one.time, window)).length;
    const cached = counts.get(name) ?? new Map([...lists].map(([agenda, those]) => [agenda, count(those)]));
    counts.set(name, cached);
    return cached;
  };
  return {
    lists,
    *of(agendaIds) {
      const names = namesIn(agendaIds);
      for (const id of names) {
        for (const one of lists.get(id)?.appointments ?? []) {
          if (one.agendaIds === undefined || one.agendaIds.find((each) => names.has(each)) === id) yield one;
        }
      }
    },
    countOverlapping(agendaIds, window) {
      const own = new Set(agendaIds);
      let otherCount = 0;
      for (const [agenda, count] of countsIn(window)) if (!own.has(agenda)) otherCount += count;
      for (const { time, agendaIds = [] } of shared()) {
        if (overlaps(time, window) && !agendaIds.some((id) => own.has(id))) otherCount += 1;
      }
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
    for (const agenda of agendasOf(appointment)) {
      const those = byAgenda.get(agenda);
      if (those === undefined) byAgenda.set(agenda, [appointment]);
      else those.push(appointment);
    }
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

/** Hashes the content, so that another process recognises equal appointments. Comparison with an index in memory costs less. */
function nameOf(appointments: readonly Appointment[]): () => string {
  return () => hash('sha256', JSON.stringify(appointments), 'base64url');
}
