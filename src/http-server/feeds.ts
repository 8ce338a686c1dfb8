import type { FastifyInstance } from 'fastify';
import { FEEDS_PATH } from '../features/feeds/feeds.ts';
import { SECOND_MS } from '../model/time.ts';
import type { PublicVerbs } from './verbs.ts';

/** Adds what others fetch. What an address leads to is told to nobody who does not know it whole. */
export function addFeeds(app: FastifyInstance, verbs: Pick<PublicVerbs, 'showFeed'>): void {
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
