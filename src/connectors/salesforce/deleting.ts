import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import type { CrmItem } from '../../core/model/items.ts';
import type { Deletion, ItemKey, Outcome } from '../../core/model/operations.ts';
import { slices } from '../../core/model/pieces.ts';
import { failed, logUnemptied } from '../outcomes.ts';
import { ownedByStamp } from '../owner.ts';
import type { WireResponse } from '../wire.ts';
import { child, childrenOf, escapeXml, parseXml, vocabularyOf, type XmlElement } from '../xml.ts';
import type { OrgClient, Part } from './client.ts';
import { INDIVIDUAL, type RecordForm } from './description.ts';
import { errors, isGone, isRace, rowErrorOf } from './errors.ts';
import { COLLECTION_SIZE, COMPOSITE_PARTS, EMPTIED_AT_ONCE, QUERY_KEYS } from './limits.ts';
import { quoted, runQueries, type Scope, selectIn } from './reading.ts';
import { type RowResult, rowResultsSchema, type SeenRecord } from './schemas.ts';

/**
 * Deletes the objects with the keys, except objects with a different target's stamp. Objects are fetched first, since an id may belong to
 * an object that is now foreign, and absence must be proved. Salesforce keeps deleted objects in the recycle bin for 15 days (Salesforce
 * help, "Manage the Recycle Bin"). Objects to erase are therefore cleared first, and removed from the recycle bin if the settings require
 * it.
 * @returns one outcome per deletion; never throws
 */
export async function remove(scope: Scope, deletions: readonly Deletion<CrmItem>[]): Promise<Outcome<CrmItem>[]> {
  const queries = slices(deletions, QUERY_KEYS).map((slice) => lookUpQuery(scope.form, slice));
  const erased = deletions.filter(({ erase }) => erase === true);
  let idsOf: ReturnType<typeof ownIds>;
  try {
    idsOf = ownIds(scope, (await runQueries(scope.client, 'salesforce.find', queries)).flat());
    await empty(scope, [...new Set(erased.flatMap((deletion) => idsOf(deletion) ?? []))]);
  } catch (error) {
    const failure = asMirrorError(error);
    return deletions.map((deletion) => failed(deletion, failure));
  }
  const ids = [...new Set(deletions.flatMap((deletion) => idsOf(deletion) ?? []))];
  const results = await deleteIds(scope, ids);
  const raced = ids.filter((id) => isRaced(results.get(id)));
  for (const [id, result] of await deleteIds(scope, raced)) results.set(id, result);
  const outcomes = deletions.map((deletion) => toOutcome(scope.form, deletion, idsOf(deletion), results));
  return await withBin(scope, erased, await withIndividuals(scope, deletions, outcomes));
}

/** Removes erased objects from the recycle bin too, if configured. Objects that remain are retried. */
async function withBin(
  scope: Scope,
  erased: readonly Deletion<CrmItem>[],
  outcomes: Outcome<CrmItem>[],
): Promise<Outcome<CrmItem>[]> {
  const done = new Set(outcomes.flatMap(({ recordId, result }) => (result === 'deleted' ? [recordId] : [])));
  const gone = new Map(erased.flatMap(({ recordId, key }) => (done.has(recordId) ? [[recordId, key]] : [])));
  if (!scope.emptiesBin || gone.size === 0) return outcomes;
  const remaining = await emptyBin(scope, [...gone.values()]);
  return outcomes.map((outcome) => {
    const failure = remaining.get(gone.get(outcome.recordId) ?? '');
    return failure === undefined ? outcome : failed(outcome, failure);
  });
}

/** Deletes the Individuals that clinic-mirror created for the contacts. Individuals created by users have no key and are kept. */
async function withIndividuals(
  scope: Scope,
  deletions: readonly Deletion<CrmItem>[],
  outcomes: Outcome<CrmItem>[],
): Promise<Outcome<CrmItem>[]> {
  const { form, client } = scope;
  if (form.individuals === null) return outcomes;
  const { keyField } = form.individuals;
  const done = new Set(outcomes.flatMap(({ recordId, result }) => (result === 'deleted' ? [recordId] : [])));
  const keys = deletions.filter(({ recordId }) => done.has(recordId)).map(({ key }) => key);
  let found: SeenRecord[];
  try {
    const selection = { fields: ['Id', keyField], object: INDIVIDUAL, field: keyField, values: keys };
    found = await selectIn(client, selection);
  } catch (error) {
    const failure = asMirrorError(error);
    return deletions.map((deletion, index) =>
      done.has(deletion.recordId) ? failed(deletion, failure) : outcomes[index]!,
    );
  }
  const idOf = new Map(found.map((record) => [record[keyField], record.Id]));
  const results = await deleteIds(
    scope,
    found.map(({ Id }) => Id),
  );
  return deletions.map((deletion, index) => {
    const id = idOf.get(deletion.key);
    const outcome = outcomes[index]!;
    if (id === undefined || outcome.result !== 'deleted') return outcome;
    const end = toOutcome(form, deletion, [id], results);
    return end.result === 'failed' ? end : outcome;
  });
}

/** Returns the ids of a deletion's own objects: none if already deleted, null if several objects have the key. */
function ownIds(
  { form, ownerTag }: Scope,
  records: readonly SeenRecord[],
): (deletion: Deletion<CrmItem>) => string[] | null {
  const ownerOf = (record: SeenRecord) => ownedByStamp(ownerTag, record[form.stampField]).owner;
  const ours = records.filter((record) => ownerOf(record) === 'ours');
  // Only clinic-mirror can produce the key, so an object with the key is deleted even if a user damaged or cleared the stamp.
  const ofKeys = records.filter((record) => ownerOf(record) !== 'foreign');
  const byKey = Map.groupBy(ofKeys, (record) => record[form.keyField]);
  const byId = new Map(ours.map((record) => [record.Id, record]));
  return ({ key, remoteId }) => {
    const bearers = byKey.get(key) ?? [];
    if (bearers.length > 1) return null;
    const existing = byId.get(remoteId ?? '');
    // A user may have cleared the key of the written object.
    const keyless = existing !== undefined && existing[form.keyField] === null ? [existing] : [];
    return [...bearers, ...keyless].map(({ Id }) => Id);
  };
}

function lookUpQuery({ object, keyField, stampField }: RecordForm, deletions: readonly Deletion<CrmItem>[]): string {
  const keys = deletions.map(({ key }) => quoted(key)).join(',');
  const ids = deletions.flatMap(({ remoteId }) => (remoteId === null ? [] : quoted(remoteId)));
  const orIds = ids.length === 0 ? '' : ` OR Id IN (${ids.join(',')})`;
  return `SELECT Id, ${keyField}, ${stampField} FROM ${object} WHERE ${keyField} IN (${keys})${orIds}`;
}

/**
 * Clears the fields of clinic-mirror except key and stamp, by which a repeated deletion finds the objects. Fields that the org requires
 * keep their value.
 */
async function empty({ client, form, log }: Scope, ids: readonly string[]): Promise<void> {
  let remaining = 0;
  for (const slice of slices(ids, COLLECTION_SIZE)) {
    const records = slice.map((id) => ({ attributes: { type: form.object }, id, ...form.blanks }));
    const part: Part = { method: 'PATCH', path: '/composite/sobjects', body: { allOrNone: false, records } };
    const [answer = null] = await client.composite('salesforce.empty', [part]);
    const ends = resultsOf(slice, answer).map(([, end]) => end);
    remaining += ends.filter((end) => end instanceof MirrorError || !(end.success || isGone(end))).length;
  }
  if (remaining > 0) logUnemptied(log, remaining);
}

type Results = Map<string, RowResult | MirrorError>;

async function deleteIds({ client }: Scope, ids: readonly string[]): Promise<Results> {
  const results: Results = new Map();
  for (const some of slices(slices(ids, COLLECTION_SIZE), COMPOSITE_PARTS)) {
    let answers: (WireResponse | null)[];
    try {
      answers = await client.composite('salesforce.delete', some.map(deletionPart));
    } catch (error) {
      const failure = asMirrorError(error);
      for (const id of some.flat()) results.set(id, failure);
      continue;
    }
    some.forEach((group, index) => {
      for (const [id, result] of resultsOf(group, answers[index] ?? null)) results.set(id, result);
    });
  }
  return results;
}

function deletionPart(ids: readonly string[]): Part {
  return { method: 'DELETE', path: `/composite/sobjects?ids=${ids.join(',')}&allOrNone=false` };
}

/** Returns the results of ids in a collection. Results are identified only by position: if one is missing, all are unknown. */
export function resultsOf(ids: readonly string[], answer: WireResponse | null): [string, RowResult | MirrorError][] {
  const same = (error: MirrorError) => ids.map((id): [string, MirrorError] => [id, error]);
  if (answer === null) return same(errors.make('answer-missing'));
  if (answer.status !== 200) return same(errors.of(answer));
  const results = rowResultsSchema.safeParse(answer.body);
  if (!results.success || results.data.length !== ids.length) {
    return same(errors.make('unexpected-answer', { ambiguous: true }));
  }
  return ids.map((id, index) => [id, results.data[index]!]);
}

function isRaced(result: RowResult | MirrorError | undefined): boolean {
  return (
    result !== undefined && !(result instanceof MirrorError) && !result.success && !isGone(result) && isRace(result)
  );
}

function toOutcome(
  { fieldNames }: RecordForm,
  deletion: Deletion<CrmItem>,
  ids: string[] | null,
  results: Results,
): Outcome<CrmItem> {
  if (ids === null) return failed(deletion, errors.make('key-ambiguous'));
  let isDeleted = false;
  for (const id of ids) {
    const result = results.get(id) ?? errors.make('answer-missing');
    if (result instanceof MirrorError) return failed(deletion, result);
    if (result.success) isDeleted = true;
    else if (!isGone(result)) return failed(deletion, rowErrorOf(result, fieldNames));
  }
  return { recordId: deletion.recordId, result: 'deleted', effect: isDeleted ? 'deleted' : 'already-gone' };
}

/**
 * Removes objects with the keys from the recycle bin, whenever they were deleted. The deleting user needs no further
 * permission.
 * @returns by key, the reason why objects remain; never throws
 * @see https://developer.salesforce.com/docs/atlas.en-us.api.meta/api/sforce_api_calls_emptyrecyclebin.htm
 */
async function emptyBin({ client, form }: Scope, keys: readonly ItemKey[]): Promise<ReadonlyMap<ItemKey, MirrorError>> {
  const remaining = new Map<ItemKey, MirrorError>();
  try {
    const keyOf = await idsInBin(client, form, keys);
    for (const ids of slices([...keyOf.keys()], EMPTIED_AT_ONCE)) {
      const areGone = await emptySome(client, ids);
      ids.forEach((id, index) => {
        if (areGone[index] !== true) remaining.set(keyOf.get(id)!, errors.make('bin-not-emptied'));
      });
    }
  } catch (error) {
    const failure = asMirrorError(error);
    for (const key of keys) remaining.set(key, failure);
  }
  return remaining;
}

/** Returns ids of deleted objects with their keys. Salesforce shows an object for a day after its removal from the recycle bin. */
async function idsInBin(
  client: OrgClient,
  { object, keyField, individuals }: RecordForm,
  keys: readonly ItemKey[],
): Promise<Map<string, ItemKey>> {
  const kinds = [
    { object, field: keyField },
    ...(individuals === null ? [] : [{ object: INDIVIDUAL, field: individuals.keyField }]),
  ];
  const keyOf = new Map<string, ItemKey>();
  for (const { object: name, field } of kinds) {
    const selection = { fields: ['Id', field], object: name, field, values: keys, where: 'IsDeleted = true' };
    const how = { label: 'salesforce.bin', resource: '/queryAll' } as const;
    for (const record of await selectIn(client, selection, how)) keyOf.set(record.Id, String(record[field]));
  }
  return keyOf;
}

/**
 * Removes objects from the recycle bin. Returns whether each object is absent, in the order of the ids, since results are identified only
 * by position.
 */
async function emptySome(client: OrgClient, ids: readonly string[]): Promise<boolean[]> {
  const path = client.pathOf('').replace('/data/v', '/Soap/u/');
  const call = { label: 'salesforce.empty-bin', method: 'POST', path, headers: { soapaction: '""' } } as const;
  const answer = await client.sendXml({ ...call, body: (session) => envelope(session, ids) });
  const results = resultsIn(answer);
  if (results.length !== ids.length) throw errors.make('bin-not-emptied');
  return results.map(
    (result) =>
      child(result, `${PARTNER}success`)?.text === 'true' ||
      childrenOf(result, `${PARTNER}errors`).some((error) =>
        NOT_IN_BIN.has(child(error, `${PARTNER}statusCode`)?.text ?? ''),
      ),
  );
}

const SOAP = '{http://schemas.xmlsoap.org/soap/envelope/}';
const PARTNER = '{urn:partner.soap.sforce.com}';
const SOAP_NAMES = vocabularyOf(
  [SOAP, PARTNER],
  ['Envelope', 'Body', 'emptyRecycleBinResponse', 'result', 'success', 'errors', 'statusCode'],
);

/** Returns the results of a response; empty for any other response, as for a refusal. */
function resultsIn(answer: string): XmlElement[] {
  try {
    const body = child(parseXml(answer, SOAP_NAMES), `${SOAP}Body`);
    return childrenOf(child(body, `${PARTNER}emptyRecycleBinResponse`), `${PARTNER}result`);
  } catch {
    return [];
  }
}

/** Codes of objects that are not in the recycle bin, because they were removed earlier (SOAP API Developer Guide, StatusCode). */
const NOT_IN_BIN = new Set(['ENTITY_IS_DELETED', 'UNDELETE_FAILED', 'INVALID_CROSS_REFERENCE_KEY']);

/** @param ids contain only letters and digits, as responses are validated */
function envelope(session: string, ids: readonly string[]): string {
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/">',
    `<Header><SessionHeader xmlns="urn:partner.soap.sforce.com"><sessionId>${escapeXml(session)}</sessionId></SessionHeader></Header>`,
    '<Body><emptyRecycleBin xmlns="urn:partner.soap.sforce.com">',
    ...ids.map((id) => `<ids>${id}</ids>`),
    '</emptyRecycleBin></Body></Envelope>',
  ].join('');
}
