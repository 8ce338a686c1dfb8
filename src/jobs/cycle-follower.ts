import type { Appointment } from '../model/records.ts';
import type { Instant, TimeWindow } from '../model/time.ts';
import type { Directory } from '../sync/project.ts';

/** Appointments to be read: of these agendas, in this window. */
export interface ReadingScope {
  window: TimeWindow;
  agendas: 'all' | readonly string[];
}

/** What a cycle learned of the clinic's appointments, as far as a follower goes by it. */
export interface Learned {
  records: ReadonlyMap<string, Appointment>;
  /** Read alone: they are there although the list did not show them. */
  found: readonly Appointment[];
  /** Read alone: the clinic has no such record. */
  vanished: ReadonlySet<string>;
  /** Where appointments take place, as the clinic's catalogue says. */
  directory: Pick<Directory, 'agendas' | 'locations'>;
}

/** Ids of the clinic's catalogue that a configuration names. */
export interface NamedIds {
  agendas: 'all' | readonly string[];
  treatments: 'all' | readonly string[];
}

/** What goes by a tenant's appointments in each cycle, beside its targets. A feature gives it to its tenant. */
export interface CycleFollower {
  /** Stands among the names of targets; no target can have it. */
  name: string;
  /** Ids that it names, by where: an id that the catalogue lacks is a gap of that place. */
  namedIds: ReadonlyMap<string, NamedIds>;
  /** Which appointments it needs read. */
  readingScope(now: Instant): ReadingScope;
  /** Repairs what a crash left, before a cycle. */
  resume(): Promise<void>;
  /**
   * Appointments that it waits for and that a complete list did not show, with when they begin as far as it knows.
   * @param isSeen also of rows that can't be used
   */
  absent(isSeen: (recordId: string) => boolean): Promise<ReadonlyMap<string, readonly Instant[]>>;
  /** Takes what a cycle learned. Says nothing of an appointment that the cycle did not see. */
  follow(learned: Learned): Promise<void>;
}
