import type { DriftReport } from '../../core/model/run-schemas.ts';
import type { Duplicate, DuplicatesView } from '../../features/match/schemas.ts';
import type { AuditView } from '../control/status-schemas.ts';
import { fieldName } from '../documents/names.ts';
import { firstRows } from './output.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** Renders the result of an audit. */
export function renderAudit(view: AuditView): string {
  const columns = ['target', 'policy', 'checked', 'edited', 'removed', 'churning', 'fields'];
  const rows = view.targets.map(({ target, policy, drift, failure }) =>
    drift === null
      ? [target, policy, '–', '–', '–', '–', `${failure === null ? 'busy or new' : failure.code}: not read`]
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
            `${target}: ${drift.churning} objects were restored too often today; clinic-mirror stops until tomorrow. Fields that differ: ${drift.churningFields.map((field) => fieldName(field)).join(', ')}.`,
          ),
        ],
  );
  const replaced = view.targets.flatMap(({ target, drift }) =>
    drift?.calendarReplaced === true
      ? [wrap(`${target}: the calendar was replaced; the next cycle fills the new calendar.`)]
      : [],
  );
  return [renderTable(columns, rows), ...unseen, ...replaced, ...own, ...churning].join('\n');
}

/** Renders findings other than manual changes: late writes, second objects, lost marks and unreadable objects. */
function ownWrites({ overwritten = 0, duplicatesRemoved = 0, unmarked = 0, unreadable = 0 }: DriftReport): string[] {
  return [
    ...(overwritten === 0
      ? []
      : [
          `${overwritten} objects contained an older write of clinic-mirror; the next cycle writes these objects again.`,
        ]),
    ...(duplicatesRemoved === 0
      ? []
      : [`${duplicatesRemoved} duplicate objects were removed; each record has one object again.`]),
    ...(unmarked === 0
      ? []
      : [`${unmarked} objects lost the marks of clinic-mirror and are recognised by name or id.`]),
    ...(unreadable === 0 ? [] : [`${unreadable} objects cannot be read and were skipped; the log names them.`]),
  ];
}

function fieldsOf({ fields }: DriftReport): string {
  return Object.entries(fields)
    .map(([field, count]) => `${fieldName(field)} ${count}`)
    .join(', ');
}

/** Default number of duplicates per target. */
const SHOWN_DUPLICATES = 100;
const INDENT = '  ';

/** Renders the duplicates of each target: duplicate contacts, incomplete contacts, and the pages of both objects. */
export function renderDuplicates({ tenant, asOf, targets }: DuplicatesView): string {
  const lists = targets.flatMap(({ target, connector, duplicates }) => [
    '',
    `${target} (${connector}): ${duplicates.length === 0 ? 'none' : duplicates.length}`,
    ...limited(duplicates),
  ]);
  return [`Duplicates of ${tenant} as of ${renderTime(asOf)}`, ...lists].join('\n');
}

function limited(duplicates: readonly Duplicate[]): string[] {
  const { shown, more } = firstRows(duplicates, SHOWN_DUPLICATES);
  return [...shown.flatMap(linesOf), ...more.map((line) => INDENT + line)];
}

function linesOf(duplicate: Duplicate): string[] {
  const { page, heldOn } = duplicate;
  return [
    wrap(`${duplicate.record} ${whyOf(duplicate)}`, INDENT),
    // URLs are not wrapped, so that the user can open the URL.
    ...[page, heldOn].flatMap((one) => (one === null ? [] : [`${INDENT}${INDENT}${one}`])),
  ];
}

function whyOf({ kind, by, isHeldByOurs, heldBy }: Duplicate): string {
  const relative = heldBy === null ? 'another contact of clinic-mirror' : `the contact of ${heldBy}`;
  switch (kind) {
    case 'lacks': {
      const who = isHeldByOurs ? relative : 'a contact that clinic-mirror did not create';
      return `without ${by.join(', ')}: the value belongs to ${who}`;
    }
    case 'copied':
      return 'manual copy with the clinic-mirror stamp: not updated; deleted with the record only if the copy has the clinic-mirror key';
    case 'alike':
      return `similar to a contact created by another user (equal ${by.join(', ')})`;
  }
}
