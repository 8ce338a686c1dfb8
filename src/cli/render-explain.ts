import type { TargetWay } from '../control/appointment-way.ts';
import type { Explanation, SourceView, TargetExplanation } from '../control/explain.ts';
import type { TenantHold } from '../control/holds.ts';
import type { DriftPolicy } from '../control/status-view.ts';
import { fieldName } from './field-names.ts';
import { firstRows } from './paper.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** Holds that are shown unless told. */
const SHOWN_HOLDS = 50;

/** One appointment's story as a person reads it. */
export function renderExplanation(explanation: Explanation): string {
  const head = wrap(`Appointment ${explanation.appointment} of ${explanation.tenant}`);
  const source = wrap(`clinic: ${renderSource(explanation.source)}`, '  ');
  return [`${head}\n${source}`, ...explanation.targets.map(renderTarget)].join('\n\n');
}

/** What the clinic says of an appointment, in words. */
export function renderSource(source: SourceView): string {
  switch (source.state) {
    case 'there':
      return `${source.status}, agenda ${source.agenda}, starts ${renderTime(source.startAt)}`;
    case 'absent':
      return 'no such appointment';
    case 'unusable':
      return `its row can't be used (${source.code} in ${source.field})`;
    case 'unknown':
      return `could not be asked: ${source.message} (${source.code})`;
  }
}

const BY_HAND: Readonly<Record<DriftPolicy, string>> = {
  repair: 'restored with the next cycle, unless that was done too often today',
  keep: 'kept until the appointment changes',
  report: 'left until the appointment changes, for a person to look at',
};

function wayText({ compared, written, readBack }: TargetWay): string {
  const when = (at: number | null, never: string) => (at === null ? never : renderTime(at));
  const parts = [`compared ${when(compared.at, 'never')}`];
  if (readBack.covers !== null) {
    parts.push(`written ${when(written.at, 'before that is remembered')}`);
    parts.push(readBack.covers ? `read back ${when(readBack.at, 'never')}` : 'not read back since');
  }
  return parts.join(', ');
}

function renderTarget(target: TargetExplanation): string {
  const lines = [`${target.target} (${target.connector})`];
  const { shown, because } = target.decision;
  lines.push(wrap(`${shown ? 'should be shown' : 'not shown'}: ${because}`, '  '));
  lines.push(
    target.link === null
      ? '  the target was given nothing for it'
      : wrap(`was given ${target.link.remoteId}, starting ${renderTime(target.link.startAt)}`, '  '),
  );
  lines.push(wrap(wayText(target.way), '  '));
  if (target.byHand !== null) {
    const { done, fields, policy } = target.byHand;
    const what = done === 'removed' ? 'deleted by hand' : `edited by hand (${fields.map(fieldName).join(', ')})`;
    lines.push(wrap(`${what}: ${BY_HAND[policy]}`, '  '));
  }
  if (target.pending !== null) {
    const { want, reason, attempts, lastError, about, parked, dueAt } = target.pending;
    const last = about === undefined ? lastError : `${lastError} (${about})`;
    const tried = attempts === 0 ? '' : `, tried ${attempts} times, last error ${last}`;
    const next = parked ? 'waits for a change or a person, tried again' : 'next try';
    lines.push(wrap(`waiting: to be ${want} (${reason})${tried}, ${next} ${renderTime(dueAt)}`, '  '));
  }
  for (const { id, kind, state } of target.holds) lines.push(`  in hold ${id} (${kind}), ${state}`);
  if (target.failure !== null) lines.push(`  the whole target stands still: ${target.failure}`);
  return lines.join('\n');
}

/** Holds as a table, with the commands that decide them. */
export function renderHolds(holds: readonly TenantHold[]): string {
  if (holds.length === 0) return 'Nothing is held.';
  const columns = [
    { heading: 'hold' },
    { heading: 'tenant' },
    { heading: 'target' },
    { heading: 'kind' },
    { heading: 'items', right: true },
    { heading: 'of links', right: true },
    { heading: 'state', isState: true },
    { heading: 'seen' },
    { heading: 'expires' },
  ];
  const { shown, more } = firstRows(holds, SHOWN_HOLDS);
  const rows = shown.map((hold) => [
    hold.id,
    hold.tenant,
    hold.target,
    hold.kind,
    String(hold.recordIds.length),
    String(hold.linkCount),
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
