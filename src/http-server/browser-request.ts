import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Language } from '../messages/message.ts';
import { SECOND_MS } from '../model/time.ts';

/** What a browser keeps under this name (RFC 6265 section 5.4); empty for nothing. */
export function cookieOf({ headers }: FastifyRequest, name: string): string {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
}

/** What a browser keeps: its session, how a sign-in at a provider began, and that somebody signed in with it before. */
type BrowserKey = 'session' | 'sign-in' | 'known-browser';

/** What the browser keeps; empty for nothing. */
export function browserKeyOf(request: FastifyRequest, key: BrowserKey, publicUrl: string): string {
  return cookieOf(request, nameOf(key, publicUrl));
}

/**
 * Has the browser keep something, which no script can read, for `lifeMs`, or until it is closed or told otherwise; empty takes it away. `Lax`: it comes along
 * when the provider, a mail or an alert leads the browser to one of our pages, where looking changes nothing, and with no form, frame or
 * call of another site. `Strict` would ask whoever follows such a link to sign in again.
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

/** `__Host-`: no other host and no plain http can set it (RFC 6265bis section 4.1.3.2). Cookies know no ports, so others name whose they are. */
function nameOf(key: BrowserKey, publicUrl: string): string {
  return publicUrl.startsWith('https:') ? `__Host-${key}` : `clinic-mirror-${key}`;
}

/** What a form sent: each name with its value, or its values. */
export function formOf({ body }: FastifyRequest): URLSearchParams {
  const form = new URLSearchParams();
  for (const [name, values] of Object.entries(typeof body === 'object' && body !== null ? body : {})) {
    for (const value of [values].flat()) if (typeof value === 'string') form.append(name, value);
  }
  return form;
}

/**
 * The first of a browser's languages that there are pages in.
 * @param accepted as the browser says it (Accept-Language, RFC 9110 section 12.5.4)
 */
export function languageOf(accepted: string, fallback: Language): Language {
  const supported = accepted
    .toLowerCase()
    .split(',')
    .map((tag) => tag.trim().slice(0, 2))
    .find((tag): tag is Language => tag === 'it' || tag === 'en');
  return supported ?? fallback;
}
