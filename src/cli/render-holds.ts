import type { HOLD_OPERATIONS } from '../features/holds/operations.ts';
import type { ResultOf } from '../operations/operation.ts';
import { firstRows } from './paper.ts';
import { renderTable, renderTime } from './table.ts';

/** Holds that are shown by default. */
const SHOWN_HOLDS = 100;

/** Holds as a table, with the commands that decide them. */
export function renderHolds({ items: holds }: ResultOf<typeof HOLD_OPERATIONS.listHolds>): string {
  if (holds.length === 0) return 'Nothing is held.';
  const columns = [
    'hold',
    'tenant',
    'target',
    'kind',
    'items',
    'of links',
    { heading: 'state', isState: true },
    'seen',
    'expires',
  ];
  const { shown, more } = firstRows(holds, SHOWN_HOLDS);
  const rows = shown.map((hold) => [
    hold.id,
    hold.tenant,
    hold.target,
    hold.kind,
    hold.items,
    hold.linkCount,
    hold.state,
    hold.seen,
    renderTime(hold.expiresAt),
  ]);
  const open = holds.find(({ state }) => state === 'open');
  const hint =
    open === undefined
      ? ''
      : `\n\nDecide with:  clinic-mirror holds approve ${open.tenant} ${open.id} --seen ${open.seen}\n              clinic-mirror holds reject ${open.tenant} ${open.id} --seen ${open.seen}`;
  return [renderTable(columns, rows), ...more].join('\n') + hint;
}

/** The records of a hold, one a line, as `--only` takes them. */
export function renderHold({ records }: ResultOf<typeof HOLD_OPERATIONS.readHold>): string {
  return records.join('\n');
}

/** What was decided. */
export function renderDecision({ hold }: ResultOf<typeof HOLD_OPERATIONS.decideHold>): string {
  const { id, tenant, target, state, items, partOf } = hold;
  const next = state === 'approved' ? ` They go with the next cycle (now: clinic-mirror sync ${tenant}).` : '';
  const rest = partOf === null ? '' : ` The others go on waiting as hold ${partOf}.`;
  return `Hold ${id} of ${target} is ${state}: ${items} items.${next}${rest}`;
}
