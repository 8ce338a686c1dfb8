import type { CalendarItem } from '../core/model/items.ts';
import type { Link, RemoteItem } from '../core/model/operations.ts';
import { atOnce } from '../core/model/pieces.ts';
import type { Appointment } from '../core/model/records.ts';
import { hasPassed, type TimeWindow } from '../core/model/time.ts';
import { isPossiblyForeign, linkOf, namesOf } from '../engine/adopt.ts';
import { currentLinkOf, fieldsByHand, isSameObject } from '../engine/audit.ts';
import type { Decision } from '../engine/diff.ts';
import { isSameContent, type TargetIdentity } from '../engine/identity.ts';

/**
 * Kind of difference between a calendar and its expected content:
 * - `missing`: the record was not written yet;
 * - `removed`: the object was deleted manually;
 * - `behind`: the calendar holds the last write, and the clinic changed since;
 * - `edited`: the object was changed manually;
 * - `surplus`: the object should not exist. `why` is `vanished`, or the code of the rule that excludes the record;
 * - `copy`: a second object of the record, or an object of this installation without a known record;
 * - `unlisted`: the clinic's list of the week does not show the record, because it moved or is gone;
 * - `unknown`: the expected content is unknown, because the clinic's record is unusable.
 */
export type WeekDifference =
  | { kind: 'missing' | 'removed' | 'copy' | 'unlisted' | 'unknown' }
  | { kind: 'behind' | 'edited'; fields: string[] }
  | { kind: 'surplus'; why: string };

/** One record of a week in the clinic and in the calendar. */
export interface WeekEntry {
  /** Null for an object of this installation without a known record. */
  record: string | null;
  /** The clinic's appointment, or null. */
  appointment: Appointment | null;
  /** Expected content of the calendar; null for no event or unknown content. */
  wanted: CalendarItem | null;
  /** Code of the rule that excludes the record, `before-window` or `beyond-window`; null for no rule. */
  omitted: string | null;
  /** The calendar's object, or null. */
  remote: RemoteItem<CalendarItem> | null;
  /** Null if the calendar is correct. */
  difference: WeekDifference | null;
}

/** Input for the comparison of a week. */
export interface WeekInput {
  /** All appointments of the clinic, individually fetched ones included. */
  appointments: Iterable<Appointment>;
  /** Records found gone in individual fetches. */
  vanished: ReadonlySet<string>;
  /** Unusable records. */
  unusable: ReadonlySet<string>;
  decide(appointment: Appointment): Decision;
  /** Objects with this installation's owner tag. */
  remote: readonly RemoteItem<CalendarItem>[];
  /** Links of all records of the week. */
  links: ReadonlyMap<string, Link>;
  identity: TargetIdentity;
  /** The target's window: later records are not written yet, and earlier records remain unchanged. */
  window: TimeWindow;
}

/** Returns an object's record id, or null without a known record. */
export function recordOf(remote: RemoteItem<CalendarItem>, identity: TargetIdentity): string | null {
  return linkOf(remote, identity, 0)?.recordId ?? null;
}

/** Compares a calendar with its expected content, record by record. Pure. Records absent from both sides and excluded are omitted. */
export function compareWeek(input: WeekInput): WeekEntry[] {
  const { found, extra } = objectsOf(input);
  const entries: WeekEntry[] = [];
  const listed = new Set<string>();
  for (const appointment of input.appointments) {
    listed.add(appointment.id);
    const entry = entryOf(appointment, found.get(appointment.id) ?? null, input);
    if (entry !== null) entries.push(entry);
  }
  for (const [record, remote] of found) {
    if (listed.has(record)) continue;
    const difference: WeekDifference = input.vanished.has(record)
      ? { kind: 'surplus', why: 'vanished' }
      : { kind: input.unusable.has(record) ? 'unknown' : 'unlisted' };
    entries.push({ ...nothingOf(record), remote, difference });
  }
  for (const remote of extra) {
    const record = recordOf(remote, input.identity);
    entries.push({ ...nothingOf(record), remote, difference: { kind: 'copy' } });
  }
  return entries;
}

function nothingOf(record: string | null): Omit<WeekEntry, 'remote' | 'difference'> {
  return { record, appointment: null, wanted: null, omitted: null };
}

/** Chooses one object per record: the linked object, or otherwise the first. Other objects are copies. */
function objectsOf({ remote, links, identity }: WeekInput) {
  // The links of a week are few.
  const names = atOnce(namesOf(identity, links.values()));
  const found = new Map<string, RemoteItem<CalendarItem>>();
  const extra: RemoteItem<CalendarItem>[] = [];
  for (const each of remote) {
    const asFound = linkOf(each, identity, 0, names);
    if (asFound === null && isPossiblyForeign(each)) continue;
    const other = asFound === null ? undefined : found.get(asFound.recordId);
    if (asFound === null) {
      extra.push(each);
    } else if (other === undefined) {
      found.set(asFound.recordId, each);
    } else if (isSameObject(asFound, links.get(asFound.recordId))) {
      extra.push(other);
      found.set(asFound.recordId, each);
    } else {
      extra.push(each);
    }
  }
  return { found, extra };
}

function entryOf(
  appointment: Appointment,
  remote: RemoteItem<CalendarItem> | null,
  { decide, links, identity, window }: WeekInput,
): WeekEntry | null {
  const { id, time } = appointment;
  const decision = decide(appointment);
  if (!('item' in decision)) {
    const exclusion = 'exclude' in decision ? decision.exclude : decision.retain;
    // For other agendas and erased patients, only surplus objects are reported.
    if (remote === null && (exclusion === 'agenda' || exclusion === 'forgotten')) return null;
    const surplus: WeekDifference | null = 'exclude' in decision ? { kind: 'surplus', why: exclusion } : null;
    const difference = remote === null ? null : surplus;
    return { record: id, appointment, wanted: null, omitted: exclusion, remote, difference };
  }
  const wanted = decision.item as CalendarItem;
  const exclusion = hasPassed(time, window) ? 'before-window' : time.startAt < window.toAt ? null : 'beyond-window';
  if (exclusion === 'before-window' || (exclusion !== null && remote === null)) {
    return { record: id, appointment, wanted, omitted: exclusion, remote, difference: null };
  }
  const link = links.get(id) ?? null;
  return {
    record: id,
    appointment,
    wanted,
    omitted: null,
    remote,
    difference: differenceOf(wanted, link, remote, identity),
  };
}

function differenceOf(
  wanted: CalendarItem,
  link: Link | null,
  remote: RemoteItem<CalendarItem> | null,
  identity: TargetIdentity,
): WeekDifference | null {
  const fingerprint = identity.fingerprint(wanted);
  const names = link === null ? null : atOnce(namesOf(identity, [link]));
  const asFound = remote === null ? null : linkOf(remote, identity, 0, names);
  if (asFound === null) return { kind: link === null ? 'missing' : 'removed' };
  const current = link === null ? asFound : currentLinkOf(link, asFound);
  // A change of the appointment has priority over a manual change.
  if (!isSameContent(current.fingerprint, fingerprint)) {
    return { kind: 'behind', fields: identity.differingFields(current.fingerprint, fingerprint) };
  }
  return current.drift === null ? null : { kind: 'edited', fields: fieldsByHand(current, identity) };
}
