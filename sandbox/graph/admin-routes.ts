import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { ADMIN_PREFIX } from '../kit/admin.ts';
import type { GraphSandbox } from './verbs.ts';

const accessToken = z.strictObject({
  account: z.string().optional(),
  scopes: z.array(z.string()).exactOptional(),
  clientId: z.string().exactOptional(),
});
const newMailbox = z.strictObject({ mail: z.string(), licensed: z.boolean().default(true) });
const newCalendar = z.strictObject({ name: z.string() });
const moving = z.strictObject({ calendar: z.string() });
const renewal = z.strictObject({ calendars: z.boolean().default(false) });
const expiry = z.strictObject({ end: z.enum(['gone', 'not-found']).default('gone') });
const lifecycle = z.strictObject({ event: z.enum(['reauthorizationRequired', 'subscriptionRemoved', 'missed']) });
const settings = z.strictObject({
  maxBatchSize: z.int().exactOptional(),
  mailboxConcurrency: z.int().exactOptional(),
  concurrencyStatus: z.literal([429, 503]).exactOptional(),
  latencyMs: z.number().exactOptional(),
  requestsPerWindow: z.number().exactOptional(),
  windowMs: z.number().exactOptional(),
  duplicateTransactionStatus: z.literal([400, 409, 'alternating']).exactOptional(),
  duplicateNamesEvent: z.boolean().exactOptional(),
  rememberTransactionIds: z.boolean().exactOptional(),
  normalizeBodies: z.boolean().exactOptional(),
  customTimeZones: z.boolean().exactOptional(),
  allDayReads: z.enum(['midnight', 'shifted']).exactOptional(),
  defaultReminderMinutes: z.int().exactOptional(),
  deltaPageSize: z.int().min(1).exactOptional(),
  deltaReplays: z.boolean().exactOptional(),
  maxSubscriptionMinutes: z.number().exactOptional(),
  handshakeTimeoutMs: z.number().exactOptional(),
  accessTokenLifetimeMs: z.number().exactOptional(),
  refreshTokenLifetimeMs: z.number().exactOptional(),
  deviceCodeLifetimeMs: z.number().exactOptional(),
  devicePollIntervalS: z.number().exactOptional(),
});
const atMailbox = z.object({ mailbox: z.string() });
const atCalendar = atMailbox.extend({ calendar: z.string() });
const atEvent = atMailbox.extend({ eventId: z.string() });
const atSubscription = z.object({ id: z.string() });
const deletedToo = z.object({ includeDeleted: z.stringbool().default(false) });
const anyObject = z.record(z.string(), z.unknown());

/** The sandbox's verbs over HTTP, for a sandbox that runs on its own. What doesn't exist answers 500. */
export function addAdminRoutes(app: FastifyInstance, sandbox: () => GraphSandbox): void {
  app.post(`${ADMIN_PREFIX}access-tokens`, async (request) => {
    const { account, ...wish } = accessToken.parse(request.body);
    const token =
      account === undefined ? sandbox().issueAppToken(wish.clientId) : sandbox().issueAccessToken(account, wish);
    return { access_token: token };
  });
  app.put(`${ADMIN_PREFIX}settings`, (request, reply) => {
    sandbox().configure(settings.parse(request.body));
    return reply.status(204).send();
  });
  app.post(`${ADMIN_PREFIX}expire-delta-tokens`, (request, reply) => {
    sandbox().expireDeltaTokens(expiry.parse(request.body ?? {}).end);
    return reply.status(204).send();
  });
  app.get(`${ADMIN_PREFIX}subscriptions`, async () => ({ items: sandbox().subscriptions() }));
  app.post(`${ADMIN_PREFIX}subscriptions/:id/lifecycle`, (request, reply) => {
    sandbox().sendLifecycleEvent(atSubscription.parse(request.params).id, lifecycle.parse(request.body).event);
    return reply.status(204).send();
  });
  addMailboxRoutes(app, sandbox);
}

function addMailboxRoutes(app: FastifyInstance, sandbox: () => GraphSandbox): void {
  const mailboxes = `${ADMIN_PREFIX}mailboxes`;
  const calendars = `${mailboxes}/:mailbox/calendars`;
  const event = `${mailboxes}/:mailbox/events/:eventId`;
  app.post(mailboxes, async (request) => {
    const { mail, licensed } = newMailbox.parse(request.body);
    return { id: sandbox().addMailbox(mail, { licensed }) };
  });
  app.get(calendars, async (request) => ({ items: sandbox().calendars(atMailbox.parse(request.params).mailbox) }));
  app.post(calendars, async (request) => {
    const { name } = newCalendar.parse(request.body);
    return { id: sandbox().createCalendar(atMailbox.parse(request.params).mailbox, name) };
  });
  app.delete(`${calendars}/:calendar`, (request, reply) => {
    const { mailbox, calendar } = atCalendar.parse(request.params);
    sandbox().deleteCalendar(mailbox, calendar);
    return reply.status(204).send();
  });
  app.post(`${mailboxes}/:mailbox/renew-ids`, (request, reply) => {
    sandbox().renewIds(atMailbox.parse(request.params).mailbox, renewal.parse(request.body));
    return reply.status(204).send();
  });
  app.get(`${calendars}/:calendar/events`, async (request) => {
    const { mailbox, calendar } = atCalendar.parse(request.params);
    return { items: sandbox().events(mailbox, calendar, deletedToo.parse(request.query)) };
  });
  app.post(`${calendars}/:calendar/events`, async (request) => {
    const { mailbox, calendar } = atCalendar.parse(request.params);
    return sandbox().addByHand(mailbox, calendar, anyObject.parse(request.body));
  });
  app.patch(event, async (request) => {
    const { mailbox, eventId } = atEvent.parse(request.params);
    return sandbox().editByHand(mailbox, eventId, anyObject.parse(request.body));
  });
  app.delete(event, (request, reply) => {
    const { mailbox, eventId } = atEvent.parse(request.params);
    sandbox().deleteByHand(mailbox, eventId);
    return reply.status(204).send();
  });
  app.post(`${event}/move`, async (request) => {
    const { mailbox, eventId } = atEvent.parse(request.params);
    return sandbox().moveByHand(mailbox, eventId, moving.parse(request.body).calendar);
  });
}
