import type { FastifyRequest } from 'fastify';
import { SIGN_IN_PATH } from '../../control/access.ts';

/** Loopback names used by local programs. A web page with DNS rebinding sends its own host name instead. */
const LOOPBACK_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/** Decides whether a request uses a loopback name. */
export function isOfThisMachine({ headers }: FastifyRequest): boolean {
  return LOOPBACK_HOST.test(headers.host ?? '');
}

/**
 * Decides whether the Host header is acceptable. A loopback-only port requires a loopback name. Behind a public URL, a proxy may set any
 * name: requests from a foreign name fail the Origin check and carry no cookies.
 */
export function isOwnHost(request: FastifyRequest, publicUrl: string): boolean {
  return !isLoopback(publicUrl) || isOfThisMachine(request);
}

/**
 * Returns true for a request from a page of this port, false for another origin, null if the browser sends no origin.
 * @see https://www.w3.org/TR/fetch-metadata/#sec-fetch-site-header `none` is a reload or a typed URL
 */
export function isFromHere({ headers }: FastifyRequest, publicUrl: string): boolean | null {
  const { origin, host, 'sec-fetch-site': site } = headers;
  if (site !== undefined && site !== 'same-origin' && site !== 'none') return false;
  if (origin === undefined) return site === undefined ? null : true;
  // On loopback any local name is accepted, because the Host header was checked before.
  return origin === new URL(publicUrl).origin || (isLoopback(publicUrl) && origin === `http://${host}`);
}

/** Longest path for a redirect back. */
const LONGEST_PATH = 500;

/** Returns a safe local redirect path, or the first page, so that a crafted link cannot redirect to another site. */
export function ownPath(requested: unknown): string {
  if (typeof requested !== 'string' || requested.length > LONGEST_PATH || !requested.startsWith('/')) return '/';
  // Parsed like in a browser: `//evil.test` and `/\evil.test` are other hosts, and tabs and line ends are dropped.
  const url = URL.parse(requested, 'http://own.invalid');
  if (url === null || url.origin !== 'http://own.invalid' || /[\\\p{Cc}]|^\/\//u.test(url.pathname)) return '/';
  return /^\/(sign-in|sign-out)(\/|$)/.test(url.pathname) ? '/' : `${url.pathname}${url.search}`;
}

/** Returns the URL of a new sign-in before a sensitive action. @param to local path of the action's page */
export function signInAgainAddress(to: string, path = SIGN_IN_PATH): string {
  return `${path}?again=1&to=${encodeURIComponent(ownPath(to))}`;
}

function isLoopback(publicUrl: string): boolean {
  return publicUrl.startsWith('http:');
}
