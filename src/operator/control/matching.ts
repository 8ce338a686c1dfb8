import type { Contacts, ExistingContact } from '../../connectors/connector.ts';
import { MirrorError } from '../../core/model/errors.ts';
import type { CrmItem } from '../../core/model/items.ts';
import { eachInPieces } from '../../core/model/pieces.ts';
import type { Patient } from '../../core/model/records.ts';
import { inPieces } from '../../core/pieces/in-pieces.ts';
import { phoneReader } from '../../domain/mapping/fields.ts';
import { patientSource } from '../../domain/mapping-sources.ts';
import {
  comparedProperties,
  contactAsPerson,
  digestOf,
  matchPeople,
  type Person,
  patientAsPerson,
} from '../../domain/matching.ts';
import type { ChangeTable, LinkTable, TargetTable } from '../../engine/store.ts';
import { message } from '../../messages/message.ts';
import type { CrmFile } from '../../settings/crm-schema.ts';
import type { OpenTarget, TenantCycle } from '../../tenant/tenant.ts';
import { pagesOf } from './target-objects.ts';

/** A pair that needs a decision. */
export interface MatchRow {
  pair: Pair;
  patient: Person;
  contact: Person;
  same: readonly string[];
  differs: readonly string[];
  /** Number of contacts that match this patient, and of patients that match this contact. */
  contacts: number;
  patients: number;
  /** Contact properties that a sync would overwrite, and properties that a sync would empty because the clinic has no value. */
  changes: readonly string[];
  clears: readonly string[];
  /** URL of the contact's page, or null. */
  page: string | null;
}

/** Patient and contact of a decision, with digests of the data that the user saw. */
export interface Pair {
  recordId: string;
  remoteId: string;
  patientSeen: string;
  contactSeen: string;
}

/** Counts of a search. */
export interface MatchCounts {
  /** Contacts of the CRM that clinic-mirror does not manage. */
  contacts: number;
  /** Patients without a managed contact. */
  patients: number;
  /** Patients that resemble at least one contact. */
  alike: number;
  /** Values too common to identify a patient. */
  tooCommon: number;
}

/** A target whose existing contacts can be matched. */
export interface MatchableTarget {
  target: OpenTarget;
  existing: Contacts;
  crm: CrmFile;
}

/** Returns null for a target without readable contacts. */
export function asMatchable(target: OpenTarget): MatchableTarget | null {
  const { connector, configuration, stream } = target;
  if (stream !== 'patients' || configuration.crm === undefined || connector.contacts === undefined) return null;
  return { target, existing: connector.contacts, crm: configuration.crm };
}

/** Members of a tenant that patients are matched with. */
export interface MatchSource {
  links: LinkTable;
  outbox: ChangeTable;
  targetStore: TargetTable;
}

/** Reads every unmanaged contact, and pairs patients without a contact with similar contacts. */
export async function findMatches(
  tenant: MatchSource,
  { target, existing, crm }: MatchableTarget,
  cycle: TenantCycle,
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

/** Reads every unmanaged contact, and returns contacts that resemble patients. @param patients by record */
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

/** Returns a digest of the contact data that a sync may overwrite, to detect changes since the user's decision. */
export function contactDigest({ properties, otherAddresses }: ExistingContact): string {
  const sorted = Object.entries(properties).sort(([one], [other]) => (one < other ? -1 : 1));
  return digestOf([sorted, otherAddresses]);
}

/**
 * Returns patients that the target includes and that have no managed contact. Patients excluded by the target's rules are never matched,
 * because a sync would delete their contacts.
 * @throws MirrorError `settings`, code `match-not-possible`
 */
export async function unmatchedPatients(
  { links, outbox }: { links: LinkTable; outbox: ChangeTable },
  target: OpenTarget,
  { plans, uncertainty, reading }: TenantCycle,
): Promise<Map<string, Patient>> {
  const plan = plans.find((one) => one.target.id === target.id);
  const patients = reading.streams.patients?.snapshot;
  if (plan === undefined || patients === undefined || uncertainty !== null) throw notPossible(target.id);
  const linked = await links.read(target.id);
  const planned = [...plan.permitted, ...Object.values(plan.held).flat(), ...plan.refused];
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

/** Maps patients by record. */
async function itemsOf(
  target: OpenTarget,
  { reading }: TenantCycle,
  patients: ReadonlyMap<string, Patient>,
  signal: AbortSignal,
): Promise<Map<string, CrmItem['properties']>> {
  const sourceOf = patientSource(target, reading);
  const items = new Map<string, CrmItem['properties']>();
  const mapping = eachInPieces(patients, ([id, patient]) => {
    const mapped = target.crm?.mapping.map(sourceOf(patient));
    if (mapped !== undefined) items.set(id, mapped.properties);
  });
  await inPieces(mapping, signal);
  return items;
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
