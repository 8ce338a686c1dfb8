import type { CrmItem } from '../core/model/items.ts';
import type { Pieces } from '../core/model/pieces.ts';
import type { PendingChange } from '../core/model/plan.ts';
import type { Appointment, Invoice, Patient } from '../core/model/records.ts';
import type { Instant } from '../core/model/time.ts';
import type { Decision, PushedState } from '../engine/diff.ts';
import { isSameContent } from '../engine/identity.ts';
import type { TargetPlan } from '../engine/target-plan.ts';
import type { Confirmations } from './absence.ts';
import type { ClinicShown, ContactsInput, CycleInput, Planning, TargetInput, TargetSetup } from './cycle-input.ts';
import { checkedObject } from './egress.ts';
import type { Mapped } from './mapping/contract.ts';
import {
  activityExclusion,
  activitySource,
  clinicTexts,
  invoiceSource,
  isComputable,
  mapperOf,
  patientSource,
  remainingPatients,
  shownOf,
  startOfInvoice,
  tombstonesIn,
  unusableIn,
} from './mapping-sources.ts';
import { withoutField } from './read-alone.ts';
import { type RetainRefusals, retainRefusals } from './refusals.ts';

/** A target of contacts, before or after its plan, as input for activities and deals. */
export interface Contacts extends ContactsInput {
  /** Whether the cycle opened the target's state. If not, contact names do not change in this cycle. */
  isOpen: boolean;
  /** Patients whose contacts a hold or an administrator's decision keeps. */
  held: ReadonlySet<string>;
  /** Patients whose contacts have a pending write. */
  coming: ReadonlySet<string>;
  /** Patients found gone. Planning other records adds patients to this set. */
  gone: Set<string>;
}

/** Returns targets of contacts by id, as of the last plan. */
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

/** Returns a target of contacts after its plan. Pending writes remain, unless the plan abandons them. */
export function contactsAfter(before: Contacts, { permitted, abandoned, held, refused }: TargetPlan): Contacts {
  const coming = writtenSoon(before.state.pending.values());
  for (const recordId of abandoned) coming.delete(recordId);
  for (const { recordId, wanted } of permitted) if (wanted.want === 'present') coming.add(recordId);
  const withheld = [...Object.values(held).flat(), ...refused];
  return { ...before, held: new Set(withheld.map(({ recordId }) => recordId)), coming };
}

/** Returns records with a pending write that was not refused. A refused write waits for other data, or for an administrator. */
function writtenSoon(changes: Iterable<Pick<PendingChange, 'recordId' | 'want' | 'parked'>>): Set<string> {
  return new Set(
    [...changes].flatMap(({ recordId, want, parked }) => (want === 'present' && !parked ? [recordId] : [])),
  );
}

/**
 * Returns the rule for contacts of patients.
 * @param unusable counts values left empty, by property
 * @param refuse result of {@link refusalsOfContacts} in the same cycle
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

/**
 * Keeps two kinds of refusals: those made in the CRM, and those of other patients with the same email address if the CRM stores refusals
 * per email address.
 */
export function* refusalsOfContacts(input: TargetInput, cycle: CycleInput): Pieces<RetainRefusals> {
  const { clinicReading, confirmations } = cycle;
  const map = contactMapper(input, cycle);
  const patients = shownOf(clinicReading.streams.patients, confirmations.patients.found);
  return yield* retainRefusals(input, cycle, patients, (patient) => {
    const exclusion = patientExclusionOf(input, cycle, patient);
    // A contact kept as last written keeps its refusals.
    return exclusion !== null && 'exclude' in exclusion ? null : map(patient);
  });
}

function contactMapper(input: TargetInput, { clinicReading }: CycleInput): (patient: Patient) => Mapped {
  const map = mapperOf(input, patientSource(input.target, clinicReading));
  return isComputable(input.target, clinicReading) ? map : () => ({ fault: 'history-unread' });
}

/** Returns why a patient's contact is excluded or unchanged, or null. */
function patientExclusionOf(
  { target, pinned }: TargetInput,
  { isForgotten, confirmations }: CycleInput,
  patient: Patient,
) {
  if (isForgotten(patient.id)) return { exclude: 'forgotten' };
  const isAlone = () => confirmations.patients.found.includes(patient);
  return consentDecision(target, patient, pinned.has(patient.id), isAlone);
}

/**
 * Returns the rule for activities of appointments.
 * @param contacts target of the patients' contacts; undefined if the configuration no longer has the target
 */
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
    if (exclude === 'several-values') return { retain: exclude };
    return exclude === null ? rule(appointment) : { exclude };
  };
}

/**
 * Returns the rule for deals of invoices.
 * @param contacts target of the patients' contacts; undefined if the configuration no longer has the target
 */
export function dealRule(
  input: TargetInput,
  cycle: Planning,
  contacts: Contacts | undefined,
): (invoice: Invoice) => Decision {
  const map = mapperOf(input, invoiceSource);
  const textsOf = ({ number, status, doctors, currency }: Invoice) => [number, status, currency, ...doctors];
  return ofPatient<Invoice>(input, cycle, contacts, { map, startOf: startOfInvoice, textsOf });
}

/** Returns whether a patient gave every consent that a target of contacts requires. */
export function agrees(
  { configuration: { crm } }: Pick<TargetSetup, 'configuration'>,
  { consents }: Pick<Patient, 'consents'>,
): boolean {
  return crm?.consents.every((consent) => consents[consent] === true) !== false;
}

/**
 * Returns why consents exclude a patient's contact or keep it unchanged, or null.
 * @param isPinned an administrator restored the contact. The target's rules then do not apply; the patient's refusal does.
 * @param isAlone whether only a single answer shows the patient. A consent that it lacks is not withdrawn.
 */
function consentDecision(
  target: TargetSetup,
  patient: Patient,
  isPinned: boolean,
  isAlone: () => boolean,
): Exclude<Decision, { item: unknown }> | null {
  const { crm } = target.configuration;
  if (crm === undefined) return null;
  if (!patient.isActive && crm.inactive === 'remove' && !isPinned) return { exclude: 'inactive' };
  if (agrees(target, patient)) return null;
  const isRefused = crm.consents.some((consent) => patient.consents[consent] === false);
  if (!isRefused && isAlone()) return { ...withoutField('consents'), stopsWriting: true };
  return crm.withdrawn === 'keep' ? { retain: 'no-consent', stopsWriting: true } : { exclude: 'no-consent' };
}

/** Conversion of a record to an item. */
interface Making<Source> {
  map(record: Source): Mapped;
  startOf(record: Source): Instant;
  /** Clinic texts that the item may contain. */
  textsOf(record: Source): readonly (string | null)[];
}

/**
 * Returns the rule for activities and deals: only of patients with a contact in the target, and associated with the contact. They are
 * removed with the contact. If the removal is held or rejected, they remain.
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
  // If the contact is recreated, its earlier activities lost their association: write them again.
  const isAsWritten = (recordId: string, decision: Made) =>
    'item' in decision &&
    isSameContent(state.links.get(recordId)?.fingerprint ?? '', target.identity.fingerprint(decision.item));
  const remainingOf = remainingPatients(clinicReading.streams);
  return (record) => {
    if (record.patientId === null) return { exclude: 'no-patient' };
    const patientId = remainingOf(record.patientId);
    if (isForgotten(patientId) || isForgotten(record.patientId)) return { exclude: 'forgotten' };
    if (contacts.held.has(patientId)) return { retain: 'contact-held', stopsWriting: true };
    const patient = found.get(patientId) ?? clinicReading.streams.patients?.snapshot.records.get(patientId);
    if (patient === undefined) {
      // The record may be newer than the list of patients, or the patient may be unusable: keep the last write.
      return isGone(patientId, record.id) ? { exclude: 'patient-vanished' } : { retain: 'patient-unknown' };
    }
    const exclusion = consentDecision(contacts.target, patient, contacts.pinned.has(patientId), () =>
      found.has(patientId),
    );
    if (exclusion !== null) return 'retain' in exclusion ? exclusion : { exclude: 'patient-left-out' };
    const contact = contacts.state.links.get(patientId);
    // The record waits for its contact. A cycle after the contact's write plans the record again.
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

/** Returns a function that checks a target's objects before they leave the host. */
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

/** Facts of a cycle that show which patients are gone. */
interface DefinedFields {
  clinicReading: Pick<ClinicShown, 'streams'>;
  confirmations: Pick<Confirmations, 'patients'>;
}

/**
 * Returns a predicate: whether the patient of an activity or deal is gone. A patient is gone if an individual fetch proved it. A patient is
 * also gone if the newly used list does not show them and their contact was removed. In the second case the activity remained, because its
 * removal waits or could not be planned with the contact's removal.
 * @param state state of the target of activities or deals
 * @param contacts target of the patients' contacts. Its `gone` receives patients found gone.
 * @returns a predicate with a patient as argument whom neither the list nor an individual fetch shows, and a record of the patient
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
