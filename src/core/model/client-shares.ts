/** A client, or a block of IPv6 addresses that contains it, with its share of a limit. */
export interface ClientShare {
  /** IP address, or network such as `2001:db8:0:0::/64`. */
  name: string;
  /** Whole number. */
  most: number;
}

/**
 * Larger blocks that one customer of a provider can own (RFC 6177, RIPE-690: a /56 or a /48 each), with the bits of the fourth group that
 * they keep, and their share in shares of a /64. A /48 holds the share of a /56 and of a further /64: an attacker with a whole /56
 * takes nothing from a client in another /56.
 */
const BLOCKS = [
  { bits: 56, mask: 0xff00, times: 1.5 },
  { bits: 48, mask: 0, times: 2.5 },
];
const NETWORK = /^([\da-f]+:[\da-f]+:[\da-f]+):([\da-f]+)::\/64$/;

/**
 * Returns the shares to count a client with, narrowest first. A request refused by one share must not be counted by the next ones.
 * @param client the /64 network of an IPv6 address; any other text has one share
 * @param most limit of one client
 */
export function clientShares(client: string, most: number): ClientShare[] {
  const [, beginning, group = ''] = NETWORK.exec(client) ?? [];
  const own = { name: client, most };
  if (beginning === undefined) return [own];
  const blocks = BLOCKS.map(({ bits, mask, times }) => ({
    name: `${beginning}:${(Number.parseInt(group, 16) & mask).toString(16)}::/${bits}`,
    most: Math.ceil(most * times),
  }));
  return [own, ...blocks];
}
