import type { LookupAddress } from 'node:dns';
import { lookup } from 'node:dns/promises';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request as openRequest } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { MirrorError } from '../model/errors.ts';

/** All addresses of a host name. */
export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

/** A request whose address somebody else chose. */
export interface PinnedRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body?: string | Uint8Array;
  signal: AbortSignal;
}

/** An answer whose body has yet to be read. */
export interface PinnedAnswer {
  status: number;
  headers: Headers;
  body: AsyncIterable<Uint8Array>;
}

/** As the system resolves names, its hosts file included. */
export const systemResolve: Resolve = (hostname) => lookup(hostname, { all: true });

/**
 * Sends a request over https to addresses that were looked up once, checked and then connected to: no second answer of the name
 * server can lead elsewhere. One address that is not allowed among several refuses them all.
 * @throws MirrorError `settings`, code `address-not-allowed`, before anything is sent; else the error of node:dns or node:https
 */
export async function sendPinned(
  request: PinnedRequest,
  isAllowed: (address: string) => boolean,
  resolve: Resolve,
): Promise<PinnedAnswer> {
  const url = new URL(request.url);
  if (url.protocol !== 'https:') throw notAllowed();
  const addresses = await addressesOf(url.hostname.replace(/^\[|\]$/g, ''), resolve, request.signal);
  if (addresses.length === 0 || !addresses.every(({ address }) => isAllowed(address))) throw notAllowed();
  const outgoing = openRequest(url, {
    method: request.method,
    headers: { 'accept-encoding': 'identity', ...request.headers },
    lookup: pinnedLookup(addresses),
    signal: request.signal,
    // A connection of its own: a kept one might have been opened unchecked.
    agent: false,
  });
  outgoing.end(request.body);
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage];
  // What goes wrong later shows where the body is read.
  outgoing.on('error', () => {});
  return { status: incoming.statusCode ?? 0, headers: headersOf(incoming), body: incoming };
}

async function addressesOf(hostname: string, resolve: Resolve, signal: AbortSignal): Promise<LookupAddress[]> {
  const family = isIP(hostname);
  if (family !== 0) return [{ address: hostname, family }];
  signal.throwIfAborted();
  const stopped = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([resolve(hostname), stopped]);
}

function pinnedLookup(addresses: LookupAddress[]): LookupFunction {
  return (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all) callback(null, addresses);
    else callback(null, first?.address ?? '', first?.family ?? 0);
  };
}

/** The headers of an answer of node:http. */
export function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  return headers;
}

function notAllowed(): MirrorError {
  return new MirrorError('the address is not one of the public internet over https', {
    actor: 'settings',
    code: 'address-not-allowed',
    retry: 'later',
    remedy: 'give an address that is reached over the internet with https',
  });
}
