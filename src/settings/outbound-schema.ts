import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { issueText, message } from '../messages/message.ts';
import { network } from './common-schemas.ts';

/**
 * IPv4 ranges outside of the public internet (IANA special-purpose registry): private, loopback, link-local with cloud metadata services,
 * shared, documentation, multicast, reserved.
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
  // Azure platform services (learn.microsoft.com/azure/virtual-network/what-is-ip-address-168-63-129-16).
  ['168.63.129.16', 32],
];
/** Cloud metadata services with credentials: AWS, Google and compatible ones (plus 169.254.0.0/16), Azure, Alibaba, Oracle. */
const METADATA = ['168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254'];
const LINK_LOCAL = ['169.254.0.0/16', 'fe80::/10'];
const LOOPBACK = ['127.0.0.0/8', '::1'];
/** This host by another name (0.0.0.0), multicast and reserved: never a server. */
const UNUSABLE = ['0.0.0.0/8', '224.0.0.0/4', '240.0.0.0/4', '::', 'ff00::/8'];
/** Forms of an IPv4 in the last 32 bits of an IPv6: mapped (RFC 4291), translated (RFC 2765), NAT64 (RFC 6052), compatible. */
const HOLD_IPV4 = ['::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96', '::/96'];
/** Exceptions within the public IPv6 range: protocol assignments with Teredo, documentation, and 6to4, which contains an IPv4. */
const SPECIAL_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const special = listOf([...SPECIAL_IPV4, ...SPECIAL_IPV6].map((network) => network.join('/')));
/**
 * All other forms with an IPv4, loopback, ULA and link-local are outside of this range.
 * @see RFC 4291 section 2.4
 */
const globalUnicast = listOf(['2000::/3']);
const holdIpv4 = listOf(HOLD_IPV4);
const nat64 = listOf(['64:ff9b:1::/48', '2002::/16']);

/** Class of an IP address. The daemon never connects to `metadata`, `link-local` and `unusable` for a tenant. */
export type AddressClass = 'public' | 'private' | 'loopback' | 'link-local' | 'metadata' | 'unusable';

const CLASSES: readonly (readonly [AddressClass, BlockList])[] = [
  ['metadata', listOf(METADATA)],
  ['link-local', listOf(LINK_LOCAL)],
  ['loopback', listOf(LOOPBACK)],
  ['unusable', listOf(UNUSABLE)],
];

/** Decides whether an IP address is public; false for other text. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, 'ipv4');
  if (family !== 6 || address.includes('%')) return false;
  return globalUnicast.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

/** Returns the class of an IP address, or of the contained IPv4. */
function classOf(address: string): AddressClass {
  const plain = connectedAddress(address);
  const found = CLASSES.find(([, list]) => isIn(list, plain));
  if (found !== undefined) return found[0];
  return isPublicAddress(plain) ? 'public' : 'private';
}

/** Returns the IP address without zone, or the contained IPv4: the actual destination of a connection. */
function connectedAddress(address: string): string {
  const [bare = ''] = address.split('%');
  if (isIP(bare) !== 6) return bare;
  const groups = groupsOf(bare);
  const ipv4At = (index: number) =>
    [groups[index] ?? 0, groups[index + 1] ?? 0].flatMap((group) => [group >> 8, group & 255]).join('.');
  if (bare !== '::' && bare !== '::1' && holdIpv4.check(bare, 'ipv6')) return ipv4At(6);
  if (!nat64.check(bare, 'ipv6')) return bare;
  // 6to4 contains the IPv4 in the second and third group; a network-specific NAT64 at the end.
  const held = ipv4At(groups[0] === 0x2002 ? 1 : 6);
  return isPublicAddress(held) ? bare : held;
}

/** Decides whether an IP address is in one of the networks. */
export function isIn(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** @param networks CIDR networks or IP addresses */
export function listOf(networks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', prefix] = network.split('/');
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(prefix), family);
  }
  return list;
}

/** Returns the eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  // The parser writes a final IPv4 as groups.
  const written = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail] = written.split('::');
  const [first = [], last = []] = [head, tail ?? ''].map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0');
  return [...first, ...zeros, ...last].map((group) => Number.parseInt(group, 16));
}

/** Purposes of connections to URLs in a tenant's file or document. */
export const PURPOSES = ['calendars', 'crms', 'webhooks', 'mail', 'sms'] as const;
export type Purpose = (typeof PURPOSES)[number];

/** Classes without connections, also for the operator. */
const NEVER: readonly AddressClass[] = ['link-local', 'metadata'];
/** Classes without connections for tenants. */
const NEVER_FOR_TENANTS: readonly AddressClass[] = [...NEVER, 'unusable'];

const networks = z.array(network.refine(isReachable, issueText(message('settings.network-refused')))).default([]);

/** The operator's own networks that tenants' files may use. */
export const outboundSection = z
  .strictObject({
    calendars: networks.meta({
      description:
        "Your own networks in CIDR notation in which tenants' calendar servers may run. Without a value the daemon connects only to public internet hosts.",
      examples: [['10.1.0.0/16']],
    }),
    crms: networks.meta({
      description: 'Your own networks in CIDR notation in which CRMs may run.',
      examples: [['10.1.0.0/16']],
    }),
    webhooks: networks.meta({
      description:
        'Your own networks in CIDR notation in which receivers of reminders and triggers may run. Plain http is allowed in these networks.',
      examples: [['10.1.0.0/16']],
    }),
    mail: networks.meta({
      description: 'Your own networks in CIDR notation in which mail servers for reminders may run.',
      examples: [['10.1.0.0/16']],
    }),
    sms: networks.meta({
      description: 'Your own networks in CIDR notation in which SMS gateways may run.',
      examples: [['10.1.0.0/16']],
    }),
  })
  .prefault({});

/** Parsed `outbound` settings. */
export type Outbound = z.output<typeof outboundSection>;

/** Allowed destinations of connections. */
export interface Reach {
  /** Null: the operator configured the URL. */
  purpose: Purpose | null;
  /** Equal names mean equal permissions. */
  name: string;
  /** Without a proxy, because a proxy resolves the name again. */
  isDirect: boolean;
  /** Returns the class of a refused IP address, or null if allowed. @param isPlain over http */
  refuses(address: string, isPlain: boolean): AddressClass | null;
}

/** Allows destinations in the operator's settings: also private networks, never link-local and metadata. */
export const OPERATORS_REACH: Reach = {
  purpose: null,
  name: 'operator',
  isDirect: false,
  refuses(address) {
    const found = classOf(address);
    return NEVER.includes(found) ? found : null;
  },
};

/** Allows only the public internet over TLS, also for the operator. */
export const PUBLIC_REACH: Reach = {
  purpose: null,
  name: 'public',
  isDirect: true,
  refuses(address, isPlain) {
    const found = classOf(address);
    return found === 'public' && !isPlain ? null : found;
  },
};

/** Returns the destinations of tenants: the public internet over TLS, and the operator's allowed networks for the purpose. */
export function reachOf(outbound: Outbound, purpose: Purpose): Reach {
  const allowed = outbound[purpose];
  let list: ReturnType<typeof listOf> | null = null;
  return {
    purpose,
    name: `${purpose} ${allowed.join(' ')}`,
    isDirect: purpose === 'webhooks',
    refuses(address, isPlain) {
      const found = classOf(address);
      if (NEVER_FOR_TENANTS.includes(found)) return found;
      if (found === 'public' && !isPlain) return null;
      list ??= listOf(allowed);
      return isIn(list, connectedAddress(address)) ? null : found;
    },
  };
}

function isReachable(written: string): boolean {
  const [address = ''] = written.split('/');
  return !NEVER_FOR_TENANTS.includes(classOf(address));
}
