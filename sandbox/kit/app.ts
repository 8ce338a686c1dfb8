import fastify, { type FastifyInstance } from 'fastify';
import { isAdminPath } from './admin.ts';

/** Ids, tokens and values in a path are long, percent-encoded ones longer; the router's default of 100 characters would refuse them. */
const MAX_PARAMETER_LENGTH = 4096;

/** Limits of an application; an absent limit has the default of fastify. */
export interface AppOptions {
  bodyLimitBytes: number;
  maxHeaderBytes?: number;
  ignoreTrailingSlash?: boolean;
}

/**
 * A fastify application for an API that reads its bodies itself, to refuse bad JSON in the vendor's words: `request.body` is text, for a
 * form URLSearchParams, for the admin routes parsed JSON.
 */
export function createApp({
  bodyLimitBytes,
  maxHeaderBytes,
  ignoreTrailingSlash = false,
}: AppOptions): FastifyInstance {
  const app = fastify({
    bodyLimit: bodyLimitBytes,
    exposeHeadRoutes: false,
    http: maxHeaderBytes === undefined ? {} : { maxHeaderSize: maxHeaderBytes },
    routerOptions: { maxParamLength: MAX_PARAMETER_LENGTH, ignoreTrailingSlash },
  });
  acceptForms(app);
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (request, body, done) => {
    done(null, isAdminPath(request.url) ? JSON.parse(String(body)) : body);
  });
  app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body));
  return app;
}

/** Lets a fastify application read `application/x-www-form-urlencoded` bodies: `request.body` is a URLSearchParams. */
export function acceptForms(app: FastifyInstance): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, new URLSearchParams(String(body)));
  });
}
