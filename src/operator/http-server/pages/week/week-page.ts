import type { FastifyInstance } from 'fastify';
import { type Html, type HtmlPart, html } from '../../../../core/model/html.ts';
import { pathSegment } from '../../../../core/model/path-segment.ts';
import { DAY_MS, SECOND_MS } from '../../../../core/model/time.ts';
import { requireTenant } from '../../../control/installation.ts';
import { viewWeek, type WeekEntryView, type WeekNext, type WeekTime, type WeekView } from '../../../control/week.ts';
import { clinicAddress, explainAddress, holdAddress } from '../../../documents/document.ts';
import { fieldNames } from '../../../documents/names.ts';
import { ruleName } from '../../../documents/texts/explain.ts';
import { mayDo, type OperatorServices } from '../../operators.ts';
import { hoursClass, laneClass, rowClass } from '../assets.ts';
import { contextOf, type PageContext } from '../context.ts';
import { type Page, sendPage } from '../layout.ts';
import { seenOfTenant } from '../live.ts';
import { emptyState, failureNotice, linkButton, notice, section, targetMark } from '../parts.ts';
import { WEEK } from '../texts/week.ts';
import { type Block, type GridDay, gridOf, type PositionedBlock, type WeekGrid } from './grid.ts';

/** Minimum interval of requests to a clinic and a vendor for one week, for any number of viewers. */
const CACHE_MS = 5 * SECOND_MS;
/** Each side usually needs one list request; slow servers answer within this time. */
const READ_MS = 40 * SECOND_MS;

/** Returns the URL of a target's week. @param date a date of the week, `YYYY-MM-DD`; absent: today */
function weekAddress(tenant: string, target: string, date?: string): string {
  const query = date === undefined ? '' : `?from=${date}`;
  return clinicAddress(tenant, `/targets/${pathSegment(target)}/week${query}`);
}

/** Adds the page that compares a calendar's week with the clinic's. */
export function addWeekPage(app: FastifyInstance, services: OperatorServices): void {
  const cached = cachedViews<WeekView>(CACHE_MS);
  app.get<{ Params: { tenant: string; target: string }; Querystring: { from?: string } }>(
    '/tenants/:tenant/targets/:target/week',
    { config: { level: 'viewer' }, handlerTimeout: READ_MS + 5 * SECOND_MS },
    async (request, reply) => {
      const { tenant, target } = request.params;
      const context = contextOf(request, services, tenant);
      const question = { date: request.query.from ?? null, titles: maySeeTitles(context) };
      const open = requireTenant(services.installation, tenant);
      const seen = await seenOfTenant(services, tenant);
      // A new plan or write invalidates the cache, because live pages reload for that change.
      const [last] = await open.runs.list(1);
      const { version } = await open.links.layout(target);
      const view = await cached(JSON.stringify([tenant, target, question, last?.id, version]), () =>
        viewWeek(services.installation, { tenant, target }, question, AbortSignal.timeout(READ_MS)),
      );
      const calendars = [...open.targets.values()];
      const others = calendars.filter(({ crm }) => crm === null).map(({ id }) => id);
      return sendPage(reply, context, { ...renderWeek(context, view, others), seen });
    },
  );
}

/** Viewers see only times and ids. */
function maySeeTitles({ visitor }: PageContext): boolean {
  return visitor !== null && mayDo(visitor, 'operator');
}

/** Renders the page. @param calendars ids of the clinic's calendars */
function renderWeek(context: PageContext, view: WeekView, calendars: readonly string[]): Page {
  const words = WEEK[context.language];
  const { tenant, target, clinic, calendar } = view;
  const notices = [
    maySeeTitles(context) ? null : notice(words.idsOnly),
    clinic.failure && failureNotice(context, words.clinicFailed, clinic.failure),
    calendar.failure && failureNotice(context, words.calendarFailed, calendar.failure),
    calendar.state === 'none' ? notice(words.noCalendar) : null,
    clinic.partial === null ? null : notice(words.partial(clinic.partial)),
    clinic.unusable === 0 ? null : notice(words.unusable(clinic.unusable)),
  ];
  const others = calendars.map((id) => {
    return html`<li><a href="${weekAddress(tenant, id, view.from)}"${id === target ? html` aria-current="true"` : null}>${targetMark(context, tenant, id)}</a></li>`;
  });
  const tabs =
    calendars.length < 2 ? null : html`<nav class="tabs" aria-label="${words.calendars}"><ul>${others}</ul></nav>`;
  const above = [...notices, tabs].filter((each) => each !== null);
  const dateAt = (days: number) => new Date(Date.parse(view.from) + days * DAY_MS).toISOString().slice(0, 10);
  return {
    title: words.title(context.targetName(tenant, target)),
    asOf: view.asOf,
    isLive: true,
    isWide: true,
    style: 'week.css',
    headerPart: html`<nav class="buttons" aria-label="${words.weeks}">${linkButton(weekAddress(tenant, target, dateAt(-7)), words.before, 'plain')}${linkButton(weekAddress(tenant, target), words.today, 'plain')}${linkButton(weekAddress(tenant, target, dateAt(7)), words.after, 'plain')}</nav>`,
    main: html`${above.length === 0 ? null : html`<div class="stack">${above}</div>`}<div class="panes">${renderDifferences(context, view)}${renderGrid(context, view, gridOf(view))}</div>`,
  };
}

/**
 * Caches a view for all callers within `cacheMs`, to limit requests to clinic and vendor. A failure reaches only the callers who waited.
 * @param clock milliseconds of a monotonic clock
 */
function cachedViews<View>(cacheMs: number, clock: () => number = () => performance.now()) {
  const cached = new Map<string, { view: Promise<View>; untilMs: number }>();
  return (key: string, compute: () => Promise<View>): Promise<View> => {
    const now = clock();
    for (const [each, { untilMs }] of cached) if (untilMs <= now) cached.delete(each);
    const cachedView = cached.get(key);
    if (cachedView !== undefined) return cachedView.view;
    const view = compute();
    const entry = { view, untilMs: now + cacheMs };
    cached.set(key, entry);
    view.catch(() => {
      if (cached.get(key) === entry) cached.delete(key);
    });
    return view;
  };
}

/** A shorter block has only one line of text. */
const TWO_LINES_MINUTES = 30;

/** Renders the days of a week with common hours; below each other on a narrow screen. */
function renderGrid(context: PageContext, { tenant }: Pick<WeekView, 'tenant'>, grid: WeekGrid): Html {
  const words = WEEK[context.language];
  const { fromHour, toHour } = grid;
  const hours = Array.from({ length: toHour - fromHour }, (_, index) => {
    const hour = fromHour + index;
    return html`<li class="${rowClass('from', hour * 60, fromHour)}">${String(hour).padStart(2, '0')}</li>`;
  });
  const days = grid.days.map((day) => renderDay(context, tenant, day, grid));
  return html`<div><p class="legend quiet"><span class="key fits">${words.both}</span><span class="key differs clinic">${words.clinicOnly}</span><span class="key differs calendar">${words.calendarOnly}</span></p><div class="week"><div class="scale" aria-hidden="true"><ol class="hours ${hoursClass(toHour - fromHour)}">${hours}</ol></div>${days}</div></div>`;
}

function renderDay(context: PageContext, tenant: string, day: GridDay, { fromHour, toHour }: WeekGrid): Html {
  const words = WEEK[context.language];
  const { date, startAt, endAt, hours, allDay, positioned, more } = day;
  const { now } = context.times;
  const isToday = startAt <= now && now < endAt;
  const id = `day-${date}`;
  const item = (block: Block, position: HtmlPart) => renderBlock(context, tenant, block, position);
  const isEmpty = allDay.length + positioned.length + more.length === 0;
  const change = hours === 24 ? null : html`<span class="quiet">${words.clocksChange(hours)}</span>`;
  return html`<section class="day${isToday ? ' today' : null}" aria-labelledby="${id}"><h3 id="${id}"><time datetime="${date}">${context.times.day(startAt)}</time>${change}</h3><ul class="all-day">${allDay.map((block) => item(block, null))}</ul><ol class="slots ${hoursClass(toHour - fromHour)}">${positioned.map((block) => item(block, positionOf(block, fromHour)))}</ol><ul class="more">${more.map((block) => item(block, null))}</ul>${isEmpty ? html`<p class="none quiet">${words.nothing}</p>` : null}</section>`;
}

function positionOf({ fromMinute, toMinute, lane, lanes, side }: PositionedBlock, fromHour: number): string {
  return [
    rowClass('from', fromMinute, fromHour),
    rowClass('to', toMinute, fromHour),
    laneClass(lane, lanes, side),
    ...(toMinute - fromMinute < TWO_LINES_MINUTES ? ['short'] : []),
  ].join(' ');
}

function renderBlock(context: PageContext, tenant: string, block: Block, position: HtmlPart): Html {
  const words = WEEK[context.language];
  const { entry, side, time } = block;
  const { record, title, omitted, difference } = entry;
  const kind = difference !== null ? 'differs' : omitted !== null ? 'out' : 'fits';
  const text = difference !== null ? differenceText(context, entry) : omitted === null ? null : words.omitted;
  const what = title ?? record ?? words.nameless;
  const hint = [title === null ? null : record, words[side], text].filter((each) => each !== null).join(' · ');
  const content = html`<span class="at">${timeText(context, time)}</span> <span class="name">${what}</span>${text === null ? null : html` <span class="why">${text}</span>`}`;
  const inner =
    record === null
      ? html`<span class="block" title="${hint}">${content}</span>`
      : html`<a class="block row" href="${explainAddress(tenant, record)}" title="${hint}">${content}</a>`;
  return html`<li class="slot ${side} ${kind}${position === null ? null : html` ${position}`}">${inner}<span class="side">${side === 'both' ? words.same : words[side]}</span></li>`;
}

function timeText({ times, language }: PageContext, time: WeekTime): string {
  return time.kind === 'all-day' ? WEEK[language].allDay : times.clock(time.startAt);
}

/** Renders the differences of a week in words, with the next step of the daemon. */
function renderDifferences(context: PageContext, view: WeekView): Html {
  const words = WEEK[context.language];
  const differing = view.entries.filter(({ difference }) => difference !== null);
  const isCompared = view.clinic.failure === null && view.calendar.failure === null;
  const content =
    differing.length === 0
      ? emptyState(isCompared ? words.noDifference : words.notCompared)
      : html`<ul class="differences">${differing.map((entry) => differenceLine(context, view.tenant, entry))}</ul>`;
  return section('differences', words.differences(differing.length), content);
}

function differenceLine(context: PageContext, tenant: string, entry: WeekEntryView): Html {
  const words = WEEK[context.language];
  const { record, clinic, calendar, next } = entry;
  const time = clinic?.time ?? calendar?.time ?? null;
  const name = record === null ? words.nameless : html`<a href="${explainAddress(tenant, record)}">${record}</a>`;
  const page = calendar?.page ?? null;
  const open = page === null ? null : html` <a href="${page}" rel="noreferrer" target="_blank">${words.open}</a>`;
  return html`<li><p><strong>${time === null ? null : whenText(context, time)}</strong> ${name}</p><p>${differenceText(context, entry)}</p><p class="quiet">${next === null ? null : nextText(context, tenant, next)}${open}</p></li>`;
}

/** Describes the differences; empty without one. */
function differenceText({ language, ...context }: PageContext, entry: WeekEntryView): string {
  const words = WEEK[language];
  const { record, calendar, difference } = entry;
  switch (difference?.kind) {
    case undefined:
      return '';
    case 'missing':
    case 'removed':
      return words[difference.kind];
    case 'behind':
    case 'edited': {
      const { kind, fields } = difference;
      const isMoved = fields.includes('time') && calendar?.time != null;
      const time = isMoved && calendar?.time != null ? whenText({ language, ...context }, calendar.time) : '';
      if (kind === 'behind') return isMoved ? words.moved(time) : words.behind(fieldNames(fields, language));
      return isMoved ? words.movedByHand(time) : words.edited(fieldNames(fields, language));
    }
    case 'surplus':
      if (difference.why === 'vanished') return words.vanished;
      return entry.clinic?.status === 'cancelled' ? words.cancelled : words.surplus(ruleName(difference.why, language));
    case 'copy':
      return record === null ? words.namelessCopy : words.copy;
    case 'unlisted':
      return words.unlisted;
    case 'unknown':
      return words.notKnown;
  }
}

function nextText({ language, times }: PageContext, tenant: string, next: WeekNext): HtmlPart {
  const words = WEEK[language];
  switch (next.step) {
    case 'waits': {
      const time = next.nextTryAt === null ? words.due : words.nextTry(times.text(next.nextTryAt));
      return next.failing === null ? words.waits(time) : words.fails(next.failing, time);
    }
    case 'held':
      return html`<a href="${holdAddress(tenant, next.hold)}">${words.held}</a>`;
    case 'stays':
      return words[next.policy];
    default:
      return words[next.step];
  }
}

/** Formats day and time in the clinic's zone. */
function whenText({ times, language }: PageContext, time: WeekTime): string {
  if (time.kind === 'all-day') return `${time.startDate} (${WEEK[language].allDay})`;
  return `${times.day(time.startAt)} ${times.clock(time.startAt)}`;
}
