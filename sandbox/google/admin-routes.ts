import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { addAdminVerbs } from '../kit/admin-verbs.ts';
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
  absentSequence: z.enum(['kept', 'zero']).exactOptional(),
  accessTokenLifetimeMs: z.number().exactOptional(),
  refreshTokenLifetimeMs: z.number().exactOptional(),
  syncTokenLifetimeMs: z.number().exactOptional(),
  updatedMinHorizonMs: z.number().exactOptional(),
  workspaceDomains: z.array(z.string()).exactOptional(),
});
const place = z.object({ calendarId: z.string() });
const eventPlace = place.extend({ eventId: z.string() });
const deletedToo = z.object({ includeDeleted: z.stringbool().default(false) });
const anyObject = z.record(z.string(), z.unknown());

/** The sandbox's verbs over HTTP, for a sandbox that runs on its own. Unknown calendars and events answer 500. */
export function addAdminRoutes(app: FastifyInstance, sandbox: () => GoogleSandbox): void {
  const events = 'calendars/:calendarId/events';
  addAdminVerbs(app, {
    'POST access-tokens': ({ body }) => {
      const { account, scopes } = accessToken.parse(body);
      return { access_token: sandbox().issueAccessToken(account, scopes ? { scopes } : {}) };
    },
    'POST service-accounts': ({ body }) => {
      const { email, delegation } = serviceAccount.parse(body);
      return sandbox().createServiceAccount(email, delegation);
    },
    'PUT settings': ({ body }) => sandbox().configure(settings.parse(body)),
    'POST expire-sync-tokens': () => sandbox().expireSyncTokens(),
    'POST calendars': ({ body }) => {
      const { account, summary, timeZone } = newCalendar.parse(body);
      return { id: sandbox().createCalendar(account, summary, timeZone) };
    },
    'DELETE calendars/:calendarId': ({ params }) => sandbox().deleteCalendar(place.parse(params).calendarId),
    [`GET ${events}`]: ({ params, query }) => {
      return { items: sandbox().events(place.parse(params).calendarId, deletedToo.parse(query)) };
    },
    [`POST ${events}`]: ({ params, body }) =>
      sandbox().addByHand(place.parse(params).calendarId, anyObject.parse(body)),
    [`PATCH ${events}/:eventId`]: ({ params, body }) => {
      const { calendarId, eventId } = eventPlace.parse(params);
      return sandbox().editByHand(calendarId, eventId, anyObject.parse(body));
    },
    [`DELETE ${events}/:eventId`]: ({ params }) => {
      const { calendarId, eventId } = eventPlace.parse(params);
      sandbox().deleteByHand(calendarId, eventId);
    },
  });
}
