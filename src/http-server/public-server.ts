import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify';
import { FEEDS_PATH } from '../features/feeds/feeds.ts';
import { NOTIFICATIONS_PATH } from '../jobs/subscriptions.ts';
import { SECOND_MS } from '../model/time.ts';
import { addAnswers, REMINDERS_PATH } from './answers.ts';
import { type AppOptions, openApp } from './app.ts';
import { addLogins } from './logins.ts';
import type { PublicVerbs } from './verbs.ts';

/** What {@link createPublicServer} needs beside the verbs. */
interface PublicServerOptions extends AppOptions {
  /** How browsers reach the port today, without a slash at the end. The Host header is not trusted for it. */
  publicUrl(): string;
  /** Whether tenants are unknown that may be known soon: whoever comes is asked to come again. Default: never. */
  isStarting?(): boolean;
}

/** After so long it is worth asking again while tenants are checked. */
const STARTING_RETRY_SECONDS = 5;

/** Vendors post again what is not answered within three seconds (Graph, concepts/change-notifications-delivery-webhooks). */
const NOTIFICATION_TIMEOUT_MS = 2.5 * SECOND_MS;
/** A notification holds a few hundred bytes; Graph may put many into one request. */
const NOTIFICATION_BODY_BYTES = 256 * 1_024;

/**
 * Builds the port for the outside: the pages of logins, the receivers of notifications and reports, the pages of reminders, and feeds; all
 * else is 404, what is for operators too. {@link listen} opens it.
 */
export async function createPublicServer(verbs: PublicVerbs, options: PublicServerOptions): Promise<FastifyInstance> {
  const app = await openApp(options);
  app.addHook('onRequest', async (_request, reply) => {
    // Not found would be for good: vendors, calendars and gateways would not ask again.
    if (options.isStarting?.() === true) return reply.code(503).header('retry-after', STARTING_RETRY_SECONDS).send();
  });
  // Each with bodies of its own.
  const parts: FastifyPluginAsync[] = [
    async (scope) => addLogins(scope, verbs, options),
    async (scope) => addNotifications(scope, verbs),
    async (scope) => addReminderCallbacks(scope, verbs),
    async (scope) => addAnswers(scope, verbs, options.log),
    async (scope) => addFeeds(scope, verbs),
  ];
  for (const part of parts) await app.register(part);
  return app;
}

/** Everything is acknowledged, so that a stranger learns nothing; what failed here is posted again by the vendor. */
function addNotifications(scope: FastifyInstance, verbs: Pick<PublicVerbs, 'takeNotification'>): void {
  scope.removeAllContentTypeParsers();
  // The body as text, whatever it says it is: the connector reads it.
  scope.addContentTypeParser(
    '*',
    { parseAs: 'string', bodyLimit: NOTIFICATION_BODY_BYTES },
    async (_request: FastifyRequest, body: string | Buffer) => body.toString(),
  );
  scope.post<{ Params: { connector: string; subscriptionId: string } }>(
    `${NOTIFICATIONS_PATH}/:connector/:subscriptionId`,
    { bodyLimit: NOTIFICATION_BODY_BYTES, handlerTimeout: NOTIFICATION_TIMEOUT_MS },
    async (request, reply) => {
      const { connector, subscriptionId } = request.params;
      const query = new URL(request.url, 'http://localhost').searchParams;
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
      );
      const body = typeof request.body === 'string' ? request.body : '';
      const answer = await verbs.takeNotification({ connector, subscriptionId, query, headers, body });
      if (answer === null) return reply.code(202).send();
      return reply.code(200).type('text/plain; charset=utf-8').send(answer);
    },
  );
}

/** Adds what others fetch. What an address leads to is told to nobody who does not know it whole. */
function addFeeds(app: FastifyInstance, verbs: Pick<PublicVerbs, 'showFeed'>): void {
  app.route<{ Params: { token: string } }>({
    method: ['GET', 'HEAD'],
    url: `${FEEDS_PATH}/:token.ics`,
    async handler(request, reply) {
      const { params, headers, caller } = request;
      const answer = await verbs.showFeed(params.token, caller, headers['if-none-match'] ?? null);
      reply.code(answer.status);
      if (answer.status === 404) return reply.send({ error: 'not-found' });
      if (answer.status === 429) {
        return reply.header('retry-after', answer.retryAfterMs / SECOND_MS).send({ error: 'too-many-requests' });
      }
      // Kept by who fetches, and by nobody between.
      reply.header('etag', answer.tag).header('cache-control', 'private, no-cache');
      if (answer.status === 304) return reply.send();
      return reply.type('text/calendar; charset=utf-8').send(answer.text);
    },
  });
}

/** A report or a reply holds a few hundred bytes; a long text message some thousand. */
const BODY_BYTES = 64 * 1_024;

/** Adds where gateways and mail programs report back. The body is taken as it came, since its signature is over its bytes. */
function addReminderCallbacks(app: FastifyInstance, verbs: PublicVerbs): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    '*',
    { parseAs: 'string', bodyLimit: BODY_BYTES },
    async (_request: unknown, body: unknown) => body,
  );
  app.route<{ Params: { tenant: string; channel: string } }>({
    method: ['GET', 'POST'],
    url: `${REMINDERS_PATH}/:tenant/:channel`,
    bodyLimit: BODY_BYTES,
    async handler(request, reply) {
      const { tenant, channel } = request.params;
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(',') : value]),
      );
      const queryAt = request.url.indexOf('?');
      const query = queryAt === -1 ? '' : request.url.slice(queryAt);
      const body = typeof request.body === 'string' ? request.body : '';
      const { method } = request;
      return reply.code(await verbs.takeReminderCallback({ tenant, channel, method, query, headers, body })).send();
    },
  });
}
