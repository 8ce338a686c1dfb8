import type { AuditView } from '../control/audit.ts';
import { fieldName } from '../documents/names.ts';
import type { DriftReport } from '../state/targets.ts';
import { renderTable, wrap } from './table.ts';

/** What an audit found, as a person reads it. */
export function renderAudit(view: AuditView): string {
  const columns = ['target', 'policy', 'checked', 'edited', 'removed', 'churning', 'fields'];
  const rows = view.targets.map(({ target, policy, drift, failure }) =>
    drift === null
      ? [target, policy, '–', '–', '–', '–', `${failure === null ? 'busy or new' : failure.code}: not looked at`]
      : [target, policy, drift.checked, drift.edited, drift.removed, drift.churning, fieldsOf(drift)],
  );
  const unseen = view.targets.flatMap(({ target, failure }) =>
    failure === null
      ? []
      : [wrap(`${target}: ${failure.message}${failure.remedy === null ? '' : `; ${failure.remedy}`}`)],
  );
  const own = view.targets.flatMap(({ target, drift }) =>
    drift === null ? [] : ownWrites(drift).map((line) => wrap(`${target}: ${line}`)),
  );
  const churning = view.targets.flatMap(({ target, drift }) =>
    drift === null || drift.churning === 0
      ? []
      : [
          wrap(
            `${target}: ${drift.churning} entries were restored too often today and are left alone until tomorrow; they diverge in ${drift.churningFields.map((field) => fieldName(field)).join(', ')}.`,
          ),
        ],
  );
  const replaced = view.targets.flatMap(({ target, drift }) =>
    drift?.calendarReplaced === true
      ? [wrap(`${target}: the calendar is another one than before; the next cycle fills it.`)]
      : [],
  );
  return [renderTable(columns, rows), ...unseen, ...replaced, ...own, ...churning].join('\n');
}

/** What nobody did by hand: late writes of ours, and second objects. */
function ownWrites({ overwritten = 0, twinsRemoved = 0 }: DriftReport): string[] {
  return [
    ...(overwritten === 0
      ? []
      : [`${overwritten} entries held another write of ours than the last one; the next cycle writes them again.`]),
    ...(twinsRemoved === 0
      ? []
      : [`${twinsRemoved} second entries were removed; each of those records has one again.`]),
  ];
}

function fieldsOf({ fields }: DriftReport): string {
  return Object.entries(fields)
    .map(([field, count]) => `${fieldName(field)} ${count}`)
    .join(', ');
}
