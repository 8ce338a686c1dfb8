import { type Html, html } from '../../../../core/model/html.ts';
import { HOUR_MS, type Instant, MINUTE_MS } from '../../../../core/model/time.ts';
import type { HistoryDay, HistoryStep, HistoryView, TargetHistory } from '../../../control/history-schemas.ts';

/** Width of a chart in its own units; the browser stretches it. */
const WIDTH = 1_000;
/** Heights in pixels. */
const AGE_HEIGHT = 72;
const CHANGES_HEIGHT = 48;
/** Largest stored age in minutes, at the top of a chart. */
const MOST_MINUTES = 4_096;
/** Ages with a line and a label, in ms. */
const AGE_LINES = [5 * MINUTE_MS, HOUR_MS, 24 * HOUR_MS];
/** Shortest outage in units, so that it stays visible. */
const LEAST_WIDTH = 3;

/** Range of a chart. */
type Range = Pick<HistoryView, 'fromAt' | 'untilAt'>;

/** A kind of change, with its class and position from the bottom. */
export const CHANGE_KINDS = ['created', 'updated', 'deleted'] as const;

/** Renders ages as filled steps on a logarithmic scale, times without a proof, and outages as bands. */
export function ageChart(
  { steps, outages, recordedSince }: TargetHistory,
  range: Range,
  { summary, ageText }: { summary: string; ageText: (ms: number) => string },
): Html {
  const x = xIn(range);
  const bands = outages.map(({ sinceAt, untilAt }) => {
    const [from, to] = [x(sinceAt), x(untilAt ?? range.untilAt)];
    return to <= 0 ? null : rectangle('outage', from, Math.max(to - from, LEAST_WIDTH), AGE_HEIGHT);
  });
  const parts = steps.map((step, index) => ({
    step,
    from: x(step.startAt),
    to: x(steps[index + 1]?.startAt ?? range.untilAt),
  }));
  const isRecorded = ({ unprovedHours }: HistoryStep) => recordedSince !== null && unprovedHours > 0;
  const unproved = parts
    .filter(({ step }) => isRecorded(step))
    .map(({ from, to }) => `M${from} 0H${to}V${AGE_HEIGHT}H${from}z`);
  const ages = parts.flatMap(({ step: { worstMs }, from, to }) =>
    worstMs === null ? [] : [`M${from} ${AGE_HEIGHT}V${ageY(worstMs)}H${to}V${AGE_HEIGHT}z`],
  );
  const lines = AGE_LINES.map((ms) => `M0 ${ageY(ms)}H${WIDTH}`).join('');
  const plot = html`${path('unproved', unproved.join(''))}${bands}${path('age', ages.join(''))}${path('grid', lines)}`;
  const labels = AGE_LINES.map((ms) => ({ y: ageY(ms) + 4, text: ageText(ms) }));
  return withAxis(plot, labels, { height: AGE_HEIGHT, summary });
}

/** Renders changes as one bar per day, stacked by kind. */
export function changesChart({ days }: TargetHistory, range: Range, summary: string): Html {
  const x = xIn(range);
  const most = Math.max(1, ...days.map(({ created, updated, deleted }) => created + updated + deleted));
  const shapes = { created: '', updated: '', deleted: '' };
  for (const day of days) {
    const [from, to] = [x(day.startAt), x(Math.min(day.endAt, range.untilAt))];
    const gap = Math.min(4, (to - from) / 8);
    for (const { kind, low, high } of stackOf(day)) {
      const [bottom, top] = [low, high].map((count) => changesY(count / most));
      if (bottom !== top) shapes[kind] += `M${rounded(from + gap)} ${bottom}V${top}H${rounded(to - gap)}V${bottom}z`;
    }
  }
  const plot = html`${CHANGE_KINDS.map((kind) => path(kind, shapes[kind]))}${path('grid', `M0 ${CHANGES_HEIGHT - 1}H${WIDTH}`)}`;
  const labels = [
    { y: 11, text: String(most) },
    { y: CHANGES_HEIGHT, text: '0' },
  ];
  return withAxis(plot, labels, { height: CHANGES_HEIGHT, summary });
}

function stackOf(day: HistoryDay): { kind: (typeof CHANGE_KINDS)[number]; low: number; high: number }[] {
  let sum = 0;
  return CHANGE_KINDS.map((kind) => {
    const low = sum;
    sum += day[kind];
    return { kind, low, high: sum };
  });
}

/** Returns a time's position, within the range. */
function xIn({ fromAt, untilAt }: Range): (at: Instant) => number {
  return (at) => Math.round((Math.min(Math.max(at, fromAt), untilAt) - fromAt) * (WIDTH / (untilAt - fromAt)));
}

function ageY(ms: number): number {
  const minutes = Math.min(ms / MINUTE_MS, MOST_MINUTES);
  return rounded(AGE_HEIGHT * (1 - Math.log2(1 + minutes) / Math.log2(1 + MOST_MINUTES)));
}

/** A count that is not 0 is at least a pixel high. */
function changesY(share: number): number {
  const height = share === 0 ? 0 : Math.max(1, Math.round(share * (CHANGES_HEIGHT - 4)));
  return CHANGES_HEIGHT - 1 - height;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}

function path(name: string, shape: string): Html | null {
  return shape === '' ? null : html`<path class="${name}" d="${shape}"/>`;
}

function rectangle(name: string, from: number, width: number, height: number): Html {
  return html`<rect class="${name}" x="${from}" y="0" width="${width}" height="${height}"/>`;
}

/** Places a stretched plot next to its labels, which are not stretched. */
function withAxis(
  plot: Html,
  labels: readonly { y: number; text: string }[],
  { height, summary }: { height: number; summary: string },
): Html {
  const texts = labels.map(({ y, text }) => html`<text x="44" y="${y}" text-anchor="end">${text}</text>`);
  return html`<svg class="axis" aria-hidden="true" width="48" height="${height}">${texts}</svg><svg class="plot" role="img" aria-label="${summary}" viewBox="0 0 ${WIDTH} ${height}" height="${height}" preserveAspectRatio="none">${plot}</svg>`;
}
