import type { FastifyRequest } from 'fastify';

/** As this machine's own programs call it. A page of the web that has its name lead here (DNS rebinding) brings that name. */
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/** Whether a request names this machine as its own programs do. */
export function isOfThisMachine({ headers }: FastifyRequest): boolean {
  return LOOPBACK_HOST.test(headers.host ?? '');
}

/**
 * Whether browsers are meant to come here by the name that the request brings. On this machine alone that has to be a name of the
 * loopback; behind a public address a proxy may have put any name there, and what a strange name leads to is refused by its Origin, and has
 * none of our cookies.
 */
export function isOwnHost(request: FastifyRequest, publicUrl: string): boolean {
  return !isLoopback(publicUrl) || isOfThisMachine(request);
}

/**
 * What the browser says of the page that sent a request: true for one of ours, false for another's, null where it says nothing.
 * @see https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header `none` is a person who reloads, or typed the address
 */
export function isFromHere({ headers }: FastifyRequest, publicUrl: string): boolean | null {
  const { origin, host, 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  if (origin === undefined) return site === undefined ? null : true;
  // On this machine by whichever of its names; that the host is one was looked at before.
  return origin === new URL(publicUrl).origin || (isLoopback(publicUrl) && origin === `http://${host}`);
}

/** The longest path of ours that is gone back to. */
const LONGEST_PATH = 500;

/** A path of our own to go back to; the first page for anything else, so that nobody is led elsewhere by an address that begins with ours. */
export function ownPath(requested: unknown): string {
  if (typeof requested !== 'string' || requested.length > LONGEST_PATH || !requested.startsWith('/')) return '/';
  // As a browser would read it: `//evil.test` and `/\evil.test` are other hosts, and it leaves tabs and line ends out.
  const url = URL.parse(requested, 'http://own.invalid');
  if (url === null || url.origin !== 'http://own.invalid' || /[\\\p{Cc}]|^\/\//u.test(url.pathname)) return '/';
  return /^\/(sign-in|sign-out)(\/|$)/.test(url.pathname) ? '/' : `${url.pathname}${url.search}`;
}

function isLoopback(publicUrl: string): boolean {
  return publicUrl.startsWith('http:');
}
