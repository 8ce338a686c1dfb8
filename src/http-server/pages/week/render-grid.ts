import type { WeekTime, WeekView } from '../../../control/week.ts';
import { explainAddress } from '../../../documents/addresses.ts';
import { type Html, type HtmlPart, html } from '../../../model/html.ts';
import type { PageContext } from '../context.ts';
import { WEEK } from '../texts/week.ts';
import { differenceText } from './differences.ts';
import type { Block, GridDay, PlacedBlock, WeekGrid } from './grid.ts';
import { hoursClass, laneClass, rowClass } from './style.ts';

/** What is shorter has no room for its time and its title below each other. */
const TWO_LINES_MINUTES = 30;

/** The days of a week beside each other, each with the hours that any of them needs; below each other on a narrow screen. */
export function renderGrid(context: PageContext, { tenant }: Pick<WeekView, 'tenant'>, grid: WeekGrid): Html {
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
  const { date, startAt, endAt, hours, allDay, placed, more } = day;
  const { now } = context.times;
  const isToday = startAt <= now && now < endAt;
  const id = `day-${date}`;
  const item = (block: Block, place: HtmlPart) => renderBlock(context, tenant, block, place);
  const isEmpty = allDay.length + placed.length + more.length === 0;
  const change = hours === 24 ? null : html`<span class="quiet">${words.clocksChange(hours)}</span>`;
  return html`<section class="day${isToday ? ' today' : null}" aria-labelledby="${id}"><h3 id="${id}"><time datetime="${date}">${context.times.day(startAt)}</time>${change}</h3><ul class="all-day">${allDay.map((block) => item(block, null))}</ul><ol class="slots ${hoursClass(toHour - fromHour)}">${placed.map((block) => item(block, placeOf(block, fromHour)))}</ol><ul class="more">${more.map((block) => item(block, null))}</ul>${isEmpty ? html`<p class="none quiet">${words.nothing}</p>` : null}</section>`;
}

function placeOf({ fromMinute, toMinute, lane, lanes, side }: PlacedBlock, fromHour: number): string {
  return [
    rowClass('from', fromMinute, fromHour),
    rowClass('to', toMinute, fromHour),
    laneClass(lane, lanes, side),
    ...(toMinute - fromMinute < TWO_LINES_MINUTES ? ['short'] : []),
  ].join(' ');
}

function renderBlock(context: PageContext, tenant: string, block: Block, place: HtmlPart): Html {
  const words = WEEK[context.language];
  const { entry, side, time } = block;
  const { record, title, leftOut, difference } = entry;
  const kind = difference !== null ? 'differs' : leftOut !== null ? 'out' : 'fits';
  const text = difference !== null ? differenceText(context, entry) : leftOut === null ? null : words.leftOut;
  const what = title ?? record ?? words.nameless;
  const hint = [title === null ? null : record, words[side], text].filter((each) => each !== null).join(' · ');
  const content = html`<span class="at">${timeText(context, time)}</span> <span class="name">${what}</span>${text === null ? null : html` <span class="why">${text}</span>`}`;
  const inner =
    record === null
      ? html`<span class="block" title="${hint}">${content}</span>`
      : html`<a class="block row" href="${explainAddress(tenant, record)}" title="${hint}">${content}</a>`;
  return html`<li class="slot ${side} ${kind}${place === null ? null : html` ${place}`}">${inner}<span class="side">${side === 'both' ? words.same : words[side]}</span></li>`;
}

function timeText({ times, language }: PageContext, time: WeekTime): string {
  return time.kind === 'all-day' ? WEEK[language].allDay : times.clock(time.startAt);
}
