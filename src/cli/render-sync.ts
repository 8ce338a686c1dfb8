import type { SyncResult } from '../control/sync.ts';
import { inStepWords } from '../model/sync-state.ts';
import { renderGaps, renderReading, renderUnconfirmed } from './render-gaps.ts';
import { renderTable, wrap } from './table.ts';

/** One cycle's result as a person reads it. @param settings where the tenant's targets are configured */
export function renderSync({ tenant, run, targets }: SyncResult, settings = `tenants/${tenant}.yaml`): string {
  const seconds = ((run.finishedAt - run.startedAt) / 1_000).toFixed(1);
  const head =
    run.error === null
      ? `${tenant}: ${run.snapshot?.records ?? 0} appointments read in ${seconds} s`
      : wrap(`${tenant}: the cycle ended early: ${run.error.message} (${run.error.code}). ${run.error.remedy ?? ''}`);
  const columns = [
    'target',
    { heading: 'state', isState: true },
    'new',
    'changed',
    'removed',
    'held',
    'pending',
    'failing',
    'links',
  ];
  const rows = targets.map((target) => {
    const planned = run.targets.find((each) => each.target === target.target)?.planned ?? {};
    const removed = (planned.cancelled ?? 0) + (planned.excluded ?? 0) + (planned.vanished ?? 0);
    const restored = (planned['edited-by-hand'] ?? 0) + (planned['removed-by-hand'] ?? 0);
    const counts = [planned.new ?? 0, (planned['content-changed'] ?? 0) + restored, removed];
    return [target.target, target.state, ...counts, target.held, target.pending, target.failing, target.links];
  });
  const failures = targets.flatMap(({ target, failure }) =>
    failure === null
      ? []
      : [
          wrap(
            `${target}: ${failure.message} (${failure.code}). ${failure.remedy ?? 'It is tried again by itself.'}${failure.actor === 'settings' ? `; see targets.${target} in ${settings}` : ''}`,
          ),
        ],
  );
  const held = targets.flatMap((target) =>
    target.held === 0
      ? []
      : [
          wrap(
            `${target.target}: ${target.held} changes wait for a person's decision: clinic-mirror holds list ${tenant}`,
          ),
        ],
  );
  const replaced = targets.flatMap(({ target, calendarReplacedAt: at }) =>
    at === null || at < run.startedAt
      ? []
      : [
          wrap(
            `${target}: its calendar was gone, and another one is written to: share it with whoever looked at the old one.`,
          ),
        ],
  );
  const unconfirmed = targets.flatMap((target) => renderUnconfirmed(target));
  const first = targets.flatMap((target) =>
    target.inStep === 'first-sync' ? [wrap(`${target.target}: ${inStepWords(target, 'en')}`)] : [],
  );
  const remarks = [...first, ...failures, ...replaced, ...held, ...unconfirmed, ...renderGaps(run.gaps)];
  return [head, ...renderReading(run), '', renderTable(columns, rows), ...remarks].join('\n');
}
