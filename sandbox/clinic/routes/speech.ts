import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { LinkNames } from '../dialects/dialect.ts';
import { ClinicError } from '../rules/errors.ts';
import { type ApiContext, isApiPath, resourceOf } from './context.ts';
import { ListPage } from './list-page.ts';
import { OFFSETS } from './query.ts';

/** Puts the dialect between the API's routes and the wire: bodies on their way in, answers and errors on their way out. */
export function speakDialect(app: FastifyInstance, { dialect, wire }: ApiContext): void {
  app.addHook('preValidation', async (request) => {
    const { body } = request;
    if (!isApiPath(request.url) || body instanceof Readable) return;
    request.body = dialect.body(body, resourceOf(request));
  });
  app.addHook('preSerialization', async (request, reply, payload) => {
    if (!isApiPath(request.url) || reply.statusCode >= 400) return payload;
    const resource = resourceOf(request);
    if (!(payload instanceof ListPage)) return dialect.single(dialect.record(payload, resource), resource);
    const page = payload.with(payload.data.map((row) => dialect.record(row, resource)));
    const links = dialect.links ?? (wire.linkPages === undefined ? undefined : OFFSETS);
    if (links !== undefined) reply.header('link', linksOf(request.url, page, links));
    return wire.linkPages === undefined ? dialect.list(page, resource) : page.data;
  });
  app.addHook('onSend', async (request, reply, payload) => {
    const isWrite = request.method === 'POST' || request.method === 'PUT';
    if (!dialect.emptyWrites || !isWrite || reply.statusCode >= 300 || !isApiPath(request.url)) return payload;
    reply.removeHeader('content-type');
    if (reply.statusCode !== 201) reply.status(204);
    return null;
  });
  app.setErrorHandler((error, request, reply) => sendError(request, reply, toClinicError(error)));
  app.setNotFoundHandler((request, reply) =>
    sendError(request, reply, new ClinicError(404, 'not_found', 'This route does not exist')),
  );

  function sendError(request: FastifyRequest, reply: FastifyReply, error: ClinicError): FastifyReply {
    if (!isApiPath(request.url)) return reply.status(error.status).send(error.toBody());
    const { body, contentType, headers } = dialect.error(error);
    reply.status(error.status).headers(headers);
    if (body === undefined) return reply.send();
    return reply.type(contentType).send(typeof body === 'string' ? body : JSON.stringify(body));
  }
}

/** Uses relative URLs, several relations in one link, and a string with a comma, as RFC 8288 allows. */
function linksOf(url: string, { offset, limit, hasMore, isRepeated }: ListPage, { position, size }: LinkNames): string {
  const at = (start: number) => {
    const [path, query] = url.split('?');
    const parameters = new URLSearchParams(query);
    parameters.set(position, String(start));
    parameters.set(size, String(limit));
    return `<${path}?${parameters}>`;
  };
  const first = `${at(0)}; title="first, of all"; rel="first${offset === 0 ? ' self' : ''}"`;
  return hasMore || isRepeated ? `${first}, ${at(offset + limit)}; rel="next"` : first;
}

function toClinicError(error: unknown): ClinicError {
  if (error instanceof ClinicError) return error;
  const status = typeof error === 'object' && error !== null && 'statusCode' in error ? error.statusCode : undefined;
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new ClinicError(status, 'invalid_request', 'The request was not understood');
  }
  // The message stays out of the answer and would be lost with it.
  console.error('clinic sandbox: a route failed', error);
  return new ClinicError(500, 'internal_error', 'Something went wrong');
}
