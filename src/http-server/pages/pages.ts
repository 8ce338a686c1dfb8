import type { FastifyInstance } from 'fastify';
import { openOverview } from '../../control/tenant-list.ts';
import { asMirrorError, MirrorError } from '../../model/errors.ts';
import { html } from '../../model/html.ts';
import type { OperatorServices } from '../operator-desk.ts';
import { addActivityPages } from './activity.ts';
import { addAssets } from './assets.ts';
import { addConnectionPage } from './clinic/connection.ts';
import { addClinicPage } from './clinic/page.ts';
import { addTargetPage } from './clinic/target.ts';
import { addUndoPage } from './clinic/undo.ts';
import { addConfigurationPages } from './configuration/page.ts';
import { contextOf, type PageContext } from './context.ts';
import { addExplainPage } from './explain/explain-page.ts';
import { addHoldPages } from './holds/hold-page.ts';
import { type Page, sendPage } from './layout.ts';
import { addLive } from './live.ts';
import { addOperationPages } from './operation-pages.ts';
import { addOverviewPage } from './overview.ts';
import { nextStep, said } from './parts.ts';
import { addPlanPage } from './plan/plan-page.ts';
import { addPreferences } from './preferences.ts';
import { addRetry } from './problems.ts';
import { addQueuesPage } from './queues.ts';
import { showRefusals } from './refusals.ts';
import { FRAME } from './texts/frame.ts';
import { addWeekPage } from './week/week-page.ts';

/** Adds the pages for operators, and what they load. */
export function addPages(app: FastifyInstance, services: OperatorServices): void {
  addAssets(app);
  showRefusals(app, services.installation.clock);
  // Of their own, so that what fails in a page is told by a page.
  app.register((pages, _options, done) => {
    showErrors(pages, services);
    const overview = openOverview(services.installation, services.statuses);
    addPreferences(pages);
    addLive(pages, services, overview);
    addOverviewPage(pages, services, overview);
    addRetry(pages, services);
    addActivityPages(pages, services);
    addClinicPage(pages, services);
    addTargetPage(pages, services);
    addConnectionPage(pages, services);
    addUndoPage(pages, services);
    addExplainPage(pages, services);
    addHoldPages(pages, services);
    addConfigurationPages(pages, services);
    addPlanPage(pages, services);
    addWeekPage(pages, services);
    addOperationPages(pages, services);
    addQueuesPage(pages, services);
    done();
  });
}

/** Has pages tell what failed in them: the sentence of the error and what to do, as on every surface. */
function showErrors(app: FastifyInstance, services: OperatorServices): void {
  app.setErrorHandler((thrown, request, reply) => {
    // What the server itself refuses (a form that is too large, nobody in particular) is answered as everywhere.
    if (request.visitor === null || (!(thrown instanceof MirrorError) && isRefusal(thrown))) throw thrown;
    const error = asMirrorError(thrown);
    if (error.code === 'unexpected') services.log.error({ error: thrown }, 'a page could not be shown');
    const context = contextOf(request, services);
    return sendPage(reply, context, errorPage(context, error), statusOf(error));
  });
}

/** What a page says of an error. */
function errorPage(context: PageContext, error: MirrorError): Page {
  const words = FRAME[context.language];
  const { code, texts } = error;
  // What to do about a tenant that there is not names those that there are: not for whoever may see some alone.
  const isOfOthers = code === 'no-such-tenant' && context.visitor?.tenants !== null;
  const remedy = isOfOthers ? null : texts.remedy;
  const isKnown = code !== 'unexpected';
  const command = remedy === null ? null : html`<p>${words.whatToDo}: ${nextStep(context, remedy)}</p>`;
  const told = isKnown
    ? html`<p>${said(context, texts.message)} <code>${code}</code></p>`
    : html`<p>${words.failedText}</p>`;
  return { title: words.failed, main: html`<div class="notice act stack" role="alert">${told}${command}</div>` };
}

function isRefusal(thrown: unknown): boolean {
  return thrown instanceof Error && 'statusCode' in thrown && Number(thrown.statusCode) < 500;
}

/** HTTP status of an error: whose it is to mend it. */
function statusOf({ actor, code }: MirrorError): number {
  if (code.startsWith('no-such-')) return 404;
  if (actor === 'remote') return 503;
  return actor === 'contract' ? 500 : 409;
}
