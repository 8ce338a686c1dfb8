import type { CrmItem, Item, Refusal, RefusedThere } from '../core/model/items.ts';
import type { Link, RemoteItem } from '../core/model/operations.ts';
import { eachInPieces, type Pieces } from '../core/model/pieces.ts';
import type { Patient } from '../core/model/records.ts';
import { isSameContent, type TargetIdentity, UNKNOWN_FIELD } from '../engine/identity.ts';
import type { CycleInput, TargetInput } from './cycle-input.ts';
import type { Mapped } from './mapping/contract.ts';

type Properties = CrmItem['properties'];

/** Adds other refusals to the patient's own in a contact's properties. */
export type RetainRefusals = (recordId: string, properties: Properties) => Properties;

/**
 * Preserves refusals made in the CRM, whatever the clinic reports. If the CRM stores a refusal per email address, one refusal applies to
 * all patients with this address; otherwise the last written patient would decide. A shared refusal remains while a patient with the same
 * value is unknown.
 * @param held returns a patient whom the target holds; null for others
 */
export function* retainRefusals(
  input: TargetInput,
  cycle: Pick<CycleInput, 'clinicReading' | 'confirmations' | 'holds'>,
  patients: Iterable<Patient>,
  held: (patient: Patient) => Mapped | null,
): Pieces<RetainRefusals> {
  const refusals = input.target.crm?.refusals ?? [];
  if (refusals.length === 0) return (_, properties) => properties;
  const there = setsOf(input.stored.refusedThere);
  const isThere = (property: string, recordId: string) => there.get(property)?.has(recordId) === true;
  const refused = new Set<string>();
  let isWhole = isFullyRead(input, cycle);
  yield* eachInPieces(refusals.some(({ by }) => by !== null) ? patients : [], (patient) => {
    const mapped = held(patient);
    if (mapped === null) return;
    if ('fault' in mapped) {
      isWhole = false;
      return;
    }
    for (const refusal of refusals) {
      const { property } = refusal;
      const value = sharedValue(refusal, mapped.properties);
      if (value !== null && (mapped.properties[property] === true || isThere(property, patient.id))) refused.add(value);
    }
  });
  return (recordId, properties) => {
    let result = properties;
    for (const refusal of refusals) {
      const { property } = refusal;
      if (!Object.hasOwn(properties, property) || properties[property] === true) continue;
      const value = sharedValue(refusal, properties);
      const withRefusal = { ...result, [property]: true };
      const isOfOthers =
        value !== null && (refused.has(value) || (!isWhole && stood(input, recordId, withRefusal, refusal)));
      if (isOfOthers || isThere(property, recordId)) result = withRefusal;
    }
    return result;
  };
}

/** State to compare with a target's objects. */
export interface Written {
  links: ReadonlyMap<string, Link>;
  /** Records with a pending change: their objects are about to change. */
  pending: ReadonlyMap<string, unknown>;
  identity: Pick<TargetIdentity, 'recordIdOf' | 'fingerprint' | 'differingFields'>;
}

/**
 * Returns patients with a refusal made in the CRM: the object has the refusal, and neither the last write nor a write for the same email
 * address set the refusal. A property outside the mapping is never written by the daemon and is taken as shown.
 * @param before earlier result, kept for objects not shown
 * @returns a list for each of the refusals
 */
export function* refusedThere(
  items: readonly RemoteItem<Item>[],
  refusals: readonly Refusal[],
  written: Written,
  before: RefusedThere,
): Pieces<RefusedThere> {
  const shown: Shown[] = [];
  const extraRefusals = new Map<string, string[]>();
  yield* eachInPieces(items, ({ item, sealedRecordId, refuses = [] }) => {
    if (refusals.length + refuses.length === 0) return;
    const recordId = sealedRecordId === null ? null : written.identity.recordIdOf(sealedRecordId);
    if (recordId === null || item === null || !('properties' in item)) return;
    shown.push({ recordId, item });
    for (const property of refuses) {
      const recordIds = extraRefusals.get(property);
      if (recordIds === undefined) extraRefusals.set(property, [recordId]);
      else recordIds.push(recordId);
    }
  });
  const result: Record<string, readonly string[]> = Object.fromEntries(extraRefusals);
  for (const refusal of refusals) {
    result[refusal.property] = yield* refusedBy(refusal, shown, written, new Set(before[refusal.property]));
  }
  return result;
}

interface Shown {
  recordId: string;
  item: CrmItem;
}

function* refusedBy(
  refusal: Refusal,
  shown: readonly Shown[],
  { links, pending, identity }: Written,
  before: ReadonlySet<string>,
): Pieces<string[]> {
  const { property } = refusal;
  const refused = new Set([...before].filter((recordId) => links.has(recordId)));
  const open: Shown[] = [];
  const ours = new Set<string | null>();
  yield* eachInPieces(shown, ({ recordId, item }) => {
    if (item.properties[property] !== true) refused.delete(recordId);
    else if (refused.has(recordId) || pending.has(recordId)) return;
    else if (isWrittenSo(links.get(recordId), item, property, identity))
      ours.add(sharedValue(refusal, item.properties));
    else open.push({ recordId, item });
  });
  for (const { recordId, item } of open) {
    const value = sharedValue(refusal, item.properties);
    if (value === null || !ours.has(value)) refused.add(recordId);
  }
  return [...refused];
}

/** Returns whether the last write set the object's current value of a property. */
function isWrittenSo(link: Link | undefined, item: CrmItem, property: string, identity: Written['identity']): boolean {
  if (link === undefined) return false;
  const now = identity.fingerprint(item);
  if (isSameContent(link.fingerprint, now)) return true;
  const differing = identity.differingFields(link.fingerprint, now);
  return !differing.includes(property) && !differing.includes(UNKNOWN_FIELD);
}

/** Returns whether every patient with a possible object in the target is shown and readable. */
function isFullyRead(
  { target, toConfirm }: TargetInput,
  { clinicReading, confirmations, holds }: Pick<CycleInput, 'clinicReading' | 'confirmations' | 'holds'>,
): boolean {
  const snapshot = clinicReading.streams.patients?.snapshot;
  const { vanished } = confirmations.patients;
  return (
    snapshot?.completeness === 'complete' &&
    snapshot.unusable.length + snapshot.unidentified === 0 &&
    toConfirm.every((recordId) => vanished.has(recordId)) &&
    // A contact with a held or rejected removal keeps its refusals.
    !holds.some((hold) => hold.target === target.id && hold.state !== 'approved')
  );
}

/** Returns whether the last write set this refusal with the same email address. */
function stood(
  { target: { identity }, state }: TargetInput,
  recordId: string,
  properties: Properties,
  { property, by }: Refusal,
): boolean {
  const before = state.pending.get(recordId)?.fingerprint ?? state.links.get(recordId)?.fingerprint ?? null;
  if (before === null) return false;
  const now = identity.fingerprint({ properties, contactKey: null, startAt: 0 });
  if (isSameContent(before, now)) return true;
  const differing = identity.differingFields(before, now);
  return ![property, by, UNKNOWN_FIELD].some((name) => name !== null && differing.includes(name));
}

/** Returns the value that contacts share, ignoring case, or null. */
function sharedValue({ property, by }: Refusal, properties: Properties): string | null {
  const value = by === null ? null : (properties[by] ?? null);
  return value === null || value === '' ? null : `${property} ${String(value).trim().toLowerCase()}`;
}

function setsOf(refused: RefusedThere): Map<string, ReadonlySet<string>> {
  return new Map(Object.entries(refused).map(([property, ids]) => [property, new Set(ids)]));
}
