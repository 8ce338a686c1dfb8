import fastify, { type FastifyInstance } from 'fastify';
import { ClinicError } from '../rules/errors.ts';
import { appointmentRoutes } from './appointments.ts';
import { catalogueRoutes } from './catalogue.ts';
import type { ApiContext } from './context.ts';
import { patientRoutes } from './patients.ts';
import { userinfoRoute } from './userinfo.ts';

/** The clinic API as a fastify application that does not listen yet. */
export function createApi(context: ApiContext): FastifyInstance {
  const app = fastify();
  acceptEmptyJson(app);
  context.kit.install(app);
  app.setErrorHandler((error, _request, reply) => {
    const answer = toClinicError(error);
    return reply.status(answer.status).headers(answer.headers).send(answer.toBody());
  });
  app.setNotFoundHandler((_request, reply) =>
    reply.status(404).send(new ClinicError(404, 'not_found', 'No such route').toBody()),
  );
  userinfoRoute(app, context);
  catalogueRoutes(app, context);
  patientRoutes(app, context);
  appointmentRoutes(app, context);
  return app;
}

/** A check-in has no body, yet many clients state a content type. */
function acceptEmptyJson(app: FastifyInstance): void {
  app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, body, done) => {
    if (body.length === 0) return done(null, undefined);
    try {
      done(null, JSON.parse(String(body)));
    } catch {
      done(new ClinicError(400, 'invalid_request', 'The body is not JSON'));
    }
  });
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
