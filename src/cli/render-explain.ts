import type { TargetWay } from '../control/appointment-way.ts';
import type { Explanation, SourceView, TargetExplanation } from '../control/explain.ts';
import type { DriftPolicy } from '../control/status-view.ts';
import { fieldName } from './field-names.ts';
import { renderTime, wrap } from './table.ts';

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
