import type { FastifyInstance, FastifyPluginAsync, FastifyRequest } from 'fastify';
import { SECOND_MS } from '../../core/model/time.ts';
import { FEEDS_PATH } from '../../features/feeds/feeds.ts';
import { NOTIFICATIONS_PATH } from '../../tenant/subscriptions.ts';
import { addAnswers, REMINDERS_PATH } from './answers.ts';
import { type AppOptions, openApp } from './app.ts';
import { addLogins } from './logins.ts';
import type { PublicVerbs } from './verbs.ts';

/** Options of {@link createPublicServer}. */
interface PublicServerOptions extends AppOptions {
  /** Current public URL of the port, without a trailing slash. The Host header is not trusted. */
  publicUrl(): string;
  /** Whether unchecked tenants exist, so that callers must retry later. Default: never. */
  isStarting?(): boolean;
}

/** Value of Retry-After in seconds while tenants are checked. */
const STARTING_RETRY_SECONDS = 5;

/** Vendors repeat notifications without an answer within three seconds (Graph, concepts/change-notifications-delivery-webhooks). */
const NOTIFICATION_TIMEOUT_MS = 2.5 * SECOND_MS;
/** A notification has a few hundred bytes; Graph can send many in one request. */
const NOTIFICATION_BODY_BYTES = 256 * 1_024;

/**
 * Builds the public port: connection pages, receivers of notifications and reports, reminder pages and feeds; otherwise 404, also for
 * operators' routes. {@link listen} opens the port.
 */
export async function createPublicServer(verbs: PublicVerbs, options: PublicServerOptions): Promise<FastifyInstance> {
  const app = await openApp(options);
  app.addHook('onRequest', async (_request, reply) => {
    // 404 would be permanent: vendors, calendars and gateways would not retry.
    if (options.isStarting?.() === true) return reply.code(503).header('retry-after', STARTING_RETRY_SECONDS).send();
  });
  // Each scope has separate body parsers.
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

/** Acknowledges every request, so that strangers learn nothing. Vendors repeat a notification after an error. */
function addNotifications(scope: FastifyInstance, verbs: Pick<PublicVerbs, 'takeNotification'>): void {
  scope.removeAllContentTypeParsers();
  // Any content type as text, because the connector parses the body.
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

/** Adds the feeds. Only the complete secret URL gives access. */
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
      // Cached by the client, not by proxies.
      reply.header('etag', answer.tag).header('cache-control', 'private, no-cache');
      if (answer.status === 304) return reply.send();
      return reply.type('text/calendar; charset=utf-8').send(answer.text);
    },
  });
}

/** A report or reply has a few hundred bytes, a long text message some thousand. */
const BODY_BYTES = 64 * 1_024;

/** Adds the callbacks of gateways and mail programs. The body remains raw, because signatures cover its bytes. */
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
