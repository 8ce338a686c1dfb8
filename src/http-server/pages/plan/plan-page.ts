import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { keepPlan, newestPlan, planSummary } from '../../../control/kept-plans.ts';
import { type BegunTask, openTasks, readTask } from '../../../control/tasks.ts';
import { clinicAddress } from '../../../documents/addresses.ts';
import { PLAN } from '../../../documents/texts/plan.ts';
import { html } from '../../../model/html.ts';
import { SECOND_MS } from '../../../model/time.ts';
import { CYCLE_OPERATIONS } from '../../../operations/cycles.ts';
import { formOf } from '../../forms.ts';
import type { OperatorDesk } from '../../operator-desk.ts';
import { mayDo } from '../../visitors.ts';
import { operationContext, reasonField } from '../acting.ts';
import { contextOf } from '../context.ts';
import { sendPage } from '../layout.ts';
import { renderPlan, renderTask } from './render-plan.ts';

/** A quick plan is shown at once; a slow one is waited for on a page of its own. */
const PATIENCE_MS = 4 * SECOND_MS;

interface Place {
  Params: { tenant: string };
  Querystring: { task?: string };
}

/** Adds the page of a clinic's plan: made on demand, kept, and applied as it was seen. */
export function addPlanPage(app: FastifyInstance, desk: OperatorDesk): void {
  const { installation } = desk;
  const tasks = openTasks(installation, desk.log);
  app.addHook('preClose', () => tasks.close());
  app.get<Place>('/tenants/:tenant/plan', { config: { level: 'viewer' } }, (request, reply) =>
    sendPlan(request, reply, desk),
  );
  app.post<Place>('/tenants/:tenant/plan', { config: { level: 'operator' } }, async (request, reply) => {
    const { tenant } = request.params;
    const plan = formOf(request).get('apply');
    const begun =
      plan === null
        ? await tasks.begin(tenant, 'plan', async (progress, { stop }) =>
            planSummary(await keepPlan(installation, tenant, progress, stop)),
          )
        : await tasks.begin(tenant, 'apply', (progress, signals) =>
            CYCLE_OPERATIONS.applyPlan.run({ tenant, plan }, operationContext(request, desk, { progress, signals })),
          );
    await endOrPatience(begun);
    return reply.redirect(clinicAddress(tenant, `/plan?task=${begun.id}`), 303);
  });
}

/** What came of it is told by the task. */
async function endOrPatience({ result }: BegunTask): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS);
  });
  await Promise.race([result.catch(() => {}), patience]);
  clearTimeout(timer);
}

async function sendPlan(
  request: FastifyRequest<Place>,
  reply: FastifyReply,
  desk: OperatorDesk,
): Promise<FastifyReply> {
  const { tenant } = request.params;
  const context = contextOf(request, desk, tenant);
  const words = PLAN[context.language];
  const id = request.query.task;
  const task = id === undefined ? null : await readTask(desk.installation, tenant, id);
  const isUnderWay = task?.state === 'running';
  const plan = isUnderWay || task?.kind === 'apply' ? null : await newestPlan(desk.installation, tenant);
  const mayApply = context.visitor !== null && mayDo(context.visitor, 'operator');
  const reason = mayApply ? reasonField(context, desk, 'apply') : null;
  const told = task === null ? null : renderTask(context, tenant, task);
  const main = html`${told}${isUnderWay ? null : renderPlan(context, tenant, plan, { mayApply, reason, isAfter: task?.kind === 'apply' })}`;
  return sendPage(reply, context, { title: words.title, main, isUnderWay });
}
