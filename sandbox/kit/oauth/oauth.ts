import { Authorization } from './authorization.ts';
import { Devices } from './devices.ts';
import { TokenStore } from './token-store.ts';
import type { Client, Grant, OAuthVendor } from './vendor.ts';

/** One vendor's authorization server without HTTP. */
export interface OAuth<C extends Client, G extends Grant> {
  vendor: OAuthVendor<C, G>;
  tokens: TokenStore<G>;
  authorization: Authorization<C, G>;
  devices: Devices<C, G>;
}

/** The authorization server of a vendor. */
export function createOAuth<C extends Client, G extends Grant>(vendor: OAuthVendor<C, G>): OAuth<C, G> {
  return {
    vendor,
    tokens: new TokenStore(vendor),
    authorization: new Authorization(vendor),
    devices: new Devices(vendor),
  };
}
