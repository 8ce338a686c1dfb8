import type { SyncResult } from '../../../control/sync.ts';
import type { TaskView } from '../../../control/tasks.ts';
import { clinicAddress } from '../../../documents/addresses.ts';
import { planDocument } from '../../../documents/plan.ts';
import { PLAN } from '../../../documents/texts/plan.ts';
import { type Html, html } from '../../../model/html.ts';
import type { KeptPlan } from '../../../model/kept-plan.ts';
import type { PageContext } from '../context.ts';
import { failureNotice, notice } from '../notices.ts';
import { actionButton, canGoOnMark, csrfField, emptyState, hiddenFields, inStepMark, said, section } from '../parts.ts';
import { printHtml } from '../print-html.ts';

/** What a page shows of a plan. */
export interface PlanOptions {
  mayApply: boolean;
  /** Where a reason is given; null where none is asked for. */
  reason: Html | null;
  /** It was applied, or should have been. */
  isAfter: boolean;
}

/** A plan target by target, with the button that applies exactly it; or the way to make one. */
export function renderPlan(context: PageContext, tenant: string, plan: KeptPlan | null, options: PlanOptions): Html {
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
  const applies = options.mayApply ? applyForm(context, tenant, plan, options.reason) : null;
  return html`<p>${words.intro}</p>${printHtml(context, planDocument(plan, context.language).blocks)}<div class="stack">${applies}<div class="buttons">${make}</div></div>`;
}

function applyForm({ visitor, language }: PageContext, tenant: string, { id }: KeptPlan, reason: Html | null): Html {
  const words = PLAN[language];
  return html`<form method="post" action="${clinicAddress(tenant, '/plan')}" class="stack">${csrfField(visitor)}${hiddenFields({ apply: id })}${reason}<p class="quiet">${words.applyHelp}</p><div class="buttons"><button class="button main">${words.apply}</button></div></form>`;
}

/** How far the making, or the applying, of a plan came. Nothing where it is the plan itself that tells. */
export function renderTask(context: PageContext, tenant: string, task: TaskView): Html | null {
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

function renderApplied(context: PageContext, tenant: string, { run, targets }: SyncResult): Html {
  const words = PLAN[context.language];
  const items = targets.map(({ target, canGoOn, inSyncAsOf, ...standing }) => {
    return html`<li>${target} ${inStepMark(context, standing, inSyncAsOf)} ${canGoOnMark(context, canGoOn)}</li>`;
  });
  return section(
    'applied',
    words.applied,
    html`<p>${words.appliedText(run.id)}</p><h3>${words.targetNow}</h3><ul class="boxes">${items}</ul><p><a href="${clinicAddress(tenant)}">${tenant}</a></p>`,
  );
}
