import type { CrmItem } from '../model/items.ts';
import type { Pieces } from '../model/pieces.ts';
import type { PendingChange } from '../model/plan.ts';
import type { Appointment, Invoice, Patient } from '../model/records.ts';
import type { Instant } from '../model/time.ts';
import type { Confirmations } from './absence.ts';
import type { ClinicShown, ContactsInput, CycleInput, Planning, TargetInput, TargetSetup } from './cycle-input.ts';
import type { Decision, PushedState } from './diff.ts';
import { checkedObject } from './egress.ts';
import { isSameContent } from './identity.ts';
import type { Mapped } from './mapping/contract.ts';
import {
  activityExclusion,
  activitySource,
  clinicTexts,
  invoiceSource,
  isComputable,
  mapperOf,
  patientSource,
  shownOf,
  startOfInvoice,
  tombstonesIn,
  unusableIn,
} from './mapping-sources.ts';
import { type RetainRefusals, retainRefusals } from './refusals.ts';
import type { TargetPlan } from './target-plan.ts';

/** A target of contacts as activities and deals go by it, before or after it was planned. */
export interface Contacts extends ContactsInput {
  /** Whether its state was opened for this cycle. If not, it carries the names that it carries. */
  isOpen: boolean;
  /** Patients whose contacts wait for a person's decision, or stay by it. */
  held: ReadonlySet<string>;
  /** Patients whose contacts are about to be written. */
  coming: ReadonlySet<string>;
  /** Patients who were found to be gone: those found while others' records are planned come to it. */
  gone: Set<string>;
}

/** Targets of contacts by id, as of the last plan. */
export function contactsBefore({
  targets,
  unplannedContacts,
  holds,
  clinicReading,
}: CycleInput): Map<string, Contacts> {
  const open = targets.filter(({ target }) => target.stream === 'patients');
  const all = [
    ...open.map((one) => [one, true] as const),
    ...[...unplannedContacts.values()].map((one) => [one, false] as const),
  ];
  return new Map(
    all.map(([{ target, state, pinned }, isOpen]) => {
      const held = holds.filter((hold) => hold.target === target.id && hold.state !== 'approved');
      const gone = new Set(clinicReading.streams.patients?.gone.get(target.id));
      const contacts: Contacts = {
        ...{ target, state, pinned, isOpen, gone },
        held: new Set(held.flatMap(({ recordIds }) => recordIds)),
        coming: writtenSoon(state.pending.values()),
      };
      return [target.id, contacts];
    }),
  );
}

/** The same after it was planned. What waits already is still written, unless the plan gives it up. */
export function contactsAfter(before: Contacts, { passed, abandoned, held, refused }: TargetPlan): Contacts {
  const coming = writtenSoon(before.state.pending.values());
  for (const recordId of abandoned) coming.delete(recordId);
  for (const { recordId, wanted } of passed) if (wanted.want === 'present') coming.add(recordId);
  const withheld = [...Object.values(held).flat(), ...refused];
  return { ...before, held: new Set(withheld.map(({ recordId }) => recordId)), coming };
}

/** Records of changes that write something, and are not refused: those wait for other data, or for a person. */
function writtenSoon(changes: Iterable<Pick<PendingChange, 'recordId' | 'want' | 'parked'>>): Set<string> {
  return new Set(
    [...changes].flatMap(({ recordId, want, parked }) => (want === 'present' && !parked ? [recordId] : [])),
  );
}

/**
 * Contacts of patients.
 * @param unusable counts values that had to be left empty, by property
 * @param refuse as {@link refusalsOfContacts} made it of the same cycle
 */
export function contactRule(
  input: TargetInput,
  cycle: Planning,
  unusable: Record<string, number>,
  refuse: RetainRefusals,
): (patient: Patient) => Decision {
  const mapped = counting(contactMapper(input, cycle), unusable);
  const checked = checking(input.target, cycle);
  return (patient) => {
    const exclusion = patientExclusionOf(input, cycle, patient);
    if (exclusion !== null) return exclusion;
    const made = mapped(patient);
    const item = 'fault' in made ? made : { ...made, properties: refuse(patient.id, made.properties) };
    const { street: _, ...location } = patient.address ?? { street: null };
    const others = [patient.gender, patient.language, ...Object.values(location)];
    return checked(itemOf(item, { contactKey: null, startAt: 0 }), patient, others);
  };
}

/** Keeps refusals: those of others who have the same address, where the CRM keeps them with it, and those that were made in the CRM. */
export function* refusalsOfContacts(input: TargetInput, cycle: CycleInput): Pieces<RetainRefusals> {
  const { clinicReading, confirmations } = cycle;
  const map = contactMapper(input, cycle);
  const patients = shownOf(clinicReading.streams.patients, confirmations.patients.found);
  return yield* retainRefusals(input, cycle, patients, (patient) => {
    const exclusion = patientExclusionOf(input, cycle, patient);
    // Whoever is kept as last written is there with what they said.
    return exclusion !== null && 'exclude' in exclusion ? null : map(patient);
  });
}

function contactMapper(input: TargetInput, { clinicReading }: CycleInput): (patient: Patient) => Mapped {
  const map = mapperOf(input, patientSource(input.target, clinicReading));
  return isComputable(input.target, clinicReading) ? map : () => ({ fault: 'history-unread' });
}

/** What keeps a patient out of the contacts, or as they are; null when nothing does. */
function patientExclusionOf({ target, pinned }: TargetInput, { isForgotten }: CycleInput, patient: Patient) {
  if (isForgotten(patient.id)) return { exclude: 'forgotten' };
  return consentDecision(target, patient, pinned.has(patient.id));
}

/** Activities of appointments. @param contacts those of their patients; undefined: they are not configured any more */
export function activityRule(
  input: TargetInput,
  cycle: Planning,
  contacts: Contacts | undefined,
): (appointment: Appointment) => Decision {
  const exclusion = activityExclusion(input.target, input.pinned);
  const map = mapperOf(input, activitySource(cycle.clinicReading));
  const textsOf = clinicTexts(cycle.clinicReading);
  const startOf = ({ time }: Appointment) => time.startAt;
  const rule = ofPatient<Appointment>(input, cycle, contacts, { map, startOf, textsOf });
  return (appointment) => {
    const exclude = exclusion(appointment);
    return exclude === null ? rule(appointment) : { exclude };
  };
}

/** Deals of invoices. @param contacts as above */
export function dealRule(
  input: TargetInput,
  cycle: Planning,
  contacts: Contacts | undefined,
): (invoice: Invoice) => Decision {
  const map = mapperOf(input, invoiceSource);
  const textsOf = ({ number, status, doctors, currency }: Invoice) => [number, status, currency, ...doctors];
  return ofPatient<Invoice>(input, cycle, contacts, { map, startOf: startOfInvoice, textsOf });
}

/** Whether a patient has given every consent that a target of contacts asks for. */
export function agrees(
  { configuration: { crm } }: Pick<TargetSetup, 'configuration'>,
  { consents }: Pick<Patient, 'consents'>,
): boolean {
  return crm?.consents.every((consent) => consents[consent] === true) !== false;
}

/**
 * What keeps a patient out of the contacts, or as they are; null when nothing does.
 * @param isPinned somebody put the contact back: the target's rules don't count then. What the patient said does.
 */
function consentDecision(
  target: TargetSetup,
  patient: Patient,
  isPinned: boolean,
): Exclude<Decision, { item: unknown }> | null {
  const { crm } = target.configuration;
  if (crm === undefined) return null;
  if (!patient.isActive && crm.inactive === 'remove' && !isPinned) return { exclude: 'inactive' };
  if (agrees(target, patient)) return null;
  return crm.withdrawn === 'keep' ? { retain: 'no-consent', stopsWriting: true } : { exclude: 'no-consent' };
}

/** How a record becomes an item. */
interface Making<Source> {
  map(record: Source): Mapped;
  startOf(record: Source): Instant;
  /** Texts of the clinic that it may be made of. */
  textsOf(record: Source): readonly (string | null)[];
}

/**
 * Activities and deals: only of patients whom the target of contacts holds, and joined to them. They go with the contact, so as long
 * as its removal is held, or was refused, they stay too.
 */
function ofPatient<Source extends { id: string; patientId: string | null }>(
  { target, state }: TargetInput,
  cycle: Planning,
  contacts: Contacts | undefined,
  { map, startOf, textsOf }: Making<Source>,
): (record: Source) => Decision {
  if (contacts === undefined) return () => ({ retain: 'patient-unknown' });
  const { clinicReading, confirmations, isForgotten } = cycle;
  const found = new Map(confirmations.patients.found.map((patient) => [patient.id, patient]));
  const isGone = gonePatients(state, contacts, cycle);
  const checked = checking(target, cycle);
  // The contact is to be made, and what it had has been written already, to one that is gone: it must be joined again.
  const isAsWritten = (recordId: string, decision: Made) =>
    'item' in decision &&
    isSameContent(state.links.get(recordId)?.fingerprint ?? '', target.identity.fingerprint(decision.item));
  return (record) => {
    const { patientId } = record;
    if (patientId === null) return { exclude: 'no-patient' };
    if (isForgotten(patientId)) return { exclude: 'forgotten' };
    if (contacts.held.has(patientId)) return { retain: 'contact-held', stopsWriting: true };
    const patient = found.get(patientId) ?? clinicReading.streams.patients?.snapshot.records.get(patientId);
    if (patient === undefined) {
      // They may be newer than the list of patients, or their row can't be used: what was written stays.
      return isGone(patientId, record.id) ? { exclude: 'patient-vanished' } : { retain: 'patient-unknown' };
    }
    const exclusion = consentDecision(contacts.target, patient, contacts.pinned.has(patientId));
    if (exclusion !== null) return 'retain' in exclusion ? exclusion : { exclude: 'patient-left-out' };
    const contact = contacts.state.links.get(patientId);
    // It rests with its contact: a cycle after that is written plans it again.
    if (contact === undefined && !contacts.coming.has(patientId)) {
      return { retain: 'contact-unwritten', stopsWriting: true };
    }
    const contactKey = contacts.target.identity.key(patientId, contact?.idAttempt ?? 0);
    const itemFor = (recreations: number) =>
      itemOf(map(record), {
        contactKey,
        ...(recreations > 0 && { contactRecreations: recreations }),
        startAt: startOf(record),
      });
    const decision = itemFor(contact?.recreations ?? 0);
    const made = contact === undefined && isAsWritten(record.id, decision) ? itemFor(1) : decision;
    return checked(made, patient, textsOf(record));
  };
}

type Made = { item: CrmItem } | { retain: string };

function itemOf(mapped: Mapped, belonging: Omit<CrmItem, 'properties'>): Made {
  return 'fault' in mapped ? { retain: mapped.fault } : { item: { properties: mapped.properties, ...belonging } };
}

/** Looks at objects of a target before they may leave. */
function checking(target: TargetSetup, { facts }: Planning) {
  return (made: Made, patient: Patient, others: readonly (string | null)[]): Decision =>
    'item' in made ? checkedObject(made.item, patient, target, { others, facts }) : made;
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

/** What a cycle knows, as far as it tells who is gone. */
interface DefinedFields {
  clinicReading: Pick<ClinicShown, 'streams'>;
  confirmations: Pick<Confirmations, 'patients'>;
}

/**
 * Tells for an activity or a deal whether its patient is gone. So is one who was read alone and is there no more; and, later, one whom a
 * list that is planned by for the first time does not show, and whose contact was removed, while the activity is still there: its
 * removal waits, or could not be planned when that of the contact was.
 * @param state that of the target of activities or deals
 * @param contacts those of their patients; whoever is found to be gone comes to their `gone`
 * @returns a question about a patient whom neither the list nor a reading alone shows, and a record of theirs
 */
function gonePatients(
  { links }: PushedState,
  { state: theirs, isOpen, gone }: Contacts,
  { clinicReading, confirmations }: DefinedFields,
): (patientId: string, recordId: string) => boolean {
  const reading = clinicReading.streams.patients;
  const { vanished } = confirmations.patients;
  if (reading === null) return (patientId) => vanished.has(patientId);
  const isNew = reading.readAt > (clinicReading.streams.plannedBy.patients ?? -Infinity);
  const isConclusive = isOpen && isNew && reading.snapshot.completeness === 'complete';
  const unusable = unusableIn(reading.snapshot);
  const deleted = new Set(tombstonesIn(reading.snapshot));
  const isOrphan = (patientId: string, recordId: string) => {
    if (!isConclusive || unusable.has(patientId) || !links.has(recordId)) return false;
    const pending = theirs.pending.get(patientId);
    return pending === undefined ? !theirs.links.has(patientId) : pending.want === 'absent';
  };
  return (patientId, recordId) => {
    if (vanished.has(patientId) || deleted.has(patientId) || isOrphan(patientId, recordId)) gone.add(patientId);
    return gone.has(patientId);
  };
}
