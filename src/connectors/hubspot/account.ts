import { isZone } from '../../model/zones.ts';
import type { HubSpotClient } from './client.ts';
import type { Paths } from './paths.ts';
import { accountSchema } from './schemas.ts';

/** The account that a login leads to. */
export interface Account {
  portalId: number;
  /** IANA zone, by whose midnight daily limits begin again; null when HubSpot names none that is known. */
  zone: string | null;
}

/** Asks which account it is (developers.hubspot.com, account information). */
export async function readAccount(client: HubSpotClient, paths: Paths): Promise<Account> {
  const call = { label: 'hubspot.account', method: 'GET', path: paths.account } as const;
  const { portalId, timeZone } = await client.demand(accountSchema, call);
  return { portalId, zone: timeZone !== undefined && isZone(timeZone) ? timeZone : null };
}
