import type { CrmItem } from '../core/model/items.ts';
import type { InvalidRow, Patient } from '../core/model/records.ts';
import type { Lookup } from '../core/model/snapshots.ts';
import type { Decision } from '../engine/diff.ts';
import { UNKNOWN_FIELD } from '../engine/identity.ts';
import type { TargetInput } from './cycle-input.ts';

/** Beginning of the codes of records that the clinic answered singly with less than the CRM object has; a field follows. */
const INCOMPLETE = 'incomplete-';

/** Fields without which these rules exclude a record. */
const DECISIVE: Readonly<Record<string, string>> = {
  'no-patient': 'patientId',
  'blocked-time': 'patientId',
  treatment: 'treatmentId',
};

/** Returns the decision that keeps an object unchanged, because a single answer of the clinic lacks a field. */
export function withoutField(field: string): Extract<Decision, { retain: string }> {
  return { retain: `${INCOMPLETE}${field}` };
}

/** Returns whether a patient has neither a first nor a last name. */
function isNameless({ firstName, lastName }: Patient): boolean {
  return firstName === null && lastName === null;
}

/**
 * Treats a single answer without any name as an unusable record, if the list gives names: such an answer is often the rest of a merged
 * record, such as its id and the id of the remaining patient. The record exists, and its contact stays.
 * @param listed patients of the list
 */
export function withName(answer: Lookup<Patient>, listed: Iterable<Patient>): Lookup<Patient> {
  if (!('found' in answer) || !isNameless(answer.found)) return answer;
  for (const patient of listed) {
    if (isNameless(patient)) continue;
    return { unusable: { recordId: answer.found.id, code: 'incomplete-record', field: 'lastName' } };
  }
  return answer;
}

/** Merges followed for one patient: a remaining patient can be merged again. Project choice. */
const MOST_MERGES = 5;

/**
 * Reads a patient, and after a merge the remaining patient.
 * @returns id and answer of the last patient; unusable if the merges do not end
 */
export async function readThroughMerges(
  read: (id: string) => Promise<Lookup<Patient>>,
  id: string,
): Promise<{ id: string; answer: Lookup<Patient> }> {
  let last = id;
  for (let merges = 0; merges <= MOST_MERGES; merges += 1) {
    const answer = await read(last);
    if (!('absent' in answer) || answer.mergedInto === undefined) return { id: last, answer };
    last = answer.mergedInto;
  }
  return { id: last, answer: { unusable: mergedIntoNobody(id) } };
}

/** Returns the fault of a patient that was merged into a patient whom the clinic does not show. */
export function mergedIntoNobody(recordId: string): InvalidRow {
  return { recordId, code: 'merged-into-absent', field: 'merged' };
}

/**
 * Wraps a rule of a CRM target: a record known only from a single answer empties no property of its object. Without this rule an answer
 * with fewer fields than the list would erase values. The object stays until the list shows the record, or the answer has the values.
 * A record that the answer excludes only by a missing patient or treatment keeps its object too.
 * @param found records known only from single answers
 */
export function emptyingNothing<Source extends { id: string }>(
  rule: (record: Source) => Decision,
  found: readonly Source[],
  { target: { identity }, state: { links, pending } }: TargetInput,
): (record: Source) => Decision {
  const alone = new Set(found.map(({ id }) => id));
  if (alone.size === 0) return rule;
  return (record) => {
    const decision = rule(record);
    const before = pending.get(record.id)?.fingerprint ?? links.get(record.id)?.fingerprint;
    if (!alone.has(record.id) || before === undefined || before === null) return decision;
    if ('exclude' in decision) {
      const field = DECISIVE[decision.exclude];
      return field !== undefined && Reflect.get(record, field) === null ? withoutField(field) : decision;
    }
    if (!('item' in decision)) return decision;
    const { properties } = decision.item as CrmItem;
    const differing = new Set(identity.differingFields(before, identity.fingerprint(decision.item)));
    const emptied = Object.entries(properties).find(
      ([name, value]) => isEmpty(value) && (differing.has(name) || differing.has(UNKNOWN_FIELD)),
    );
    return emptied === undefined ? decision : withoutField(emptied[0]);
  };
}

function isEmpty(value: CrmItem['properties'][string] | undefined): boolean {
  return value === null || value === undefined || value === '';
}
