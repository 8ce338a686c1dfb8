import { asMirrorError, type MirrorError } from '../../model/errors.ts';
import type { ItemKey } from '../../model/operations.ts';
import { slices } from '../../model/slices.ts';
import type { OrgClient } from './client.ts';
import { INDIVIDUAL, type RecordForm } from './description.ts';
import { errors } from './errors.ts';
import { EMPTIED_AT_ONCE } from './limits.ts';
import { type Scope, selectIn } from './reading.ts';

/**
 * Takes what carries the keys out of the recycle bin, whether it went there just now or before. Whoever deleted a record may do so, without a
 * permission of its own.
 * @returns why a key's records are still there, by key; never throws
 * @see https://developer.salesforce.com/docs/atlas.en-us.api.meta/api/sforce_api_calls_emptyrecyclebin.htm
 */
export async function emptyBin(
  { client, form }: Scope,
  keys: readonly ItemKey[],
  signal: AbortSignal,
): Promise<ReadonlyMap<ItemKey, MirrorError>> {
  const left = new Map<ItemKey, MirrorError>();
  try {
    const keyOf = await idsInBin(client, form, keys, signal);
    for (const ids of slices([...keyOf.keys()], EMPTIED_AT_ONCE)) {
      const areGone = await emptySome(client, ids, signal);
      ids.forEach((id, index) => {
        if (areGone[index] !== true) left.set(keyOf.get(id)!, errors.make('bin-not-emptied'));
      });
    }
  } catch (error) {
    const failure = asMirrorError(error);
    for (const key of keys) left.set(key, failure);
  }
  return left;
}

/** Ids of deleted records with their keys. What was taken out of the bin is shown for a day still. */
async function idsInBin(
  client: OrgClient,
  { object, keyField, individuals }: RecordForm,
  keys: readonly ItemKey[],
  signal: AbortSignal,
): Promise<Map<string, ItemKey>> {
  const kinds = [
    { object, field: keyField },
    ...(individuals === null ? [] : [{ object: INDIVIDUAL, field: individuals.keyField }]),
  ];
  const keyOf = new Map<string, ItemKey>();
  for (const { object: name, field } of kinds) {
    const selection = { fields: ['Id', field], object: name, field, values: keys, where: 'IsDeleted = true' };
    const how = { label: 'salesforce.bin', resource: '/queryAll' } as const;
    for (const record of await selectIn(client, selection, signal, how)) keyOf.set(record.Id, String(record[field]));
  }
  return keyOf;
}

/** Whether each is there no more, in the order of the ids: results have no names, only places. */
async function emptySome(client: OrgClient, ids: readonly string[], signal: AbortSignal): Promise<boolean[]> {
  const path = client.pathOf('').replace('/data/v', '/Soap/u/');
  const call = { label: 'salesforce.empty-bin', method: 'POST', path, headers: { soapaction: '""' } } as const;
  const answer = await client.sendXml({ ...call, body: (session) => envelope(session, ids) }, signal);
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
