import type { FastifyInstance } from 'fastify';
import { z } from 'zod';
import { type AdminVerbs, addAdminVerbs } from '../kit/admin-verbs.ts';
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
  repeatedTransaction: z.enum(['refused', 'answered']).exactOptional(),
  permanentDelete: z.boolean().exactOptional(),
  batchOverflow: z.enum(['queued', 'refused']).exactOptional(),
  normalizeBodies: z.boolean().exactOptional(),
  customTimeZones: z.boolean().exactOptional(),
  refusedZones: z.array(z.string()).exactOptional(),
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

/** Adds the sandbox's control functions as HTTP endpoints, for a sandbox in a separate process. An unknown object is answered with 500. */
export function addAdminRoutes(app: FastifyInstance, sandbox: () => GraphSandbox): void {
  addAdminVerbs(app, {
    'POST access-tokens': ({ body }) => {
      const { account, ...wish } = accessToken.parse(body);
      const token =
        account === undefined ? sandbox().issueAppToken(wish.clientId) : sandbox().issueAccessToken(account, wish);
      return { access_token: token };
    },
    'PUT settings': ({ body }) => sandbox().configure(settings.parse(body)),
    'POST expire-delta-tokens': ({ body }) => sandbox().expireDeltaTokens(expiry.parse(body).end),
    'GET subscriptions': () => ({ items: sandbox().subscriptions() }),
    'POST subscriptions/:id/lifecycle': ({ params, body }) =>
      sandbox().sendLifecycleEvent(atSubscription.parse(params).id, lifecycle.parse(body).event),
    ...mailboxVerbs(sandbox),
  });
}

function mailboxVerbs(sandbox: () => GraphSandbox): AdminVerbs {
  const calendars = 'mailboxes/:mailbox/calendars';
  const event = 'mailboxes/:mailbox/events/:eventId';
  return {
    'POST mailboxes': ({ body }) => {
      const { mail, licensed } = newMailbox.parse(body);
      return { id: sandbox().addMailbox(mail, { licensed }) };
    },
    [`GET ${calendars}`]: ({ params }) => ({ items: sandbox().calendars(atMailbox.parse(params).mailbox) }),
    [`POST ${calendars}`]: ({ params, body }) => {
      const { name } = newCalendar.parse(body);
      return { id: sandbox().createCalendar(atMailbox.parse(params).mailbox, name) };
    },
    [`DELETE ${calendars}/:calendar`]: ({ params }) => {
      const { mailbox, calendar } = atCalendar.parse(params);
      sandbox().deleteCalendar(mailbox, calendar);
    },
    'POST mailboxes/:mailbox/renew-ids': ({ params, body }) =>
      sandbox().renewIds(atMailbox.parse(params).mailbox, renewal.parse(body)),
    [`GET ${calendars}/:calendar/events`]: ({ params, query }) => {
      const { mailbox, calendar } = atCalendar.parse(params);
      return { items: sandbox().events(mailbox, calendar, deletedToo.parse(query)) };
    },
    [`POST ${calendars}/:calendar/events`]: ({ params, body }) => {
      const { mailbox, calendar } = atCalendar.parse(params);
      return sandbox().addByHand(mailbox, calendar, anyObject.parse(body));
    },
    [`PATCH ${event}`]: ({ params, body }) => {
      const { mailbox, eventId } = atEvent.parse(params);
      return sandbox().editByHand(mailbox, eventId, anyObject.parse(body));
    },
    [`DELETE ${event}`]: ({ params }) => {
      const { mailbox, eventId } = atEvent.parse(params);
      sandbox().deleteByHand(mailbox, eventId);
    },
    [`POST ${event}/move`]: ({ params, body }) => {
      const { mailbox, eventId } = atEvent.parse(params);
      return sandbox().moveByHand(mailbox, eventId, moving.parse(body).calendar);
    },
  };
}
