import type { ExistingContact, ExistingContacts } from '../connectors/connector.ts';
import type { Cycle } from '../jobs/cycle.ts';
import { inPieces } from '../jobs/in-pieces.ts';
import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import type { CrmItem } from '../model/items.ts';
import type { Patient } from '../model/records.ts';
import type { CrmFile } from '../settings/crm-schema.ts';
import { phoneReader } from '../sync/mapping/fields.ts';
import { patientSource } from '../sync/mapping-sources.ts';
import {
  comparedProperties,
  contactAsPerson,
  digestOf,
  matchPeople,
  type Person,
  patientAsPerson,
} from '../sync/matching.ts';
import { pagesOf } from './target-objects.ts';

/** A pair that a person is to decide on. */
export interface MatchRow {
  pair: Pair;
  patient: Person;
  contact: Person;
  same: readonly string[];
  differs: readonly string[];
  /** How many contacts may be this patient, and how many patients this contact. */
  contacts: number;
  patients: number;
  /** Properties of the contact that a sync would change, and those that it would empty since the clinic tells nothing. */
  changes: readonly string[];
  clears: readonly string[];
  /** Address of the contact's page; null when it has none. */
  page: string | null;
}

/** Who is meant, and as whom a person saw them: digests of both. */
export interface Pair {
  recordId: string;
  remoteId: string;
  patientSeen: string;
  contactSeen: string;
}

/** What was found, in numbers. */
export interface MatchCounts {
  /** Contacts of the CRM that are not ours. */
  contacts: number;
  /** Patients who have no contact of ours yet. */
  patients: number;
  /** Patients who look like one contact or several. */
  alike: number;
  /** What so many have that it tells nothing. */
  tooCommon: number;
}

/** A target whose existing contacts can be matched. */
export interface MatchableTarget {
  target: OpenTarget;
  existing: ExistingContacts;
  crm: CrmFile;
}

/** Null for a target that holds no contacts, or whose contacts can't be read. */
export function asMatchable(target: OpenTarget): MatchableTarget | null {
  const { connector, configuration, stream } = target;
  if (stream !== 'patients' || configuration.crm === undefined || connector.existing === undefined) return null;
  return { target, existing: connector.existing, crm: configuration.crm };
}

/** Reads every contact that is not ours, and pairs patients without a contact with those that look alike. */
export async function findMatches(
  tenant: Pick<OpenTenant, 'links' | 'outbox' | 'targetStore'>,
  { target, existing, crm }: MatchableTarget,
  cycle: Cycle,
  signal: AbortSignal,
): Promise<MatchCounts & { rows: MatchRow[] }> {
  const patients = await unmatchedPatients(tenant, target, cycle);
  const {
    contacts,
    wanted,
    candidates: stored,
    matches,
    tooCommon,
  } = await compareWithFree({ existing, crm }, patients, signal);
  const alike = new Map(matches.map(({ recordId }) => [recordId, patients.get(recordId)!]));
  const items = await itemsOf(target, cycle, alike, signal);
  const { container } = await tenant.targetStore.read(target.id);
  const remoteIds = matches.map(({ remoteId }) => remoteId);
  const pages = await pagesOf(target, container, remoteIds, signal);
  const rows = matches.map(({ recordId, remoteId, ...match }): MatchRow => {
    const [patient, contact] = [wanted.get(recordId)!, stored.get(remoteId)!];
    const pair = {
      ...{ recordId, remoteId },
      ...{ patientSeen: digestOf(patient), contactSeen: contactDigest(contacts.get(remoteId)!) },
    };
    const page = pages.get(remoteId) ?? null;
    const overwritten = overwrites(contacts.get(remoteId)!.properties, items.get(recordId) ?? {});
    return { pair, patient, contact, page, ...match, ...overwritten };
  });
  return { contacts: contacts.size, patients: patients.size, alike: alike.size, tooCommon, rows };
}

/** Reads every contact that is free, and tells which of them look like patients. @param patients by record */
export async function compareWithFree(
  { existing, crm }: Pick<MatchableTarget, 'existing' | 'crm'>,
  patients: ReadonlyMap<string, Patient>,
  signal: AbortSignal,
) {
  const contacts = new Map<string, ExistingContact>();
  for await (const page of existing.list(signal)) for (const contact of page) contacts.set(contact.remoteId, contact);
  const properties = comparedProperties(crm);
  const wanted = mapValues(patients, (patient) => patientAsPerson(patient, properties));
  const candidates = mapValues(contacts, (contact) => contactAsPerson(contact, properties));
  const matching = await inPieces(matchPeople(wanted, candidates, phoneReader(crm.region)), signal);
  return { contacts, wanted, candidates, ...matching };
}

/** What a person saw of a contact: all that a sync may overwrite. */
export function contactDigest({ properties, otherAddresses }: ExistingContact): string {
  const sorted = Object.entries(properties).sort(([one], [other]) => (one < other ? -1 : 1));
  return digestOf([sorted, otherAddresses]);
}

/**
 * Patients whom the target should hold and who have no contact of ours: a plan would make one, or the making of one waits or fails. Whom
 * the target's rules leave out is never matched: their contact would be removed.
 * @throws MirrorError `settings`, code `match-not-possible`
 */
export async function unmatchedPatients(
  { links, outbox }: Pick<OpenTenant, 'links' | 'outbox'>,
  target: OpenTarget,
  { plans, uncertainty, clinicReading }: Cycle,
): Promise<Map<string, Patient>> {
  const plan = plans.find((one) => one.target.id === target.id);
  const patients = clinicReading.streams.patients?.snapshot;
  if (plan === undefined || patients === undefined || uncertainty !== null) throw notPossible(target.id);
  const linked = await links.read(target.id);
  const planned = [...plan.passed, ...Object.values(plan.held).flat(), ...plan.refused];
  const waiting = [...(await outbox.pending(target.id)).values()].filter(({ want }) => want === 'present');
  const made = [...planned.filter(({ reason, wanted }) => reason === 'new' && wanted.want === 'present'), ...waiting];
  const abandoned = new Set(plan.abandoned);
  const unmatched = new Map<string, Patient>();
  for (const { recordId } of made) {
    const patient = patients.records.get(recordId);
    const isExcluded = plan.omittedRecords.has(recordId) || abandoned.has(recordId);
    if (patient !== undefined && !linked.has(recordId) && !isExcluded) unmatched.set(recordId, patient);
  }
  return unmatched;
}

/** What the mapping gives of patients, by record; one that can't be mapped is left out. */
async function itemsOf(
  target: OpenTarget,
  { clinicReading }: Cycle,
  patients: ReadonlyMap<string, Patient>,
  signal: AbortSignal,
): Promise<Map<string, CrmItem['properties']>> {
  const sources = [...patients.values()].map(patientSource(target, clinicReading));
  const mapped = (await target.crm?.mapping.mapAll(sources, signal)) ?? [];
  const ids = [...patients.keys()];
  return new Map(mapped.flatMap((one, index) => ('fault' in one ? [] : [[ids[index] ?? '', one.properties] as const])));
}

function overwrites(now: CrmItem['properties'], wanted: CrmItem['properties']): Pick<MatchRow, 'changes' | 'clears'> {
  const isEmpty = (value: unknown) => value === undefined || value === null || value === '';
  const lost = Object.keys(wanted).filter((name) => !isEmpty(now[name]) && String(now[name]) !== String(wanted[name]));
  return {
    changes: lost.filter((name) => !isEmpty(wanted[name])),
    clears: lost.filter((name) => isEmpty(wanted[name])),
  };
}

function mapValues<Before, After>(map: ReadonlyMap<string, Before>, to: (value: Before) => After): Map<string, After> {
  return new Map([...map].map(([key, value]) => [key, to(value)]));
}

function notPossible(target: string): MirrorError {
  return new MirrorError(message('match-not-possible', { target }), {
    actor: 'settings',
    code: 'match-not-possible',
    retry: 'never',
    remedy: message('match-not-possible.remedy'),
  });
}
