import { MINUTE_MS } from '../../core/model/time.ts';
import type { HistoryDays, HistoryStep, HistoryView, TargetHistory } from '../control/history-schemas.ts';
import { renderAge, renderTable, renderTime, wrap } from './table.ts';

/** Characters of a strip, at most. */
const STRIP_LENGTH = 24;
const LEVELS = [5, 15, 60, 240, 1_440];
const SHADES = '▁▂▃▅▆█';

/** Renders a history: one line per target, or one line per day of a single target. */
export function renderHistory(
  { targets, fromAt, untilAt }: HistoryView,
  { isOfOne, days }: { isOfOne: boolean; days: HistoryDays },
): string {
  if (targets.length === 0) return 'No target is configured.';
  const range = `${renderTime(fromAt)} to ${renderTime(untilAt)}`;
  const parts = isOfOne ? targets.map(renderDays) : [renderTargets(targets, untilAt)];
  const strips = targets.flatMap(({ target, steps }) => (isOfOne ? [renderStrip(target, steps)] : []));
  return [range, ...parts, ...strips, legendOf(days)].join('\n\n');
}

function legendOf(days: HistoryDays): string {
  const levels = LEVELS.map((minutes) => renderAge(0, minutes * MINUTE_MS)).join(', ');
  const others = days === '1' ? ' Other periods: --days 7, --days 30.' : '';
  return wrap(
    `worst: largest age of the target's data. unproved: hours in which no cycle compared the target. Bars: age up to ${levels}, or more; a dot is a time without a proof.${others}`,
  );
}

function renderTargets(targets: readonly TargetHistory[], now: number): string {
  const columns = [
    'target',
    { heading: 'freshness', isState: true },
    'ago',
    'worst',
    'unproved',
    'created',
    'updated',
    'deleted',
    'outages',
  ];
  const rows = targets.map((each) => [
    each.target,
    stripOf(each.steps),
    renderAge(each.inSyncAsOf, now),
    renderWorst(each.worstMs),
    each.recordedSince === null ? '–' : each.unprovedHours,
    ...[each.created, each.updated, each.deleted, each.outages.length],
  ]);
  return renderTable(columns, rows);
}

function renderDays({ days, outages }: TargetHistory): string {
  const columns = ['day', 'worst', 'unproved', 'created', 'updated', 'deleted'];
  const rows = days.map((day) => [
    day.date,
    renderWorst(day.worstMs),
    ...[day.unprovedHours, day.created, day.updated, day.deleted],
  ]);
  const lines = outages.map(({ sinceAt, untilAt }) => {
    return `outage: ${renderTime(sinceAt)} to ${untilAt === null ? 'now' : renderTime(untilAt)}`;
  });
  return [renderTable(columns, rows), ...lines].join('\n');
}

function renderWorst(worstMs: number | null): string {
  return worstMs === null ? '–' : renderAge(0, worstMs);
}

function renderStrip(target: string, steps: readonly HistoryStep[]): string {
  return `${target}  ${stripOf(steps)}`;
}

/** Returns one character for each step, or for several: the worst of them, a dot if none has a proof. */
function stripOf(steps: readonly HistoryStep[]): string {
  const width = Math.ceil(steps.length / STRIP_LENGTH);
  return Array.from({ length: Math.ceil(steps.length / width) }, (_, index) => {
    const proved = steps.slice(index * width, (index + 1) * width).flatMap(({ worstMs }) => worstMs ?? []);
    if (proved.length === 0) return '·';
    const minutes = Math.max(...proved) / MINUTE_MS;
    const level = LEVELS.findIndex((most) => minutes <= most);
    return SHADES.at(level) ?? '';
  }).join('');
}
