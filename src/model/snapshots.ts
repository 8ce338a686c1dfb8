import { type Message, message } from '../messages/message.ts';
import type { Appointment, InvalidRow } from './records.ts';
import type { TimeWindow } from './time.ts';

/**
 * Why a reading proves nothing about what it does not hold:
 * - `total-mismatch`: the clinic told a total that the rows received do not make up, or that fell meanwhile;
 * - `repeated-page`: a page came again, so the pages after it were never seen, or rows of one did, so others may have been skipped;
 * - `page-cap`: the profile's limit of pages was reached;
 * - `end-unproved`: no rule of the profile could tell that the last page was the last;
 * - `next-page-told`: the answer names a next page, or more rows than came, in a way that the profile's paging doesn't follow;
 * - `full-page`: nothing tells that more follow, but the last page is as full as pages get;
 * - `wrong-tenant`: some rows name another tenant;
 * - `records-unlisted`: it lacks records that the clinic shows, active, unmoved and inside the window, when each is read alone.
 */
export type PartialReason =
  | 'total-mismatch'
  | 'repeated-page'
  | 'page-cap'
  | 'end-unproved'
  | 'next-page-told'
  | 'full-page'
  | 'wrong-tenant'
  | 'records-unlisted';

/** What every reading of a list holds, complete or not. */
export interface SnapshotContent<Source> {
  /** Newest version of each record by id, cancelled ones included as far as the clinic lists them. */
  records: Map<string, Source>;
  /** Rows that are there and can't be used. Those with a `recordId` are present, not absent. */
  unusable: InvalidRow[];
  /** How many of `unusable` have no id: any absent record might be one of them. */
  unidentified: number;
  /** Values of the records that could not be read and count as not told, by their fields. */
  unread?: Readonly<Record<string, number>>;
}

/** How often each name comes. */
export function countEach(names: Iterable<string>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/**
 * - `complete`: every page was received and the end was proved, so it may speak of absence.
 * - `partial`: good for creates and updates only.
 * - `changes`: what a complete reading of before showed, with all that the clinic tells to have changed since. What was deleted since then
 *   is still among it, so it is good for the same.
 */
export type Completeness =
  | { completeness: 'complete' }
  | { completeness: 'partial'; reason: PartialReason }
  | { completeness: 'changes' };

/** The records of a stream as the clinic listed them. */
export type Snapshot<Source> = SnapshotContent<Source> & Completeness;

/** The appointments of a window as the clinic listed them. */
export type AppointmentSnapshot = Snapshot<Appointment> & {
  /**
   * The window that was asked for. Records are those that overlap it: start before its end, end after its start. With `changes` also some
   * that were in it and its agendas by the complete reading, or come into it soon.
   */
  window: TimeWindow;
  /** The agendas that were asked for; null for all of them. */
  agendaIds: string[] | null;
  /** Pages that were used; those of a reading that was begun again count too. */
  pages: number;
  /** HTTP requests that were sent, retries included. */
  requests: number;
  /** Rows that came twice in one list call that was whole, which a profile may allow. */
  repeated: number;
};

/** One record, read alone: it is there, the clinic says that it is not, or it is there and can't be used. */
export type Lookup<Found> = { found: Found } | { absent: true } | { unusable: InvalidRow };

/**
 * What a reading of the clinic showed of its profile, without a loss:
 * - `zone-unread`: a field holds names of zones other than the one that the rows are read in, and the profile does not name the field;
 * - `path-empty`: a path of the profile found nothing in any row of a whole reading.
 */
export interface ReadingRemark {
  code: 'zone-unread' | 'path-empty';
  list: 'appointments' | 'agendas' | 'locations' | 'patients';
  /** The profile's name of the field. */
  field: string;
  /** Where it is in a row. */
  path: string;
  rows: number;
  /** Of `zone-unread`: the names that were found. */
  zones?: readonly string[];
}

/** Tells a person what a remark means, and what to set. */
export function sentenceOfRemark({ code, list, field, path, rows: count, zones = [] }: ReadingRemark): Message {
  const rows = message('rows-counted', { count });
  if (code === 'path-empty') return message('remark.path-empty', { list, field, path, rows });
  return message('remark.zone-unread', { list, path, rows, zones: zones.slice(0, 3).join(', ') });
}
