import type { FastifyInstance } from 'fastify';

/** Lets a fastify application read `application/x-www-form-urlencoded` bodies: `request.body` is a URLSearchParams. */
export function acceptForms(app: FastifyInstance): void {
  app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) => {
    done(null, new URLSearchParams(String(body)));
  });
}
