import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { type Message, message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import type { AddressClass, Reach } from '../settings/outbound-schema.ts';
import { hasProxies } from './transport.ts';

/** All addresses of a host name. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** As the system resolves names, its hosts file included. */
const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true });

/** Where a connection is to lead. */
export interface Destination {
  host: string;
  /** Without TLS. */
  isPlain: boolean;
}

/** How a request gets to its host. */
export interface Way {
  lookup?: LookupFunction;
  /** Connections are shared with those of the same pool alone; without one the request has a connection of its own, and no proxy. */
  pool?: string;
}

/**
 * The way of a request to where this reach allows. A proxy resolves the name itself, so that it is the proxy's own rules that count in the
 * end: what is known of the name here is checked before.
 * @throws MirrorError `settings`, code `address-not-allowed`, here or where the host is looked up
 */
export async function wayTo(url: string, reach: Reach, resolve: Resolve = systemResolve): Promise<Way> {
  const parsed = URL.parse(url);
  if (parsed === null) return {};
  const destination = { host: parsed.hostname.replace(/^\[|\]$/g, ''), isPlain: parsed.protocol !== 'https:' };
  const lookup = pinnedLookup(destination, reach, resolve);
  if (reach.isDirect) return { lookup };
  if (hasProxies && reach.purpose !== null) await checkedHere(destination, reach, resolve);
  return { lookup, pool: reach.name };
}

/**
 * Leads a connection to addresses that are looked up once, checked and then connected to: no second answer of the name server can lead
 * elsewhere, and no second attempt. One address that is not allowed among several refuses them all.
 * @returns what the connection is to look its host up with
 * @throws MirrorError `settings`, code `address-not-allowed`, here for an address without a name, else where it is looked up
 */
export function pinnedLookup(destination: Destination, reach: Reach, resolve: Resolve = systemResolve): LookupFunction {
  // What has no name is not looked up.
  if (isIP(destination.host) !== 0) requireAllowed(destination, [destination.host], reach);
  return (name, { all }, callback) => {
    allowedAddresses({ ...destination, host: name }, reach, resolve).then(
      (addresses) =>
        all ? callback(null, addresses) : callback(null, addresses[0]?.address ?? '', addresses[0]?.family),
      (error) => callback(error, ''),
    );
  };
}

async function allowedAddresses(destination: Destination, reach: Reach, resolve: Resolve): Promise<LookupAddress[]> {
  const addresses = await resolve(destination.host);
  if (addresses.length === 0) throw Object.assign(new Error('the name has no address'), { code: 'ENOTFOUND' });
  requireAllowed(
    destination,
    addresses.map(({ address }) => address),
    reach,
  );
  return addresses;
}

/** A name that nobody knows here, the proxy may know; but not one without a dot, which is one of an own network. */
async function checkedHere(destination: Destination, reach: Reach, resolve: Resolve): Promise<void> {
  await allowedAddresses(destination, reach, resolve).catch((error: unknown) => {
    if (error instanceof MirrorError) throw error;
    if (!destination.host.includes('.')) throw notAllowed(destination.host, 'private', reach);
  });
}

function requireAllowed({ host, isPlain }: Destination, addresses: readonly string[], reach: Reach): void {
  for (const address of addresses) {
    const found = reach.refuses(address, isPlain);
    if (found !== null) throw notAllowed(host, found, reach);
  }
}

const KINDS: Readonly<Record<AddressClass, Message>> = {
  public: message('address-kind.public'),
  private: message('address-kind.private'),
  loopback: message('address-kind.loopback'),
  'link-local': message('address-kind.link-local'),
  metadata: message('address-kind.metadata'),
  unusable: message('address-kind.unusable'),
};
const NEVER: readonly AddressClass[] = ['link-local', 'metadata', 'unusable'];

function notAllowed(host: string, found: AddressClass, { purpose }: Reach): MirrorError {
  const use = purpose === null ? '' : ` for ${purpose}`;
  return new MirrorError(message('address-not-allowed', { use, host, kind: KINDS[found] }), {
    actor: 'settings',
    code: 'address-not-allowed',
    retry: 'never',
    remedy: remedyOf(found, purpose),
  });
}

function remedyOf(found: AddressClass, purpose: Reach['purpose']): Message {
  if (NEVER.includes(found)) return message('address-not-allowed.never');
  if (purpose === null) return message('address-not-allowed.private');
  if (found === 'public') return message('address-not-allowed.public');
  return message('address-not-allowed.remedy', { purpose });
}
