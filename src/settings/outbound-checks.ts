import { isIP } from 'node:net';
import { message, type Text } from '../messages/message.ts';
import type { FilePart } from './describe-issue.ts';
import type { ConfigurationFault } from './faults.ts';
import { type Outbound, type Purpose, reachOf } from './outbound-schema.ts';

/** A URL in a tenant's file with its path and purpose. */
export interface NamedAddress {
  purpose: Purpose;
  path: readonly string[];
  url: URL;
}

const OF_CHANNELS: ReadonlyMap<unknown, Purpose> = new Map([
  ['webhook', 'webhooks'],
  ['sms', 'sms'],
  ['email', 'mail'],
]);

/** Lists the server URLs in a tenant's file, as written or as read. */
export function* addressesOf(tenant: unknown): Generator<NamedAddress> {
  for (const [id, target] of entriesOf(tenant, 'targets')) {
    const purpose = partOf(target, 'crm') === undefined ? 'calendars' : 'crms';
    yield* addressesIn(partOf(target, 'settings'), purpose, ['targets', id, 'settings']);
  }
  for (const [id, channel] of entriesOf(partOf(tenant, 'reminders'), 'channels')) {
    const purpose = OF_CHANNELS.get(partOf(channel, 'kind'));
    const path = ['reminders', 'channels', id, 'settings'];
    if (purpose !== undefined) yield* addressesIn(partOf(channel, 'settings'), purpose, path);
  }
  for (const [id, endpoint] of entriesOf(partOf(tenant, 'triggers'), 'endpoints')) {
    yield* addressesIn(endpoint, 'webhooks', ['triggers', 'endpoints', id]);
  }
}

/**
 * Checks URLs that are decidable before a connection: IP addresses in any spelling, `localhost`, and http without an allowed network. Host
 * names are checked at each connection.
 */
export function* checkAddresses(
  tenant: FilePart,
  { outbound }: { outbound: Outbound | null },
): Generator<ConfigurationFault> {
  if (outbound === null) return;
  for (const { purpose, path, url } of addressesOf(tenant.value)) {
    const fault = faultOf(url, purpose, outbound);
    if (fault !== null) yield tenant.at(...path).fault(...fault);
  }
}

function faultOf(url: URL, purpose: Purpose, outbound: Outbound): [message: Text, remedy: Text] | null {
  const remedy = message('settings.address-refused.remedy', { purpose });
  const isPlain = url.protocol === 'http:';
  const address = literalOf(url.hostname);
  if (address === null) {
    if (!isPlain || outbound[purpose].length > 0) return null;
    return [message('settings.plain-refused'), remedy];
  }
  const found = reachOf(outbound, purpose).refuses(address, isPlain);
  if (found === null) return null;
  if (found === 'public') return [message('settings.plain-public'), message('address-not-allowed.public')];
  const never = found === 'link-local' || found === 'metadata' || found === 'unusable';
  return [message('settings.address-refused', { reach: found }), never ? message('address-not-allowed.never') : remedy];
}

/** Returns the IP address of a host without DNS; null for other names. */
function literalOf(hostname: string): string | null {
  const host = hostname.replace(/^\[|\]$/g, '').replace(/\.+$/, '');
  if (isIP(host) !== 0) return host;
  return /^(.+\.)?localhost$/i.test(host) ? '127.0.0.1' : null;
}

function* addressesIn(value: unknown, purpose: Purpose, path: readonly string[]): Generator<NamedAddress> {
  if (typeof value === 'string') {
    const url = urlOf(value, path.at(-1) === 'host');
    if (url !== null) yield { purpose, path, url };
    return;
  }
  for (const [name, inner] of entriesOf(value)) yield* addressesIn(inner, purpose, [...path, name]);
}

function urlOf(text: string, isHost: boolean): URL | null {
  if (/^https?:/i.test(text)) return URL.parse(text);
  if (!isHost) return null;
  // Only the URL parser knows all spellings of IP addresses.
  const bare = text.replace(/^\[|\]$/g, '');
  return URL.parse(`https://${bare.includes(':') ? `[${bare}]` : bare}/`);
}

function partOf(value: unknown, key: string): unknown {
  if (value instanceof Map) return value.get(key);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}

function entriesOf(value: unknown, key?: string): [string, unknown][] {
  const found = key === undefined ? value : partOf(value, key);
  if (found instanceof Map) return [...found].map(([name, inner]) => [String(name), inner]);
  return typeof found === 'object' && found !== null ? Object.entries(found) : [];
}

/** A host in the configuration, with its path: `clinicClients.main.baseUrl`. */
export interface NamedHost {
  host: string;
  at: string;
}

/** Own URLs of the daemon, with names that possibly do not resolve on this host. */
const OUR_OWN = new Set(['publicUrl', 'notifications', 'redis']);

/** Lists every host in a URL or `host` of a configuration part, except in secrets. */
export function hostsIn(part: unknown, at: readonly string[] = []): NamedHost[] {
  if (typeof part === 'string') {
    const host = hostOf(part, at.at(-1) === 'host');
    return host === null ? [] : [{ host, at: at.join('.') }];
  }
  if (typeof part !== 'object' || part === null) return [];
  const entries = part instanceof Map ? [...part] : Object.entries(part);
  return entries
    .filter(([name, value]) => !OUR_OWN.has(name) && !isListening(name, value))
    .flatMap(([name, value]) => hostsIn(value, [...at, String(name)]));
}

/** Identifies sections of the daemon's own ports, whose `host` is local. */
function isListening(name: string, value: unknown): boolean {
  return (name === 'http' || name === 'operator') && typeof value === 'object' && value !== null && 'port' in value;
}

function hostOf(text: string, isHost: boolean): string | null {
  if (isHost) return text;
  if (!/^https?:\/\//i.test(text)) return null;
  const host = URL.parse(text)?.hostname ?? '';
  return host === '' ? null : host.replace(/^\[|\]$/g, '');
}
