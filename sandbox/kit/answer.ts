import type { FastifyReply } from 'fastify';

/** The answer to one API call, sent as a separate request or as a part of a batch. */
export interface ApiAnswer {
  status: number;
  headers?: Record<string, string>;
  /** JSON value; absent for an answer without a body, for example 204. */
  body?: unknown;
}

/** Sends the answer to a call outside a batch. */
export function sendAnswer(reply: FastifyReply, { status, headers = {}, body }: ApiAnswer): FastifyReply {
  return reply.status(status).headers(headers).send(body);
}

/** The value of a JSON text; undefined when it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The object in a JSON text; undefined when it is none. */
export function parseJsonObject(text: string): Record<string, unknown> | undefined {
  const parsed = parseJson(text);
  const isObject = typeof parsed === 'object' && parsed !== null && !Array.isArray(parsed);
  return isObject ? Object.fromEntries(Object.entries(parsed)) : undefined;
}

/** True when If-Match is absent, `*` or names this etag (RFC 9110 section 13.1.1). */
export function isMatched(ifMatch: string | undefined, etag: string): boolean {
  return ifMatch === undefined || ifMatch === '*' || ifMatch.split(/\s*,\s*/).includes(etag);
}
