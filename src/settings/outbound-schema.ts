import { z } from 'zod';
import { type AddressClass, classOf, connectedAddress, isIn, listOf } from './addresses.ts';
import { network } from './common-schemas.ts';

/** For what a daemon connects to an address that a tenant's file or document names. */
export const PURPOSES = ['calendars', 'crms', 'webhooks', 'mail', 'sms'] as const;
/** One of {@link PURPOSES}. */
export type Purpose = (typeof PURPOSES)[number];

/** Addresses of these classes are never connected to, whoever names them. */
const NEVER: readonly AddressClass[] = ['link-local', 'metadata'];
/** Nor are these, where a tenant names them. */
const NEVER_FOR_TENANTS: readonly AddressClass[] = [...NEVER, 'unusable'];

const networks = z
  .array(network.refine(isReachable, 'leave it out: link-local, metadata and multicast addresses are never reached'))
  .default([]);

/** Which networks of your own may be reached for addresses in tenants' files. */
export const outboundSection = z
  .strictObject({
    calendars: networks.describe(
      'Networks of your own, in CIDR (10.1.0.0/16), in which calendar servers that tenants name may be. Without it only the public internet is reached',
    ),
    crms: networks.describe('The same for CRMs'),
    webhooks: networks.describe('The same for receivers of reminders and triggers; http is allowed there'),
    mail: networks.describe('The same for mail servers of reminders'),
    sms: networks.describe('The same for gateways of text messages'),
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
