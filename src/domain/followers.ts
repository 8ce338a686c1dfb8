import type { Appointment } from '../core/model/records.ts';
import type { Instant, TimeWindow } from '../core/model/time.ts';
import type { Extension } from '../engine/ports.ts';
import type { Directory } from './project.ts';

/** Appointments to be read: agendas and a window. */
export interface ReadingScope {
  window: TimeWindow;
  agendas: 'all' | readonly string[];
}

/** A cycle's results for followers. */
export interface Learned {
  records: ReadonlyMap<string, Appointment>;
  /** Appointments found individually although the list did not show them. */
  found: readonly Appointment[];
  /** Appointments that the clinic no longer has, by individual fetches. */
  vanished: ReadonlySet<string>;
  /** End of the window of a complete list of all appointments; null for another list. */
  coveredUntilAt: Instant | null;
  /** Locations of appointments from the clinic's catalogue. */
  directory: Pick<Directory, 'agendas' | 'locations'>;
}

/** Catalogue ids used in a configuration. */
export interface NamedIds {
  agendas: 'all' | readonly string[];
  treatments: 'all' | readonly string[];
}

/** A user of a tenant's appointments in each cycle, in addition to targets. A feature adds it to its tenant. */
export interface CycleFollower extends Extension<Learned> {
  stream: 'appointments';
  /** Ids by configuration section: an id missing from the catalogue is a gap of that section. */
  namedIds: ReadonlyMap<string, NamedIds>;
  /** Returns the required appointments. */
  readingScope(now: Instant): ReadingScope;
}
