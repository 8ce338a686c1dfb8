import { BlockList, isIP } from 'node:net';

/**
 * Ranges of IPv4 that are not reached over the public internet (IANA's special-purpose address registry): own networks,
 * loopback, link-local with the metadata services of clouds, shared address space, documentation, multicast, reserved.
 * @see RFC 6890
 */
const SPECIAL_IPV4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // Azure's own services for a machine (learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16).
  ['168.63.129.16', 32],
];
/** Within the one range of IPv6 that is public: protocol assignments with Teredo, documentation, and 6to4, which hides an IPv4. */
const SPECIAL_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const special = new BlockList();
for (const [network, prefix] of SPECIAL_IPV4) special.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of SPECIAL_IPV6) special.addSubnet(network, prefix, 'ipv6');
/**
 * What maps, translates (NAT64) or holds an IPv4 otherwise lies outside, as do loopback, ULA and link-local.
 * @see RFC 4291 section 2.4
 */
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');

/** Whether an IP address is one of the public internet; false for what is no address. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, 'ipv4');
  if (family !== 6 || address.includes('%')) return false;
  return globalUnicast.check(address, 'ipv6') && !special.check(address, 'ipv6');
}
