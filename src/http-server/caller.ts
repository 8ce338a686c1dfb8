import type { IncomingMessage } from 'node:http';
import { isPublicAddress } from '../http/public-addresses.ts';

/** Proxies of one's own that stand one behind the other; what the header says beyond is a stranger's, and may be thousands of entries. */
const MOST_PROXIES = 8;

/**
 * Whose request it is, for limits: an IPv4 address, or the network (/64) of an IPv6 one, of which a single subscriber has all. A peer
 * that is not of the public internet is a proxy of one's own, which says last in `X-Forwarded-For` whom it speaks with
 * (https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/X-Forwarded-For); who is on the internet can't write there in its place.
 * @returns null where that can't be told; no limit by address is right then, since all would share it
 */
export function callerOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string | null {
  const peer = plainAddress(socket.remoteAddress ?? '');
  if (isPublicAddress(peer)) return networkOf(peer);
  const told = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',').slice(-MOST_PROXIES).map(plainAddress);
  const caller = told.findLast(isPublicAddress);
  return caller === undefined ? null : networkOf(caller);
}

/** Without brackets, port, and the form in which a socket for both families tells an IPv4. */
function plainAddress(text: string): string {
  const bare = text.trim().toLowerCase();
  const [, bracketed, version4] = /^(?:\[([^\]]*)\]|(?:::ffff:)?(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/.exec(bare) ?? [];
  return bracketed ?? version4 ?? bare;
}

function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const [first, last] = [head, tail ?? ''].map((part) => part.split(':').filter((group) => group !== ''));
  const given = [...(first ?? []), ...(last ?? [])];
  const zeros = Array.from({ length: Math.max(0, 8 - given.length) }, () => '0');
  const groups = tail === undefined ? given : [...(first ?? []), ...zeros, ...(last ?? [])];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
