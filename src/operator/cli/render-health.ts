import { sentenceOfRemark } from '../../core/model/snapshots.ts';
import { render } from '../../messages/message.ts';
import { DECISIONS, type FailingRecord, type HealthView, type TargetHealth } from '../control/record-schemas.ts';
import { fieldName } from '../documents/names.ts';
import { firstRows } from './output.ts';
import { renderConnection } from './render-status.ts';
import { renderAge, renderTable, renderTime, wrap } from './table.ts';

/** Rows shown per list. The output gives only the number of the remaining rows. */
const SHOWN_RECORDS = 20;
const INDENT = '  ';

/** Words for rule codes. */
const WHY: Readonly<Record<string, string>> = {
  agenda: render(DECISIONS.agenda),
  'tenant-too-large': 'the tenant uses too much memory in Redis: change left out until there is room',
  'several-values': 'the clinic names several agendas, and the profile uses only the first: record unchanged',
  'several-patients': 'several patients: each of them has a record instead',
  treatment: 'the target excludes the treatment',
  'blocked-time': 'blocked time without a patient',
  status: 'the target excludes the status',
  'no-consent': 'no patient consent for this target',
  inactive: 'the patient is inactive in the clinic',
  forgotten: 'an administrator used forget for the patient',
  'no-patient': 'the record has no patient',
  'patient-left-out': 'the target of contacts excludes the patient',
  'patient-vanished': 'the clinic no longer has the patient',
  'patient-unknown': "the patient is not (yet) in the clinic's list: record unchanged",
  'contact-held': 'the removal of the contact waits for approval or was rejected: record unchanged',
  'contact-unwritten': 'the contact is not written yet: the record waits',
  'history-unread': 'the data for derived properties was read incompletely: record unchanged',
};

/** Renders the lists in sync, excluded and failing of each target. */
export function renderHealth({ tenant, asOf, connections, remarks = [], targets }: HealthView): string {
  const columns = ['target', 'connector', 'follows', 'in sync', 'excluded', 'failed', 'pending', 'manual', 'on hold'];
  const rows = targets.map((target) => [
    target.target,
    target.connector,
    target.stream,
    target.inSync,
    sum(target.excluded.counts),
    target.failing.length,
    target.pending,
    target.changedByHand,
    target.held,
  ]);
  const lists = targets.flatMap((target) => listsOf(target, asOf));
  const logins = connections.map((connection) => line(`connection ${renderConnection(connection, asOf)}`));
  const shown = remarks.map((remark) => wrap(render(sentenceOfRemark(remark)), INDENT));
  return [`${tenant} as of ${renderTime(asOf)}`, ...logins, ...shown, '', renderTable(columns, rows), ...lists].join(
    '\n',
  );
}

function listsOf(target: TargetHealth, asOf: number): string[] {
  const lines: string[] = [];
  if (target.unread !== null)
    lines.push(line(`The clinic was not read (${target.unread}): excluded records are unknown.`));
  lines.push(...countLine('Objects that differ from the last write', target.heldOtherwise));
  lines.push(...countLine('Invalid phone numbers, left empty', target.unusable));
  for (const [property, records] of Object.entries(target.refusedThere))
    lines.push(...recordLines(`Opted out in the CRM (${property}); only the CRM can remove the opt-out`, records));
  lines.push(...recordLines('Copied manually; deletion of the record also deletes the copies', target.copied));
  lines.push(...excludedLines(target), ...failingLines(target.failing, asOf));
  return lines.length === 0 ? [] : ['', `${target.target}:`, ...lines];
}

function whyOf(code: string): string {
  if (code.startsWith('egress-'))
    return `the change contains more patient data than the target allows: record unchanged (${code})`;
  if (code.startsWith('incomplete-'))
    return `only a single answer of the clinic shows the record, and it lacks a value of the object: record unchanged (${code})`;
  return WHY[code] ?? code;
}

function countLine(what: string, counts: Readonly<Record<string, number>>): string[] {
  const properties = Object.entries(counts).map(([name, count]) => `${fieldName(name)} (${count})`);
  return properties.length === 0 ? [] : [line(`${what}: ${properties.join(', ')}`)];
}

function excludedLines({ excluded: { counts, records } }: TargetHealth): string[] {
  return Object.entries(counts).flatMap(([code, count]) => {
    const ids = records.filter(({ why }) => why === code).map(({ record }) => record);
    const head = line(`Excluded, ${count}: ${whyOf(code)}`);
    return ids.length === 0 ? [head] : [head, idsLine(ids)];
  });
}

function recordLines(what: string, ids: readonly string[]): string[] {
  return ids.length === 0 ? [] : [line(`${what}, ${ids.length}:`), idsLine(ids)];
}

function idsLine(ids: readonly string[]): string {
  const { shown, more } = firstRows(ids, SHOWN_RECORDS);
  return wrap([...shown, ...more].join(' '), INDENT + INDENT);
}

function failingLines(failing: readonly FailingRecord[], asOf: number): string[] {
  if (failing.length === 0) return [];
  const columns = ['record', 'why', 'since', 'attempts', 'next retry'];
  const { shown, more } = firstRows(failing, SHOWN_RECORDS);
  const rows = shown.map(({ record, why, sinceAt, attempts, nextTryAt, parked }) => [
    record,
    parked ? `${why} (waits for data or a decision)` : why,
    `${renderAge(sinceAt, asOf)} ago`,
    attempts,
    nextTryAt === null ? 'due now' : renderTime(nextTryAt),
  ]);
  const details = shown.flatMap(({ record, about, page }) => [
    ...(about === null && page === null ? [] : [wrap(`${record}: ${about ?? 'page of the object'}`, INDENT + INDENT)]),
    // URLs are not wrapped, so that the user can open the URL.
    ...(page === null ? [] : [`${INDENT}${INDENT}${INDENT}${page}`]),
  ]);
  const rest = more.map((text) => `${INDENT}${INDENT}${text}`);
  return [line(`Failed, ${failing.length}:`), renderTable(columns, rows, INDENT + INDENT), ...details, ...rest];
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

function line(text: string): string {
  return wrap(text, INDENT);
}
