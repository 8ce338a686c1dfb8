import type { WeekEntryView, WeekNext, WeekTime, WeekView } from '../../../control/week.ts';
import { explainAddress, holdAddress } from '../../../documents/document.ts';
import { fieldNames } from '../../../documents/fields.ts';
import { ruleName } from '../../../documents/texts/explain.ts';
import { type Html, type HtmlPart, html } from '../../../model/html.ts';
import type { PageContext } from '../context.ts';
import { emptyState, section } from '../parts.ts';
import { WEEK } from '../texts/week.ts';

/** What differs in a week, in words, and what becomes of it. */
export function renderDifferences(context: PageContext, view: WeekView): Html {
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

/** What differs, in words. Empty for an entry that does not differ. */
export function differenceText({ language, ...context }: PageContext, entry: WeekEntryView): string {
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
      const time = times.text(next.dueAt);
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

/** Day and time of an entry, in the clinic's zone. */
function whenText({ times, language }: PageContext, time: WeekTime): string {
  if (time.kind === 'all-day') return `${time.startDate} (${WEEK[language].allDay})`;
  return `${times.day(time.startAt)} ${times.clock(time.startAt)}`;
}
