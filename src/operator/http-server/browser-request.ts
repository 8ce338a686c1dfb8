import type { FastifyReply, FastifyRequest } from 'fastify';
import { SECOND_MS } from '../../core/model/time.ts';
import type { Language } from '../../messages/message.ts';

/** Returns a cookie's value (RFC 6265 section 5.4); empty if missing. */
export function cookieOf({ headers }: FastifyRequest, name: string): string {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
}

/** Cookies: the session, a pending sign-in at a provider, and the mark of an earlier sign-in. */
type BrowserKey = 'session' | 'sign-in' | 'known-browser';

/** Returns the cookie's value; empty if missing. */
export function browserKeyOf(request: FastifyRequest, key: BrowserKey, publicUrl: string): string {
  return cookieOf(request, nameOf(key, publicUrl));
}

/**
 * Sets an HttpOnly cookie for `lifeMs`, or until the browser closes; an empty value deletes the cookie. `Lax` sends the cookie on links
 * from the provider, mails or alerts, where GET changes nothing, but not with cross-site forms, frames or calls. `Strict` would require a
 * new sign-in after each such link.
 */
export function setBrowserKey(
  reply: FastifyReply,
  publicUrl: string,
  { key, value, lifeMs }: { key: BrowserKey; value: string; lifeMs?: number },
): void {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Lax'];
  if (value === '') attributes.push('Max-Age=0');
  else if (lifeMs !== undefined) attributes.push(`Max-Age=${lifeMs / SECOND_MS}`);
  if (publicUrl.startsWith('https:')) attributes.push('Secure');
  reply.header('set-cookie', [`${nameOf(key, publicUrl)}=${value}`, ...attributes].join('; '));
}

/**
 * `__Host-` prevents cookies set by other hosts or plain http (RFC 6265bis section 4.1.3.2). Cookies are shared across ports, so other
 * names contain the product name.
 */
function nameOf(key: BrowserKey, publicUrl: string): string {
  return publicUrl.startsWith('https:') ? `__Host-${key}` : `clinic-mirror-${key}`;
}

/** Returns the form fields; repeated names keep all values. */
export function formOf({ body }: FastifyRequest): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, values] of Object.entries(typeof body === 'object' && body !== null ? body : {})) {
    for (const value of [values].flat()) if (typeof value === 'string') form.append(name, value);
  }
  return form;
}

/**
 * Returns the browser's first supported language.
 * @param accepted Accept-Language, RFC 9110 section 12.5.4
 */
export function languageOf(accepted: string, fallback: Language): Language {
  const supported = accepted
    .toLowerCase()
    .split(',')
    .map((tag) => tag.trim().slice(0, 2))
    .find((tag): tag is Language => tag === 'it' || tag === 'en');
  return supported ?? fallback;
}
