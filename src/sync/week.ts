import type { CalendarItem } from '../model/items.ts';
import type { Link, RemoteItem } from '../model/operations.ts';
import type { Appointment } from '../model/records.ts';
import { hasPassed, type TimeWindow } from '../model/time.ts';
import { linkOf } from './adopt.ts';
import { currentLinkOf, fieldsByHand, isSameObject } from './audit.ts';
import type { Decision } from './diff.ts';
import { isSameContent, type TargetIdentity } from './identity.ts';

/**
 * How a calendar differs from what it should hold for a record, and by what:
 * - `missing`: nothing was written for it yet;
 * - `removed`: a person took it out;
 * - `behind`: the calendar holds what it was last given, and the clinic tells otherwise by now;
 * - `edited`: it holds otherwise than it was given, by hand;
 * - `surplus`: it is there, and should not be: `why` is `vanished`, or the code of the rule that leaves the record out;
 * - `copy`: a second object of the record, or one of ours that names no record;
 * - `unlisted`: the clinic's list of the week does not show it: it moved, or is gone;
 * - `unknown`: what should be there can't be told now, since the clinic's row can't be used.
 */
export type WeekDifference =
  | { kind: 'missing' | 'removed' | 'copy' | 'unlisted' | 'unknown' }
  | { kind: 'behind' | 'edited'; fields: string[] }
  | { kind: 'surplus'; why: string };

/** One record of a week on both sides. */
export interface WeekEntry {
  /** Null for an object of ours that names no record. */
  record: string | null;
  /** As the clinic tells of it; null when it tells of none. */
  appointment: Appointment | null;
  /** What the calendar should hold; null for nothing, or where it can't be told. */
  wanted: CalendarItem | null;
  /** Code of the rule that leaves it out, `before-window` or `beyond-window`; null when none does. */
  omitted: string | null;
  /** The object in the calendar; null when there is none. */
  remote: RemoteItem<CalendarItem> | null;
  /** Null where the calendar is as it should be. */
  difference: WeekDifference | null;
}

/** What a week is compared by. */
export interface WeekInput {
  /** Every appointment that the clinic told of, those that were read alone included. */
  appointments: Iterable<Appointment>;
  /** Records that were read alone and are not there any more. */
  vanished: ReadonlySet<string>;
  /** Records whose rows can't be used. */
  unusable: ReadonlySet<string>;
  decide(appointment: Appointment): Decision;
  /** Objects that carry our owner tag. */
  remote: readonly RemoteItem<CalendarItem>[];
  /** Those of the records on either side. */
  links: ReadonlyMap<string, Link>;
  identity: TargetIdentity;
  /** The target's own: what lies beyond it is not written yet, what lies before it stays as it is. */
  window: TimeWindow;
}

/** The record of an object; null where it names none of ours. */
export function recordOf(remote: RemoteItem<CalendarItem>, identity: TargetIdentity): string | null {
  return linkOf(remote, identity, 0)?.recordId ?? null;
}

/** Compares what a calendar holds with what it should hold, record by record. Pure; what is left out on both sides is not told. */
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

/** Of several objects of a record the linked one counts, else the first; the others stand beside it. */
function objectsOf({ remote, links, identity }: WeekInput) {
  const found = new Map<string, RemoteItem<CalendarItem>>();
  const extra: RemoteItem<CalendarItem>[] = [];
  for (const each of remote) {
    const asFound = linkOf(each, identity, 0);
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
    // Of other agendas' appointments, and of who was forgotten, nothing is told beyond what is there and should not be.
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
  const asFound = remote === null ? null : linkOf(remote, identity, 0);
  if (asFound === null) return { kind: link === null ? 'missing' : 'removed' };
  const current = link === null ? asFound : currentLinkOf(link, asFound);
  // The appointment's own change goes ahead of what a person did.
  if (!isSameContent(current.fingerprint, fingerprint)) {
    return { kind: 'behind', fields: identity.differingFields(current.fingerprint, fingerprint) };
  }
  return current.drift === null ? null : { kind: 'edited', fields: fieldsByHand(current, identity) };
}
