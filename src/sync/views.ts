import type { Confirmation } from '../jobs/absence.ts';
import { inPieces } from '../jobs/in-pieces.ts';
import type { Survey } from '../jobs/survey.ts';
import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import type { CrmItem } from '../model/items.ts';
import type { ItemKey } from '../model/operations.ts';
import { eachInPieces, type Pieces } from '../model/pieces.ts';
import type { Hold, PendingChange } from '../model/plan.ts';
import type { Appointment, Invoice, Patient } from '../model/records.ts';
import type { Snapshot } from '../model/snapshots.ts';
import { DAY_MS, type Instant, overlaps, type TimeWindow } from '../model/time.ts';
import type { GenerationLook } from '../state/generations.ts';
import type { Doubt } from '../state/protection.ts';
import type { AgendaIndex } from './agenda-index.ts';
import { type Diff, type DiffInput, diff, type Ruling, type SourceRecord, type TargetState } from './diff.ts';
import { describeAppointment, exclusionOf } from './feed.ts';
import { gonePatients } from './gone-patients.ts';
import { isSameContent } from './identity.ts';
import type { KnownFingerprints } from './known-fingerprints.ts';
import type { Mapped, MappingSource } from './mapping/contract.ts';
import {
  activitySource,
  describeInvoice,
  describePatient,
  invoiceSource,
  patientSource,
  startOfInvoice,
} from './mapping-sources.ts';
import { project } from './project.ts';

/** What reading absent records alone told, by stream. */
export interface Confirmations {
  appointments: Confirmation<Appointment>;
  patients: Confirmation<Patient>;
  invoices: Confirmation<Invoice>;
}

/** Everything that a cycle knows when it plans. */
export interface Known {
  survey: Survey;
  confirmations: Confirmations;
  /** Absent records of each target: a complete list should have shown them. */
  absent: ReadonlyMap<string, readonly string[]>;
  states: ReadonlyMap<OpenTarget, TargetState>;
  /** Records of each target that were read alone: absent ones, and some that lie outside the window. */
  missing: ReadonlyMap<string, readonly string[]>;
  /** Whether an operator had a patient forgotten. */
  isForgotten(patientId: string): boolean;
  /** Why that is not known for sure; null when it is. */
  doubt: Doubt | null;
  /** The appointments of the survey. */
  byAgenda: AgendaIndex;
  /** The configurations of the tenant. */
  generation: GenerationLook;
  /** Of all targets, as of the beginning: what is decided meanwhile counts in the next cycle. */
  holds: readonly Hold[];
  /** By target of contacts: patients whose contacts wait for a person's decision, or stay by it. */
  heldContacts: ReadonlyMap<string, ReadonlySet<string>>;
  /** By target of contacts, where it is planned: patients whose contacts are about to be written. */
  comingContacts: ReadonlyMap<string, ReadonlySet<string>>;
}

/** The comparison of one target, but for what it compares with. */
type Common = Omit<DiffInput, 'records' | 'describe' | 'rule' | 'fingerprints'>;

/** A target's stream as its rules see it. */
export interface TargetView {
  /** Values that had to be left empty, by property: numbers that are no telephone numbers. Counted while it is compared. */
  unusable: Readonly<Record<string, number>>;
  /** Whether this cycle saw the record, in a list or alone. */
  shows(recordId: string): boolean;
  /** Records in a window that the comparison passes over: they are of other agendas, and the target has nothing of them. */
  countPassedOver(window: TimeWindow): number;
  compare(common: Common): Pieces<Diff>;
}

interface ComparableView<Source> extends TargetView {
  compare(common: Common, records?: Iterable<Source>): Pieces<Diff>;
}

interface Listed<Source> {
  snapshot: Pick<Snapshot<Source>, 'records'>;
  confirmation: Confirmation<Source>;
}

/** Prepares a target's view; what takes time (expressions) is done here. */
export async function viewOf(
  tenant: OpenTenant,
  target: OpenTarget,
  known: Known,
  pinned: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<TargetView> {
  const { survey, confirmations } = known;
  if (target.crm === null) {
    const listed = { snapshot: survey.snapshot, confirmation: confirmations.appointments };
    const rule = eventRule(tenant, target, known, pinned);
    const events = view(listed, describeAppointment, rule, {}, knownFingerprints(target, known, pinned));
    const { agendas } = target.configuration;
    return agendas === 'all' ? events : { ...events, ...ofAgendas(agendas, target, known, pinned, events) };
  }
  const { mapping } = target.crm;
  const unusable: Record<string, number> = {};
  switch (target.stream) {
    case 'patients': {
      const listed = { snapshot: listOf(survey.streams.patients), confirmation: confirmations.patients };
      const map = isComputable(target, survey)
        ? await mapperOf(mapping, recordsOf(listed), patientSource(target, survey), signal)
        : () => ({ fault: 'history-unread' });
      return view(listed, describePatient, contactRule(target, known, pinned, counting(map, unusable)), unusable);
    }
    case 'appointments': {
      const listed = { snapshot: survey.snapshot, confirmation: confirmations.appointments };
      const belongs = activityExclusion(target, pinned);
      const wanted = [...recordsOf(listed)].filter((appointment) => belongs(appointment) === null);
      const map = await mapperOf(mapping, wanted, activitySource(survey), signal);
      const rule = await ofPatient<Appointment>(tenant, target, known, map, ({ time }) => time.startAt);
      return view(listed, describeAppointment, (appointment) => {
        const leaveOut = belongs(appointment);
        return leaveOut === null ? rule(appointment) : { leaveOut };
      });
    }
    case 'invoices': {
      const listed = { snapshot: listOf(survey.streams.invoices), confirmation: confirmations.invoices };
      const map = await mapperOf(mapping, recordsOf(listed), invoiceSource, signal);
      return view(listed, describeInvoice, await ofPatient<Invoice>(tenant, target, known, map, startOfInvoice));
    }
  }
}

/** Whether all was read that derived properties are computed from: the past, and what is ahead in the target's window. */
function isComputable({ crm, configuration }: OpenTarget, { startedAt }: Survey): boolean {
  // The end of the window moves on with each cycle; readings that broke off for less than a day lack next to nothing.
  const aheadUntil = startedAt + (configuration.window.futureDays - 1) * DAY_MS;
  return crm?.ledger?.covers(startedAt, aheadUntil) ?? true;
}

function listOf<Source>(reading: { snapshot: Snapshot<Source> } | null): Pick<Snapshot<Source>, 'records'> {
  return reading?.snapshot ?? { records: new Map() };
}

function view<Source extends { id: string }>(
  { snapshot, confirmation }: Listed<Source>,
  describe: (record: Source) => SourceRecord,
  rule: (record: Source, key: () => ItemKey) => Ruling,
  unusable: Readonly<Record<string, number>> = {},
  fingerprints: KnownFingerprints<Source> | null = null,
): ComparableView<Source> {
  const found = new Set(confirmation.found.map(({ id }) => id));
  return {
    unusable,
    shows: (id) => snapshot.records.has(id) || found.has(id),
    countPassedOver: () => 0,
    compare: (common, records = recordsOf({ snapshot, confirmation })) =>
      diff({ ...common, records, describe, rule, ...(fingerprints !== null && { fingerprints }) }),
  };
}

/** Looks only at what can be of the target: appointments of its agendas, and those that it has something of. */
function ofAgendas(
  agendas: readonly string[],
  target: OpenTarget,
  { survey: { snapshot }, confirmations, states, byAgenda }: Known,
  pinned: ReadonlySet<string>,
  events: ComparableView<Appointment>,
): Pick<TargetView, 'compare' | 'countPassedOver'> {
  const { links, pending } = states.get(target) ?? { links: new Map(), pending: new Map() };
  const strays = new Map<string, Appointment>();
  for (const ids of [links.keys(), pending.keys(), pinned]) {
    for (const id of ids) {
      const appointment = snapshot.records.get(id);
      if (appointment !== undefined && !agendas.includes(appointment.agendaId)) strays.set(id, appointment);
    }
  }
  function* records() {
    yield* byAgenda.of(agendas);
    yield* strays.values();
    yield* confirmations.appointments.found;
  }
  return {
    countPassedOver(window) {
      const counted = [...strays.values()].filter(({ time }) => overlaps(time, window)).length;
      return byAgenda.countBeside(agendas, window) - counted;
    },
    compare: (common) => events.compare(common, records()),
  };
}

function* recordsOf<Source>({ snapshot, confirmation }: Listed<Source>): Generator<Source> {
  yield* snapshot.records.values();
  yield* confirmation.found;
}

/** Events of a calendar. Pinned records belong whatever the rules say, unless the clinic cancelled them. */
function eventRule(
  { configuration: { language, zone } }: OpenTenant,
  { configuration }: OpenTarget,
  { survey: { directory }, isForgotten }: Known,
  pinned: ReadonlySet<string>,
): (appointment: Appointment, key: () => ItemKey) => Ruling {
  const { title, fields, statuses } = configuration;
  return (appointment, key) => {
    const { id, status, patientId } = appointment;
    if (patientId !== null && isForgotten(patientId)) return { leaveOut: 'forgotten' };
    const isPinned = pinned.has(id);
    const exclusion = isPinned ? null : exclusionOf(appointment, configuration);
    if (exclusion !== null) return { leaveOut: exclusion };
    const shown = isPinned && status !== 'cancelled' ? [...statuses, status] : statuses;
    const item = project(appointment, { title, fields, statuses: shown, language, zone }, directory, key);
    return item === null ? { leaveOut: 'status' } : { item };
  };
}

/** Of events, where nothing but the appointment and the catalogue decides what they are; null where names come from the list of patients. */
function knownFingerprints(
  { fingerprints }: OpenTarget,
  { survey: { directory, clinic }, isForgotten }: Known,
  pinned: ReadonlySet<string>,
): KnownFingerprints<Appointment> | null {
  if (directory.patients.size > 0) return null;
  return fingerprints.under(
    clinic.catalogue,
    ({ id, patientId }) => !pinned.has(id) && (patientId === null || !isForgotten(patientId)),
  );
}

/**
 * What keeps a patient out of the contacts, or as they are; null when nothing does.
 * @param isPinned somebody put the contact back: the target's rules don't count then. What the patient said does.
 */
function consentRuling(
  target: OpenTarget,
  patient: Patient,
  isPinned: boolean,
): Exclude<Ruling, { item: unknown }> | null {
  const { crm } = target.configuration;
  if (crm === undefined) return null;
  if (!patient.isActive && crm.inactive === 'remove' && !isPinned) return { leaveOut: 'inactive' };
  if (agrees(target, patient)) return null;
  return crm.withdrawn === 'keep' ? { keep: 'no-consent', stopsWriting: true } : { leaveOut: 'no-consent' };
}

/** Whether a patient has given every consent that a target of contacts asks for. */
export function agrees({ configuration: { crm } }: OpenTarget, { consents }: Patient): boolean {
  return crm?.consents.every((consent) => consents[consent] === true) !== false;
}

function contactRule(
  target: OpenTarget,
  { isForgotten }: Known,
  pinned: ReadonlySet<string>,
  map: (record: Patient) => Mapped,
): (patient: Patient) => Ruling {
  return (patient) => {
    if (isForgotten(patient.id)) return { leaveOut: 'forgotten' };
    return (
      consentRuling(target, patient, pinned.has(patient.id)) ?? itemOf(map(patient), { contactKey: null, startAt: 0 })
    );
  };
}

/**
 * Activities and deals: only of patients whom the target of contacts holds, and joined to them. They go with the contact, so as long
 * as its removal is held, or was refused, they stay too.
 */
async function ofPatient<Source extends { id: string; patientId: string | null }>(
  tenant: OpenTenant,
  target: OpenTarget,
  known: Known,
  map: (record: Source) => Mapped,
  startOf: (record: Source) => Instant,
): Promise<(record: Source) => Ruling> {
  const { survey, confirmations, states, isForgotten, heldContacts, comingContacts } = known;
  const contacts = tenant.targets.get(target.configuration.crm?.contacts ?? '');
  if (contacts === undefined) return () => ({ keep: 'patient-unknown' });
  // Contacts that are paused, or could not be read now, carry the names that they carry.
  const links = states.get(contacts)?.links ?? (await tenant.links.read(contacts.id));
  const coming = comingContacts.get(contacts.id) ?? writtenSoon((await tenant.outbox.pending(contacts.id)).values());
  const pinned = await tenant.journal.pinned(contacts.id, tenant.clock());
  const found = new Map(confirmations.patients.found.map((patient) => [patient.id, patient]));
  const isGone = gonePatients(target, contacts, known);
  const own = states.get(target)?.links;
  // The contact is to be made, and what it had has been written already, to one that is gone: it must be joined again.
  const isAsWritten = (recordId: string, ruling: Ruling) =>
    'item' in ruling && isSameContent(own?.get(recordId)?.fingerprint ?? '', target.identity.fingerprint(ruling.item));
  return (record) => {
    const { patientId } = record;
    if (patientId === null) return { leaveOut: 'no-patient' };
    if (isForgotten(patientId)) return { leaveOut: 'forgotten' };
    if (heldContacts.get(contacts.id)?.has(patientId) === true) return { keep: 'contact-held', stopsWriting: true };
    const patient = found.get(patientId) ?? survey.streams.patients?.snapshot.records.get(patientId);
    if (patient === undefined) {
      // They may be newer than the list of patients, or their row can't be used: what was written stays.
      return isGone(patientId, record.id) ? { leaveOut: 'patient-vanished' } : { keep: 'patient-unknown' };
    }
    const exclusion = consentRuling(contacts, patient, pinned.has(patientId));
    if (exclusion !== null) return 'keep' in exclusion ? exclusion : { leaveOut: 'patient-left-out' };
    const contact = links.get(patientId);
    // It would be refused, and tried less and less often.
    if (contact === undefined && !coming.has(patientId)) return { keep: 'contact-unwritten' };
    const contactKey = contacts.identity.key(patientId, contact?.epoch ?? 0);
    const itemFor = (generation: number) =>
      itemOf(map(record), {
        contactKey,
        ...(generation > 0 && { contactGeneration: generation }),
        startAt: startOf(record),
      });
    const ruling = itemFor(contact?.generation ?? 0);
    return contact === undefined && isAsWritten(record.id, ruling) ? itemFor(1) : ruling;
  };
}

/** Records of changes that write something. */
export function writtenSoon(changes: Iterable<Pick<PendingChange, 'recordId' | 'want'>>): Set<string> {
  return new Set([...changes].flatMap(({ recordId, want }) => (want === 'present' ? [recordId] : [])));
}

function itemOf(mapped: Mapped, belonging: Omit<CrmItem, 'properties'>): Ruling {
  if ('fault' in mapped) return { keep: mapped.fault };
  const item: CrmItem = { properties: mapped.properties, ...belonging };
  return { item };
}

function activityExclusion(
  { configuration }: OpenTarget,
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

function counting<Source>(map: (record: Source) => Mapped, unusable: Record<string, number>) {
  return (record: Source): Mapped => {
    const mapped = map(record);
    if ('unusablePhones' in mapped) {
      for (const name of mapped.unusablePhones ?? []) unusable[name] = (unusable[name] ?? 0) + 1;
    }
    return mapped;
  };
}

/** How a record is mapped: at once, or ahead for all of them where expressions must be worked out. */
async function mapperOf<Source extends { id: string }>(
  mapping: NonNullable<OpenTarget['crm']>['mapping'],
  records: Iterable<Source>,
  sourceOf: (record: Source) => MappingSource,
  signal: AbortSignal,
): Promise<(record: Source) => Mapped> {
  if (mapping.isPlain) return (record) => mapping.mapNow(sourceOf(record));
  const ids: string[] = [];
  const sources: MappingSource[] = [];
  const gathering = eachInPieces(records, (record) => {
    ids.push(record.id);
    sources.push(sourceOf(record));
  });
  await inPieces(gathering, signal);
  const mapped = await mapping.mapAll(sources, signal);
  const byId = new Map(ids.map((id, index) => [id, mapped[index]]));
  return ({ id }) => byId.get(id) ?? { fault: 'not-mapped' };
}
