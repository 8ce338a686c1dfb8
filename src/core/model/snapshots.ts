import { type Message, message } from '../../messages/message.ts';
import type { Appointment, InvalidRow } from './records.ts';
import type { ReadingRemark } from './run-schemas.ts';
import type { TimeWindow } from './time.ts';
import { usualZoneOf } from './zone-names.ts';

/**
 * Reason why a fetch does not prove the absence of records:
 * - `total-mismatch`: the received records do not match the clinic's total, the total fell meanwhile, or lists changed in each repetition;
 * - `repeated-page`: a repeated page or record suggests that others were skipped;
 * - `page-cap`: the profile's page limit was reached;
 * - `end-unproved`: no rule of the profile proves that the last page was the last;
 * - `next-page-told`: the answer announces a next page, or more records, in a way that the profile's paging ignores;
 * - `full-page`: nothing announces more records, but the last page is full;
 * - `wrong-tenant`: some records belong to another tenant;
 * - `records-unlisted`: records are missing that the clinic returns singly as active, unmoved and inside the window.
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

/** Content of a complete or partial fetch. */
export interface SnapshotContent<Source> {
  /** Newest version of each record by id, including cancelled records that the clinic lists. */
  records: Map<string, Source>;
  /** Invalid source records. A record with a `recordId` is present, not absent. */
  unusable: InvalidRow[];
  /** Number of `unusable` records without an id. Each absent record is possibly one of them. */
  unidentified: number;
  /** Number of unreadable values by field; treated as missing. */
  unread?: Readonly<Record<string, number>>;
}

/** Counts the occurrences of each name. */
export function countEach(names: Iterable<string>): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

/**
 * - `complete`: every page arrived and the end was proved, so absence is proved.
 * - `partial`: allows only creates and updates.
 * - `changes`: an earlier complete fetch, plus all changes that the clinic reports since. Later deletions are invisible, so only creates
 *   and updates are possible.
 */
export type Completeness =
  | { completeness: 'complete' }
  | { completeness: 'partial'; reason: PartialReason }
  | { completeness: 'changes' };

/** The records of a stream in the clinic's list. */
export type Snapshot<Source> = SnapshotContent<Source> & Completeness;

/** The clinic's list of appointments in a window. */
export type AppointmentSnapshot = Snapshot<Appointment> & {
  /**
   * The requested window. Records overlap the window: start before its end, end after its start. With `changes`, also records that were in
   * the window and agendas at the complete fetch, or enter soon.
   */
  window: TimeWindow;
  /** The requested agendas; null for all. */
  agendaIds: string[] | null;
  /** Records with values that the profile does not use; absent before the search for them. */
  cut?: readonly Appointment[];
  /** Pages used, including those before a restart of the fetch. */
  pages: number;
  /** HTTP requests, including retries. */
  requests: number;
  /** Repeated records in one complete list call, which a profile may allow. */
  repeated: number;
};

/**
 * Result of a single-record request: present, absent, or present but invalid. `mergedInto`: the record is absent because it was merged into
 * the record with this id. `deleted`: readable content of a record that the clinic marks as deleted.
 */
export type Lookup<Found> =
  | { found: Found }
  | { absent: true; mergedInto?: string; deleted?: Found }
  | { unusable: InvalidRow };

/** Explains a remark to the administrator, with the setting to change. */
export function sentenceOfRemark({ code, list, field, path, rows: count, zones = [] }: ReadingRemark): Message {
  const rows = message('rows-counted', { count });
  if (code === 'path-empty') return message('remark.path-empty', { list, field, path, rows });
  if (code === 'zone-fixed') {
    const usual = zones.map((zone) => usualZoneOf(zone) ?? zone).join(', ');
    if (count === 0) return message('remark.zone-fixed.profile', { zone: zones.join(', '), usual });
    return message('remark.zone-fixed', { list, path, rows, zones: zones.join(', '), usual });
  }
  if (code === 'several-values') return message('remark.several-values', { list, field, path, rows });
  if (code === 'date-order') return message('remark.date-order', { list, field, rows });
  if (code === 'more-told') return message('remark.more-told', { list, path, rows });
  return message('remark.zone-unread', { list, path, rows, zones: zones.slice(0, 3).join(', ') });
}
