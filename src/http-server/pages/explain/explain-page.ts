import type { FastifyInstance } from 'fastify';
import { explain } from '../../../control/explain.ts';
import { clinicAddress } from '../../../documents/addresses.ts';
import { EXPLAIN } from '../../../documents/texts/explain.ts';
import { html } from '../../../model/html.ts';
import type { OperatorDesk } from '../../operator-desk.ts';
import { contextOf } from '../context.ts';
import { sendPage } from '../layout.ts';
import { emptyState } from '../parts.ts';
import { renderExplanation, searchForm } from './render-explanation.ts';

/** Adds the page that shows one appointment's way into every target of a clinic, with a box to search by its id. */
export function addExplainPage(app: FastifyInstance, desk: OperatorDesk): void {
  app.get<{ Params: { tenant: string }; Querystring: { id?: string } }>(
    '/tenants/:tenant/explain',
    { config: { level: 'viewer' } },
    async (request, reply) => {
      const { tenant } = request.params;
      const context = contextOf(request, desk, tenant);
      const words = EXPLAIN[context.language];
      const id = request.query.id?.trim() ?? '';
      if (id === '') {
        const main = html`${searchForm(context, tenant, '')}${emptyState(words.empty)}`;
        return sendPage(reply, context, { title: words.title, main });
      }
      const explanation = await explain(desk.installation, tenant, id, request.signal);
      const main = renderExplanation(context, explanation);
      return sendPage(reply, context, { title: words.titleOf(id), main, isLive: true });
    },
  );
  app.get<{ Params: { tenant: string }; Querystring: { id?: string } }>(
    '/tenants/:tenant/explain.json',
    { config: { level: 'viewer' } },
    async (request, reply) => {
      const { tenant } = request.params;
      const id = request.query.id?.trim() ?? '';
      if (id === '') return reply.redirect(clinicAddress(tenant, '/explain'), 303);
      return explain(desk.installation, tenant, id, request.signal);
    },
  );
}
