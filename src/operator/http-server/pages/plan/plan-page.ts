import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Html, html } from '../../../../core/model/html.ts';
import type { StoredPlan } from '../../../../core/model/plan-view.ts';
import { SECOND_MS } from '../../../../core/model/time.ts';
import { newestPlan, planSummary, storePlan } from '../../../control/plan.ts';
import type { SyncResult } from '../../../control/status-schemas.ts';
import { type BegunTask, openTasks, readTask, type TaskView } from '../../../control/tasks.ts';
import { type Block, clinicAddress } from '../../../documents/document.ts';
import { planDocument } from '../../../documents/plan.ts';
import { PLAN } from '../../../documents/texts/plan.ts';
import { CYCLE_OPERATIONS } from '../../../operations/cycles.ts';
import { formOf } from '../../browser-request.ts';
import type { OperatorServices } from '../../operators.ts';
import { mayDo } from '../../operators.ts';
import { syncSentence } from '../clinic/work-result.ts';
import { contextOf, operationContext, type PageContext, reasonField } from '../context.ts';
import { sendPage } from '../layout.ts';
import {
  actionButton,
  csrfField,
  emptyState,
  failureNotice,
  healthMark,
  hiddenFields,
  notice,
  printHtml,
  said,
  section,
  syncMark,
  targetMark,
} from '../parts.ts';

/** A quick plan is shown at once; a slow plan shows a waiting page. */
const PATIENCE_MS = 4 * SECOND_MS;

interface PlanRoute {
  Params: { tenant: string };
  Querystring: { task?: string };
}

/** Adds the page of a clinic's plan: made on demand, stored, and applied exactly as shown. */
export function addPlanPage(app: FastifyInstance, services: OperatorServices): void {
  const { installation } = services;
  const tasks = openTasks(installation, services.log);
  app.addHook('preClose', () => tasks.close());
  app.get<PlanRoute>('/tenants/:tenant/plan', { config: { level: 'viewer' } }, (request, reply) =>
    sendPlan(request, reply, services),
  );
  app.post<PlanRoute>('/tenants/:tenant/plan', { config: { level: 'operator' } }, async (request, reply) => {
    const { tenant } = request.params;
    const plan = formOf(request).get('apply');
    const begun =
      plan === null
        ? await tasks.begin(tenant, 'plan', async (progress, { stop }) =>
            planSummary(await storePlan(installation, tenant, progress, stop)),
          )
        : await tasks.begin(tenant, 'apply', (progress, signals) =>
            CYCLE_OPERATIONS.applyPlan.run(
              { tenant, plan },
              operationContext(request, services, { progress, signals }),
            ),
          );
    await endOrPatience(begun);
    return reply.redirect(clinicAddress(tenant, `/plan?task=${begun.id}`), 303);
  });
}

/** The task contains the result. */
async function endOrPatience({ result }: BegunTask): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS);
  });
  await Promise.race([result.catch(() => {}), patience]);
  clearTimeout(timer);
}

async function sendPlan(
  request: FastifyRequest<PlanRoute>,
  reply: FastifyReply,
  services: OperatorServices,
): Promise<FastifyReply> {
  const { tenant } = request.params;
  const context = contextOf(request, services, tenant);
  const words = PLAN[context.language];
  const id = request.query.task;
  const task = id === undefined ? null : await readTask(services.installation, tenant, id);
  const isUnderWay = task?.state === 'running';
  const plan = isUnderWay || task?.kind === 'apply' ? null : await newestPlan(services.installation, tenant);
  const mayApply = context.visitor !== null && mayDo(context.visitor, 'operator');
  const reason = mayApply ? reasonField(context, services, 'apply') : null;
  const taskNotice = task === null ? null : renderTask(context, tenant, task);
  const main = html`${taskNotice}${isUnderWay ? null : renderPlan(context, tenant, plan, { mayApply, reason, isAfter: task?.kind === 'apply' })}`;
  return sendPage(reply, context, { title: words.title, main, isUnderWay });
}

/** Options for a plan's page. */
interface PlanOptions {
  mayApply: boolean;
  /** The field for a reason; null if not required. */
  reason: Html | null;
  /** After an application of the plan, successful or not. */
  isAfter: boolean;
}

/** Renders a plan by target with a button to apply exactly this plan, or a button to make one. */
function renderPlan(context: PageContext, tenant: string, plan: StoredPlan | null, options: PlanOptions): Html {
  const words = PLAN[context.language];
  const makeWord = plan === null && !options.isAfter ? words.make : words.makeAnother;
  const make = options.mayApply
    ? actionButton(context, {
        address: clinicAddress(tenant, '/plan'),
        text: makeWord,
        kind: plan === null ? 'main' : 'plain',
      })
    : null;
  if (plan === null)
    return options.isAfter
      ? html`<div class="buttons">${make}</div>`
      : emptyState(words.empty, html`<p>${words.intro}</p>${make}`);
  const actions = options.mayApply
    ? html`<div class="buttons sticky">${applyForm(context, tenant, plan, options.reason)}${make}</div><p class="quiet">${words.applyHelp}</p>`
    : null;
  const { blocks } = planDocument(plan, context.language);
  return html`<p>${words.intro}</p><div class="decided">${actions}${foldedTogether(context, blocks)}</div>`;
}

/** Folded sections follow each other as one list. */
function foldedTogether(context: PageContext, blocks: readonly Block[]): Html {
  const isFold = (block: Block) => block.is === 'section' && block.folded !== undefined;
  const folds = blocks.filter(isFold);
  const list = folds.length === 0 ? null : html`<div class="folds">${printHtml(context, folds)}</div>`;
  return html`${printHtml(
    context,
    blocks.filter((block) => !isFold(block)),
  )}${list}`;
}

function applyForm(
  { visitor, language }: PageContext,
  tenant: string,
  { id, targets }: StoredPlan,
  reason: Html | null,
): Html {
  const changes = targets.flatMap(({ lines }) => lines).filter(({ decision }) => decision === 'write').length;
  return html`<form method="post" action="${clinicAddress(tenant, '/plan')}" class="buttons">${csrfField(visitor)}${hiddenFields({ apply: id })}${reason}<button class="button main">${PLAN[language].apply(changes)}</button></form>`;
}

/** Renders the progress of making or applying a plan; null if the plan itself shows the result. */
function renderTask(context: PageContext, tenant: string, task: TaskView): Html | null {
  const words = PLAN[context.language];
  const { state, step, kind, error, result } = task;
  if (state === 'running')
    return html`<div class="notice" role="status"><p>${words.working}.</p>${step === null ? null : html`<p class="quiet" lang="en">${words.step(step)}</p>`}</div>`;
  if (state === 'lost') return notice(words.lost);
  if (error !== null) {
    const isDrift = error.code === 'plan-drifted';
    const heading = isDrift ? words.drifted : kind === 'apply' ? words.refusedPlan : words.failed;
    return isDrift
      ? html`<div class="notice" role="status"><p><strong>${heading}</strong>.</p><p class="quiet">${said(context, error.texts.message)}</p><p>${words.driftedHelp}</p></div>`
      : failureNotice(context, heading, error);
  }
  return kind === 'apply' ? renderApplied(context, tenant, result as SyncResult) : null;
}

function renderApplied(context: PageContext, tenant: string, result: SyncResult): Html {
  const { run, targets } = result;
  const words = PLAN[context.language];
  const items = targets.map(({ target, health, inSyncAsOf, ...state }) => {
    return html`<li>${targetMark(context, tenant, target)} ${syncMark(context, state, inSyncAsOf)} ${healthMark(context, health)}</li>`;
  });
  return section(
    'applied',
    words.applied,
    html`<p role="status">${syncSentence(context, result)}</p><p class="quiet">${words.appliedText(run.id)}</p><h3>${words.targetNow}</h3><ul class="boxes">${items}</ul><p><a href="${clinicAddress(tenant)}">${tenant}</a></p>`,
  );
}
