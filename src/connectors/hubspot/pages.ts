import { TYPE_IDS } from './limits.ts';

/** Where people work with HubSpot. It leads accounts of other data centres to their own address. */
const APP_URL = 'https://app.hubspot.com';

/**
 * Pages of records: account, kind of record and id. A custom object by its name has no number to be had here, so no pages.
 * @param container as `prepare` gave it: the account's id, and the kind of record
 * @see https://knowledge.hubspot.com/records/work-with-records
 */
export function pagesOf(container: string, remoteIds: readonly string[]): ReadonlyMap<string, string> {
  const [portalId, object = ''] = container.split('/');
  const typeId = object.startsWith('2-') ? object : TYPE_IDS[object];
  if (typeId === undefined) return new Map();
  return new Map(remoteIds.map((id) => [id, `${APP_URL}/contacts/${portalId}/record/${typeId}/${id}`]));
}
