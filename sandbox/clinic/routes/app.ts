import fastify, { type FastifyInstance } from 'fastify';
import { ClinicError } from '../rules/errors.ts';
import { checkAccept } from './accept.ts';
import { appointmentRoutes } from './appointments.ts';
import { availabilityRoutes } from './availability.ts';
import { billingRoutes } from './billing.ts';
import { catalogueRoutes } from './catalogue.ts';
import type { ApiContext } from './context.ts';
import { episodeRoutes } from './episodes.ts';
import { answerConditions } from './etags.ts';
import { patientRoutes } from './patients.ts';
import { reportRoutes } from './reports.ts';
import { speakDialect } from './speech.ts';
import { acceptForms } from './uploads.ts';
import { userinfoRoute } from './userinfo.ts';

/** The clinic API as a fastify application that does not listen yet. */
export function createApi(context: ApiContext): FastifyInstance {
  const app = fastify();
  acceptEmptyJson(app);
  acceptForms(app);
  context.kit.install(app);
  speakDialect(app, context);
  checkAccept(app, context);
  answerConditions(app, context);
  userinfoRoute(app, context);
  catalogueRoutes(app, context);
  patientRoutes(app, context);
  appointmentRoutes(app, context);
  availabilityRoutes(app, context);
  episodeRoutes(app, context);
  billingRoutes(app, context);
  reportRoutes(app, context);
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
