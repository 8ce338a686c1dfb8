import { z } from 'zod';
import { countsByCode, instant } from './schemas.ts';

export const gap = z.object({
  code: z.enum([
    'records-unreadable',
    'records-unlisted',
    'records-unconfirmable',
    'values-unused',
    'egress-stopped',
    'tenant-too-large',
    'agenda-unknown',
    'treatment-unknown',
    'agenda-unconfirmed',
    'treatment-unconfirmed',
  ]),
  /** Number of affected data sets or ids. */
  count: z.number(),
  /** Codes of the affected data, or ids, or codes of the blocked disclosure. */
  what: z.array(z.string()),
  /** Ids with names of possible candidates. */
  soon: z.array(z.string()),
});
/**
 * Data of a target that the last cycle could not read or does not know. While a gap exists, the target's freshness does not advance:
 * - `records-unreadable`: data of the clinic that may belong to the target could not become records;
 * - `records-unlisted`: the clinic's list lacks records that individual requests return, so the list is incomplete;
 * - `records-unconfirmable`: records are absent from the list, and individual requests gave no usable answer for three cycles;
 * - `values-unused`: records name several agendas or patients, and the profile uses only the first;
 * - `agenda-unknown`, `treatment-unknown`: the clinic has no id from the target's configuration;
 * - `egress-stopped`: a write would have disclosed more of a patient than allowed;
 * - `tenant-too-large`: the tenant's memory in Redis has no room for more objects;
 * - `agenda-unconfirmed`, `treatment-unconfirmed`: unknown, because the catalogue is not readable and no data contains the id.
 */
export type TargetGap = z.infer<typeof gap>;

export const drift = z.object({
  checkedAt: instant,
  /** Links covered by the fetch: compared links, and with a change feed also links that the feed does not name. */
  checked: z.number(),
  /** Objects that users edited and that are not yet restored. */
  edited: z.number(),
  /** Objects that users deleted and that are not yet restored. */
  removed: z.number(),
  /** Own objects without a link; now planned like other objects. */
  unlinked: z.number(),
  /** Edited objects by differing field; a field adds one per object. */
  fields: countsByCode,
  /** Objects that are no longer restored because of too many restorations today. */
  churning: z.number(),
  /** Differing fields of those objects. */
  churningFields: z.array(z.string()),
  /** Objects with a write by clinic-mirror other than the last write; planned again under any policy. Absent for none. */
  overwritten: z.number().optional(),
  /** Removed duplicate objects. Absent for none. */
  duplicatesRemoved: z.number().optional(),
  /** Objects that lost their marks and are identified by name or id. Absent for none. */
  unmarked: z.number().optional(),
  /** Objects that exist but cannot be read, foreign ones included. Absent for none. */
  unreadable: z.number().optional(),
  /** Whether the calendar was replaced: no comparison took place, and the next cycle fills the calendar. */
  calendarReplaced: z.boolean().optional(),
});
/** Manual changes of own objects at the last audit. */
export type DriftReport = z.infer<typeof drift>;

/** Returns the report of a target whose container was replaced. */
export function replacedReport(checkedAt: number): DriftReport {
  const nothing = { checked: 0, edited: 0, removed: 0, unlinked: 0, fields: {}, churning: 0, churningFields: [] };
  return { ...nothing, checkedAt, calendarReplaced: true };
}

/** Returns whether the container was replaced, so that no comparison took place. */
export function isReplaced({ calendarReplaced }: DriftReport): boolean {
  return calendarReplaced === true;
}

/** Currently known manual edits. */
export type DriftCounts = Pick<DriftReport, 'edited' | 'removed' | 'fields' | 'churning' | 'churningFields'>;

export const readingRemark = z.object({
  code: z.enum(['zone-unread', 'zone-fixed', 'path-empty', 'more-told', 'date-order', 'several-values']),
  list: z.string(),
  /** Field name in the profile. */
  field: z.string(),
  /** Path in a source record. */
  path: z.string(),
  rows: z.number(),
  /** Of `zone-unread` and `zone-fixed`: the found zone names. */
  zones: z.array(z.string()).optional(),
});
/**
 * A remark about the profile:
 * - `zone-unread`: a field names other zones than the profile uses, and the profile does not map the field;
 * - `zone-fixed`: a zone such as `EST` has no daylight saving time, and usually another zone is meant; 0 rows: the profile's own zone;
 * - `date-order`: dates are unreadable because the profile does not name their order of day and month;
 * - `several-values`: records name several agendas or patients, and the profile uses only the first;
 * - `path-empty`: a path of the profile matched nothing in a whole fetch;
 * - `more-told`: a field outside the rows announces more rows than the profile's paging reads, so that the list is partial.
 */
export type ReadingRemark = z.infer<typeof readingRemark>;

export const targetRun = z.object({
  target: z.string(),
  planned: countsByCode,
  held: z.number(),
  released: z.number(),
  unchanged: z.number(),
  /** Absent records that were fetched individually, and the number of records found. */
  confirmed: z.number(),
  stillThere: z.number(),
  /** Absent records left for the next cycle: missed for the first time, or not fetched individually. */
  unconfirmed: z.number(),
  /** Records that the target's rules omitted or left unchanged, by code of the rule. */
  omitted: countsByCode,
  /** Values that were left empty, by property of a CRM: for example an invalid telephone number. */
  unusable: countsByCode,
});
/** Result of one cycle for one target, in numbers. */
export type TargetRun = z.infer<typeof targetRun>;

export const withheld = z.object({
  part: z.enum(['agendas', 'locations', 'treatments', 'patients', 'invoices', 'history']),
  code: z.string(),
  /** Names the scope or the permission. */
  remedy: z.string().nullable(),
});
/** Part of the catalogue without read permission of the connection: related data is omitted from texts of events. */
export type Withheld = z.infer<typeof withheld>;

export const clinicSeen = z.object({
  tenantId: z.string(),
  /** A process with a different hash fetches the catalogue again. */
  catalogue: z.string().describe('A hash'),
});
/** Clinic of a cycle, by its own tenant id. */
export type ClinicSeen = z.infer<typeof clinicSeen>;

export const hourly = z.object({
  /** Start of the last counted hour. */
  lastHourAt: instant,
  /** Oldest first, including hours without changes. */
  counts: z.array(z.number()),
});
/** Number of changes in each hour. */
export type HourlyChanges = z.infer<typeof hourly>;
