import type { FastifyRequest } from 'fastify';

/** What a browser keeps under this name (RFC 6265 section 5.4); empty for nothing. */
export function cookieOf({ headers }: FastifyRequest, name: string): string {
  const pairs = (headers.cookie ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
}
