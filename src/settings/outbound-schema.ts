import { BlockList, isIP } from 'node:net';
import { z } from 'zod';
import { issueText, message } from '../messages/message.ts';
import { network } from './common-schemas.ts';

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
/** Where clouds tell a machine its own credentials: AWS, Google and all that follow them (169.254.0.0/16 beside), Azure, Alibaba, Oracle. */
const METADATA = ['168.63.129.16', '100.100.100.200', '192.0.0.192', 'fd00:ec2::254', 'fd20:ce::254'];
const LINK_LOCAL = ['169.254.0.0/16', 'fe80::/10'];
const LOOPBACK = ['127.0.0.0/8', '::1'];
/** This machine by another name (0.0.0.0), multicast and reserved: nobody's server has one of them. */
const UNUSABLE = ['0.0.0.0/8', '224.0.0.0/4', '240.0.0.0/4', '::', 'ff00::/8'];
/** Ways to write an IPv4 in the last 32 bits of an IPv6: mapped (RFC 4291), translated (RFC 2765), NAT64 (RFC 6052), compatible. */
const HOLD_IPV4 = ['::ffff:0:0/96', '::ffff:0:0:0/96', '64:ff9b::/96', '::/96'];
/** Within the one range of IPv6 that is public: protocol assignments with Teredo, documentation, and 6to4, which hides an IPv4. */
const SPECIAL_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
];

const special = listOf([...SPECIAL_IPV4, ...SPECIAL_IPV6].map((network) => network.join('/')));
/**
 * What maps, translates (NAT64) or holds an IPv4 otherwise lies outside, as do loopback, ULA and link-local.
 * @see RFC 4291 section 2.4
 */
const globalUnicast = listOf(['2000::/3']);
const holdIpv4 = listOf(HOLD_IPV4);
const nat64 = listOf(['64:ff9b:1::/48', '2002::/16']);

/** What stands behind an address. `metadata`, `link-local` and `unusable` are never connected to for a tenant. */
export type AddressClass = 'public' | 'private' | 'loopback' | 'link-local' | 'metadata' | 'unusable';

const CLASSES: readonly (readonly [AddressClass, BlockList])[] = [
  ['metadata', listOf(METADATA)],
  ['link-local', listOf(LINK_LOCAL)],
  ['loopback', listOf(LOOPBACK)],
  ['unusable', listOf(UNUSABLE)],
];

/** Whether an IP address is one of the public internet; false for what is no address. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 4) return !special.check(address, 'ipv4');
  if (family !== 6 || address.includes('%')) return false;
  return globalUnicast.check(address, 'ipv6') && !special.check(address, 'ipv6');
}

/** The class of an IP address; of one that holds an IPv4, the class of that. */
function classOf(address: string): AddressClass {
  const plain = connectedAddress(address);
  const found = CLASSES.find(([, list]) => isIn(list, plain));
  if (found !== undefined) return found[0];
  return isPublicAddress(plain) ? 'public' : 'private';
}

/** Without its zone, and as the IPv4 that it holds: this is what a system connects to. */
function connectedAddress(address: string): string {
  const [bare = ''] = address.split('%');
  if (isIP(bare) !== 6) return bare;
  const groups = groupsOf(bare);
  const ipv4At = (index: number) =>
    [groups[index] ?? 0, groups[index + 1] ?? 0].flatMap((group) => [group >> 8, group & 255]).join('.');
  if (bare !== '::' && bare !== '::1' && holdIpv4.check(bare, 'ipv6')) return ipv4At(6);
  if (!nat64.check(bare, 'ipv6')) return bare;
  // 6to4 holds it in its second and third group; a NAT64 of its own network at the end.
  const held = ipv4At(groups[0] === 0x2002 ? 1 : 6);
  return isPublicAddress(held) ? bare : held;
}

/** Whether an address lies in one of the networks of a list. */
export function isIn(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}

/** @param networks in CIDR, or addresses */
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

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  // The parser writes an IPv4 at the end as groups.
  const written = new URL(`http://[${address}]/`).hostname.slice(1, -1);
  const [head = '', tail] = written.split('::');
  const [first = [], last = []] = [head, tail ?? ''].map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => '0');
  return [...first, ...zeros, ...last].map((group) => Number.parseInt(group, 16));
}

/** For what a daemon connects to an address that a tenant's file or document names. */
export const PURPOSES = ['calendars', 'crms', 'webhooks', 'mail', 'sms'] as const;
/** One of {@link PURPOSES}. */
export type Purpose = (typeof PURPOSES)[number];

/** Addresses of these classes are never connected to, whoever names them. */
const NEVER: readonly AddressClass[] = ['link-local', 'metadata'];
/** Nor are these, where a tenant names them. */
const NEVER_FOR_TENANTS: readonly AddressClass[] = [...NEVER, 'unusable'];

const networks = z.array(network.refine(isReachable, issueText(message('settings.network-refused')))).default([]);

/** Which networks of your own may be reached for addresses in tenants' files. */
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

/** `outbound` of the settings as read. */
export type Outbound = z.output<typeof outboundSection>;

/** Where connections may lead. */
export interface Reach {
  /** Null: the operator named the address. */
  purpose: Purpose | null;
  /** Two of one name allow the same. */
  name: string;
  /** Through no proxy: a proxy looks the name up once more. */
  isDirect: boolean;
  /** The class of an address that is not to be connected to; null for one that may be. @param isPlain over http */
  refuses(address: string, isPlain: boolean): AddressClass | null;
}

/** Reaches what the operator's settings name: own networks too, never link-local and metadata addresses. */
export const OPERATORS_REACH: Reach = {
  purpose: null,
  name: 'operator',
  isDirect: false,
  refuses(address) {
    const found = classOf(address);
    return NEVER.includes(found) ? found : null;
  },
};

/** Reaches the public internet over TLS alone, also for an address that the operator named. */
export const PUBLIC_REACH: Reach = {
  purpose: null,
  name: 'public',
  isDirect: true,
  refuses(address, isPlain) {
    const found = classOf(address);
    return found === 'public' && !isPlain ? null : found;
  },
};

/** Reaches what tenants name: the public internet over TLS, and the networks that the operator allows for this purpose. */
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
