import { DAY_MS } from '../model/time.ts';

/**
 * How long a refresh token may rest before its issuer ends it, by kind of connection; none stands here of issuers that end none for that
 * (HubSpot), that tell it with each token (clinics), or of which it is not known.
 * @see https://developers.google.com/identity/protocols/oauth2#expiration (six months)
 * @see https://learn.microsoft.com/entra/identity-platform/refresh-tokens#token-lifetime (90 days)
 * @see https://help.salesforce.com/s/articleView?id=sf.remoteaccess_oauth_refresh_token_flow.htm (30 days)
 */
export const IDLE_LIFE_MS: Readonly<Record<string, number>> = {
  google: 180 * DAY_MS,
  microsoft: 90 * DAY_MS,
  salesforce: 30 * DAY_MS,
};
