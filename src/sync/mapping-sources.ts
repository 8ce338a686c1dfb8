import type { StreamName } from '../model/items.ts';
import type { Appointment, Invoice, Patient } from '../model/records.ts';
import type { Snapshot } from '../model/snapshots.ts';
import { DAY_MS, HOUR_MS, type Instant, type TimeWindow } from '../model/time.ts';
import type { ClinicShown, CycleInput, Reach, TargetInput, TargetSetup } from './cycle-input.ts';
import { absentCandidates, type PushedState, type SourceRecord } from './diff.ts';
import type { Mapped, Mapping, MappingSource } from './mapping/contract.ts';

/** A stream that is not read with each cycle, but by a job of its own. */
export type SlowStream = 'patients' | 'invoices' | 'history';

/** What says which streams a target needs. */
export interface Follower {
  stream: StreamName;
  /** Null for a calendar. */
  crm: { mapping: Pick<Mapping, 'needs'> } | null;
}

/** The streams that a target follows or computes with. */
export function streamsOf({ stream, crm }: Follower): SlowStream[] {
  if (crm === null) return [];
  const { history, invoices } = crm.mapping.needs;
  const names: SlowStream[] = ['patients'];
  if (stream === 'invoices' || invoices) names.push('invoices');
  if (history) names.push('history');
  return names;
}

/** Those without which nothing can be said of a target's records. What contacts are computed from besides keeps them as they are. */
export function neededBy(target: Follower): SlowStream[] {
  return target.stream === 'patients' && target.crm !== null ? ['patients'] : streamsOf(target);
}

/** Whether a target's properties tell of appointments of the past and of those to come. */
export function computesFromHistory(target: Follower): boolean {
  return streamsOf(target).includes('history');
}

/** What says how far a target reaches. */
export interface Windowed {
  stream: StreamName;
  configuration: { window: { pastDays: number; futureDays: number } };
}

/** Today, however late it is, and the next two days. */
const NEXT_48H = { backMs: 12 * HOUR_MS, aheadMs: 48 * HOUR_MS };

/** What has no time of its own lies in it: all of it that a date can tell. */
const ALWAYS: TimeWindow = { fromAt: 0, toAt: 8.64e15 };

/** A target's window at a time: whole days before and after; for patients, all of it. */
export function windowOf(target: Windowed, now: Instant): TimeWindow {
  if (target.stream === 'patients') return ALWAYS;
  const { pastDays, futureDays } = target.configuration.window;
  return { fromAt: now - pastDays * DAY_MS, toAt: now + futureDays * DAY_MS };
}

/** The next two days as they are read alone; in one list call wherever one may be of four days. */
export function next48hWindow(now: Instant): TimeWindow {
  return { fromAt: now - NEXT_48H.backMs, toAt: now + NEXT_48H.aheadMs };
}

/** The part of a target's window that a reading speaks of; empty where it does not reach. */
export function windowRead(target: Windowed, { reach, startedAt }: { reach: Reach; startedAt: Instant }): TimeWindow {
  const window = windowOf(target, startedAt);
  return reach === 'whole' ? window : commonWindow(window, next48hWindow(startedAt));
}

/** What two windows have in common; empty where that is nothing. */
export function commonWindow(one: TimeWindow, other: TimeWindow): TimeWindow {
  return { fromAt: Math.max(one.fromAt, other.fromAt), toAt: Math.min(one.toAt, other.toAt) };
}

/** What was read of the stream that a target follows; null when nothing was. */
export function snapshotOf(
  { snapshot, streams }: Pick<ClinicShown, 'snapshot' | 'streams'>,
  { stream }: Pick<Windowed, 'stream'>,
): Snapshot<{ id: string }> | null {
  return stream === 'appointments' ? snapshot : (streams[stream]?.snapshot ?? null);
}

/** Tells whether a reading shows a row of a record, one that can't be used included. */
export function listedIn({ records, unusable }: Snapshot<{ id: string }>): (recordId: string) => boolean {
  const unusableIds = new Set(unusable.map(({ recordId }) => recordId));
  return (id) => records.has(id) || unusableIds.has(id);
}

/** Ids of rows that are there and can't be used. */
export function unusableIn({ unusable }: Pick<Snapshot<unknown>, 'unusable'>): Set<string> {
  return new Set(unusable.flatMap(({ recordId, isTombstone }) => (isTombstone === true ? [] : (recordId ?? []))));
}

/** Ids of rows that say no more than that their record is cancelled or deleted. */
export function tombstonesIn({ unusable }: Pick<Snapshot<unknown>, 'unusable'>): string[] {
  return unusable.flatMap(({ recordId, isTombstone }) => (isTombstone === true && recordId !== null ? [recordId] : []));
}

/**
 * Ids that a complete snapshot did not show although the target has, or is about to have, something for them.
 * @param pinned records that a person put back: their agendas may feed no target, so that no list shows them
 */
export function missingFrom(
  clinicReading: ClinicShown,
  target: Windowed,
  state: PushedState,
  pinned: ReadonlySet<string>,
): string[] {
  const snapshot = snapshotOf(clinicReading, target);
  if (snapshot?.completeness !== 'complete') return [];
  const seen = listedIn(snapshot);
  const absent = new Set(absentCandidates(state, windowRead(target, clinicReading), seen));
  for (const id of pinned) if (!seen(id)) absent.add(id);
  return [...absent];
}

/** When a record of the target's stream begins; null for one that was not listed, or has no time. */
export function beginningIn(
  { snapshot }: Pick<ClinicShown, 'snapshot'>,
  { stream }: Pick<Windowed, 'stream'>,
  recordId: string,
): Instant | null {
  return stream === 'appointments' ? (snapshot.records.get(recordId)?.time.startAt ?? null) : null;
}

/** Every record that is known to be there: those of the list, and those that were read alone. */
export function* shownOf<Source>(
  list: { snapshot: { records: ReadonlyMap<string, Source> } } | null,
  found: Iterable<Source>,
): Generator<Source> {
  if (list !== null) yield* list.snapshot.records.values();
  yield* found;
}

/** Which appointments feed a target. */
export interface FeedRules {
  /** Ids of agendas. */
  agendas: 'all' | readonly string[];
  /** Ids of treatments; an appointment without one passes only `all`. */
  treatments: 'all' | readonly string[];
  /** Time that is blocked for no patient. */
  blockedTime: 'show' | 'hide';
}

/** What keeps an appointment out of a target; null when nothing does. */
export type Exclusion = 'agenda' | 'treatment' | 'blocked-time';

/** @returns the first rule that keeps the appointment out; blocked time has no treatment, so that rule does not ask for one */
export function exclusionOf(appointment: Appointment, rules: FeedRules): Exclusion | null {
  const { agendas, treatments, blockedTime } = rules;
  if (agendas !== 'all' && !agendas.includes(appointment.agendaId)) return 'agenda';
  if (appointment.patientId === null) return blockedTime === 'hide' ? 'blocked-time' : null;
  const { treatmentId } = appointment;
  const passes = treatments === 'all' || (treatmentId !== null && treatments.includes(treatmentId));
  return passes ? null : 'treatment';
}

/** An appointment as the comparison sees it. */
export function describeAppointment({ id, time, status }: Appointment): SourceRecord {
  return { id, startAt: time.startAt, endAt: time.endAt, isCancelled: status === 'cancelled' };
}

/** A record to be mapped. */
interface Mappable {
  id: string;
  source: MappingSource;
}

/** What a plan maps of a target's records, to be mapped ahead where the mapping holds expressions. */
export function* mappables(
  target: TargetSetup,
  pinned: ReadonlySet<string>,
  { clinicReading, confirmations }: Pick<CycleInput, 'clinicReading' | 'confirmations'>,
): Generator<Mappable> {
  switch (target.stream) {
    case 'patients': {
      if (!isComputable(target, clinicReading)) return;
      const sourceOf = patientSource(target, clinicReading);
      for (const patient of shownOf(clinicReading.streams.patients, confirmations.patients.found)) {
        yield { id: patient.id, source: sourceOf(patient) };
      }
      return;
    }
    case 'appointments': {
      const sourceOf = activitySource(clinicReading);
      const exclusion = activityExclusion(target, pinned);
      for (const appointment of shownOf(clinicReading, confirmations.appointments.found)) {
        if (exclusion(appointment) === null) yield { id: appointment.id, source: sourceOf(appointment) };
      }
      return;
    }
    case 'invoices': {
      for (const invoice of shownOf(clinicReading.streams.invoices, confirmations.invoices.found)) {
        yield { id: invoice.id, source: invoiceSource(invoice) };
      }
    }
  }
}

/** How a target's records are mapped: at once, or as they were mapped ahead. */
export function mapperOf<Source extends { id: string }>(
  { target: { crm }, mapped }: Pick<TargetInput, 'target' | 'mapped'>,
  sourceOf: (record: Source) => MappingSource,
): (record: Source) => Mapped {
  return (record) => {
    const ahead = mapped?.get(record.id);
    if (ahead !== undefined) return ahead;
    return mapped === null && crm !== null ? crm.mapping.mapNow(sourceOf(record)) : { fault: 'not-mapped' };
  };
}

/** Whether all was read that derived properties are computed from: the past, and what is ahead in the target's window. */
export function isComputable(
  { crm, configuration }: TargetSetup,
  { startedAt }: Pick<ClinicShown, 'startedAt'>,
): boolean {
  // The end of the window moves on with each cycle; readings that broke off for less than a day lack next to nothing.
  const aheadUntil = startedAt + (configuration.window.futureDays - 1) * DAY_MS;
  return crm?.patientHistory?.covers(startedAt, aheadUntil) ?? true;
}

/** What keeps an appointment out of a target of activities; null when nothing does. */
export function activityExclusion(
  { configuration }: Pick<TargetSetup, 'configuration'>,
  pinned: ReadonlySet<string>,
): (appointment: Appointment) => string | null {
  return (appointment) => {
    const { id, status, patientId } = appointment;
    if (status === 'cancelled') return 'status';
    if (pinned.has(id)) return null;
    if (patientId === null) return 'blocked-time';
    return exclusionOf(appointment, configuration) ?? (configuration.statuses.includes(status) ? null : 'status');
  };
}

export function patientSource(
  { crm }: TargetSetup,
  { startedAt }: Pick<ClinicShown, 'startedAt'>,
): (patient: Patient) => MappingSource {
  const patientHistory = crm?.patientHistory ?? null;
  return (patient) => ({
    stream: 'patients',
    patient,
    derived: patientHistory === null ? null : patientHistory.of(patient.id, startedAt),
  });
}

/** What an appointment's activity is mapped from. */
export function activitySource({ directory }: ClinicShown): (appointment: Appointment) => MappingSource {
  const { agendas, locations, treatments } = directory;
  return (appointment) => {
    const agenda = agendas.get(appointment.agendaId);
    const location = locations.get(appointment.locationId ?? agenda?.locationId ?? '');
    return {
      stream: 'appointments',
      appointment,
      agenda: agenda?.name ?? null,
      location: location?.name ?? null,
      treatment: treatments.get(appointment.treatmentId ?? '')?.name ?? null,
    };
  };
}

/** Texts of the clinic that an appointment's activity may tell. */
export function clinicTexts(shown: ClinicShown): (appointment: Appointment) => (string | null)[] {
  const sourceOf = activitySource(shown);
  return (appointment) => {
    const source = sourceOf(appointment);
    return source.stream === 'appointments'
      ? [source.agenda, source.location, source.treatment, appointment.status]
      : [];
  };
}

/** What an invoice's deal is mapped from. */
export function invoiceSource(invoice: Invoice): MappingSource {
  const { id, patientId, number, issueDate: date, currency, status, doctors } = invoice;
  const [total, paid] = [amountOf(invoice.totalAmount), amountOf(invoice.paidAmount)];
  return {
    stream: 'invoices',
    invoice: { id, patientId, number, date, total, paid, currency, doctors: [...doctors], status },
  };
}

/** A patient has no time: they are there always. */
export function describePatient({ id }: Patient): SourceRecord {
  return { id, startAt: 0, endAt: 1, isCancelled: false };
}

/** An invoice as the comparison sees it: the day of its issue. */
export function describeInvoice(invoice: Invoice): SourceRecord {
  const startAt = startOfInvoice(invoice);
  return { id: invoice.id, startAt, endAt: startAt + DAY_MS, isCancelled: invoice.status === 'Cancelled' };
}

/** A decimal of the clinic as a number: two digits after the point, far below where numbers lose cents. */
function amountOf(decimal: string | null): number | null {
  const amount = decimal === null ? Number.NaN : Number(decimal);
  return Number.isFinite(amount) ? amount : null;
}

/** By UTC: a deal's date need not be exact to the hour to be in a window. */
export function startOfInvoice({ issueDate }: Invoice): Instant {
  return issueDate === null ? 0 : Date.parse(`${issueDate}T00:00:00Z`);
}
