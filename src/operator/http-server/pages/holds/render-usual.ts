import { type Html, html } from '../../../../core/model/html.ts';
import type { UsualChanges } from '../../../../features/holds/usual.ts';
import { LOCALES } from '../../../../messages/message.ts';
import type { PageContext } from '../context.ts';
import { section, table, unfolding } from '../parts.ts';
import { HOLDS } from '../texts/holds.ts';

/** Units of the drawing: the height, the step from day to day, and the gap before the bar of the hold. */
const HEIGHT = 100;
const STEP = 10;
const GAP = 6;
/** Width of a day's bar and of the hold's bar. */
const BAR = 8;
const HOLD_BAR = 20;

/** Renders the changes of the last thirty days as a histogram in which the hold is marked, with a table of the same numbers. */
export function renderUsual(context: PageContext, usual: UsualChanges, held: number): Html {
  const words = HOLDS[context.language];
  const { days } = usual;
  const day = dayFormat(context);
  const highest = Math.max(1, held, ...days.map(({ count }) => count ?? 0));
  const sentence = usualSentence(context, usual);
  const summary = `${words.thisHold(held)} ${sentence}`;
  const rows = days
    .toReversed()
    .map(({ date, count }) => ({ id: `usual-${date}`, cells: [day(date), count === null ? words.notKnown : count] }));
  const byDay = table(words.changesByDay, [words.day, words.items], rows);
  const [first, last] = [days.at(0)?.date, days.at(-1)?.date];
  const chart = html`<div class="chart"><span class="top">${highest}</span><span class="zero">0</span>${bars(usual, { held, highest, summary })}<span class="days"><span>${first === undefined ? null : day(first)}</span><span>${last === undefined ? null : day(last)}</span><strong>${words.thisHold(held)}</strong></span></div>`;
  const figure = html`<figure class="usual"><figcaption>${sentence} <span class="quiet">${sinceSentence(context, usual)} ${words.uncounted}</span></figcaption>${chart}</figure>`;
  return section('usual', words.usual, html`${figure}${unfolding('usual-days', words.asTable, byDay)}`);
}

/** Returns the usual range as a sentence, with the highest day above the range, if any. */
function usualSentence(context: PageContext, { days, range }: UsualChanges): string {
  const words = HOLDS[context.language];
  if (range === null) return words.usualUnknown;
  const peak = days.reduce((most, each) => ((each.count ?? 0) > (most?.count ?? 0) ? each : most), days[0]);
  const isAbove = peak !== undefined && (peak.count ?? 0) > range.most;
  const above = isAbove ? ` ${words.usualPeak(peak.count ?? 0, dayFormat(context)(peak.date))}` : '';
  return `${words.usualTold(words.usualRange(range.least, range.most), range.days)}${above}`;
}

/** Returns from which day on the changes are known; empty if all days are. */
function sinceSentence(context: PageContext, { days, range }: UsualChanges): string {
  const first = days.find(({ count }) => count !== null);
  if (range === null || first === undefined || first === days[0]) return '';
  return HOLDS[context.language].knownSince(dayFormat(context)(first.date));
}

/** A day without changes is a line on the axis. A day that is not known is shaded. */
function bars(
  { days }: UsualChanges,
  { held, highest, summary }: { held: number; highest: number; summary: string },
): Html {
  const heightOf = (count: number) => (count === 0 ? 1 : Math.max(3, Math.round((count / highest) * HEIGHT)));
  const bar = (x: number, width: number, count: number, kind: string) =>
    html`<rect class="${kind}" x="${x}" y="${HEIGHT - heightOf(count)}" width="${width}" height="${heightOf(count)}"/>`;
  const daily = days.map(({ count }, at) =>
    count === null
      ? html`<rect class="unknown-day" x="${at * STEP}" y="0" width="${STEP}" height="${HEIGHT}"/>`
      : bar(at * STEP, BAR, count, 'usual-day'),
  );
  const holdAt = days.length * STEP + GAP;
  const width = holdAt + HOLD_BAR;
  return html`<svg role="img" aria-label="${summary}" viewBox="0 0 ${width} ${HEIGHT}" preserveAspectRatio="none"><title>${summary}</title>${daily}${bar(holdAt, HOLD_BAR, held, 'this-hold')}</svg>`;
}

/** Formats a local date, such as `2026-11-02`, as `2 Nov`. */
function dayFormat({ language }: PageContext): (date: string) => string {
  const format = new Intl.DateTimeFormat(LOCALES[language], { day: 'numeric', month: 'short', timeZone: 'UTC' });
  return (date) => format.format(Date.parse(date));
}
