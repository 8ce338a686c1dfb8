import { hash, randomUUID } from 'node:crypto';
import { lazily } from '../core/model/cache.ts';
import type { Appointment } from '../core/model/records.ts';
import { overlaps, sameOverlaps, type TimeWindow } from '../core/model/time.ts';

/** The appointments of one read by agenda: a target processes only its own agendas. */
export interface AgendaIndex {
  /** The list that the index was made of. */
  readonly source: AppointmentList;
  /** Appointments of the given agendas. */
  of(agendaIds: 'all' | readonly string[]): Generator<Appointment>;
  /** Returns a predicate: whether an id is of an appointment of the given agendas. A lookup in the list of all records costs several times more. */
  memberOf(agendaIds: readonly string[]): (recordId: string) => boolean;
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

/** A list of appointments that never changes. */
interface AppointmentList {
  values(): Iterable<Appointment>;
}

/** Most targets of a tenant have the same window; each different window of a cycle has its own counts. */
const MOST_WINDOWS = 16;

/** Numbers of appointments by agenda in a window, for every window with the same appointments. */
interface WindowCounts {
  holdsIn(window: TimeWindow): boolean;
  counts: ReadonlyMap<string, number>;
}

/** The appointments of one agenda, with a revision that no other list of appointments ever has. */
interface AgendaList {
  appointments: Appointment[];
  /** Appointments of several agendas among them; most clinics have none. */
  shared: readonly Appointment[];
  /** Ids of the appointments; computed on first use, and once for all questions of a cycle. */
  ids(): ReadonlySet<string>;
  /** Computed on first use, because a plan for changed appointments needs no revision. */
  revision(): string;
}

/**
 * Groups appointments by agenda.
 * @param source each appointment once
 * @param before index of an earlier read, which is returned for the same list. An unchanged appointment is the same object in both.
 */
export function indexByAgenda(source: AppointmentList, before: AgendaIndex | null = null): AgendaIndex {
  if (before?.source === source) return before;
  const lists = listsOf(source.values(), before);
  const namesIn = (agendaIds: 'all' | readonly string[]) => new Set(agendaIds === 'all' ? lists.keys() : agendaIds);
  const shared = lazily(() => new Set([...lists.values()].flatMap((list) => list.shared)));
  const counted: WindowCounts[] = [];
  const countsIn = (window: TimeWindow) => {
    const cached = counted.find(({ holdsIn }) => holdsIn(window)) ?? countedIn(lists, window);
    if (!counted.includes(cached)) counted.push(cached);
    if (counted.length > MOST_WINDOWS) counted.shift();
    return cached.counts;
  };
  return {
    source,
    lists,
    *of(agendaIds) {
      const names = namesIn(agendaIds);
      for (const id of names) {
        const list = lists.get(id);
        if (list?.shared.length === 0) yield* list.appointments;
        else
          for (const one of list?.appointments ?? []) {
            if (one.agendaIds === undefined || one.agendaIds.find((each) => names.has(each)) === id) yield one;
          }
      }
    },
    memberOf(agendaIds) {
      const [first, ...others] = agendaIds.flatMap((id) => lists.get(id)?.ids() ?? []);
      if (first === undefined) return () => false;
      return others.length === 0 ? (id) => first.has(id) : (id) => first.has(id) || others.some((ids) => ids.has(id));
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

/** Counts in one pass: the times of tens of thousands of appointments lie scattered in memory. */
function countedIn(lists: ReadonlyMap<string, AgendaList>, window: TimeWindow): WindowCounts {
  const { look, holdsIn } = sameOverlaps(window);
  const counts = new Map<string, number>();
  for (const [agenda, { appointments, shared }] of lists) {
    let count = 0;
    for (const { time } of appointments) if (look(time)) count += 1;
    for (const { time } of shared) if (overlaps(time, window)) count -= 1;
    counts.set(agenda, count);
  }
  return { holdsIn, counts };
}

function listsOf(appointments: Iterable<Appointment>, before: AgendaIndex | null): Map<string, AgendaList> {
  const byAgenda = new Map<string, Appointment[]>();
  const shared = new Map<string, Appointment[]>();
  const add = (groups: Map<string, Appointment[]>, agenda: string, appointment: Appointment) => {
    const those = groups.get(agenda);
    if (those === undefined) groups.set(agenda, [appointment]);
    else those.push(appointment);
  };
  for (const appointment of appointments) {
    if (appointment.agendaIds === undefined) add(byAgenda, appointment.agendaId, appointment);
    else
      for (const agenda of appointment.agendaIds) {
        add(byAgenda, agenda, appointment);
        add(shared, agenda, appointment);
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
        : {
            appointments: those,
            shared: shared.get(agenda) ?? [],
            ids: lazily(() => new Set(those.map(({ id }) => id))),
            revision: lazily(cached === undefined ? nameOf(those) : randomUUID),
          },
    );
  }
  return lists;
}

/** Hashes the content, so that another process recognises equal appointments. Comparison with an index in memory costs less. */
function nameOf(appointments: readonly Appointment[]): () => string {
  return () => hash('sha256', JSON.stringify(appointments), 'base64url');
}
