import type { IncomingMessage } from 'node:http';
import { type BlockList, isIP } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Logger } from '../../core/log/logger.ts';
import { isIn, isPublicAddress, listOf } from '../../settings/outbound-schema.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The client for rate limits, see {@link callerOf}. */
    caller: string;
  }
}

/** Longest chain of trusted proxies, because the header can contain thousands of IP addresses. */
const MOST_PROXIES = 8;

/** Decides whether an IP address belongs to a reverse proxy of the operator (`http.trustedProxies`). */
export type IsTrusted = (address: string) => boolean;

/** Headers in which proxies name the client. A client can write them too. */
const FORWARDED = ['x-forwarded-for', 'forwarded', 'x-real-ip', 'x-forwarded-host', 'x-forwarded-proto'];

/** Tests IP addresses against the networks in the current settings. @param networks of `http.trustedProxies` */
export function trustedBy(networks: () => readonly string[]): IsTrusted {
  let built: { of: readonly string[]; list: BlockList } | null = null;
  return (address) => {
    const now = networks();
    if (built?.of !== now) built = { of: now, list: listOf(now) };
    return isIn(built.list, address);
  };
}

/** Adds `request.caller`, and logs once that a peer sends forwarding headers without being trusted. */
export function addCaller(app: FastifyInstance, isTrusted: IsTrusted, log: Logger): void {
  let isReported = false;
  app.decorateRequest('caller', {
    getter() {
      const peer = peerOf(this.raw);
      if (!isReported && !isTrusted(peer) && FORWARDED.some((name) => this.headers[name] !== undefined)) {
        isReported = true;
        // Public IP addresses of patients or administrators are not logged; the private IP address of a proxy is required for the fix.
        log.warn(
          { code: 'proxy-not-trusted', ...(isPublicAddress(peer) ? {} : { peer }) },
          'forwarding headers were ignored: the peer is not in http.trustedProxies; if the peer is your reverse proxy, add its network',
        );
      }
      return callerOf(this.raw, isTrusted);
    },
  });
}

/**
 * Returns the client for rate limits: an IPv4 address, or the /64 network of an IPv6 address, because a subscriber owns a whole /64. The
 * client is the peer. Behind a trusted proxy, the client is the rightmost IP address in `X-Forwarded-For` that is no trusted proxy
 * (https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/X-Forwarded-For#selecting_an_ip_address). A proxy without such an IP
 * address is itself the client, so that each request has a limit.
 */
export function callerOf(raw: Pick<IncomingMessage, 'socket' | 'headers'>, isTrusted: IsTrusted): string {
  let hop = peerOf(raw);
  if (isTrusted(hop)) {
    const forwarded = [raw.headers['x-forwarded-for'] ?? []].flat().join(',').split(',').slice(-MOST_PROXIES);
    for (const address of forwarded.map(plainAddress).toReversed()) {
      if (isIP(address) === 0) break;
      hop = address;
      if (!isTrusted(hop)) break;
    }
  }
  return networkOf(hop);
}

/** Returns the IP address of the peer; empty if the connection is closed. */
export function peerOf({ socket }: Pick<IncomingMessage, 'socket'>): string {
  return plainAddress(socket.remoteAddress ?? '');
}

/** Removes brackets, port, and the IPv4 prefix of dual-stack sockets. */
export function plainAddress(text: string): string {
  const bare = text.trim().toLowerCase();
  const [, bracketed, version4] = /^(?:\[([^\]]*)\]|(?:::ffff:)?(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/.exec(bare) ?? [];
  return bracketed ?? version4 ?? bare;
}

/** Returns an IPv4 address unchanged, or the /64 network of an IPv6 address. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [head = '', tail] = address.split('::');
  const [first, last] = [head, tail ?? ''].map((part) => part.split(':').filter((group) => group !== ''));
  const writtenGroups = [...(first ?? []), ...(last ?? [])];
  const zeros = Array.from({ length: Math.max(0, 8 - writtenGroups.length) }, () => '0');
  const groups = tail === undefined ? writtenGroups : [...(first ?? []), ...zeros, ...(last ?? [])];
  return `${groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
