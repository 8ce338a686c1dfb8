import { lazily } from '../core/model/cache.ts';
import type { StreamName } from '../core/model/items.ts';
import { type Appointment, belongsTo, type Invoice, type Patient } from '../core/model/records.ts';
import type { Snapshot } from '../core/model/snapshots.ts';
import { DAY_MS, HOUR_MS, type Instant, type TimeWindow } from '../core/model/time.ts';
import { appointmentIdOf, isOfSeveralPatients, withVisits } from '../core/model/visits.ts';
import type { SourceRecord } from '../engine/diff.ts';
import type { Reach } from '../engine/target.ts';
import type { AgendaIndex } from './agenda-index.ts';
import type { ClinicShown, TargetInput, TargetSetup } from './cycle-input.ts';
import type { Mapped, Mapping, MappingSource } from './mapping/contract.ts';

/** A stream that a separate job reads, not each cycle. */
export type SlowStream = 'patients' | 'invoices' | 'history';

/** Properties of a target that determine its streams. */
export interface Follower {
  stream: StreamName;
  /** Null for a calendar. */
  crm: { mapping: Pick<Mapping, 'needs'> } | null;
}

/** Returns the streams that a target writes or computes with. */
export function streamsOf({ stream, crm }: Follower): SlowStream[] {
  if (crm === null) return [];
  const { history, invoices } = crm.mapping.needs;
  const names: SlowStream[] = ['patients'];
  if (stream === 'invoices' || invoices) names.push('invoices');
  if (history) names.push('history');
  return names;
}

/**
 * Returns the streams that a target's plan requires. If a stream for computed properties of contacts is missing, the contacts remain
 * unchanged.
 */
export function neededBy(target: Follower): SlowStream[] {
  return target.stream === 'patients' && target.crm !== null ? ['patients'] : streamsOf(target);
}

/** Returns whether a target's properties use past and future appointments. */
export function computesFromHistory(target: Follower): boolean {
  return streamsOf(target).includes('history');
}

/** Properties of a target that determine its window. */
export interface Windowed {
  stream: StreamName;
  configuration: { window: { pastDays: number; futureDays: number } };
}

/** Today, at any hour, and the next two days. */
const NEXT_48H = { backMs: 12 * HOUR_MS, aheadMs: 48 * HOUR_MS };

/** Window of records without a time: every instant that a date can hold. */
const ALWAYS: TimeWindow = { fromAt: 0, toAt: 8.64e15 };

/** Returns a target's window: whole days before and after now; unlimited for patients. */
export function windowOf(target: Windowed, now: Instant): TimeWindow {
  if (target.stream === 'patients') return ALWAYS;
  const { pastDays, futureDays } = target.configuration.window;
  return { fromAt: now - pastDays * DAY_MS, toAt: now + futureDays * DAY_MS };
}

/** Returns the window of a read of the next 48 hours. One list call is enough if the clinic allows four days. */
export function next48hWindow(now: Instant): TimeWindow {
  return { fromAt: now - NEXT_48H.backMs, toAt: now + NEXT_48H.aheadMs };
}

/** Returns the part of a target's window that a read covers; empty without overlap. */
export function windowRead(target: Windowed, { reach, startedAt }: { reach: Reach; startedAt: Instant }): TimeWindow {
  const window = windowOf(target, startedAt);
  return reach === 'whole' ? window : commonWindow(window, next48hWindow(startedAt));
}

/** Returns the intersection of two windows; empty without overlap. */
export function commonWindow(one: TimeWindow, other: TimeWindow): TimeWindow {
  return { fromAt: Math.max(one.fromAt, other.fromAt), toAt: Math.min(one.toAt, other.toAt) };
}

/** Returns the snapshot of the target's stream, or null if the stream was not read. */
export function snapshotOf(
  { snapshot, streams }: Pick<ClinicShown, 'snapshot' | 'streams'>,
  { stream, crm }: Pick<Windowed, 'stream'> & { crm: unknown },
): Snapshot<{ id: string }> | null {
  if (stream !== 'appointments') return streams[stream]?.snapshot ?? null;
  return crm === null ? snapshot : withVisits(snapshot);
}

/** Returns a predicate: whether a read shows a record, unusable records included. An unusable appointment says nothing about its visits. */
export function listedIn({ records, unusable }: Snapshot<{ id: string }>): (recordId: string) => boolean {
  const ids = new Set(unusable.map(({ recordId }) => recordId));
  const unread = unusableIn({ unusable });
  return (id) => records.has(id) || ids.has(id) || unread.has(appointmentIdOf(id));
}

/**
 * Returns a predicate as {@link listedIn} for one target, which first looks among the appointments of the target's agendas. In a list of tens
 * of thousands, most time of a lookup is the memory's.
 */
export function listedFor(
  { configuration: { agendas }, crm }: { configuration: { agendas: 'all' | readonly string[] }; crm: unknown },
  snapshot: Snapshot<{ id: string }>,
  byAgenda: AgendaIndex,
): (recordId: string) => boolean {
  const isListed = listedIn(snapshot);
  if (crm !== null || agendas === 'all') return isListed;
  const isOwn = lazily(() => byAgenda.memberOf(agendas));
  return (id) => isOwn()(id) || isListed(id);
}

/** Returns the ids of unusable records. */
export function unusableIn({ unusable }: Pick<Snapshot<unknown>, 'unusable'>): Set<string> {
  return new Set(unusable.flatMap(({ recordId, isTombstone }) => (isTombstone === true ? [] : (recordId ?? []))));
}

/** Returns the ids of records reported only as cancelled or deleted. */
export function tombstonesIn({ unusable }: Pick<Snapshot<unknown>, 'unusable'>): string[] {
  return unusable.flatMap(({ recordId, isTombstone }) => (isTombstone === true && recordId !== null ? [recordId] : []));
}

/**
 * Returns a function from a patient's id to the id of the remaining patient, as the list and single answers report merges. The remaining
 * patient may have been merged again.
 */
export function remainingPatients({
  patients,
}: Pick<ClinicShown['streams'], 'patients'>): (patientId: string) => string {
  const merges = new Map(patients?.merged);
  for (const { recordId, mergedInto } of patients?.snapshot.unusable ?? []) {
    if (recordId !== null && mergedInto !== undefined) merges.set(recordId, mergedInto);
  }
  return (patientId) => {
    const passed = new Set<string>();
    let remaining = patientId;
    for (let next = merges.get(remaining); next !== undefined && !passed.has(next); next = merges.get(remaining)) {
      passed.add(next);
      remaining = next;
    }
    return remaining;
  };
}

/** Returns the start of a listed record of the target's stream; null for a record without a time or not listed. */
export function beginningIn(
  { snapshot }: Pick<ClinicShown, 'snapshot'>,
  { stream }: Pick<Windowed, 'stream'>,
  recordId: string,
): Instant | null {
  return stream === 'appointments' ? (snapshot.records.get(appointmentIdOf(recordId))?.time.startAt ?? null) : null;
}

/** Returns every known record: listed or individually fetched. */
export function* shownOf<Source>(
  list: { snapshot: { records: ReadonlyMap<string, Source> } } | null,
  found: Iterable<Source>,
): Generator<Source> {
  if (list !== null) yield* list.snapshot.records.values();
  yield* found;
}

/** Returns a clinic read with the visits of appointments of several patients. */
export function visitsIn({ snapshot }: Pick<ClinicShown, 'snapshot'>): Pick<ClinicShown, 'snapshot'> {
  return { snapshot: withVisits(snapshot) };
}

/** Rules for the appointments of a target. */
export interface FeedRules {
  /** Ids of agendas. */
  agendas: 'all' | readonly string[];
  /** Ids of treatments. An appointment without a treatment passes only `all`. */
  treatments: 'all' | readonly string[];
  /** Time blocked without a patient. */
  blockedTime: 'show' | 'hide';
}

/** Why an appointment is excluded from a target. */
export type Exclusion = 'agenda' | 'several-values' | 'treatment' | 'blocked-time';

/** Returns the first rule that excludes the appointment, or null. The treatment rule ignores blocked time, which has no treatment. */
export function exclusionOf(appointment: Appointment, rules: FeedRules): Exclusion | null {
  const { agendas, treatments, blockedTime } = rules;
  const belongs = belongsTo(appointment, agendas);
  if (belongs !== true) return belongs === 'unclear' ? 'several-values' : 'agenda';
  if (appointment.patientId === null) return blockedTime === 'hide' ? 'blocked-time' : null;
  const { treatmentId } = appointment;
  const passes = treatments === 'all' || (treatmentId !== null && treatments.includes(treatmentId));
  return passes ? null : 'treatment';
}

/** Returns an appointment as input for the comparison. */
export function describeAppointment({ id, time, status }: Appointment): SourceRecord {
  return { id, startAt: time.startAt, endAt: time.endAt, isCancelled: status === 'cancelled' };
}

/** Returns an appointment as input for the comparison with an event. */
export function describeEvent(appointment: Appointment): SourceRecord {
  const { id, time, status, patientId } = appointment;
  const subject = isOfSeveralPatients(appointment) ? null : patientId;
  return { id, startAt: time.startAt, endAt: time.endAt, isCancelled: status === 'cancelled', subjectId: subject };
}

/** Returns a function that maps the records of a CRM target. @throws TypeError for a calendar */
export function mapperOf<Source>(
  { target: { crm } }: Pick<TargetInput, 'target'>,
  sourceOf: (record: Source) => MappingSource,
): (record: Source) => Mapped {
  if (crm === null) throw new TypeError('a calendar has no mapping');
  return (record) => crm.mapping.map(sourceOf(record));
}

/** Returns whether the data for derived properties is complete: the history, and future appointments in the target's window. */
export function isComputable(
  { crm, configuration }: TargetSetup,
  { startedAt }: Pick<ClinicShown, 'startedAt'>,
): boolean {
  // The window's end moves with each cycle. Up to one day may be missing, because an interrupted read then lacks very few appointments.
  const aheadUntil = startedAt + (configuration.window.futureDays - 1) * DAY_MS;
  return crm?.patientHistory?.covers(startedAt, aheadUntil) ?? true;
}

/** Returns why an appointment is excluded from a target of activities, or null. */
export function activityExclusion(
  { configuration }: Pick<TargetSetup, 'configuration'>,
  pinned: ReadonlySet<string>,
): (appointment: Appointment) => string | null {
  return (appointment) => {
    const { id, status, patientId, patientIds } = appointment;
    if (status === 'cancelled') return 'status';
    if (patientIds !== undefined) return 'several-patients';
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

/** Returns the mapping source of an appointment's activity. */
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

/** Returns the clinic texts that an appointment's activity may contain. */
export function clinicTexts(shown: ClinicShown): (appointment: Appointment) => (string | null)[] {
  const sourceOf = activitySource(shown);
  return (appointment) => {
    const source = sourceOf(appointment);
    return source.stream === 'appointments'
      ? [source.agenda, source.location, source.treatment, appointment.status]
      : [];
  };
}

/** Returns the mapping source of an invoice's deal. */
export function invoiceSource(invoice: Invoice): MappingSource {
  const { id, patientId, number, issueDate: date, currency, status, doctors } = invoice;
  const [total, paid] = [amountOf(invoice.totalAmount), amountOf(invoice.paidAmount)];
  return {
    stream: 'invoices',
    invoice: { id, patientId, number, date, total, paid, currency, doctors: [...doctors], status },
  };
}

/** Returns a patient as input for the comparison. Patients have no time. */
export function describePatient({ id }: Patient): SourceRecord {
  return { id, startAt: 0, endAt: 1, isCancelled: false };
}

/** Returns an invoice as input for the comparison, with its day of issue. */
export function describeInvoice(invoice: Invoice): SourceRecord {
  const startAt = startOfInvoice(invoice);
  return { id: invoice.id, startAt, endAt: startAt + DAY_MS, isCancelled: invoice.status === 'Cancelled' };
}

/** Converts a decimal of the clinic to a number: two decimals, far below the size at which numbers lose cents. */
function amountOf(decimal: string | null): number | null {
  const amount = decimal === null ? Number.NaN : Number(decimal);
  return Number.isFinite(amount) ? amount : null;
}

/** Returns the day of issue in UTC: the window of deals needs no exact hour. */
export function startOfInvoice({ issueDate }: Invoice): Instant {
  return issueDate === null ? 0 : Date.parse(`${issueDate}T00:00:00Z`);
}
