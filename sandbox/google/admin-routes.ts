import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ADMIN_PREFIX } from '../kit/admin.ts';
import type { GoogleSandbox } from './verbs.ts';

const accessToken = z.strictObject({ account: z.string(), scopes: z.array(z.string()).optional() });
const newCalendar = z.strictObject({ account: z.string(), summary: z.string(), timeZone: z.string().optional() });
const serviceAccount = z.strictObject({
  email: z.string(),
  delegation: z
    .strictObject({ subjects: z.union([z.array(z.string()), z.literal('all')]), scopes: z.array(z.string()) })
    .optional(),
});
const settings = z.strictObject({
  timeZone: z.string().exactOptional(),
  maxBatchSize: z.int().exactOptional(),
  quotaPerProjectPerMinute: z.number().exactOptional(),
  quotaPerUserPerMinute: z.number().exactOptional(),
  rateLimitStatus: z.union([z.literal(403), z.literal(429)]).exactOptional(),
  calendarWritesPerSecond: z.number().exactOptional(),
  newCalendarsPerDay: z.int().exactOptional(),
  pageShape: z.enum(['full', 'empty', 'short']).exactOptional(),
  accessTokenLifetimeMs: z.number().exactOptional(),
  refreshTokenLifetimeMs: z.number().exactOptional(),
  syncTokenLifetimeMs: z.number().exactOptional(),
  updatedMinHorizonMs: z.number().exactOptional(),
});
const place = z.object({ calendarId: z.string() });
const eventPlace = place.extend({ eventId: z.string() });
const deletedToo = z.object({ includeDeleted: z.stringbool().default(false) });
const anyObject = z.record(z.string(), z.unknown());

/** The sandbox's verbs over HTTP, for a sandbox that runs on its own. Unknown calendars and events answer 500. */
export function addAdminRoutes(app: FastifyInstance, sandbox: () => GoogleSandbox): void {
  const calendars = `${ADMIN_PREFIX}calendars`;
  const events = `${calendars}/:calendarId/events`;

  app.post(`${ADMIN_PREFIX}access-tokens`, async (request) => {
    const { account, scopes } = accessToken.parse(request.body);
    return { access_token: sandbox().issueAccessToken(account, scopes ? { scopes } : {}) };
  });
  app.post(`${ADMIN_PREFIX}service-accounts`, async (request) => {
    const { email, delegation } = serviceAccount.parse(request.body);
    return sandbox().createServiceAccount(email, delegation);
  });
  app.put(`${ADMIN_PREFIX}settings`, (request, reply) => {
    sandbox().configure(settings.parse(request.body));
    return reply.status(204).send();
  });
  app.post(`${ADMIN_PREFIX}expire-sync-tokens`, (_request, reply) => {
    sandbox().expireSyncTokens();
    return reply.status(204).send();
  });
  app.post(calendars, async (request) => {
    const { account, summary, timeZone } = newCalendar.parse(request.body);
    return { id: sandbox().createCalendar(account, summary, timeZone) };
  });
  app.delete(`${calendars}/:calendarId`, (request, reply) => {
    sandbox().deleteCalendar(place.parse(request.params).calendarId);
    return reply.status(204).send();
  });
  app.get(events, async (request) => {
    const { includeDeleted } = deletedToo.parse(request.query);
    return { items: sandbox().events(place.parse(request.params).calendarId, { includeDeleted }) };
  });
  app.post(events, async (request) =>
    sandbox().addByHand(place.parse(request.params).calendarId, anyObject.parse(request.body)),
  );
  app.patch(`${events}/:eventId`, async (request) => {
    const { calendarId, eventId } = eventPlace.parse(request.params);
    return sandbox().editByHand(calendarId, eventId, anyObject.parse(request.body));
  });
  app.delete(`${events}/:eventId`, (request, reply) => {
    const { calendarId, eventId } = eventPlace.parse(request.params);
    sandbox().deleteByHand(calendarId, eventId);
    return reply.status(204).send();
  });
}
