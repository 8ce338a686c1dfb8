import { UNDO_RESULTS } from '../features/undo/texts.ts';
import type { TenantRun, UndoResult, UndoView } from '../features/undo/undo.ts';
import { firstRows } from './paper.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** Runs that are shown unless told. */
const SHOWN_RUNS = 50;

/** Runs that can be undone, as a table. */
export function renderRuns({ runs }: { runs: readonly TenantRun[] }): string {
  const [first] = runs;
  if (first === undefined) return 'No run changed or deleted anything within the time that journals are kept.';
  const columns = ['run', 'tenant', 'first change', 'changed', 'deleted'];
  const { shown, more } = firstRows(runs, SHOWN_RUNS);
  const rows = shown.map(({ run, tenant, at, updated, deleted }) => [run, tenant, renderTime(at), updated, deleted]);
  return `${[renderTable(columns, rows), ...more].join('\n')}\n\nSee what undoing would do:  clinic-mirror undo ${first.run} --dry-run`;
}

/** What an undo came to: counts per target and result. */
export function renderUndo({ run, tenant, dryRun, pinnedUntil, records }: UndoView): string {
  const counts = new Map<string, number>();
  for (const { target, effect, result } of records) {
    const name = JSON.stringify([target, effect, result]);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const rows = [...counts].sort().map(([name, count]) => {
    const [target, effect, result] = JSON.parse(name) as [string, string, UndoResult];
    const becomes = UNDO_RESULTS.en[result === 'waiting' && !dryRun ? 'waitingStill' : result];
    return [target, effect, count, becomes];
  });
  const columns = ['target', 'run had', 'items', 'now'];
  const head = dryRun ? `Run ${run} of ${tenant}; nothing was written.` : `Run ${run} of ${tenant} is undone.`;
  const pin =
    pinnedUntil === null
      ? ''
      : `\n\n${wrap(
          `What was put back stays until ${renderTime(pinnedUntil)} whatever the target's rules say; to let them decide again: clinic-mirror undo ${run} --release`,
        )}`;
  return `${head}\n\n${renderTable(columns, rows)}${pin}`;
}
