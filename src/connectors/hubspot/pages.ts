import { TYPE_IDS } from './limits.ts';

/** Where people work with HubSpot. It leads accounts of other data centres to their own address. */
const APP_URL = 'https://app.hubspot.com';

/**
 * The page of a record: account, kind of record and id. A custom object by its name has no number to be had here, so no page.
 * @param container as `prepare` gave it: the account's id, and the kind of record
 * @see https://knowledge.hubspot.com/records/work-with-records
 */
export function pageOf(container: string, remoteId: string): string | null {
  const [portalId, object = ''] = container.split('/');
  const typeId = object.startsWith('2-') ? object : TYPE_IDS[object];
  return typeId === undefined ? null : `${APP_URL}/contacts/${portalId}/record/${typeId}/${remoteId}`;
}
