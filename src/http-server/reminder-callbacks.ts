import type { FastifyInstance } from 'fastify';
import type { PublicVerbs } from './verbs.ts';

/** Below it stand the callback addresses: `/reminders/<tenant>/<channel>`. */
export const REMINDERS_PATH = '/reminders';
/** A report or a reply holds a few hundred bytes; a long text message some thousand. */
const BODY_BYTES = 64 * 1_024;

/** Adds where gateways and mail programs report back. The body is taken as it came, since its signature is over its bytes. */
export function addReminderCallbacks(app: FastifyInstance, verbs: PublicVerbs): void {
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
