import type { TenantRun, UndoResult, UndoView } from '../features/undo/undo.ts';
import { firstRows } from './paper.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** Runs that are shown unless told. */
const SHOWN_RUNS = 50;

const RESULTS: Readonly<Record<UndoResult, string>> = {
  restored: 'in place, as the clinic has it now',
  waiting: 'not yet in place',
  cancelled: 'the clinic has cancelled it: left out',
  gone: 'the clinic has it no more: it can not be restored',
  'no-consent': 'the patient does not agree to it (any more): left out',
  'outside-window': "outside of the target's window",
  unusable: "its row in the clinic can't be used",
  unread: 'it could not be read in the clinic: undo again later',
  'no-target': 'the target is paused, or configured no longer',
};

/** Runs that can be undone, as a table. */
export function renderRuns({ runs }: { runs: readonly TenantRun[] }): string {
  const [first] = runs;
  if (first === undefined) return 'No run changed or deleted anything within the time that journals are kept.';
  const columns = [
    { heading: 'run' },
    { heading: 'tenant' },
    { heading: 'first change' },
    { heading: 'changed', right: true },
    { heading: 'deleted', right: true },
  ];
  const { shown, more } = firstRows(runs, SHOWN_RUNS);
  const rows = shown.map(({ run, tenant, at, updated, deleted }) => [
    run,
    tenant,
    renderTime(at),
    String(updated),
    String(deleted),
  ]);
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
    const becomes = dryRun && result === 'waiting' ? 'would be brought to what the clinic has now' : RESULTS[result];
    return [target, effect, String(count), becomes];
  });
  const columns = [
    { heading: 'target' },
    { heading: 'run had' },
    { heading: 'items', right: true },
    { heading: 'now' },
  ];
  const head = dryRun ? `Run ${run} of ${tenant}; nothing was written.` : `Run ${run} of ${tenant} is undone.`;
  const pin =
    pinnedUntil === null
      ? ''
      : `\n\n${wrap(
          `What was put back stays until ${renderTime(pinnedUntil)} whatever the target's rules say; to let them decide again: clinic-mirror undo ${run} --release`,
        )}`;
  return `${head}\n\n${renderTable(columns, rows)}${pin}`;
}
