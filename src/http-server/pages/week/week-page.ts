import type { FastifyInstance } from 'fastify';
import { requireTenant } from '../../../control/installation.ts';
import { viewWeek, type WeekView } from '../../../control/week.ts';
import { clinicAddress } from '../../../documents/addresses.ts';
import { html } from '../../../model/html.ts';
import { DAY_MS, SECOND_MS } from '../../../model/time.ts';
import type { OperatorDesk } from '../../operator-desk.ts';
import { mayDo } from '../../visitors.ts';
import { contextOf, type PageContext } from '../context.ts';
import { keptViews } from '../kept-views.ts';
import { type Page, sendPage } from '../layout.ts';
import { seenOfTenant } from '../live.ts';
import { failureNotice, notice } from '../notices.ts';
import { linkButton } from '../parts.ts';
import { WEEK } from '../texts/week.ts';
import { renderDifferences } from './differences.ts';
import { gridOf } from './grid.ts';
import { renderGrid } from './render-grid.ts';

/** A clinic and a vendor are asked for one week at most so often, however many look at it. */
const KEPT_MS = 5 * SECOND_MS;
/** Both sides read one list each, as a rule; slow ones answer within this. */
const READ_MS = 40 * SECOND_MS;

/** Address of a target's week. @param date a date of it, `YYYY-MM-DD`; absent: today's */
function weekAddress(tenant: string, target: string, date?: string): string {
  const query = date === undefined ? '' : `?from=${date}`;
  return clinicAddress(tenant, `/targets/${encodeURIComponent(target)}/week${query}`);
}

/** Adds the page that shows a calendar's week beside the clinic's. */
export function addWeekPage(app: FastifyInstance, desk: OperatorDesk): void {
  const kept = keptViews<WeekView>(KEPT_MS);
  app.get<{ Params: { tenant: string; target: string }; Querystring: { from?: string } }>(
    '/tenants/:tenant/targets/:target/week',
    { config: { level: 'viewer' }, handlerTimeout: READ_MS + 5 * SECOND_MS },
    async (request, reply) => {
      const { tenant, target } = request.params;
      const context = contextOf(request, desk, tenant);
      const question = { date: request.query.from ?? null, titles: maySeeTitles(context) };
      const open = requireTenant(desk.installation, tenant);
      const seen = await seenOfTenant(desk, tenant);
      // What was read counts no more once anything was planned or written: a page that follows it comes for just that.
      const [last] = await open.runs.list(1);
      const { version } = await open.links.layout(target);
      const view = await kept(JSON.stringify([tenant, target, question, last?.id, version]), () =>
        viewWeek(desk.installation, { tenant, target }, question, AbortSignal.timeout(READ_MS)),
      );
      const calendars = [...open.targets.values()];
      const others = calendars.filter(({ crm }) => crm === null).map(({ id }) => id);
      return sendPage(reply, context, { ...renderWeek(context, view, others), seen });
    },
  );
}

/** Whoever may only look sees times and ids. */
function maySeeTitles({ visitor }: PageContext): boolean {
  return visitor !== null && mayDo(visitor, 'operator');
}

/** The page. @param calendars ids of the clinic's calendars */
function renderWeek(context: PageContext, view: WeekView, calendars: readonly string[]): Page {
  const words = WEEK[context.language];
  const { tenant, target, clinic, calendar } = view;
  const notices = [
    maySeeTitles(context) ? null : notice(words.idsOnly),
    clinic.failure && failureNotice(context, words.clinicFailed, clinic.failure),
    calendar.failure && failureNotice(context, words.calendarFailed, calendar.failure),
    calendar.state === 'none' ? notice(words.noCalendar) : null,
    clinic.partial === null ? null : notice(words.partial(clinic.partial)),
    clinic.setAside === 0 ? null : notice(words.setAside(clinic.setAside)),
  ];
  const others = calendars.map((id) => {
    return html`<li><a href="${weekAddress(tenant, id, view.from)}"${id === target ? html` aria-current="true"` : null}>${id}</a></li>`;
  });
  const tabs =
    calendars.length < 2 ? null : html`<nav class="tabs" aria-label="${words.calendars}"><ul>${others}</ul></nav>`;
  const above = [...notices, tabs].filter((each) => each !== null);
  const near = (days: number) => new Date(Date.parse(view.from) + days * DAY_MS).toISOString().slice(0, 10);
  return {
    title: words.title(target),
    asOf: view.asOf,
    isLive: true,
    isWide: true,
    style: 'week.css',
    beside: html`<nav class="buttons" aria-label="${words.weeks}">${linkButton(weekAddress(tenant, target, near(-7)), words.before, 'plain')}${linkButton(weekAddress(tenant, target), words.today, 'plain')}${linkButton(weekAddress(tenant, target, near(7)), words.after, 'plain')}</nav>`,
    main: html`${above.length === 0 ? null : html`<div class="stack">${above}</div>`}<div class="panes">${renderDifferences(context, view)}${renderGrid(context, view, gridOf(view))}</div>`,
  };
}
