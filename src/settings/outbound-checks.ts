import { isIP } from 'node:net';
import { message, type Text } from '../messages/message.ts';
import type { FilePart } from './describe-issue.ts';
import type { ConfigurationFault } from './faults.ts';
import { type Outbound, type Purpose, reachOf } from './outbound-schema.ts';

/** An address that a tenant names, where it stands, and for what it is connected to. */
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

/** Every address of a server in a tenant's file, as written or as read. */
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
 * Addresses whose place is known before anything is connected to: numbers in any spelling, `localhost`, and http where no network is allowed.
 * What a name stands for is checked with each connection.
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

/** The IP address that a host is known to be without asking for it; null for another name. */
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
  // Only the parser of web addresses knows all spellings of numbers.
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

/** A machine that a configuration names, and where: `clinicClients.main.baseUrl`. */
export interface NamedHost {
  host: string;
  at: string;
}

/** Addresses at which we are reached ourselves: the outside may know other names than this machine does. */
const OUR_OWN = new Set(['publicUrl', 'notifications', 'redis']);

/** Every machine that a part of a configuration names by an address or as a server's `host`, but those of secrets. */
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

/** Sections of ports that the daemon itself opens: their `host` is one of this machine. */
function isListening(name: string, value: unknown): boolean {
  return (name === 'http' || name === 'operator') && typeof value === 'object' && value !== null && 'port' in value;
}

function hostOf(text: string, isHost: boolean): string | null {
  if (isHost) return text;
  if (!/^https?:\/\//i.test(text)) return null;
  const host = URL.parse(text)?.hostname ?? '';
  return host === '' ? null : host.replace(/^\[|\]$/g, '');
}
