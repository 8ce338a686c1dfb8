/**
 * What of a target the last cycle could not read, or does not know. As long as there is any, its clock stands still:
 * - `rows-unread`: rows that may belong to it could not become records;
 * - `records-unlisted`: the clinic's list lacks records that the clinic shows when each is read alone, so the list is not complete;
 * - `agenda-unknown`, `treatment-unknown`: the clinic has no such id as its configuration names;
 * - `egress-stopped`: what would have been written told more of a patient than it may;
 * - `record-forged`: what Redis has of it is not as this version wrote it, and the next cycle tells;
 * - `agenda-unconfirmed`, `treatment-unconfirmed`: it can't be told, since the catalogue may not be read and no row carries the id.
 */
export interface TargetGap {
  code:
    | 'rows-unread'
    | 'record-forged'
    | 'records-unlisted'
    | 'egress-stopped'
    | 'agenda-unknown'
    | 'treatment-unknown'
    | 'agenda-unconfirmed'
    | 'treatment-unconfirmed';
  /** Rows, or ids. */
  count: number;
  /** Codes of the rows, or the ids, or codes of what would have been told. */
  what: readonly string[];
  /** Ids with names that may be meant. */
  near: readonly string[];
}
