import { createHash, randomUUID } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type ApiContext, faultable, isApiPath } from './context.ts';

/**
 * Adds ETags to reads, computed from the body and the `Link` header, and answers 304 to If-None-Match (RFC 9110 section 13). Applies the
 * faults `unasked-304` (304 to every request), `etag-stays` (computed from the URL only, so that a change is never visible) and
 * `etag-changes` (a new ETag each time).
 */
export function answerConditions(app: FastifyInstance, context: ApiContext): void {
  app.addHook('onSend', async (request, reply, payload) => {
    if (request.method !== 'GET' || reply.statusCode !== 200 || !isApiPath(request.url)) return payload;
    const isPlayed = (kind: string) => context.kit.faults.active(kind, faultable(context, request)) !== undefined;
    if (isPlayed('unasked-304')) return notModified(reply);
    if (context.wire.etags === 'none' || typeof payload !== 'string') return payload;
    const etag = isPlayed('etag-changes')
      ? named(context, randomUUID())
      : named(context, isPlayed('etag-stays') ? request.url : `${payload} ${reply.getHeader('link') ?? ''}`);
    reply.header('etag', etag);
    return asksFor(request, etag) ? notModified(reply) : payload;
  });
}

function named({ wire }: ApiContext, content: string): string {
  const digest = createHash('sha256').update(content).digest('base64url');
  return wire.etags === 'weak' ? `W/"${digest}"` : `"${digest}"`;
}

function asksFor({ headers }: FastifyRequest, etag: string): boolean {
  const isSame = (one: string) => one.trim().replace(/^W\//, '') === etag.replace(/^W\//, '');
  return (headers['if-none-match'] ?? '').split(',').some(isSame);
}

function notModified(reply: FastifyReply): null {
  reply.status(304).removeHeader('content-type').removeHeader('content-length');
  return null;
}
