import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { ApiContext } from './context.ts';
import { answerCreated, answerDocuments, entryToWire } from './documents.ts';
import { guard, pathParameter, tenantIdOf } from './guard.ts';
import { readEpisode } from './record-bodies.ts';

const BASE = '/v2/tenants/:tenantId/episodes';

/** Section 4.8 of the specification. */
export function episodeRoutes(app: FastifyInstance, context: ApiContext): void {
  const { episodes, data } = context;
  const read = { preHandler: guard(context, { scope: 'episodes', permission: 'episodes.read' }) };
  const write = { preHandler: guard(context, { scope: 'episodes', permission: 'episodes.write' }) };

  app.get(BASE, read, async (request) =>
    answerDocuments(context, request, data.episodes, {
      isDated: true,
      equal: ['patientId', 'status', 'appointmentId'],
    }),
  );

  app.get(`${BASE}/:id`, read, async (request) => {
    const { tenantId, id } = target(request);
    return entryToWire(context, episodes.get(tenantId, id));
  });

  app.post(BASE, write, async (request, reply) => {
    const { tenantId } = target(request);
    const created = episodes.create(tenantId, readEpisode(request.body));
    return answerCreated(reply, `/v2/tenants/${tenantId}/episodes/${created.record.id}`, entryToWire(context, created));
  });

  app.put(`${BASE}/:id`, write, async (request) => {
    const { tenantId, id } = target(request);
    episodes.get(tenantId, id);
    return entryToWire(context, episodes.update(tenantId, id, readEpisode(request.body)));
  });

  app.delete(`${BASE}/:id`, write, async (request, reply) => {
    const { tenantId, id } = target(request);
    episodes.remove(tenantId, id);
    return reply.status(204).send();
  });
}

function target(request: FastifyRequest): { tenantId: string; id: string } {
  return { tenantId: tenantIdOf(request) ?? '', id: pathParameter(request, 'id') ?? '' };
}
