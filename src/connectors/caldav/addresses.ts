import { getDomain } from 'tldts';

/** With the list's private part: suffixes below which a company lets others have names. */
const WITH_HOSTERS = { allowPrivateDomains: true };

/**
 * Whether a request that was meant for one address may be sent, with its login, to another: the same host, or another
 * host of the same registered domain over https; never from https to http. Below a public suffix, such as that of a hoster or of dynamic
 * names, each name is somebody else's.
 * @see https://publicsuffix.org/
 */
export function isSameSite(from: URL, to: URL): boolean {
  if (to.protocol !== 'https:' && to.protocol !== from.protocol) return false;
  if (to.hostname === from.hostname) return to.port === from.port || to.protocol !== from.protocol;
  const domain = getDomain(from.hostname, WITH_HOSTERS);
  return to.protocol === 'https:' && domain !== null && domain === getDomain(to.hostname, WITH_HOSTERS);
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
