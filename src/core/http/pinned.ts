import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import { type Message, message } from '../../messages/message.ts';
import type { AddressClass, Reach } from '../../settings/outbound-schema.ts';
import { MirrorError } from '../model/errors.ts';
import { hasProxies } from './transport.ts';

/** Returns the addresses of a host name. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** Uses the system's resolver, including the hosts file. */
const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true });

export interface Destination {
  host: string;
  /** Whether the connection has no TLS. */
  isPlain: boolean;
}

/** Route of a request to its host. */
export interface Way {
  lookup?: LookupFunction;
  /** Pool for sharing connections; without a pool the request has a dedicated connection and no proxy. */
  pool?: string;
}

/**
 * Returns the route of a request to an allowed destination. A proxy resolves the name, so the proxy's rules apply in the end; the name is
 * checked against the local resolver before.
 * @throws MirrorError `settings`, code `address-not-allowed`, here or during the lookup
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
 * Connects only to addresses that were looked up once and checked, so that a second DNS answer or a second attempt cannot lead to a
 * different host. One forbidden address among several refuses all of them.
 * @returns the lookup function for the connection
 * @throws MirrorError `settings`, code `address-not-allowed`, here for an IP address, otherwise during the lookup
 */
export function pinnedLookup(destination: Destination, reach: Reach, resolve: Resolve = systemResolve): LookupFunction {
  // IP addresses need no lookup.
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

/** The proxy may know a name that is unknown locally. A name without a dot belongs to an internal network and is refused. */
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
