import type { FastifyRequest } from 'fastify';

/** The token that a request shows (RFC 6750 section 2.1); null for none. */
export function bearerIn({ headers }: FastifyRequest): string | null {
  return /^Bearer +(\S+) *$/i.exec(headers.authorization ?? '')?.[1] ?? null;
}
