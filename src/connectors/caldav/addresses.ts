import { isIP } from 'node:net';

/** Second-level labels under which countries register names; without a whole public-suffix list this errs on few. */
const SHARED_SECOND_LEVELS = new Set(['ac', 'co', 'com', 'edu', 'go', 'gov', 'ne', 'net', 'or', 'org']);

/** Whether a login may be sent to this address: https, or http on this machine or within a container network. */
export function isAcceptableAddress(text: string): boolean {
  const url = URL.parse(text);
  if (url === null || url.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:') return true;
  return /^127\.|^\[::1\]$/.test(url.hostname) || !/[.:]/.test(url.hostname);
}

/**
 * Whether a request that was meant for one address may be sent, with its login, to another: the same host, or another
 * host of the same registered domain over https; never from https to http.
 */
export function isSameSite(from: URL, to: URL): boolean {
  if (to.protocol !== 'https:' && to.protocol !== from.protocol) return false;
  if (to.hostname === from.hostname) return to.port === from.port || to.protocol !== from.protocol;
  return to.protocol === 'https:' && registeredDomain(to.hostname) === registeredDomain(from.hostname);
}

function registeredDomain(hostname: string): string {
  if (isIP(hostname) !== 0 || hostname.startsWith('[')) return hostname;
  const labels = hostname.split('.');
  const [secondLevel = '', topLevel = ''] = labels.slice(-2);
  const isShared = topLevel.length === 2 && SHARED_SECOND_LEVELS.has(secondLevel);
  return labels.slice(isShared ? -3 : -2).join('.');
}

/**
 * A DAV href as an address: relative or absolute. One that names a host of another site (a proxy that shows its inner
 * name) is taken as a path on the host that was asked.
 */
export function resolveHref(asked: URL, href: string): URL {
  const target = URL.parse(href.trim(), asked.href) ?? asked;
  if (isSameSite(asked, target)) return target;
  const onHost = new URL(asked);
  onHost.search = '';
  // Not by resolving: a path that begins with two slashes would name a host.
  onHost.pathname = target.pathname;
  return onHost;
}

/** The path for comparison: one spelling for `%40` and `@`, upper and lower case escapes, doubled and closing slashes. */
export function comparablePath(url: URL): string {
  const path = url.pathname.replaceAll(/\/{2,}/g, '/').replace(/\/$/, '');
  try {
    return decodeURIComponent(path).normalize();
  } catch {
    return path;
  }
}

/** The same address with a slash at its end, as collections have. */
export function asCollection(url: URL): URL {
  const copy = new URL(url);
  copy.hash = '';
  copy.search = '';
  if (!copy.pathname.endsWith('/')) copy.pathname += '/';
  return copy;
}

/** The last part of a path, escaped as it stands; empty for a collection. */
export function nameOf(url: URL): string {
  return url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
}

/** Whether an address is that of an object directly in a collection. */
export function isMember(collection: URL, url: URL): boolean {
  return nameOf(url) !== '' && comparablePath(new URL('.', url)) === comparablePath(collection);
}
