import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { MirrorError } from '../model/errors.ts';

/** All addresses of a host name. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** As the system resolves names, its hosts file included. */
export const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true });

/**
 * Leads a request over https to addresses that are looked up once, checked and then connected to: no second answer of the name
 * server can lead elsewhere. One address that is not allowed among several refuses them all.
 * @returns what the request is to look its host up with
 * @throws MirrorError `settings`, code `address-not-allowed`, here for an address without a name, else where it is looked up
 */
export function pinnedLookup(url: string, isAllowed: (address: string) => boolean, resolve: Resolve): LookupFunction {
  const { protocol, hostname } = URL.parse(url) ?? { protocol: null, hostname: '' };
  const address = hostname.replace(/^\[|\]$/g, '');
  if (protocol !== 'https:' || (isIP(address) !== 0 && !isAllowed(address))) throw notAllowed();
  async function allowed(name: string): Promise<LookupAddress[]> {
    const addresses = await resolve(name);
    if (addresses.length === 0 || !addresses.every((each) => isAllowed(each.address))) throw notAllowed();
    return addresses;
  }
  return (name, { all }, callback) => {
    allowed(name).then(
      (addresses) =>
        all ? callback(null, addresses) : callback(null, addresses[0]?.address ?? '', addresses[0]?.family),
      (error) => callback(error, ''),
    );
  };
}

function notAllowed(): MirrorError {
  return new MirrorError('the address is not one of the public internet over https', {
    actor: 'settings',
    code: 'address-not-allowed',
    retry: 'later',
    remedy: 'give an address that is reached over the internet with https',
  });
}
