import type { ItemKey } from '../../model/operations.ts';
import { slices } from '../../model/slices.ts';
import type { HubSpotClient } from './client.ts';
import { DISSOCIATE_BATCH_SIZE } from './limits.ts';
import { readRecords } from './records.ts';
import { associationSchema, batchSchema, errorBodySchema } from './schemas.ts';
import type { Scope } from './scope.ts';

/** A record of ours and a contact, by HubSpot's ids. */
export interface Pair {
  recordId: string;
  contactId: string;
}

/** Ids of the contacts that carry these keys; those that are not there are absent. */
export async function findContacts(
  client: HubSpotClient,
  scope: Scope,
  keys: readonly ItemKey[],
): Promise<Map<ItemKey, string>> {
  const wanted = { object: 'contacts', ids: keys, byKey: true, properties: [scope.keyProperty] } as const;
  const { records } = await readRecords(client, scope, wanted);
  return new Map(records.flatMap(({ key, id }) => (key === null ? [] : [[key, id]])));
}

/**
 * Joins records with contacts by the default type, all in one batch (at most 2,000); a pair that is joined already stays so.
 * @returns ids of the records that were joined, and of those whose contact (or who themselves) went away meanwhile
 */
export async function associate(
  client: HubSpotClient,
  { object, paths }: Scope,
  pairs: readonly Pair[],
): Promise<{ joined: Set<string>; refused: Set<string> }> {
  const ends = { joined: new Set<string>(), refused: new Set<string>() };
  if (pairs.length === 0) return ends;
  const batch = await client.demand(batchSchema, {
    label: 'hubspot.associations.create',
    method: 'POST',
    path: `${paths.associations(object, 'contacts')}/batch/associate/default`,
    body: { inputs: pairs.map(({ recordId, contactId }) => ({ from: { id: recordId }, to: { id: contactId } })) },
  });
  // Both directions are told; the contacts' own lines are no record's.
  for (const result of batch.results) {
    const id = associationSchema.safeParse(result).data?.from.id;
    if (id !== undefined) ends.joined.add(id);
  }
  for (const entry of batch.errors) {
    const ids = errorBodySchema.safeParse(entry).data?.context?.fromObjectId ?? [];
    for (const id of ids) ends.refused.add(id);
  }
  return ends;
}

/** Ends what joins records with contacts, of every type; what is not joined is no error. */
export async function dissociate(client: HubSpotClient, { object, paths }: Scope, pairs: readonly Pair[]) {
  for (const slice of slices(pairs, DISSOCIATE_BATCH_SIZE)) {
    await client.demandNothing({
      label: 'hubspot.associations.archive',
      method: 'POST',
      path: `${paths.associations(object, 'contacts')}/batch/archive`,
      body: { inputs: slice.map(({ recordId, contactId }) => ({ from: { id: recordId }, to: [{ id: contactId }] })) },
    });
  }
}
