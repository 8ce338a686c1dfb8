import type { FastifyInstance, FastifyRequest } from 'fastify';
import { asMirrorError, MirrorError } from '../../../core/model/errors.ts';
import { html } from '../../../core/model/html.ts';
import { OPERATIONS } from '../../../features/operations.ts';
import { requireTenant } from '../../control/installation.ts';
import { SIGN_IN_AGAIN } from '../../control/recording.ts';
import { openOverview } from '../../control/tenant-list.ts';
import type { AnyOperation } from '../../operations/operation.ts';
import { ownPath, signInAgainAddress } from '../access/own-address.ts';
import { formOf } from '../browser-request.ts';
import type { OperatorServices } from '../operators.ts';
import { addActivityPages } from './activity.ts';
import { addAssets } from './assets.ts';
import { addConnectionPage } from './clinic/connection.ts';
import { addClinicPage } from './clinic/page.ts';
import { addTargetPage } from './clinic/target.ts';
import { addUndoPage } from './clinic/undo.ts';
import { addConfigurationPages } from './configuration.ts';
import {
  contextOf,
  LANGUAGE_COOKIE,
  operationContext,
  type PageContext,
  PREFERENCES_PATH,
  THEME_COOKIE,
} from './context.ts';
import { addExplainPage } from './explain/explain-page.ts';
import { addChangesPage, addHistoryPage } from './history/history-page.ts';
import { addHoldPages } from './holds/hold-page.ts';
import { addInstallationPage } from './installation.ts';
import { type Page, sendPage } from './layout.ts';
import { addLive } from './live.ts';
import { addOverviewPage } from './overview.ts';
import { nextStep, printHtml, said } from './parts.ts';
import { addPlanPage } from './plan/plan-page.ts';
import { addRetry } from './problems.ts';
import { addQueuesPage } from './queues.ts';
import { showRefusals } from './refusals.ts';
import { FRAME } from './texts/frame.ts';
import { addWeekPage } from './week/week-page.ts';

/** Adds the pages for operators and their assets. @param addOthers adds pages that need more than `services` */
export function addPages(
  app: FastifyInstance,
  services: OperatorServices,
  addOthers: (pages: FastifyInstance) => void = () => {},
): void {
  addAssets(app);
  showRefusals(app, services.installation.clock);
  // A separate scope, so that page errors are rendered as pages.
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
    addHistoryPage(pages, services);
    addChangesPage(pages, services);
    addOperationPages(pages, services);
    addQueuesPage(pages, services);
    addInstallationPage(pages, services);
    addOthers(pages);
    done();
  });
}

/** Renders errors as pages, with the error's sentence and next step as on every surface. */
function showErrors(app: FastifyInstance, services: OperatorServices): void {
  app.setErrorHandler((thrown, request, reply) => {
    // Refusals by the server (oversized form, anonymous visitor) are answered as on other routes.
    if (request.visitor === null || (!(thrown instanceof MirrorError) && isRefusal(thrown))) throw thrown;
    const error = asMirrorError(thrown);
    if (error.code === 'unexpected') services.log.error({ error: thrown }, 'page could not be rendered');
    if (error.code === SIGN_IN_AGAIN) return reply.redirect(signInAgainAddress(request.url), 303);
    const context = contextOf(request, services);
    return sendPage(reply, context, errorPage(context, error), statusOf(error));
  });
}

/** Renders the page for an error. */
function errorPage(context: PageContext, error: MirrorError): Page {
  const words = FRAME[context.language];
  const { code, texts } = error;
  // The remedy for an unknown tenant lists all tenants, so it is hidden from visitors with limited access.
  const isOfOthers = code === 'no-such-tenant' && context.visitor?.tenants !== null;
  const remedy = isOfOthers ? null : texts.remedy;
  const isExpected = code !== 'unexpected';
  const command = remedy === null ? null : html`<p>${words.whatToDo}: ${nextStep(context, remedy)}</p>`;
  const shown = isExpected
    ? html`<p>${said(context, texts.message)} <code>${code}</code></p>`
    : html`<p>${words.failedText}</p>`;
  return { title: words.failed, main: html`<div class="notice act stack" role="alert">${shown}${command}</div>` };
}

function isRefusal(thrown: unknown): boolean {
  return thrown instanceof Error && 'statusCode' in thrown && Number(thrown.statusCode) < 500;
}

/** Returns the HTTP status by who must act. */
function statusOf({ actor, code }: MirrorError): number {
  if (code.startsWith('no-such-')) return 404;
  if (actor === 'remote') return 503;
  return actor === 'contract' ? 500 : 409;
}

const COOKIE_SECONDS = 365 * 24 * 3_600;
/** Allowed choices; an empty value restores the browser's preference. */
const CHOICES: Readonly<Record<string, readonly string[]>> = {
  [LANGUAGE_COOKIE]: ['it', 'en'],
  [THEME_COOKIE]: ['light', 'dark', ''],
};

/** Adds the choice of language and colours: sets cookies and redirects back. */
function addPreferences(app: FastifyInstance): void {
  app.post(PREFERENCES_PATH, { config: { level: 'viewer' } }, async (request, reply) => {
    const form = formOf(request);
    for (const [name, values] of Object.entries(CHOICES)) {
      const chosen = form.get(name);
      if (chosen !== null && values.includes(chosen)) reply.header('set-cookie', cookie(name, chosen));
    }
    return reply.redirect(ownPath(form.get('back')), 303);
  });
}

function cookie(name: string, value: string): string {
  const life = value === '' ? 0 : COOKIE_SECONDS;
  return `${name}=${value}; Path=/; Max-Age=${life}; HttpOnly; SameSite=Lax`;
}

type Shown = AnyOperation & Required<Pick<AnyOperation, 'document' | 'page'>>;

/** Operations with a clinic page. */
const OPERATION_PAGES: readonly Shown[] = (Object.values(OPERATIONS) as unknown as AnyOperation[]).filter(
  (operation): operation is Shown => operation.page !== undefined && operation.document !== undefined,
);

/** Adds the pages of operations; each renders the result document. */
function addOperationPages(app: FastifyInstance, services: OperatorServices): void {
  app.decorate('operationPages', OPERATION_PAGES);
  for (const operation of OPERATION_PAGES) {
    const { level, page } = operation;
    app.get(
      `/tenants/:tenant${page.path}`,
      { config: { level } },
      async (request: FastifyRequest<{ Params: { tenant: string } }>, reply) => {
        const { id } = requireTenant(services.installation, request.params.tenant);
        const context = contextOf(request, services, id);
        const result = await operation.run(operation.input.parse({ tenant: id }), operationContext(request, services));
        const { title, blocks } = (await operation.document())(result, context.language);
        return sendPage(reply, context, { title, main: printHtml(context, blocks) });
      },
    );
  }
}
