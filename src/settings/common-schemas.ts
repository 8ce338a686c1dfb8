import { isIP } from 'node:net';
import { z } from 'zod';
import { NAME, NAME_REMEDY } from '../model/names.ts';
import { guessZone } from './zone-places.ts';

/** A name that people choose. */
export const name = z.string().regex(NAME, NAME_REMEDY);

/** A text with something in it. */
export const text = z.string().trim().min(1, 'write something here');

/** A mapping from chosen names to things, given as a Map so that a name such as `constructor` finds nothing by accident. */
export function mapOf<Value extends z.ZodType>(value: Value, key: z.ZodType<string, string> = name) {
  return z.record(key, value).transform((record) => new Map<string, z.output<Value>>(Object.entries(record)));
}

/** A network in CIDR, or one address. A prefix of 0 would cover every address of the internet. */
export const network = text.refine((written) => {
  const [address = '', prefix, ...more] = written.split('/');
  const family = isIP(address);
  if (family === 0 || address.includes('%') || more.length > 0) return false;
  if (prefix === undefined) return true;
  return /^[1-9]\d{0,2}$/.test(prefix) && Number(prefix) <= (family === 6 ? 128 : 32);
}, 'give a network in CIDR, such as 10.0.0.0/24 or fd00::/64, or one address');

/** A positive whole number, such as a count or a duration. */
export function wholeNumber(least = 1, most = 1_000_000_000) {
  return z.int().min(least).max(most);
}

/** This machine, or a bare host name as containers of one network have them. */
const NEARBY = /^(127(\.\d{1,3}){3}|\[::1\]|[a-z0-9_-]*[a-z_-][a-z0-9_-]*)$/;

/** An address as it is written: https, or plain http to nearby hosts, since tokens travel there; no credentials, query or fragment. */
export const address = z
  .string()
  .refine(
    isBaseAddress,
    'give an https:// address without user, query and fragment (http:// only on this machine or to a bare host name)',
  );

/** The same, to put paths behind it. */
export const baseAddress = address.transform((written) => written.replace(/\/+$/, ''));

function isBaseAddress(address: string): boolean {
  const url = URL.parse(address);
  if (url === null || url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && NEARBY.test(url.hostname));
}

/** Whether gateways and patients can be told an address: https, or for trials one of this machine by its number. */
export function isForOthers(publicUrl: string | null): publicUrl is string {
  return publicUrl !== null && /^(https:|http:\/\/127\.)/.test(publicUrl);
}

/** An IANA time zone; given back in its canonical spelling. A schema asks for each spelling once: an answer takes half a millisecond. */
export function zone() {
  const asked = new Map<string, string | null>();
  return z.string().transform((written, context) => {
    const canonical = asked.get(written) ?? canonicalZone(written);
    asked.set(written, canonical);
    if (canonical !== null) return canonical;
    context.addIssue({ code: 'custom', message: zoneRemedy(written) });
    return z.NEVER;
  });
}

/** Tells which zone to write in place of an unknown one. */
export function zoneRemedy(written: string): string {
  const guess = guessZone(written);
  return guess === null ? 'give an IANA time zone such as Europe/Rome' : `did you mean ${guess}?`;
}

/** Offsets such as +01:00 are refused: they know no summer time. */
function canonicalZone(written: string): string | null {
  if (!/^[A-Za-z]/.test(written)) return null;
  try {
    return new Intl.DateTimeFormat('en', { timeZone: written }).resolvedOptions().timeZone;
  } catch {
    return null;
  }
}
