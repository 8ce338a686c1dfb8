import type { FastifyInstance } from 'fastify';
import { type Html, type HtmlPart, html } from '../../../../core/model/html.ts';
import { pathSegment } from '../../../../core/model/path-segment.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../core/model/time.ts';
import {
  type HistoryDays,
  type HistoryView,
  historyDays,
  type TargetChangesView,
  type TargetHistory,
} from '../../../control/history-schemas.ts';
import { requireTenant } from '../../../control/installation.ts';
import { changesDocument } from '../../../documents/changes.ts';
import { clinicAddress } from '../../../documents/document.ts';
import { TENANT_OPERATIONS } from '../../../operations/tenants.ts';
import type { OperatorServices } from '../../operators.ts';
import { contextOf, operationContext, type PageContext } from '../context.ts';
import { type Page, sendPage } from '../layout.ts';
import { copyable, emptyState, linkButton, pager, printHtml, unfolding } from '../parts.ts';
import { FRAME } from '../texts/frame.ts';
import { HISTORY } from '../texts/history.ts';
import { ageChart, CHANGE_KINDS, changesChart } from './chart.ts';

/** Targets of a page, by the days of the history: its size stays below 60 kB. */
const TARGETS_AT_ONCE: Readonly<Record<HistoryDays, number>> = { 1: 10, 7: 8, 30: 4 };

interface Question {
  Params: { tenant: string };
  Querystring: { days?: string; target?: string; from?: string };
}

/** Adds the page with the freshness, the changes and the outages of a clinic's targets. */
export function addHistoryPage(app: FastifyInstance, services: OperatorServices): void {
  const { level, run, input } = TENANT_OPERATIONS.readHistory;
  app.get<Question>('/tenants/:tenant/history', { config: { level } }, async (request, reply) => {
    const { query } = request;
    const { id } = requireTenant(services.installation, request.params.tenant);
    const days = historyDays.safeParse(query.days).data ?? '1';
    const target = typeof query.target === 'string' ? query.target : undefined;
    const view = await run(input.parse({ tenant: id, days, target }), operationContext(request, services));
    const from = Math.max(0, Math.floor(Number(query.from) || 0));
    const context = contextOf(request, services, id);
    return sendPage(reply, context, historyPage(context, view, { days, target, from }));
  });
}

/** Adds the page with the changes of a target on one day. */
export function addChangesPage(app: FastifyInstance, services: OperatorServices): void {
  const { level, run, input } = TENANT_OPERATIONS.readTargetChanges;
  app.get<{ Params: { tenant: string; target: string }; Querystring: { day?: string } }>(
    '/tenants/:tenant/targets/:target/changes',
    { config: { level } },
    async (request, reply) => {
      const { tenant, target } = request.params;
      const context = contextOf(request, services, tenant);
      const day = input.shape.day.safeParse(request.query.day).data ?? null;
      const view = await run({ tenant, target, day }, operationContext(request, services));
      return sendPage(reply, context, changesPage(context, view));
    },
  );
}

function changesPage(context: PageContext, view: TargetChangesView): Page {
  const words = HISTORY[context.language];
  const { tenant, target, date, endAt } = view;
  const addressOf = (day: string) => clinicAddress(tenant, `/targets/${pathSegment(target)}/changes?day=${day}`);
  const dateAt = (days: number) => new Date(Date.parse(date) + days * DAY_MS).toISOString().slice(0, 10);
  const { title, blocks } = changesDocument(view, context.language);
  const command = copyable(context, `clinic-mirror changes ${tenant} ${target} --day ${date}`);
  const later = endAt > context.times.now ? null : linkButton(addressOf(dateAt(1)), words.dayAfter, 'plain');
  const days = html`<nav class="buttons" aria-label="${words.day}">${linkButton(addressOf(dateAt(-1)), words.dayBefore, 'plain')}${later}${linkButton(clinicAddress(tenant, '/history?days=30'), words.title, 'plain')}</nav>`;
  const main = html`${printHtml(context, blocks)}<p class="quiet">${FRAME[context.language].sameCommand} ${command}</p>`;
  return { title, main, headerPart: days };
}

interface HistoryChoice {
  days: HistoryDays;
  /** Only this target; absent: all. */
  target: string | undefined;
  /** Position of the first target. */
  from: number;
}

function historyPage(context: PageContext, view: HistoryView, { days, target, from }: HistoryChoice): Page {
  const words = HISTORY[context.language];
  const addressOf = (changed: Record<string, string | undefined>) => {
    const fields = new URLSearchParams();
    for (const [name, value] of Object.entries({ days, target, ...changed }))
      if (value !== undefined) fields.set(name, value);
    return clinicAddress(view.tenant, `/history?${fields}`);
  };
  const tabs = historyDays.options.map((each) => {
    const isHere = each === days ? html` aria-current="page"` : null;
    return html`<li><a class="tab" href="${addressOf({ days: each })}"${isHere}>${words[each]}</a></li>`;
  });
  const shown = view.targets.slice(from, from + TARGETS_AT_ONCE[days]);
  const next = from + TARGETS_AT_ONCE[days];
  const only = target === undefined ? '' : ` --target ${target}`;
  const command = copyable(context, `clinic-mirror history ${view.tenant}${only} --days ${days}`);
  const main = html`<nav class="tabs" aria-label="${words.periods}"><ul>${tabs}</ul></nav>
<p class="quiet">${words.about}</p>${legend(context)}
${shown.length === 0 ? emptyState(words.none) : shown.map((each) => targetPart(context, view, each, days))}
${pager(context, next < view.targets.length ? addressOf({ from: String(next) }) : null)}
<p class="quiet">${FRAME[context.language].sameCommand} ${command}</p>`;
  return { title: words.title, main, style: 'history.css', asOf: view.untilAt };
}

function legend({ language }: PageContext): Html {
  const words = HISTORY[language];
  const keys = (['age', 'unproved', 'outage', ...CHANGE_KINDS] as const).map((kind) => {
    return html`<li><svg width="12" height="12" aria-hidden="true"><rect class="${kind}" width="12" height="12"/></svg>${words[kind]}</li>`;
  });
  return html`<ul class="legend">${keys}</ul>`;
}

function targetPart(context: PageContext, view: HistoryView, target: TargetHistory, days: HistoryDays): Html {
  const words = HISTORY[context.language];
  const { times } = context;
  const { target: id, name: calendar, inSyncAsOf, recordedSince, worstMs, unprovedHours } = target;
  const figures: HtmlPart[] = [
    inSyncAsOf === null ? words.never : html`${words.inSync} ${times.at(inSyncAsOf)}`,
    worstMs !== null && words.worst(ageText(context, worstMs)),
    unprovedHours > 0 && words.unprovedHours(unprovedHours),
    words.counts(target.created, target.updated, target.deleted),
    recordedSince !== null && recordedSince > view.fromAt && html`${words.recordedSince} ${times.at(recordedSince)}`,
  ];
  const shown = figures.filter((each) => each !== null && each !== false);
  const yesterday = html`<a href="${clinicAddress(view.tenant, `/targets/${pathSegment(id)}/changes`)}">${words.whatChanged}</a>`;
  const summary = [...shown, yesterday].flatMap((each, at) => (at === 0 ? [each] : [' · ', each]));
  const heading = html`<h2 id="history-${id}"><a href="${clinicAddress(view.tenant, `/targets/${pathSegment(id)}`)}" title="${id}">${context.targetName(view.tenant, id)}</a> <span class="quiet plain">${calendar}</span></h2>`;
  const charts =
    recordedSince === null
      ? emptyState(words.notRecorded)
      : html`<div class="timeline">${chartsOf(context, view, target)}${timeAxis(context, view, days)}</div>${unfolding(`days-${id}`, words.byDay, dayTable(context, view, target))}`;
  return html`<section class="history" aria-labelledby="history-${id}">${heading}<p class="quiet">${summary}</p>${charts}</section>`;
}

function chartsOf(context: PageContext, view: HistoryView, target: TargetHistory): Html {
  const words = HISTORY[context.language];
  const { worstMs, unprovedHours, created, updated, deleted, outages } = target;
  const age = [
    words.freshness,
    ...(worstMs === null ? [] : [words.worst(ageText(context, worstMs))]),
    ...(unprovedHours === 0 ? [] : [words.unprovedHours(unprovedHours)]),
    ...(outages.length === 0 ? [] : [`${words.outages}: ${outages.length}`]),
  ].join(', ');
  const changes = `${words.changes}: ${words.counts(created, updated, deleted)}`;
  const text = (ms: number) => ageText(context, ms);
  return html`${ageChart(target, view, { summary: age, ageText: text })}${changesChart(target, view, changes)}`;
}

/** Renders the begin, the middle and the end of the range. */
function timeAxis({ language, times }: PageContext, { fromAt, untilAt }: HistoryView, days: HistoryDays): Html {
  const text = days === '1' ? times.clock : times.day;
  const middle = fromAt + (untilAt - fromAt) / 2;
  return html`<ol class="times" aria-hidden="true"><li>${text(fromAt)}</li><li>${text(middle)}</li><li>${HISTORY[language].now}</li></ol>`;
}

function dayTable(context: PageContext, view: HistoryView, target: TargetHistory): Html {
  const words = HISTORY[context.language];
  const { times } = context;
  const columns = [words.day, words.largestAge, words.unproved, words.created, words.updated, words.deleted];
  const rows = target.days.toReversed().map(({ date, startAt, worstMs, unprovedHours, created, updated, deleted }) => {
    const cells = [worstMs === null ? '–' : ageText(context, worstMs), unprovedHours, created, updated, deleted];
    const changes = clinicAddress(view.tenant, `/targets/${pathSegment(target.target)}/changes?day=${date}`);
    return html`<tr><th scope="row"><a href="${changes}">${times.day(startAt)}</a></th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`;
  });
  const outages = target.outages.map(({ sinceAt, untilAt }) => {
    return html`<li>${times.at(sinceAt)}–${untilAt === null ? words.untilNow : times.at(untilAt)}</li>`;
  });
  const list = outages.length === 0 ? null : html`<p>${words.outages}</p><ul>${outages}</ul>`;
  return html`<div><table class="by-day"><caption class="heard">${words.byDay}, ${context.targetName(view.tenant, target.target)}</caption><thead><tr>${columns.map((title) => html`<th scope="col">${title}</th>`)}</tr></thead><tbody>${rows}</tbody></table>${list}</div>`;
}

const UNITS = [['day', DAY_MS] as const, ['hour', HOUR_MS] as const, ['minute', MINUTE_MS] as const] as const;

/** Formats an age in its largest unit of at least two, or one: `5 min`, `26 hr`. Rounded up, so that no age looks smaller. */
function ageText({ language }: PageContext, ms: number): string {
  const [unit, unitMs] = UNITS.find(([, each]) => ms >= 2 * each) ?? UNITS.find(([, each]) => ms >= each) ?? UNITS[2];
  return new Intl.NumberFormat(language, { style: 'unit', unit, unitDisplay: 'short' }).format(Math.ceil(ms / unitMs));
}
