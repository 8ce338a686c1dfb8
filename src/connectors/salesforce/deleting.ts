import { asMirrorError, MirrorError } from '../../model/errors.ts';
import type { CrmItem } from '../../model/items.ts';
import type { ItemKey, Operation, Outcome } from '../../model/operations.ts';
import { slices } from '../../model/pieces.ts';
import { failed, logUnemptied } from '../outcomes.ts';
import { fromStamp, isStampOfAnother } from '../owner.ts';
import type { WireResponse } from '../wire.ts';
import type { OrgClient, Part } from './client.ts';
import { INDIVIDUAL, type RecordForm } from './description.ts';
import { errors, isGone, isRace, rowErrorOf } from './errors.ts';
import { COLLECTION_SIZE, COMPOSITE_PARTS, EMPTIED_AT_ONCE, QUERY_KEYS } from './limits.ts';
import { quoted, runQueries, type Scope, selectIn } from './reading.ts';
import { type RowResult, rowResultsSchema, type SeenRecord } from './schemas.ts';

/** An operation that deletes. */
export type Deletion = Extract<Operation<CrmItem>, { kind: 'delete' }>;

/**
 * Deletes what carries the keys, unless it carries another target's stamp: it is looked up first, since an id may be that of a record which is ours no more, and
 * absence has to be proved. What is deleted lies in the recycle bin for 15 days (Salesforce help, "Manage the Recycle Bin"): what is to be erased
 * is emptied before, and taken out of it where the settings want it.
 * @returns one outcome per deletion; never throws
 */
export async function remove(scope: Scope, deletions: readonly Deletion[]): Promise<Outcome<CrmItem>[]> {
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

/** Takes what was erased out of the recycle bin too, where that is wanted; what is still there is tried again. */
async function withBin(
  scope: Scope,
  erased: readonly Deletion[],
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

/** Takes the Individuals that we made for contacts out with them; those that people made carry no key of ours, and stay. */
async function withIndividuals(
  scope: Scope,
  deletions: readonly Deletion[],
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

/** What a deletion means: ids of records of ours, none when it is gone already, null when several carry its key. */
function ownIds({ form, ownerTag }: Scope, records: readonly SeenRecord[]): (deletion: Deletion) => string[] | null {
  const ours = records.filter((record) => fromStamp(ownerTag, record[form.stampField]) !== null);
  // Only we can make the key: a stamp that somebody damaged or emptied keeps nobody in the org.
  const ofKeys = records.filter((record) => !isStampOfAnother(ownerTag, record[form.stampField]));
  const byKey = Map.groupBy(ofKeys, (record) => record[form.keyField]);
  const byId = new Map(ours.map((record) => [record.Id, record]));
  return ({ key, remoteId }) => {
    const bearers = byKey.get(key) ?? [];
    if (bearers.length > 1) return null;
    const existing = byId.get(remoteId ?? '');
    // A person may have emptied the key of the record that we wrote.
    const keyless = existing !== undefined && existing[form.keyField] === null ? [existing] : [];
    return [...bearers, ...keyless].map(({ Id }) => Id);
  };
}

function lookUpQuery({ object, keyField, stampField }: RecordForm, deletions: readonly Deletion[]): string {
  const keys = deletions.map(({ key }) => quoted(key)).join(',');
  const ids = deletions.flatMap(({ remoteId }) => (remoteId === null ? [] : quoted(remoteId)));
  const orIds = ids.length === 0 ? '' : ` OR Id IN (${ids.join(',')})`;
  return `SELECT Id, ${keyField}, ${stampField} FROM ${object} WHERE ${keyField} IN (${keys})${orIds}`;
}

/** Clears what we wrote, but for key and stamp, by which a try that broke off finds the records again. What an org won't have empty stays. */
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

/** What became of ids that went in a collection. Results have no names, only places: with one too few nothing can be said of any. */
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
  deletion: Deletion,
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
 * Takes what carries the keys out of the recycle bin, whether it went there just now or before. Whoever deleted a record may do so, without a
 * permission of its own.
 * @returns why a key's records are still there, by key; never throws
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

/** Ids of deleted records with their keys. What was taken out of the bin is shown for a day still. */
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

/** Whether each is there no more, in the order of the ids: results have no names, only places. */
async function emptySome(client: OrgClient, ids: readonly string[]): Promise<boolean[]> {
  const path = client.pathOf('').replace('/data/v', '/Soap/u/');
  const call = { label: 'salesforce.empty-bin', method: 'POST', path, headers: { soapaction: '""' } } as const;
  const answer = await client.sendXml({ ...call, body: (session) => envelope(session, ids) });
  const results = answer.split('<result>').slice(1);
  if (results.length !== ids.length) throw errors.make('bin-not-emptied');
  return results.map((result) => result.includes('<success>true</success>') || NOT_IN_BIN.test(result));
}

/** Codes of what is in no bin: it was taken out before (SOAP API Developer Guide, StatusCode). */
const NOT_IN_BIN = /<statusCode>(ENTITY_IS_DELETED|UNDELETE_FAILED|INVALID_CROSS_REFERENCE_KEY)<\/statusCode>/;

/** @param ids letters and digits alone, as answers are read */
function envelope(session: string, ids: readonly string[]): string {
  return [
    '<?xml version="1.0" encoding="utf-8"?>',
    '<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/">',
    `<Header><SessionHeader xmlns="urn:partner.soap.sforce.com"><sessionId>${escaped(session)}</sessionId></SessionHeader></Header>`,
    '<Body><emptyRecycleBin xmlns="urn:partner.soap.sforce.com">',
    ...ids.map((id) => `<ids>${id}</ids>`),
    '</emptyRecycleBin></Body></Envelope>',
  ].join('');
}

function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');
}
