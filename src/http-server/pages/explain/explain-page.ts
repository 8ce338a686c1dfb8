import type { FastifyInstance } from 'fastify';
import { explain } from '../../../control/explain.ts';
import type { Explanation } from '../../../control/record-schemas.ts';
import { clinicAddress } from '../../../documents/document.ts';
import { explanationDocument } from '../../../documents/explain.ts';
import { EXPLAIN } from '../../../documents/texts/explain.ts';
import { type Html, html } from '../../../model/html.ts';
import { shellWord } from '../../../model/text.ts';
import type { OperatorServices } from '../../operators.ts';
import { contextOf, type PageContext } from '../context.ts';
import { sendPage } from '../layout.ts';
import { copyable, emptyState, printHtml } from '../parts.ts';

/** Adds the page that explains one appointment for every target of a clinic, with a search by id. */
export function addExplainPage(app: FastifyInstance, services: OperatorServices): void {
  app.get<{ Params: { tenant: string }; Querystring: { id?: string } }>(
    '/tenants/:tenant/explain',
    { config: { level: 'viewer' } },
    async (request, reply) => {
      const { tenant } = request.params;
      const context = contextOf(request, services, tenant);
      const words = EXPLAIN[context.language];
      const id = request.query.id?.trim() ?? '';
      if (id === '') {
        const main = html`${searchForm(context, tenant, '')}${emptyState(words.empty)}`;
        return sendPage(reply, context, { title: words.title, main });
      }
      const explanation = await explain(services.installation, tenant, id, request.signal);
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
      return explain(services.installation, tenant, id, request.signal);
    },
  );
}

/** Renders the search box. @param id current value */
function searchForm({ language }: PageContext, tenant: string, id: string): Html {
  const words = EXPLAIN[language];
  return html`<form class="search" role="search" action="${clinicAddress(tenant, '/explain')}"><input type="search" name="id" value="${id}" aria-label="${words.search}" placeholder="${words.search}" required><button class="button main">${words.find}</button></form>`;
}

/** Renders the explanation for each target, below the search box. */
function renderExplanation(context: PageContext, explanation: Explanation): Html {
  const { tenant, appointment } = explanation;
  const json = clinicAddress(tenant, `/explain.json?id=${encodeURIComponent(appointment)}`);
  const command = `clinic-mirror explain ${shellWord(tenant)} ${shellWord(appointment)}`;
  const { blocks } = explanationDocument(explanation, context.language);
  return html`${searchForm(context, tenant, appointment)}${printHtml(context, blocks)}<p class="buttons">${copyable(context, command)}<a href="${json}">${EXPLAIN[context.language].asJson}</a></p>`;
}
