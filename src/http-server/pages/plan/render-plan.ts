import type { SyncResult } from '../../../control/sync.ts';
import type { TaskView } from '../../../control/tasks.ts';
import { type Html, type HtmlPart, html } from '../../../model/html.ts';
import type { KeptPlan, PlanLine, PlanLineView, TargetPlanView } from '../../../model/kept-plan.ts';
import { reasonWord } from '../clinic/runs.ts';
import type { PageContext } from '../context.ts';
import { explainAddress } from '../explain/address.ts';
import { fieldNames } from '../names.ts';
import { clinicAddress } from '../navigation.ts';
import { failureNotice, notice } from '../notices.ts';
import {
  actionButton,
  canGoOnMark,
  copyable,
  csrfField,
  emptyState,
  hiddenFields,
  inStepMark,
  said,
  section,
  table,
  unfolding,
} from '../parts.ts';
import { renderFieldChanges } from '../render-fields.ts';
import { PLAN } from '../texts/plan.ts';

/** Lines of a target that are shown; nobody reads more one by one. */
const MOST_LINES = 300;

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
  return html`${factsOf(context, plan)}${plan.targets.map((target) => renderTarget(context, tenant, target))}<div class="stack">${applies}<div class="buttons">${make}</div></div>`;
}

function factsOf(context: PageContext, plan: KeptPlan): Html {
  const { language, times } = context;
  const words = PLAN[language];
  const { records, completeness, reason, setAside } = plan.snapshot;
  const told = [
    words.clinicShows(records),
    completeness === 'partial' ? words.partial(reason ?? completeness) : null,
    setAside === 0 ? null : words.setAside(setAside),
    plan.unconfirmed === 0 ? null : words.unconfirmed(plan.unconfirmed),
    ...plan.left.map(({ target, code }) => words.left(target, code)),
  ];
  const facts: [string, HtmlPart][] = [
    [words.id, html`<code>${plan.id}</code>`],
    [words.madeAt, html`${times.both(plan.keptAt)}. ${told.filter((each) => each !== null).join(' ')}`],
    [words.until, times.at(plan.expiresAt)],
    [words.command, copyable(context, `clinic-mirror apply ${plan.tenant} ${plan.id}`)],
  ];
  return html`<p>${words.intro}</p><dl class="facts">${facts.map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

function renderTarget(context: PageContext, tenant: string, target: TargetPlanView): Html {
  const words = PLAN[context.language];
  const { lines, unchanged, waiting, failing } = target;
  const count = (verdict: PlanLine['verdict'], operation?: PlanLine['operation']) =>
    lines.filter((line) => line.verdict === verdict && (operation === undefined || line.operation === operation))
      .length;
  const counts: [number, (n: number) => string][] = [
    [count('go', 'create'), words.create],
    [count('go', 'update'), words.update],
    [count('go', 'delete'), words.delete],
    [count('held'), words.held],
    [count('refused'), words.refused],
    [waiting, words.waiting],
    [failing, words.failing],
  ];
  const told = counts.filter(([n]) => n > 0).map(([n, text]) => text(n));
  const summary = lines.length === 0 ? [words.nothing(unchanged), ...told] : [...told, words.unchanged(unchanged)];
  const more = lines.length - MOST_LINES;
  const rest = more > 0 ? html`<p class="quiet">${words.more(more)}</p>` : null;
  const shown = lines.length === 0 ? null : linesTable(context, tenant, target);
  return section(`target-${target.target}`, target.target, html`<p>${summary.join(' · ')}</p>${shown}${rest}`);
}

function linesTable(context: PageContext, tenant: string, { target, lines }: TargetPlanView): Html {
  const { language, times } = context;
  const words = PLAN[language];
  const columns = [words.what, words.record, words.starts, words.why, words.verdict].map((title) => ({ title }));
  const operations = { create: `+ ${words.creates}`, update: `~ ${words.updates}`, delete: `− ${words.deletes}` };
  const verdicts = { go: words.go, held: words.isHeld, refused: words.isRefused };
  const rows = lines.slice(0, MOST_LINES).map((line) => ({
    id: `line-${target}-${line.record}`,
    cells: [
      operations[line.operation],
      html`<a href="${explainAddress(tenant, line.record)}">${line.record}</a>`,
      line.startAt === null ? null : times.at(line.startAt),
      html`<div>${whyOf(context, line)}${fieldsOf(context, target, line)}</div>`,
      html`<span class="${line.verdict === 'go' ? 'quiet' : 'hold'}">${verdicts[line.verdict]}</span>`,
    ],
  }));
  return table(`${words.title}: ${target}`, columns, rows);
}

function whyOf({ language }: PageContext, { reason, fields }: PlanLineView): string {
  const named = fields.length === 0 ? [] : [fieldNames(fields, language)];
  return [reasonWord(reason, language), ...named].join(': ');
}

/** Of what changes at once; of what comes or goes, which is much alike, when somebody wants to see it. */
function fieldsOf(
  context: PageContext,
  target: string,
  { record, operation, fieldChanges }: PlanLineView,
): Html | null {
  const isUpdate = operation === 'update';
  const shown = renderFieldChanges(context, fieldChanges, { isUpdate });
  if (isUpdate || shown === null) return shown;
  return unfolding(`fields-${target}-${record}`, PLAN[context.language].fields, shown);
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
