import type { FastifyInstance } from 'fastify';
import { type Html, html } from '../../../../core/model/html.ts';
import { shellWord } from '../../../../core/model/text.ts';
import { SECOND_MS } from '../../../../core/model/time.ts';
import { explain } from '../../../control/explain.ts';
import { findAppointments } from '../../../control/find-appointments.ts';
import { requireTenant } from '../../../control/installation.ts';
import type { Explanation } from '../../../control/record-schemas.ts';
import { clinicAddress } from '../../../documents/document.ts';
import { explanationDocument } from '../../../documents/explain.ts';
import { EXPLAIN } from '../../../documents/texts/explain.ts';
import type { OperatorServices } from '../../operators.ts';
import { contextOf, type PageContext } from '../context.ts';
import { sendPage } from '../layout.ts';
import { copyable, emptyState, printHtml } from '../parts.ts';
import { questionOf, renderFound, type SearchQuery, searchForm } from './search.ts';

/** A search reads one list of the clinic. */
const READ_MS = 40 * SECOND_MS;

/** Adds the page that explains one appointment for every target of a clinic, with a search by time, doctor, state and id. */
export function addExplainPage(app: FastifyInstance, services: OperatorServices): void {
  app.get<{ Params: { tenant: string }; Querystring: SearchQuery }>(
    '/tenants/:tenant/explain',
    { config: { level: 'viewer' }, handlerTimeout: READ_MS + 5 * SECOND_MS },
    async (request, reply) => {
      const { tenant } = request.params;
      const { query } = request;
      const { installation } = services;
      const { clinic } = requireTenant(installation, tenant);
      const context = contextOf(request, services, tenant);
      const words = EXPLAIN[context.language];
      const id = typeof query.id === 'string' ? query.id.trim() : '';
      const question = questionOf(query);
      if (id !== '') {
        const explanation = await explain(installation, tenant, id, request.signal);
        const form = searchForm(context, tenant, { id }, clinic.cachedAgendas());
        const main = html`${renderExplanation(context, explanation)}${form}`;
        return sendPage(reply, context, { title: words.titleOf(id), main, isLive: true });
      }
      const signal = AbortSignal.any([request.signal, AbortSignal.timeout(READ_MS)]);
      const found = question === null ? null : await findAppointments(installation, tenant, question, signal);
      const form = searchForm(context, tenant, query, clinic.cachedAgendas());
      const result = found === null ? emptyState(words.empty) : renderFound(context, tenant, found);
      return sendPage(reply, context, { title: words.title, main: html`${form}${result}` });
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

/** Renders the answer, and the steps of each concerned target. */
function renderExplanation(context: PageContext, explanation: Explanation): Html {
  const { tenant, appointment } = explanation;
  const json = clinicAddress(tenant, `/explain.json?id=${encodeURIComponent(appointment)}`);
  const command = `clinic-mirror explain ${shellWord(tenant)} ${shellWord(appointment)}`;
  const { blocks } = explanationDocument(explanation, context.language);
  return html`${printHtml(context, blocks)}<p class="buttons">${copyable(context, command)}<a href="${json}">${EXPLAIN[context.language].asJson}</a></p>`;
}
