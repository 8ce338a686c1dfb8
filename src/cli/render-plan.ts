import type { PlanLineView, PlanView, TargetPlanView } from '../control/plan.ts';
import type { FieldValue } from '../model/field-changes.ts';
import type { KeptPlan } from '../model/kept-plan.ts';
import { sentenceOfRemark } from '../model/reading-remarks.ts';
import { fieldName } from './field-names.ts';
import { firstRows } from './paper.ts';
import { renderTable, renderTime, wrap } from './table.ts';

/** Lines shown per target before the rest is only counted. */
const SHOWN_LINES = 25;

/** A plan as a person reads it: what would be written where, and why. */
export function renderPlan(plan: PlanView): string {
  const { completeness, reason, records, setAside } = plan.snapshot;
  const why = reason === null ? '' : ` (${reason}): nothing is deleted for being absent`;
  const head = [
    `Plan for ${plan.tenant} as of ${renderTime(plan.asOf)}`,
    wrap(`The clinic shows ${records} appointments, ${completeness}${why}.`),
  ];
  if (setAside > 0) head.push(`${setAside} rows could not be used and were set aside.`);
  for (const remark of plan.remarks ?? []) head.push(wrap(sentenceOfRemark(remark)));
  if (plan.unconfirmed > 0) {
    head.push(
      `${plan.unconfirmed} absent records are not known to be gone yet: left as they are until the next cycle.`,
    );
  }
  for (const { target, code } of plan.left) head.push(`${target} could not be looked at (${code}).`);
  return [...head, ...plan.targets.map((target) => renderTarget(plan.tenant, target))].join('\n');
}

/** The same with what applies it. */
export function renderKeptPlan(plan: KeptPlan): string {
  const kept = `Kept until ${renderTime(plan.expiresAt)}. Exactly this:  clinic-mirror apply ${plan.tenant} ${plan.id}`;
  return `${renderPlan(plan)}\n\n${kept}`;
}

function renderTarget(tenant: string, target: TargetPlanView): string {
  const counts = countLines(target);
  const summary =
    target.lines.length === 0
      ? `nothing ${target.failing + target.waiting === 0 ? '' : 'new '}to do, ${target.unchanged} as they should be`
      : `${counts.create} to create, ${counts.update} to update, ${counts.delete} to delete, ${target.unchanged} unchanged`;
  const calendar = target.calendar === null ? '' : ` (${target.calendar})`;
  const lines = ['', wrap(`${target.target}${calendar}: ${summary}`)];
  lines.push(...existingLines(tenant, target));
  if (target.failing > 0) lines.push(`  ${target.failing} failing, see "clinic-mirror health"`);
  if (target.waiting > 0) lines.push(`  ${target.waiting} waiting for their turn`);
  if (counts.held > 0) lines.push(`  ${counts.held} held for approval, see "clinic-mirror holds list"`);
  if (counts.refused > 0)
    lines.push(`  ${counts.refused} stay although the clinic no longer shows them: rejected by a person`);
  if (target.released > 0) lines.push(`  ${target.released} left the window and are let go`);
  const { shown, more } = firstRows(target.lines, SHOWN_LINES);
  if (shown.length > 0) lines.push(renderLines(shown));
  lines.push(...renderFields(shown));
  return [...lines, ...more.map((text) => `  ${text}`)].join('\n');
}

function existingLines(tenant: string, { target, existing }: TargetPlanView): string[] {
  if (existing === null) return [];
  if ('unread' in existing) return [wrap(`contacts that are there already can't be read (${existing.unread})`, '  ')];
  const { contacts, alike } = existing;
  if (contacts === 0) return [];
  const found = `${contacts} contacts there are not ours, and ${alike} patients look like one of them`;
  const next = alike === 0 ? '' : `: they would be there twice, see "clinic-mirror match ${tenant} ${target}"`;
  return [wrap(found + next, '  ')];
}

function renderLines(lines: readonly PlanLineView[]): string {
  const hasTitles = lines.some(({ title }) => title !== null);
  const rows = lines.map((line) => [
    sign(line.operation),
    line.record,
    renderTime(line.startAt),
    ...(hasTitles ? [line.title ?? '–'] : []),
    line.fields.length === 0 ? line.reason : `${line.reason}: ${line.fields.map(fieldName).join(', ')}`,
    line.verdict,
  ]);
  const columns = ['', 'record', 'starts', ...(hasTitles ? ['title'] : []), 'why'].map((heading) => ({ heading }));
  return renderTable([...columns, { heading: 'verdict', isState: true }], rows, '  ');
}

/** What updates would change, field by field; of what comes or goes the line tells enough. */
function renderFields(lines: readonly PlanLineView[]): string[] {
  const updates = lines.filter(({ operation }) => operation === 'update');
  const rows = updates.flatMap(({ record, fieldChanges }) =>
    fieldChanges.map(({ field, before, after }) => [record, fieldName(field), renderValue(before), renderValue(after)]),
  );
  if (rows.length === 0) return [];
  const columns = ['record', 'field', 'is', 'becomes'].map((heading) => ({ heading }));
  return ['', renderTable(columns, rows, '  ')];
}

function renderValue(value: FieldValue): string {
  switch (value.kind) {
    case 'time':
      return value.endAt === value.startAt
        ? renderTime(value.startAt)
        : `${renderTime(value.startAt)} to ${renderTime(value.endAt)}`;
    case 'days':
      return `${value.startDate} to ${value.endDate} (not included)`;
    case 'text':
      return value.text;
    case 'none':
      return '–';
    case 'withheld':
      return '(not shown)';
    case 'unread':
      return '(not read)';
  }
}

function sign(operation: 'create' | 'update' | 'delete'): string {
  return { create: '+', update: '~', delete: '-' }[operation];
}

function countLines({ lines }: TargetPlanView) {
  const going = lines.filter(({ verdict }) => verdict === 'go');
  const of = (operation: string) => going.filter((line) => line.operation === operation).length;
  return {
    create: of('create'),
    update: of('update'),
    delete: of('delete'),
    held: lines.filter(({ verdict }) => verdict === 'held').length,
    refused: lines.filter(({ verdict }) => verdict === 'refused').length,
  };
}
